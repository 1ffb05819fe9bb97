//! Every rule of the control plane by its name.

mod changes;
mod desk;
mod encoding;
mod telling;

use desk::{Desk, ROUND_MS, config};
use nimbus_control::{
    Birth, Config, Coordinator, Departure, Fence, FromCoordinator, Incarnation, Input, Note, Order, OrderError, Output,
    Planted, Refusal, Role, Roster, RosterError, Standing, StoreProblem, ToCoordinator,
};
use nimbus_model::{RegionId, Tick};

fn told_rosters(desk: &Desk) -> Vec<u64> {
    let revision = |message: &FromCoordinator| match message {
        FromCoordinator::Roster(roster) | FromCoordinator::Welcome { roster, .. } => Some(roster.revision),
        _ => None,
    };
    desk.told.iter().filter_map(|(_, message)| revision(message)).collect()
}

fn fenced(desk: &Desk, process: Incarnation) -> Option<Fence> {
    desk.told.iter().rev().find_map(|(_, message)| match message {
        FromCoordinator::Fenced { process: who, why, .. } if *who == process => Some(*why),
        _ => None,
    })
}

// Rule 1: write before telling.

#[test]
fn nothing_is_told_before_the_store_has_it() {
    let mut desk = Desk::started(config(2, 2), 2);
    desk.mute = true;
    desk.told.clear();
    assert_eq!(desk.join("late", 9), None);
    assert!(matches!(desk.asked[..], [Output::Store { .. }]));
    assert_eq!(told_rosters(&desk), [0; 0]);
    desk.mute = false;
    let asked = desk.asked.remove(0);
    desk.serve_store(asked);
    assert!(desk.told.iter().any(|(_, message)| matches!(message, FromCoordinator::Welcome { token: 9, .. })));
    assert!(told_rosters(&desk).len() >= 3, "the others hear of it, too");
}

#[test]
fn a_planted_mistake_tells_too_early() {
    let mut desk = Desk::started(Config { planted: Some(Planted::TellBeforeStore), ..config(2, 2) }, 2);
    desk.run(100);
    desk.mute = true;
    desk.told.clear();
    desk.join("late", 9);
    assert_ne!(told_rosters(&desk), [0; 0]);
}

#[test]
fn a_write_that_nobody_answers_is_made_sure_of_and_happens_once() {
    for arrives in [false, true] {
        let mut desk = Desk::started(config(2, 2), 2);
        desk.mute = true;
        assert_eq!(desk.order(Order::Pace(500)), None);
        if arrives {
            let Output::Store { bytes, .. } = desk.asked.remove(0) else { panic!("it writes") };
            desk.store = Some(bytes);
        }
        desk.asked.clear();
        desk.run(1_100);
        assert!(matches!(desk.asked[..], [Output::Read { .. }]));
        desk.mute = false;
        let asked = desk.asked.remove(0);
        desk.serve_store(asked);
        assert_eq!(desk.answers[&1], Ok(()));
        assert_eq!(desk.roster().timeline.unwrap().paces().len(), 2, "arrives: {arrives}");
        assert!(desk.coordinator.leads());
    }
}

#[test]
fn a_coordinator_that_loses_a_swap_to_a_higher_term_steps_back() {
    let mut desk = Desk::started(config(2, 2), 2);
    let other = Roster { term: 2, leader: "c2".into(), revision: desk.roster().revision + 1, ..desk.roster() };
    desk.store = Some(other.encode());
    desk.told.clear();
    assert_eq!(desk.order(Order::Pace(500)), Some(Err(OrderError::LeadLost)));
    assert!(!desk.coordinator.leads());
    assert_eq!(told_rosters(&desk), [0; 0]);
    assert_eq!(desk.notes.last(), Some(&Note::SteppedBack { leader: Some("c2".into()) }));
    assert_eq!(desk.order(Order::Pace(500)), Some(Err(OrderError::NotLeading)));
    desk.beat(Incarnation(1));
    let leader = Some("c2".into());
    assert!(matches!(desk.told.last(), Some((_, FromCoordinator::NotLeading { leader: l })) if *l == leader));
}

#[test]
fn a_heartbeat_that_knows_a_newer_roster_unmasks_a_former_leader() {
    let mut desk = Desk::started(config(2, 2), 2);
    let other = Roster { term: 2, leader: "c2".into(), revision: desk.roster().revision + 1, ..desk.roster() };
    desk.store = Some(other.encode());
    desk.beat(Incarnation(1));
    assert!(!desk.coordinator.leads());
}

#[test]
fn a_store_that_is_not_ours_is_left_alone() {
    let fresh = |store: Option<Vec<u8>>| {
        let mut desk = Desk { store, ..Desk::new(config(2, 2)) };
        desk.give(Input::Lead);
        assert!(!desk.coordinator.leads());
        desk.notes.remove(0)
    };
    let problem = StoreProblem::Unreadable(RosterError::Version(9));
    assert_eq!(fresh(Some(vec![9, 9])), Note::StoreUnusable(problem));
    let roster = Roster { cluster: "other".into(), ..Desk::started(config(2, 2), 2).roster() };
    let problem = StoreProblem::OtherCluster("other".into());
    assert_eq!(fresh(Some(roster.encode())), Note::StoreUnusable(problem));

    let mut desk = Desk::started(config(2, 2), 2);
    desk.give(Input::Follow { leader: None });
    let known = desk.roster().revision;
    desk.store = None;
    desk.give(Input::Lead);
    assert!(!desk.coordinator.leads(), "numbers would be issued twice");
    assert!(desk.notes.contains(&Note::StoreUnusable(StoreProblem::WentBack { known, found: 0 })));
}

// Rule 2: the first placement.

#[test]
fn regions_are_placed_evenly_once_all_nodes_are_there() {
    let mut desk = Desk::new(config(6, 3));
    desk.give(Input::Lead);
    desk.join_as("door", 7, Role::Gateway);
    desk.join("a", 1);
    desk.join("b", 2);
    desk.run(200);
    assert!(desk.roster().regions.is_empty());
    desk.join("c", 3);
    desk.run(ROUND_MS);
    let servers: Vec<u16> = desk.table().iter().map(|row| row.0).collect();
    assert_eq!(servers, [2, 2, 3, 3, 4, 4]);
    let roster = desk.roster();
    for (id, region) in &roster.regions {
        let seat = region.backup.unwrap();
        assert_ne!(seat.process, region.server, "{id}");
        assert_eq!((region.epoch, region.birth, seat.life), (1, Birth::World, 1));
    }
    assert!((2..=4).all(|id| roster.load(Incarnation(id)) == (2, 2)));
    let mut numbers: Vec<u16> = roster.regions.values().map(|region| region.origin.0).collect();
    numbers.extend(roster.processes.keys().map(|id| id.0));
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=10).collect::<Vec<u16>>(), "no number twice");
}

#[test]
fn after_the_grace_time_one_node_is_enough_and_nothing_is_protected() {
    let mut desk = Desk::started(config(3, 4), 1);
    desk.run(4_900);
    assert!(desk.roster().regions.is_empty());
    desk.run(200);
    assert_eq!(desk.table(), [(1, 1, None); 3]);
    assert!(desk.roster().regions.values().all(|region| !region.protected));
    let start_us = desk.roster().timeline.unwrap().start_us();
    assert!((6_000_000..6_200_000).contains(&start_us), "{start_us}");
    desk.join("late", 5);
    desk.run(100);
    assert!(desk.table().iter().all(|row| row.2 == Some((5, 1))), "a second node keeps what the first serves");
    assert!(desk.roster().regions.values().all(|region| region.protected));
}

#[test]
fn with_nodes_to_spare_nobody_both_serves_and_keeps() {
    let desk = Desk::started(config(2, 5), 5);
    let servers: Vec<u16> = desk.table().iter().map(|row| row.0).collect();
    let keepers: Vec<u16> = desk.table().iter().map(|row| row.2.unwrap().0).collect();
    assert_eq!((servers, keepers), (vec![1, 2], vec![3, 4]));
}

// Rule 3: failure.

#[test]
fn a_silent_server_is_replaced_by_its_backup_in_the_next_epoch() {
    let mut desk = Desk::started(config(3, 3), 3);
    desk.run(200);
    let before = desk.roster();
    assert_eq!(desk.table(), [(1, 1, Some((2, 1))), (2, 1, Some((3, 1))), (3, 1, Some((1, 1)))]);
    desk.alive.remove(&Incarnation(1));
    desk.run(480);
    assert_eq!(desk.roster(), before, "not before its time");
    desk.run(60);
    assert_eq!(desk.table(), [(2, 2, Some((3, 2))), (2, 1, Some((3, 1))), (3, 1, Some((2, 2)))]);
    let after = desk.roster();
    let region = &after.regions[&RegionId(0)];
    assert_eq!(region.birth, Birth::Promoted { life: 1 });
    assert!(region.origin.0 > before.issued, "a new name for what it makes");
    assert_eq!(after.processes[&Incarnation(1)].standing, Standing::Gone(Departure::GivenUp));
    assert!(desk.notes.contains(&Note::Served { region: RegionId(0), epoch: 2, server: Incarnation(2) }));

    desk.beat(Incarnation(1));
    assert_eq!(fenced(&desk, Incarnation(1)), Some(Fence::GivenUp));
    desk.run(100);
    assert!(desk.roster().regions.values().all(|region| region.protected));
}

#[test]
fn an_unprotected_backup_is_not_promoted_and_the_server_may_come_back() {
    let mut desk = Desk { seeding: false, ..Desk::started(config(1, 2), 0) };
    desk.join("a", 1);
    desk.join("b", 2);
    desk.run(200);
    assert!(!desk.roster().regions[&RegionId(0)].protected);
    desk.alive.remove(&Incarnation(1));
    desk.run(5_000);
    assert_eq!(desk.table(), [(1, 1, Some((2, 1)))], "nobody else has it, so nothing is gained by giving it up");
    desk.alive.insert(Incarnation(1));
    desk.run(100);
    assert_eq!(fenced(&desk, Incarnation(1)), None);

    desk.alive.remove(&Incarnation(1));
    desk.run(10_100);
    let region = &desk.roster().regions[&RegionId(0)];
    let loss = region.lost.as_ref().unwrap();
    assert_eq!((loss.server.as_str(), loss.backup.as_deref()), ("a", Some("b")));
    assert!(desk.notes.contains(&Note::Lost { region: RegionId(0), server: "a".into() }));
    desk.beat(Incarnation(1));
    assert_eq!(fenced(&desk, Incarnation(1)), Some(Fence::GivenUp));
}

#[test]
fn a_lost_region_begins_anew_only_when_somebody_says_so() {
    let mut desk = Desk::started(config(2, 2), 2);
    desk.run(100);
    desk.alive.clear();
    desk.run(10_600);
    assert!(desk.roster().regions.values().all(|region| region.lost.is_some()));
    let c = desk.join("c", 3).unwrap();
    desk.run(2_000);
    assert!(desk.roster().regions.values().all(|region| region.lost.is_some()));
    let epoch = desk.roster().regions[&RegionId(1)].epoch;
    assert_eq!(desk.order(Order::Restart(RegionId(1))), Some(Ok(())));
    let region = desk.roster().regions[&RegionId(1)].clone();
    assert_eq!((region.server, region.epoch, region.lost), (c, epoch + 1, None));
    assert!(matches!(region.birth, Birth::Empty { after } if after > Tick(0)));
    assert_eq!(desk.order(Order::Restart(RegionId(1))), Some(Err(OrderError::NotLost(RegionId(1)))));
    assert_eq!(desk.order(Order::Restart(RegionId(9))), Some(Err(OrderError::NoRegion(RegionId(9)))));
}

#[test]
fn a_protected_backup_that_was_silent_too_takes_over_when_it_comes_back() {
    let mut desk = Desk::started(config(1, 2), 2);
    desk.run(100);
    desk.alive.clear();
    desk.run(3_000);
    assert_eq!(desk.table(), [(1, 1, Some((2, 1)))]);
    desk.alive.insert(Incarnation(2));
    desk.run(60);
    assert_eq!(desk.table(), [(2, 2, None)]);
}

#[test]
fn a_server_that_cannot_come_into_being_makes_its_region_lost() {
    let mut desk = Desk::started(config(3, 3), 3);
    desk.run(100);
    desk.seeding = false;
    desk.failing.insert(RegionId(0));
    desk.alive.remove(&Incarnation(1));
    desk.run(600);
    let region = &desk.roster().regions[&RegionId(0)];
    assert_eq!(region.epoch, 2);
    assert_eq!(region.lost.as_ref().unwrap().server, "n1");
}

#[test]
fn a_name_is_free_once_its_bearer_is_silent() {
    let mut desk = Desk::started(config(2, 2), 2);
    desk.run(100);
    assert_eq!(desk.join("n0", 77), None, "it is alive");
    let refused = FromCoordinator::Refused { token: 77, reason: Refusal::NameTaken("n0".into()) };
    assert_eq!(desk.told.last().unwrap().1, refused);
    assert_eq!(desk.join("n0", 0), Some(Incarnation(1)), "a repeated wish is no second process");
    desk.alive.remove(&Incarnation(1));
    desk.run(520);
    let again = desk.join("n0", 77).unwrap();
    assert!(again.0 > 4, "a number that nobody had: {again}");
    desk.run(100);
    assert_eq!(desk.join("n0", 0), None, "the former start of the process is fenced");
    assert_eq!(fenced(&desk, Incarnation(1)), Some(Fence::GivenUp));
}

#[test]
fn a_coordinator_that_was_away_does_not_accuse_others() {
    let mut desk = Desk::started(config(3, 3), 3);
    desk.run(200);
    let before = desk.roster();
    desk.now_ms += 60_000;
    desk.give(Input::Time);
    desk.run(100);
    assert_eq!(desk.roster(), before);
}

#[test]
fn gateways_get_nothing_to_serve_and_are_given_up_later() {
    let mut desk = Desk::started(config(2, 1), 0);
    let door = desk.join_as("door", 7, Role::Gateway).unwrap();
    desk.join("n", 1);
    desk.join("m", 2);
    desk.run(200);
    assert_eq!(desk.roster().duties(door), nimbus_control::Duties::default());
    desk.alive.remove(&door);
    desk.run(9_000);
    assert!(desk.roster().member(door).is_some(), "nobody waits for its place");
    desk.run(1_200);
    assert!(desk.roster().member(door).is_none());
}

#[test]
fn numbers_run_out_for_processes_before_they_do_for_those_who_take_over() {
    let mut former = Desk::started(config(2, 2), 2);
    former.run(200);
    let exhausted = |issued: u16| {
        let store = Some(Roster { issued, ..former.roster() }.encode());
        let mut desk = Desk { store, alive: former.alive.clone(), ..Desk::new(config(2, 2)) };
        desk.give(Input::Lead);
        desk.run(100);
        desk
    };
    let mut desk = exhausted(u16::MAX - 8192 - 1);
    assert!(desk.join("a", 11).is_some());
    assert_eq!(desk.join("b", 12), None);
    let refused = FromCoordinator::Refused { token: 12, reason: Refusal::Exhausted };
    assert!(desk.told.iter().any(|(_, message)| *message == refused));
    desk.alive.remove(&Incarnation(1));
    desk.run(600);
    assert_eq!(desk.table()[0].1, 2, "taking over still works");

    let mut desk = exhausted(u16::MAX);
    desk.alive.remove(&Incarnation(1));
    desk.run(1_000);
    assert!(desk.notes.contains(&Note::Exhausted));
    let region = desk.roster().regions[&RegionId(0)].clone();
    assert_eq!((region.server, region.epoch, region.lost), (Incarnation(1), 1, None), "it may still come back");
    assert_eq!(desk.join("a", 11), None);
}

#[test]
fn former_members_are_forgotten_in_time() {
    let mut desk = Desk::started(config(1, 2), 2);
    desk.run(100);
    for i in 0..100 {
        let name = format!("guest{}", i % 3);
        let guest = desk.join_as(&name, 100 + i, Role::Gateway).unwrap();
        desk.say(5, ToCoordinator::Drain(guest));
        desk.alive.remove(&guest);
    }
    assert_eq!(desk.roster().processes.len(), 2 + 64);
    assert_eq!(desk.roster().members().count(), 2);
}

#[test]
fn what_members_report_can_be_seen() {
    let mut desk = Desk::started(config(3, 3), 3);
    desk.run(200);
    let reports: Vec<_> = desk.coordinator.reports().map(|(process, report)| (process.0, report.region.0)).collect();
    assert_eq!(reports, [(1, 0), (2, 1), (3, 2)]);
}

// Rule 4: restart and takeover.

#[test]
fn a_new_leader_takes_the_next_term_and_gives_everybody_time() {
    let mut desk = Desk::started(config(3, 3), 3);
    desk.run(200);
    let before = desk.roster();
    let mut next = Desk { store: desk.store.clone(), now_ms: 5_000, ..Desk::new(Config { token: 2, ..config(3, 3) }) };
    next.give(Input::Lead);
    assert!(next.coordinator.leads());
    let after = next.roster();
    assert_eq!((after.term, after.revision, after.leader_token), (before.term + 1, before.revision + 1, 2));
    assert_eq!(after.regions, before.regions);
    next.run(480);
    assert_eq!(next.roster(), after, "they have not found the new leader yet");
    next.alive = [2, 3].map(Incarnation).into();
    next.run(40);
    assert_eq!(next.table()[0], (2, 2, Some((3, 2))), "the one that never came is given up");
    assert_eq!(next.table()[1].1, 1);
}

#[test]
fn two_claims_at_once_leave_one_leader() {
    let mut desk = Desk::started(config(2, 2), 2);
    let stored = desk.roster();
    let mut other = Coordinator::new(Config { name: "c2".into(), token: 2, ..config(2, 2) }).unwrap();
    let mut out = Vec::new();
    other.handle(Input::Lead, 0, &mut out);
    other.handle(Input::Contents { request: 1, bytes: Some(stored.encode()) }, 0, &mut out);
    desk.join("late", 9);
    let landed = desk.roster();
    other.handle(Input::Conflict { request: 2, bytes: Some(landed.encode()) }, 0, &mut out);
    let Some(Output::Store { request: 3, expect_revision, bytes }) = out.last() else { panic!("{out:?}") };
    let claim = Roster::decode(bytes).unwrap();
    assert_eq!((*expect_revision, claim.term), (landed.revision, landed.term + 1));
    assert!(claim.member_named("late").is_some(), "what the former leader still wrote is kept");
    assert!(!other.leads());
    desk.store = Some(bytes.clone());
    other.handle(Input::Stored { request: 3 }, 0, &mut out);
    desk.order(Order::Pace(500));
    assert!(other.leads() && !desk.coordinator.leads());
}

#[test]
fn whoever_takes_over_goes_on_with_the_calendar_it_is_given() {
    let mut desk = Desk::started(config(2, 2), 2);
    desk.run(2_000);
    let tick = desk.tick();
    // By the calendar of whoever led before, ten seconds more have passed.
    desk.coordinator.set_unix_us_at_zero(10_000_000);
    assert_eq!(desk.order(Order::Pace(250)), Some(Ok(())));
    assert_eq!(desk.roster().timeline.unwrap().paces()[1].from, tick + 600 + 13);
}

// Rules 5 and 6: draining, moving, settling.

#[test]
fn a_draining_process_gives_everything_away_one_by_one_and_leaves() {
    let mut desk = Desk::started(config(6, 3), 3);
    desk.run(2_000);
    desk.say(1001, ToCoordinator::Drain(Incarnation(1)));
    let mut moving_most = 0;
    let mut stops = 0;
    for _ in 0..400 {
        desk.run(ROUND_MS);
        let roster = desk.roster();
        moving_most = moving_most.max(roster.regions.values().filter(|region| region.moving.is_some()).count());
        stops += roster.regions.values().filter(|r| r.moving.is_some_and(|m| m.stop_after.is_some())).count();
        let unprotected = roster.regions.values().filter(|region| !region.protected).count();
        assert!(unprotected <= 1, "{unprotected} regions at once are without a backup");
    }
    assert_eq!(moving_most, 1);
    assert!(stops > 20, "servers are told to stop ahead of time");
    let roster = desk.roster();
    assert_eq!(roster.processes[&Incarnation(1)].standing, Standing::Gone(Departure::Left));
    assert!(roster.regions.values().all(|region| region.server != Incarnation(1) && region.protected));
    assert_eq!(roster.regions.values().filter(|region| region.epoch == 2).count(), 2);
    assert_eq!(fenced(&desk, Incarnation(1)), Some(Fence::Left));
}

#[test]
fn the_last_node_cannot_drain_until_another_comes() {
    let mut desk = Desk::started(config(2, 1), 1);
    desk.order(Order::Drain("n0".into()));
    desk.run(3_000);
    assert_eq!(desk.table(), [(1, 1, None); 2]);
    desk.join("b", 5);
    desk.run(5_000);
    assert_eq!(desk.table().iter().map(|row| (row.1, row.2)).collect::<Vec<_>>(), [(2, None); 2]);
    assert_eq!(desk.roster().processes[&Incarnation(1)].standing, Standing::Gone(Departure::Left));
}

#[test]
fn a_process_that_drains_may_be_told_to_stay() {
    let mut desk = Desk::started(config(2, 2), 2);
    desk.run(1_500);
    for name in ["n0", "n1"] {
        assert_eq!(desk.order(Order::Drain(name.into())), Some(Ok(())));
    }
    desk.run(5_000);
    assert_eq!(desk.roster().members().count(), 2, "nobody is left to take what they have");
    assert_eq!(desk.order(Order::Stay("n1".into())), Some(Ok(())));
    assert_eq!(desk.order(Order::Stay("nx".into())), Some(Err(OrderError::NoProcess("nx".into()))));
    desk.run(5_000);
    assert_eq!(desk.roster().members().map(|(id, _)| id).collect::<Vec<_>>(), [Incarnation(2)]);
    assert!(desk.roster().held().all(|(_, region)| region.server == Incarnation(2)));
}

#[test]
fn a_move_whose_server_does_not_stop_is_called_off() {
    let mut desk = Desk { obedient: false, ..Desk::started(config(2, 2), 2) };
    desk.run(1_500);
    assert_eq!(desk.order(Order::Move { region: RegionId(0), to: "n1".into() }), Some(Ok(())));
    desk.run(2_000);
    assert!(desk.roster().regions[&RegionId(0)].moving.is_some());
    desk.run(1_000);
    assert_eq!(desk.table()[0], (1, 1, Some((2, 1))));
    assert_eq!(desk.roster().regions[&RegionId(0)].moving, None);
}

/// Whoever was to serve next dies, and before that is noticed somebody else leads, who gives everybody time to be heard.
/// Found by `nimbus universe --control` with seed 26.
#[test]
fn nobody_is_promoted_whom_a_new_leader_has_not_heard() {
    let mut desk = Desk::started(Config { suspect_ms: 4_000, ..config(1, 3) }, 3);
    desk.run(1_500);
    desk.order(Order::Move { region: RegionId(0), to: "n1".into() });
    desk.run(2 * ROUND_MS);
    assert!(desk.roster().regions[&RegionId(0)].moving.unwrap().stop_after.is_some());
    desk.alive.remove(&Incarnation(2));
    for obedient in [false, true] {
        desk.obedient = obedient;
        desk.give(Input::Follow { leader: None });
        desk.give(Input::Lead);
        desk.run(3_000);
        let region = desk.roster().regions[&RegionId(0)].clone();
        assert_eq!((region.server, region.epoch), (Incarnation(1), 1), "{obedient}");
    }
}

#[test]
fn no_region_is_moved_twice_within_the_settling_time_except_for_a_death() {
    let mut desk = Desk::started(config(1, 3), 3);
    desk.run(1_500);
    desk.order(Order::Move { region: RegionId(0), to: "n1".into() });
    desk.run(2_000);
    assert_eq!(desk.table(), [(2, 2, Some((1, 2)))]);
    let again = Order::Move { region: RegionId(0), to: "n2".into() };
    assert_eq!(desk.order(again.clone()), Some(Err(OrderError::Settling(RegionId(0)))));
    desk.alive.remove(&Incarnation(2));
    desk.run(600);
    assert_eq!(desk.table()[0].1, 3, "a death does not wait");
    desk.run(10_000);
    assert_eq!(desk.order(again), Some(Ok(())));
    desk.run(2_000);
    assert_eq!(desk.table()[0].1, 4);
}

#[test]
fn a_move_whose_target_dies_is_taken_back() {
    let mut desk = Desk::started(config(1, 3), 3);
    desk.run(1_500);
    desk.order(Order::Move { region: RegionId(0), to: "n2".into() });
    desk.run(2 * ROUND_MS);
    assert!(desk.roster().regions[&RegionId(0)].moving.unwrap().stop_after.is_some());
    desk.alive.remove(&Incarnation(3));
    desk.obedient = false;
    desk.run(600);
    let region = desk.roster().regions[&RegionId(0)].clone();
    assert_eq!((region.server, region.epoch, region.moving), (Incarnation(1), 1, None));
}

#[test]
fn a_server_that_died_a_moment_ago_keeps_its_backup() {
    let mut desk = Desk::started(config(1, 3), 3);
    desk.run(1_500);
    desk.alive.remove(&Incarnation(1));
    assert_eq!(desk.order(Order::Move { region: RegionId(0), to: "n2".into() }), Some(Ok(())), "nobody misses it yet");
    desk.run(400);
    assert_eq!(desk.table()[0], (1, 1, Some((2, 1))));
    desk.run(200);
    assert_eq!(desk.table()[0], (2, 2, Some((3, 2))), "and so it is not lost");
    let mut desk = Desk::started(config(1, 3), 3);
    desk.run(1_500);
    desk.alive.remove(&Incarnation(1));
    assert_eq!(desk.order(Order::Drain("n1".into())), Some(Ok(())));
    desk.run(400);
    assert_eq!(desk.table()[0], (1, 1, Some((2, 1))), "the same when its backup wants to leave");
    desk.run(200);
    assert_eq!(desk.table()[0], (2, 2, Some((3, 2))));
}

// Messages.

#[test]
fn a_process_that_missed_the_roster_is_told_again() {
    let mut desk = Desk::started(config(2, 2), 2);
    desk.run(200);
    desk.told.clear();
    let roster = desk.roster();
    desk.run(500);
    assert_eq!(told_rosters(&desk), [0; 0], "nobody is told what he knows");
    let stale = nimbus_control::Heartbeat { process: Incarnation(2), revision: 1, tick: Tick(5), regions: vec![] };
    // What it once knew it knows; a newer roster it does not.
    desk.join("late", 9);
    desk.told.clear();
    for _ in 0..20 {
        desk.now_ms += 20;
        desk.say(5, ToCoordinator::Heartbeat(stale.clone()));
    }
    let told = told_rosters(&desk).len();
    assert!((3..=5).contains(&told), "{told}: every 100 ms");
    assert!(told_rosters(&desk).iter().all(|revision| *revision > roster.revision));
}
