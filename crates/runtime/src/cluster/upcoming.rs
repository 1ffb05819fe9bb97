//! The world in force and what is to come, as a roster has them, for a server or gateway that may have seen some of it.

use nimbus_control::{Change as Announced, Roster};
use nimbus_model::{Placed, Tick};
use nimbus_node::Change;
use nimbus_space::PartitionMap;
use std::sync::Arc;

use super::worlds::Made;

/// See the description of this file.
#[derive(Clone)]
pub(super) struct Upcoming {
    pub(super) world: String,
    pub(super) era: u16,
    pub(super) map: Arc<PartitionMap>,
    pub(super) placed: Arc<Placed>,
    changes: Vec<Announced>,
}

impl Upcoming {
    pub(super) fn of(roster: &Roster) -> Upcoming {
        Upcoming {
            world: roster.world.clone(),
            era: roster.era,
            map: roster.map.clone(),
            placed: roster.placed.clone(),
            changes: roster.changes.clone(),
        }
    }

    /// What somebody has yet to be told who has loaded `era` worlds. A world that it should have loaded by now, and whose
    /// tick nobody remembers, comes after its present tick `now`.
    pub(super) fn after(&self, era: u16, now: Tick) -> Vec<Announced> {
        let made = |change: &Announced| matches!(change, Announced::Load { era: its, .. } if *its <= era);
        let past = self.changes.iter().rposition(made).map_or(0, |last| last + 1);
        let missed = (era < self.era).then(|| Announced::Load {
            at: now.next(),
            era: self.era,
            world: self.world.clone(),
            map: self.map.clone(),
        });
        let built = Announced::Statics { at: now.next(), era: self.era, placed: self.placed.clone() };
        let built = (missed.is_some() && self.placed.revision > 0).then_some(built);
        missed.into_iter().chain(built).chain(self.changes[past..].iter().cloned()).collect()
    }

    /// The worlds that somebody may still need.
    pub(super) fn worlds(&self) -> impl Iterator<Item = &str> {
        let loads = self.changes.iter().filter_map(|change| match change {
            Announced::Load { world, .. } => Some(world.as_str()),
            Announced::Map(_) | Announced::Statics { .. } => None,
        });
        loads.chain([self.world.as_str()])
    }
}

/// A change as servers make it, with the world of its name; none while `world` has none.
pub(super) fn in_full(change: &Announced, world: impl FnOnce(&str) -> Option<Made>) -> Option<Result<Change, String>> {
    match change {
        Announced::Map(map) => Some(Ok(Change::Map((**map).clone()))),
        Announced::Statics { at, era, placed } => {
            Some(Ok(Change::Statics { at: *at, era: *era, placed: placed.clone() }))
        }
        Announced::Load { at, era, world: name, map } => {
            let load = |world| Change::Load { at: *at, era: *era, world, map: (**map).clone() };
            Some(world(name)?.map(load).map_err(|why| format!("the world `{name}` cannot be loaded: {why}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::Layout;

    fn upcoming() -> Upcoming {
        let first = PartitionMap::from_layout(&Layout::columns(2, 50.0)).unwrap();
        let moved = first.move_cut(0, 1.0, 1.0, Tick(50)).unwrap();
        let load = |at, era| Announced::Load { at: Tick(at), era, world: format!("w{era}"), map: first.clone().into() };
        let changes = vec![Announced::Map(moved.into()), load(90, 3), load(120, 4)];
        Upcoming { world: "w2".to_owned(), era: 2, map: first.into(), placed: Arc::default(), changes }
    }

    fn eras(changes: &[Announced]) -> Vec<Option<u16>> {
        let era = |change: &Announced| if let Announced::Load { era, .. } = change { Some(*era) } else { None };
        changes.iter().map(era).collect()
    }

    #[test]
    fn nobody_loads_a_world_twice_or_goes_by_a_partition_of_a_former_one() {
        let upcoming = upcoming();
        assert_eq!(eras(&upcoming.after(2, Tick(40))), [None, Some(3), Some(4)]);
        assert_eq!(eras(&upcoming.after(3, Tick(91))), [Some(4)]);
        assert_eq!(eras(&upcoming.after(4, Tick(121))), []);
        assert_eq!(upcoming.worlds().collect::<Vec<_>>(), ["w3", "w4", "w2"]);
    }

    #[test]
    fn a_world_that_was_missed_is_loaded_late() {
        let changes = upcoming().after(1, Tick(40));
        assert_eq!(eras(&changes), [Some(2), None, Some(3), Some(4)]);
        assert_eq!(changes[0].at(), Tick(41));
        let mut built = upcoming();
        Arc::make_mut(&mut built.placed).revision = 3;
        assert_eq!(
            eras(&built.after(1, Tick(40))),
            [Some(2), None, None, Some(3), Some(4)],
            "with what was put into it"
        );
        assert_eq!(eras(&built.after(2, Tick(40))), [None, Some(3), Some(4)], "who was there has it");
    }
}
