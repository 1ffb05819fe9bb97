//! Who has yet to be told which change of the whole world.

use nimbus_control::{Change, Roster, Told};
use nimbus_model::Tick;
use std::sync::Arc;

use crate::desk::{Desk, config, genesis};

/// In its second world, with a partition and two worlds to come.
fn roster() -> Roster {
    let first = genesis(2).map;
    let moved = first.move_cut(0, 1.0, 1.0, Tick(50)).expect("there is room");
    let load = |at, era| Change::Load { at: Tick(at), era, world: format!("w{era}"), map: first.clone() };
    let changes = vec![Change::Map(moved.into()), load(90, 3), load(120, 4)];
    Roster { world: "w2".into(), era: 2, changes, ..Desk::started(config(2, 2), 2).roster() }
}

/// Who is in this era, and knows of nothing but what that began with.
fn told(era: u16) -> Told {
    Told { era, epoch: 1, revision: 0 }
}

fn eras(changes: &[Change]) -> Vec<Option<u16>> {
    let era = |change: &Change| if let Change::Load { era, .. } = change { Some(*era) } else { None };
    changes.iter().map(era).collect()
}

#[test]
fn nobody_loads_a_world_twice_or_goes_by_a_partition_of_a_former_one() {
    let roster = roster();
    assert_eq!(eras(&roster.yet_to_tell(told(2), Tick(40))), [None, Some(3), Some(4)]);
    assert_eq!(eras(&roster.yet_to_tell(told(3), Tick(91))), [Some(4)]);
    assert_eq!(eras(&roster.yet_to_tell(told(4), Tick(121))), []);
    assert_eq!(roster.yet_to_tell(Told::in_force(&roster), Tick(40)), roster.changes);
    assert_eq!(roster.yet_to_tell(Told::everything(&roster), Tick(40)), []);
    assert_eq!(roster.worlds().collect::<Vec<_>>(), ["w3", "w4", "w2"]);
}

#[test]
fn a_world_that_was_missed_is_loaded_late() {
    let mut roster = roster();
    let changes = roster.yet_to_tell(told(1), Tick(40));
    assert_eq!(eras(&changes), [Some(2), None, Some(3), Some(4)]);
    assert_eq!(changes[0].at(), Tick(41));
    Arc::make_mut(&mut roster.placed).revision = 3;
    let changes = roster.yet_to_tell(told(1), Tick(40));
    assert_eq!(eras(&changes), [Some(2), None, None, Some(3), Some(4)], "with what was put into it");
    let there = Told { revision: 3, ..told(2) };
    assert_eq!(eras(&roster.yet_to_tell(there, Tick(40))), [None, Some(3), Some(4)], "who was there has it");
}

#[test]
fn a_world_that_was_missed_comes_before_what_was_announced_for_it_and_is_in_force() {
    let ticks: Vec<Tick> = roster().yet_to_tell(told(1), Tick(60)).iter().map(Change::at).collect();
    assert_eq!(ticks, [49, 50, 90, 120].map(Tick));
}

/// A server heard of them after their tick, and died before its backup had made them.
#[test]
fn a_partition_and_statics_that_were_missed_are_told_although_nobody_announces_them_any_more() {
    let mut roster = roster();
    let Change::Map(moved) = roster.changes.remove(0) else { panic!("a partition comes first") };
    roster.changes.clear();
    roster.map = moved.clone();
    Arc::make_mut(&mut roster.placed).revision = 1;
    let statics = Change::Statics { at: Tick(61), era: 2, placed: roster.placed.clone() };
    assert_eq!(roster.yet_to_tell(told(2), Tick(60)), [Change::Map(moved.clone()), statics]);
    let there = Told { era: 2, epoch: moved.epoch(), revision: 1 };
    assert_eq!(roster.yet_to_tell(there, Tick(60)), [], "who was there has them");
    assert_eq!(roster.yet_to_tell(told(3), Tick(60)), [], "and they are nothing to the next world");
}
