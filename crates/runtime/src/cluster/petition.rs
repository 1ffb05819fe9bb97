//! What the coordinator makes of the wishes of gateways: one change of the clock or the world at a time, as an order to
//! its core. Wishes of several gateways are therefore carried out one after another.

use nimbus_control::{Change, Order, Roster};
use nimbus_model::World;
use nimbus_space::PartitionMap;
use std::sync::Arc;

use super::asks::Ask;
use super::worlds::Worlds;
use crate::mesh::ProcessName;
use crate::servers::first_map;

/// A wish that is being carried out.
pub(super) struct Petition {
    pub(super) from: ProcessName,
    /// The gateway's number for it.
    pub(super) number: u64,
    stage: Stage,
}

enum Stage {
    /// Its world is being made.
    Makes(String),
    /// The core has the order of this number.
    Ordered(u64),
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
        let petition = |stage| Petition { from: from.clone(), number, stage };
        let loads = |world: String| {
            let under_way = roster.changes.iter().any(|change| matches!(change, Change::Load { .. }));
            let refused = "a world is being loaded already; wait a moment".to_owned();
            let next = if under_way { Next::Refuse(refused) } else { Next::Wait };
            (petition(Stage::Makes(world)), next)
        };
        let simple = |what| (petition(Stage::Ordered(order)), Next::Order(order, what));
        match ask {
            Ask::Reset => loads(roster.world.clone()),
            Ask::Scene(name) => loads(name),
            Ask::Pause(true) => simple(Order::Pause),
            Ask::Pause(false) => simple(Order::Resume),
            Ask::Step(ticks) => simple(Order::Step(ticks)),
            Ask::Speed(permille) => simple(Order::Pace(permille)),
        }
    }

    /// Looks whether its world is there; `order` is the number for the order that loads it.
    pub(super) fn carry_on(&mut self, worlds: &Worlds, roster: &Roster, order: u64) -> Next {
        let Stage::Makes(name) = &self.stage else { return Next::Wait };
        let Some(made) = worlds.ready(name) else { return Next::Wait };
        match made.and_then(|world| partition(name, &world, roster)) {
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

/// The partition that a world begins with, if the cluster can run it.
fn partition(name: &str, world: &World, roster: &Roster) -> Result<PartitionMap, String> {
    let (map, _) = first_map(world, 1).map_err(|error| error.to_string())?;
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
