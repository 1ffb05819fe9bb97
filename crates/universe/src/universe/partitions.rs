//! Changes of the whole world: boundaries that move at random or by plan, regions that come and go, worlds loaded anew.

use nimbus_model::RegionId;
use nimbus_node::{Change, Horizon, Node};
use nimbus_space::{Part, PartitionMap};
use std::sync::Arc;

use super::{Happening, LEAD_TICKS, Universe};
use crate::actor::Actor;

impl Universe {
    /// Tells everybody of the next partition. It takes effect at its own tick, which should lie ahead.
    pub fn repartition(&mut self, map: PartitionMap) {
        if self.control.is_some() {
            return self.order_change(Change::Map(map));
        }
        self.map = map.clone();
        self.announce(&Change::Map(map.clone()));
        self.gateway.iter_mut().for_each(|gateway| gateway.set_map(map.clone()));
    }

    /// Lets a server say what it costs, when it is time to.
    pub(super) fn report_load(&mut self, i: usize) {
        let Some(report) = self.balance.as_mut().and_then(|balance| balance.report(i, &self.nodes[i])) else { return };
        let (from, to) = (Actor::Node(i as u16), Actor::Coordinator);
        for at in self.network.send(self.now, from, to, 0).into_iter().flatten() {
            self.queue.push(at, (to, Happening::Report(Box::new(report.clone()))));
        }
    }

    /// Lets the planner look, and announces what it makes.
    pub(super) fn plan_partition(&mut self) {
        if !self.is_announced() {
            return;
        }
        let Some(balance) = &mut self.balance else { return };
        let Some(next) = balance.plan(self.tick, &self.map) else { return };
        self.outcome.plans += 1;
        self.outcome.resizes += u64::from(next.regions() != self.map.regions());
        if self.config.checked {
            self.checkers.observe_plan(self.tick, &self.map, &next, balance.planner.config());
        }
        self.repartition(next);
    }

    pub(super) fn move_a_boundary(&mut self) {
        if self.config.spare > 0 && self.rng.chance(0.7) {
            return self.resize();
        }
        let cuts: Vec<_> = self.map.cuts().collect();
        if cuts.is_empty() {
            return;
        }
        let cut = &cuts[self.rng.below(cuts.len() as u64) as usize];
        let at = cut.at + self.rng.between(-4.0, 4.0);
        let horizon = Horizon::new(&self.world, &self.config.aura);
        let width_min = 4.0 * self.world.radius_max + 2.0 * horizon.depth_m();
        let effective = self.tick + LEAD_TICKS;
        if let Ok(moved) = self.map.move_cut(cut.index, at, width_min, effective) {
            let index = cut.index;
            let mut order = moved.order();
            if self.rng.chance(0.5) {
                let (one, two) = (self.rng.below(order.len() as u64), self.rng.below(order.len() as u64));
                order.swap(one as usize, two as usize);
            }
            if self.control.is_some() {
                let ranks = (order != moved.order()).then_some(order);
                return self.order_boundary(index, at, width_min, ranks);
            }
            self.network.counts.map += 1;
            self.repartition(moved.with_ranks(&order, effective).unwrap_or(moved));
        }
    }

    /// Gives a region without a place one, or takes one away.
    fn resize(&mut self) {
        let idle: Vec<RegionId> =
            self.nodes.iter().map(Node::region).filter(|region| !self.map.regions().contains(region)).collect();
        let pairs: Vec<usize> =
            self.map.cuts().map(|cut| cut.index).filter(|index| self.map.pair(*index).is_some()).collect();
        let effective = self.tick + LEAD_TICKS;
        let next = if !idle.is_empty() && (pairs.is_empty() || self.rng.chance(0.6)) {
            let region = idle[self.rng.below(idle.len() as u64) as usize];
            let leaves = |index: &usize| matches!(self.map.part(*index), Some(Part::Leaf(_)));
            let leaves: Vec<usize> = (0..2 * self.map.cuts().count() + 1).filter(leaves).collect();
            let index = leaves[self.rng.below(leaves.len() as u64) as usize];
            let Some(bounds) = self.map.bounds(index) else { return };
            let axis = if self.rng.chance(0.5) { 0 } else { 2 };
            let width_min = Horizon::planned_width_min(&self.world, &self.config.aura);
            let low = bounds.min[axis].max(-2.0 * width_min);
            let at = low + self.rng.unit() * (bounds.max[axis].min(2.0 * width_min) - low);
            self.map.split(index, (axis, at), region, width_min, effective)
        } else if pairs.is_empty() {
            return;
        } else {
            self.map.merge(pairs[self.rng.below(pairs.len() as u64) as usize], effective)
        };
        if let Ok(next) = next {
            self.network.counts.map += 1;
            self.outcome.resizes += 1;
            self.repartition(next);
        }
    }

    pub(super) fn reset(&mut self) {
        let at = self.tick + LEAD_TICKS;
        let first = PartitionMap::from_layout(&self.world.layout).expect("the layout was good at the start");
        if self.control.is_some() {
            let (era, world) = (self.era + 1, self.world.clone());
            return self.order_change(Change::Load { at, era, world, map: first });
        }
        self.network.counts.reset += 1;
        self.era += 1;
        self.placed = Arc::default();
        let map = first.succeed(at);
        self.map = map.clone();
        self.announce(&Change::Load { at, era: self.era, world: self.world.clone(), map: map.clone() });
        for gateway in &mut self.gateway {
            gateway.load(self.world.clone(), self.era, map.clone(), at);
        }
    }
}
