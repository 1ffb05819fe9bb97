//! Who has yet to be told which change of the whole world.

use nimbus_control::{Change, Roster, Told};
use nimbus_model::{Placed, Tick};
use std::sync::Arc;

use crate::desk::{Desk, config, genesis};

/// In its second world, with a partition and two worlds to come.
fn roster() -> Roster {
    let first = genesis(2).map;
    let moved = first.move_cut(0, 1.0, 1.0, Tick(50)).expect("there is room");
    let load = |at, era| Change::Load { at: Tick(at), era, world: format!("w{era}"), map: first.clone() };
    let changes = vec![Change::Map(moved.into()), load(90, 3), load(120, 4)];
    Roster { world: "w2".into(), era: 2, loaded_at: Tick(30), changes, ..Desk::started(config(2, 2), 2).roster() }
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
    assert_eq!(eras(&roster.yet_to_tell(told(2))), [None, Some(3), Some(4)]);
    assert_eq!(eras(&roster.yet_to_tell(told(3))), [Some(4)]);
    assert_eq!(eras(&roster.yet_to_tell(told(4))), []);
    assert_eq!(roster.yet_to_tell(Told::in_force(&roster)), roster.changes);
    assert_eq!(roster.yet_to_tell(Told::everything(&roster)), []);
    assert_eq!(roster.worlds().collect::<Vec<_>>(), ["w3", "w4", "w2"]);
}

#[test]
fn a_world_that_was_missed_is_loaded_as_of_its_own_tick() {
    let mut roster = roster();
    let changes = roster.yet_to_tell(told(1));
    assert_eq!(eras(&changes), [Some(2), None, Some(3), Some(4)]);
    assert_eq!(changes[0].at(), Tick(30), "whenever it is heard of");
    Arc::make_mut(&mut roster.placed).revision = 3;
    let changes = roster.yet_to_tell(told(1));
    assert_eq!(eras(&changes), [Some(2), None, None, Some(3), Some(4)], "with what was put into it");
    let there = Told { revision: 3, ..told(2) };
    assert_eq!(eras(&roster.yet_to_tell(there)), [None, Some(3), Some(4)], "who was there has it");
}

#[test]
fn a_world_that_was_missed_comes_before_what_was_announced_for_it_and_is_in_force() {
    let ticks: Vec<Tick> = roster().yet_to_tell(told(1)).iter().map(Change::at).collect();
    assert_eq!(ticks, [30, 50, 90, 120].map(Tick));
}

/// A gateway was cut off for long.
#[test]
fn a_partition_and_statics_that_were_missed_are_told_although_nobody_announces_them_any_more() {
    let mut roster = roster();
    let Change::Map(moved) = roster.changes.remove(0) else { panic!("a partition comes first") };
    roster.changes.clear();
    roster.map = moved.clone();
    Arc::make_mut(&mut roster.placed).revision = 1;
    let statics = Change::Statics { at: Tick(30), era: 2, placed: roster.placed.clone() };
    assert_eq!(roster.yet_to_tell(told(2)), [Change::Map(moved.clone()), statics]);
    let there = Told { era: 2, epoch: moved.epoch(), revision: 1 };
    assert_eq!(roster.yet_to_tell(there), [], "who was there has them");
    assert_eq!(roster.yet_to_tell(told(3)), [], "and they are nothing to the next world");
}

#[test]
fn a_change_is_made_by_who_goes_by_it_or_has_a_later_world() {
    let roster = roster();
    let (moved, load) = (&roster.changes[0], &roster.changes[1]);
    let epoch = moved.map().expect("it is a partition").epoch();
    let placed = Arc::new(Placed { revision: 2, ..Placed::default() });
    let statics = &Change::Statics { at: Tick(60), era: 2, placed };
    assert!(![moved, load, statics].iter().any(|change| told(2).includes(change, 2)));
    // The former world had more partitions and statics than this one has had so far.
    let former = Told { era: 1, epoch: epoch + 7, revision: 9 };
    assert!(![moved, load, statics].iter().any(|change| former.includes(change, 2)));
    assert!(Told { epoch, ..told(2) }.includes(moved, 2) && Told { revision: 2, ..told(2) }.includes(statics, 2));
    assert!([moved, load, statics].iter().all(|change| told(3).includes(change, 2)), "a later world begins anew");
}
