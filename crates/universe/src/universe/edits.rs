//! What clients change of the whole world: statics that come and go, regions drawn anew. Whoever decides about the world
//! looks at it as a runtime does; then it is a change like any other.

use nimbus_gateway::Request;
use nimbus_model::{Nid, Placed, RegionBox, RegionId};
use nimbus_node::{Change, Horizon};
use std::sync::Arc;

use super::{LEAD_TICKS, Universe};

impl Universe {
    /// Does what a client asked of the shell; clients hear what became of it at once.
    pub(super) fn grant(&mut self, request: Request) -> Result<Option<Nid>, String> {
        if self.control.as_ref().is_some_and(|control| !control.orders.is_empty()) {
            return Err("another change is under way".to_owned());
        }
        match request {
            Request::PlaceStatic(desc, pose) => {
                let (era, placed) = self.newest_placed();
                let (placed, nid) = placed.with(&self.world, era, (*desc).clone(), pose)?;
                self.build(era, placed);
                Ok(Some(nid))
            }
            Request::RemoveStatic(nid) => {
                let (era, placed) = self.newest_placed();
                let placed = placed.without(era, nid)?;
                self.build(era, placed);
                Ok(Some(nid))
            }
            Request::Regions(boxes, rest) => self.redraw(boxes, rest).map(|()| None),
            _ => Err("the universe decides about its clock and its world".to_owned()),
        }
    }

    /// The newest statics that were announced, and the era they are for.
    fn newest_placed(&self) -> (u16, Arc<Placed>) {
        match &self.control {
            Some(control) => {
                control.store.newest().map_or_else(|| (self.era, Arc::default()), |roster| roster.newest_placed())
            }
            None => (self.era, self.placed.clone()),
        }
    }

    fn build(&mut self, era: u16, placed: Placed) {
        let placed = Arc::new(placed);
        let change = Change::Statics { at: self.tick + LEAD_TICKS, era, placed: placed.clone() };
        if self.control.is_some() {
            return self.order_change(change);
        }
        self.outcome.statics += 1;
        self.placed = placed.clone();
        self.announce(&change);
        let at = change.at();
        self.gateway.iter_mut().for_each(|gateway| gateway.set_statics(at, era, placed.clone()));
    }

    fn redraw(&mut self, boxes: Vec<RegionBox>, rest: RegionId) -> Result<(), String> {
        let effective = self.tick + LEAD_TICKS;
        let map = self.map.redraw(&boxes, rest, effective).map_err(|error| error.to_string())?;
        if map.regions() != self.map.regions() {
            return Err("there is no server for some region".to_owned());
        }
        if let Some(problem) = Horizon::layout_problem(&self.world, &self.config.aura, &map) {
            return Err(problem);
        }
        if self.control.is_some() {
            self.order_regions(boxes, rest);
            return Ok(());
        }
        self.outcome.redraws += 1;
        self.network.counts.map += 1;
        self.repartition(map);
        Ok(())
    }
}
