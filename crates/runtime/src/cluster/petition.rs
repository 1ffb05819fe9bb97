//! What the coordinator makes of the wishes of gateways: one change of the clock or the world at a time, as an order to
//! its core. Wishes of several gateways are therefore carried out one after another.

use nimbus_control::{Change, Order, Roster};
use nimbus_model::{Nid, RegionBox, RegionId, World};
use nimbus_node::AuraConfig;
use nimbus_space::PartitionMap;
use std::sync::Arc;

use super::asks::Ask;
use super::worlds::Worlds;
use crate::edits::{StaticEdit, regions_problem};
use crate::mesh::ProcessName;
use crate::servers::first_map_under;

/// A wish that is being carried out.
pub(super) struct Petition {
    pub(super) from: ProcessName,
    /// The gateway's number for it.
    pub(super) number: u64,
    /// The static it is about.
    pub(super) about: Option<Nid>,
    stage: Stage,
}

enum Stage {
    /// Its world is being made.
    Makes(String),
    /// The world in force is needed to judge it.
    Judges(Edit),
    /// The core has the order of this number.
    Ordered(u64),
}

/// A change of the world in force.
enum Edit {
    Statics(StaticEdit),
    Regions(Vec<RegionBox>, RegionId),
}

/// What is to be done next.
pub(super) enum Next {
    /// Nothing yet.
    Wait,
    /// Give the core this order, under this number.
    Order(u64, Order),
    /// It cannot be.
    Refuse(String),
}

impl Petition {
    /// Begins with a wish.
    pub(super) fn new(from: ProcessName, number: u64, ask: Ask, roster: &Roster, order: u64) -> (Petition, Next) {
        let petition = |stage| Petition { from: from.clone(), number, about: None, stage };
        let loads = |world: String| {
            let under_way = roster.changes.iter().any(|change| matches!(change, Change::Load { .. }));
            let refused = "a world is being loaded already; wait a moment".to_owned();
            let next = if under_way { Next::Refuse(refused) } else { Next::Wait };
            (petition(Stage::Makes(world)), next)
        };
        let edits = |edit| (petition(Stage::Judges(edit)), Next::Wait);
        let simple = |what| (petition(Stage::Ordered(order)), Next::Order(order, what));
        match ask {
            Ask::Reset => loads(roster.world.clone()),
            Ask::Scene(name) => loads(name),
            Ask::Pause(true) => simple(Order::Pause),
            Ask::Pause(false) => simple(Order::Resume),
            Ask::Step(ticks) => simple(Order::Step(ticks)),
            Ask::Speed(permille) => simple(Order::Pace(permille)),
            Ask::PlaceStatic(desc, pose) => edits(Edit::Statics(StaticEdit::Place(desc, pose))),
            Ask::RemoveStatic(nid) => edits(Edit::Statics(StaticEdit::Remove(nid))),
            Ask::Regions(boxes, rest) => edits(Edit::Regions(boxes, rest)),
        }
    }

    /// Looks whether its world is there; `order` is the number for the order that loads it.
    pub(super) fn carry_on(&mut self, worlds: &Worlds, roster: &Roster, aura: &AuraConfig, order: u64) -> Next {
        let name = match &self.stage {
            Stage::Makes(name) => name,
            Stage::Judges(edit) => {
                let world = match worlds.ready(&roster.world) {
                    None => return Next::Wait,
                    Some(Ok(world)) => world,
                    Some(Err(why)) => return Next::Refuse(why),
                };
                return match judge(edit, &world, aura, roster) {
                    Ok((what, about)) => {
                        (self.about, self.stage) = (about, Stage::Ordered(order));
                        Next::Order(order, what)
                    }
                    Err(why) => Next::Refuse(why),
                };
            }
            Stage::Ordered(_) => return Next::Wait,
        };
        let Some(made) = worlds.ready(name) else { return Next::Wait };
        match made.and_then(|world| partition(name, &world, aura, roster)) {
            Ok(map) => {
                let load = Order::Load { world: name.clone(), map: Arc::new(map) };
                self.stage = Stage::Ordered(order);
                Next::Order(order, load)
            }
            Err(why) => Next::Refuse(why),
        }
    }

    /// True when this is the order that carries it out.
    pub(super) fn is(&self, order: u64) -> bool {
        matches!(self.stage, Stage::Ordered(its) if its == order)
    }
}

/// The order that makes a change of the world in force, and the static it is about; or why it cannot be.
fn judge(edit: &Edit, world: &World, aura: &AuraConfig, roster: &Roster) -> Result<(Order, Option<Nid>), String> {
    let (era, placed) = roster.newest_placed();
    if era != roster.era {
        return Err("a world is being loaded; wait a moment".to_owned());
    }
    match edit {
        Edit::Statics(edit) => {
            let (next, about) = edit.of(&placed, world, era)?;
            Ok((Order::Statics(Arc::new(next)), Some(about)))
        }
        Edit::Regions(boxes, rest) => {
            let served = |region: &RegionId| roster.regions.contains_key(region);
            match regions_problem(roster.newest_map(), (boxes, *rest), (world, aura), served) {
                Some(problem) => Err(problem),
                None => Ok((Order::Regions { boxes: boxes.clone(), rest: *rest }, None)),
            }
        }
    }
}

/// The partition that a world begins with, if the cluster can run it.
fn partition(name: &str, world: &World, aura: &AuraConfig, roster: &Roster) -> Result<PartitionMap, String> {
    let (map, _) = first_map_under(world, 1, aura).map_err(|error| error.to_string())?;
    let regions = roster.regions.len();
    if !map.regions().iter().all(|region| roster.regions.contains_key(region)) {
        let needed = map.regions().len();
        return Err(format!(
            "`{name}` has {needed} regions and this cluster {regions}; start one with `regions = {needed}`"
        ));
    }
    let hz = roster.timeline.as_ref().map_or(world.tick_hz, |timeline| timeline.tick_hz());
    if world.tick_hz != hz {
        return Err(format!("`{name}` has {} ticks a second and this cluster {hz}", world.tick_hz));
    }
    Ok(map)
}
