//! The world in force and what is to come, as a roster has them, for a server or gateway that may have seen some of it.

use nimbus_control::{Change as Announced, Roster};
use nimbus_model::{Placed, Tick};
use nimbus_node::{Change, Node};
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

    /// What somebody has yet to be told who knows of this much: what is in force and it has missed, because it heard of it
    /// too late or took over from one that did, and what is to come. Where nobody remembers the tick, it is the next one
    /// after its present tick `now`.
    pub(super) fn after(&self, mut told: Told, now: Tick) -> Vec<Announced> {
        let known = told.era;
        let made = |change: &Announced| matches!(change, Announced::Load { era, .. } if *era <= known);
        let past = self.changes.iter().rposition(made).map_or(0, |last| last + 1);
        let changes = &self.changes[past..];
        // A change that is announced may be in force already, and must find the world that it is for.
        let at = changes.iter().map(|change| Tick(change.at().0.saturating_sub(1))).min();
        let at = at.map_or(now.next(), |at| at.min(now.next()));
        let (world, map, placed) = (self.world.clone(), self.map.clone(), self.placed.clone());
        let load = Announced::Load { at, era: self.era, world, map: map.clone() };
        let in_force = [load, Announced::Map(map), Announced::Statics { at, era: self.era, placed }];
        let in_force = in_force.into_iter().filter(|_| known <= self.era);
        in_force.chain(changes.iter().cloned()).filter(|change| told.hear(change)).collect()
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

/// The newest world, and the newest partition and statics of it, that somebody knows of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) era: u16,
    pub(super) epoch: u32,
    pub(super) revision: u32,
}

impl Told {
    /// All of a roster, what is to come included.
    pub(super) fn of(roster: &Roster) -> Told {
        let (era, placed) = roster.newest_placed();
        Told { era, epoch: roster.newest_map().epoch(), revision: placed.revision }
    }

    /// What a server goes by.
    pub(super) fn by(node: &Node) -> Told {
        Told { era: node.era(), epoch: node.map().epoch(), revision: node.world().placed.revision }
    }

    /// Knows of a change from now on. False when it did before, or when it is for another world.
    pub(super) fn hear(&mut self, change: &Announced) -> bool {
        let after = match change {
            Announced::Load { era, map, .. } if *era > self.era => Told { era: *era, epoch: map.epoch(), revision: 0 },
            Announced::Map(map) if map.epoch() > self.epoch => Told { epoch: map.epoch(), ..*self },
            Announced::Statics { era, placed, .. } if *era == self.era && placed.revision > self.revision => {
                Told { revision: placed.revision, ..*self }
            }
            Announced::Load { .. } | Announced::Map(_) | Announced::Statics { .. } => return false,
        };
        *self = after;
        true
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

    /// Of this era, and of what that began with.
    fn told(era: u16) -> Told {
        Told { era, epoch: 1, revision: 0 }
    }

    #[test]
    fn nobody_loads_a_world_twice_or_goes_by_a_partition_of_a_former_one() {
        let upcoming = upcoming();
        assert_eq!(eras(&upcoming.after(told(2), Tick(40))), [None, Some(3), Some(4)]);
        assert_eq!(eras(&upcoming.after(told(3), Tick(91))), [Some(4)]);
        assert_eq!(eras(&upcoming.after(told(4), Tick(121))), []);
        assert_eq!(upcoming.worlds().collect::<Vec<_>>(), ["w3", "w4", "w2"]);
    }

    #[test]
    fn a_world_that_was_missed_is_loaded_late() {
        let changes = upcoming().after(told(1), Tick(40));
        assert_eq!(eras(&changes), [Some(2), None, Some(3), Some(4)]);
        assert_eq!(changes[0].at(), Tick(41));
        let mut built = upcoming();
        Arc::make_mut(&mut built.placed).revision = 3;
        assert_eq!(
            eras(&built.after(told(1), Tick(40))),
            [Some(2), None, None, Some(3), Some(4)],
            "with what was put into it"
        );
        let there = Told { revision: 3, ..told(2) };
        assert_eq!(eras(&built.after(there, Tick(40))), [None, Some(3), Some(4)], "who was there has it");
    }

    #[test]
    fn a_world_that_was_missed_comes_before_what_was_announced_for_it_and_is_in_force() {
        let ticks: Vec<Tick> = upcoming().after(told(1), Tick(60)).iter().map(Announced::at).collect();
        assert_eq!(ticks, [49, 50, 90, 120].map(Tick));
    }

    /// A server heard of them after their tick, and died before its backup had made them.
    #[test]
    fn a_partition_and_statics_that_were_missed_are_told_although_nobody_announces_them_any_more() {
        let former = upcoming();
        let [Announced::Map(moved), ..] = &former.changes[..] else { panic!("a partition comes first") };
        let mut settled = Upcoming { map: moved.clone(), changes: Vec::new(), ..former.clone() };
        Arc::make_mut(&mut settled.placed).revision = 1;
        let missed = settled.after(told(2), Tick(60));
        let statics = Announced::Statics { at: Tick(61), era: 2, placed: settled.placed.clone() };
        assert_eq!(missed, [Announced::Map(moved.clone()), statics]);
        let there = Told { era: 2, epoch: moved.epoch(), revision: 1 };
        assert_eq!(settled.after(there, Tick(60)), [], "who was there has them");
        assert_eq!(settled.after(told(3), Tick(60)), [], "and they are nothing to the next world");
    }
}
