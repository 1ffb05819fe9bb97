//! Changes of the whole world, and of its clock.

use nimbus_control::{Change, Departure, Incarnation, Order, OrderError, Roster, Standing, ToCoordinator};
use nimbus_model::{Aabb, BodyDesc, Placed, Pose, RegionBox, RegionId, Shape, Tick, Vec3, World};
use std::sync::Arc;

use crate::desk::{Desk, config, genesis};

#[test]
fn regions_without_a_place_are_served_and_get_one_by_order() {
    let mut config = config(1, 3);
    config.genesis.spare = vec![RegionId(1), RegionId(4)];
    let mut desk = Desk::started(config, 3);
    desk.run(2_000);
    let roster = desk.roster();
    assert_eq!(roster.regions.keys().map(|id| id.0).collect::<Vec<_>>(), [0, 1, 4]);
    assert!(roster.regions.values().all(|region| region.protected), "they have backups like others");
    let effective = desk.tick() + 120;
    let split = |region| roster.map.split(0, (0, 0.0), RegionId(region), 1.0, effective).unwrap();
    let map = |map| Order::Map { era: 1, map: Arc::new(map) };
    assert_eq!(desk.order(map(split(7))), Some(Err(OrderError::OtherRegions)));
    assert_eq!(desk.order(map(split(4))), Some(Ok(())));
    desk.run(4_000);
    let roster = desk.roster();
    assert_eq!((roster.map.regions(), roster.changes.len()), (&[0, 4].map(RegionId)[..], 0));
    let merged = roster.map.merge(0, desk.tick() + 120).unwrap();
    assert_eq!(desk.order(map(merged)), Some(Ok(())));
    desk.run(4_000);
    let roster = desk.roster();
    assert_eq!((roster.map.regions(), roster.regions.len()), (&[RegionId(0)][..], 3));
    assert!(roster.regions.values().all(|region| region.lost.is_none() && region.epoch == 1));
}

/// Every world begins with partition 1, so that the next one of the old world looks like that of the new.
#[test]
fn a_partition_that_was_made_for_another_world_is_refused() {
    let mut desk = Desk::started(config(2, 2), 2);
    desk.run(2_000);
    let later = desk.tick() + 600;
    let moved = |roster: &Roster| roster.map.move_cut(0, 1.0, 1.0, later).unwrap();
    let order = |era, map| Order::Map { era, map: Arc::new(map) };
    let planned = order(1, moved(&desk.roster()));
    desk.mute = true;
    assert_eq!(desk.order(Order::Load { world: "domino".into(), map: genesis(2).map }), None, "it is on its way");
    assert_eq!(desk.order(planned), None);
    desk.mute = false;
    let asked = desk.asked.remove(0);
    desk.serve_store(asked);
    let refused = OrderError::Map("the partition was not made from the newest one".to_owned());
    assert_eq!((&desk.answers[&1], &desk.answers[&2]), (&Ok(()), &Err(refused)));
    assert_eq!(*desk.roster().newest_map(), genesis(2).map);
    desk.run(2_000);
    assert_eq!((desk.roster().era, desk.roster().changes.len()), (2, 0));
    assert_eq!(desk.order(order(2, moved(&desk.roster()))), Some(Ok(())), "and one for the new world is not");
}

#[test]
fn statics_are_announced_like_a_partition_and_go_with_a_load() {
    let mut desk = Desk::started(config(2, 2), 2);
    desk.run(2_000);
    let world = World::new("rain");
    let slab = || BodyDesc::fixed(Shape::cuboid(1.0, 1.0, 1.0));
    let more = |placed: &Placed| placed.with(&world, 1, slab(), Pose::IDENTITY).unwrap().0;
    let one = more(&Placed::default());
    assert_eq!(desk.order(Order::Statics(Arc::new(one.clone()))), Some(Ok(())));
    let stale = Some(Err(OrderError::Invalid("other statics were put in meanwhile; try again".to_owned())));
    assert_eq!(desk.order(Order::Statics(Arc::new(one.clone()))), stale, "not made from the newest");
    let mut broken = more(&one);
    broken.statics.reverse();
    assert!(matches!(desk.order(Order::Statics(Arc::new(broken))), Some(Err(OrderError::Invalid(_)))));
    assert_eq!(desk.order(Order::Statics(Arc::new(more(&one)))), Some(Ok(())));
    assert_eq!(desk.roster().placed, Arc::default(), "not before every server has it");
    desk.run(4_000);
    let roster = desk.roster();
    assert_eq!((roster.placed.revision, roster.placed.statics.len(), roster.changes.len()), (2, 2, 0));
    assert_eq!(Roster::decode(&roster.encode()), Ok(roster.clone()));

    let mut newest = (*roster.placed).clone();
    let outcomes: Vec<_> = (0..12)
        .map(|_| {
            newest = more(&newest);
            desk.order(Order::Statics(Arc::new(newest.clone())))
        })
        .collect();
    let taken = outcomes.iter().take_while(|outcome| **outcome == Some(Ok(()))).count();
    assert_eq!((taken, &outcomes[taken]), (8, &Some(Err(OrderError::TooManyChanges))));
    let order = Order::Load { world: "domino".into(), map: genesis(2).map };
    assert_eq!(desk.order(order), Some(Ok(())));
    assert_eq!(desk.roster().newest_placed(), (2, Arc::default()));
    desk.run(6_000);
    assert_eq!((desk.roster().era, desk.roster().placed.clone()), (2, Arc::default()));
}

#[test]
fn regions_are_drawn_anew_unless_somebody_would_be_lost() {
    let mut desk = Desk::started(config(3, 2), 2);
    desk.run(2_000);
    let slab = |region: u16, low: f32, high: f32| {
        let bounds = Aabb::new(Vec3::NEG_INFINITY.with_x(low), Vec3::INFINITY.with_x(high));
        RegionBox { region: RegionId(region), bounds }
    };
    let boxes = vec![slab(2, f32::NEG_INFINITY, -9.0), slab(1, -9.0, 9.0)];
    assert_eq!(desk.order(Order::Regions { boxes: boxes.clone(), rest: RegionId(0) }), Some(Ok(())));
    desk.run(4_000);
    let map = desk.roster().map.clone();
    assert_eq!([-50.0, 0.0, 50.0].map(|x| map.region_at(Vec3::X * x).0), [2, 1, 0]);
    let lost = desk.order(Order::Regions { boxes: boxes.clone(), rest: RegionId(1) });
    assert!(matches!(&lost, Some(Err(OrderError::Map(why))) if why.contains("no place any more")), "{lost:?}");
    let unserved = [vec![slab(9, 0.0, 5.0)], boxes].concat();
    assert_eq!(desk.order(Order::Regions { boxes: unserved, rest: RegionId(0) }), Some(Err(OrderError::OtherRegions)));
}

#[test]
fn changes_are_announced_ahead_and_stay_until_every_backup_is_beyond_them() {
    let mut desk = Desk::started(config(2, 2), 2);
    desk.run(2_000);
    let cut = desk.roster().map.cuts().next().unwrap();
    let order = Order::MoveCut { index: cut.index, at: cut.at + 1.0, width_min: 1.0 };
    assert_eq!(desk.order(order), Some(Ok(())));
    let order = Order::Load { world: "domino".into(), map: genesis(2).map };
    assert_eq!(desk.order(order), Some(Ok(())));
    let order = Order::Load { world: "domino".into(), map: genesis(3).map };
    assert_eq!(desk.order(order), Some(Err(OrderError::OtherRegions)));
    let roster = desk.roster();
    let at: Vec<Tick> = roster.changes.iter().map(Change::at).collect();
    assert!(at[0] >= desk.tick() + 59 && at[1] > at[0], "{at:?}");
    desk.seeding = false;
    desk.run(4_000);
    assert_eq!(desk.roster().changes.len(), 2, "a backup that is behind would have to be told");
    desk.seeding = true;
    desk.run(100);
    let roster = desk.roster();
    assert_eq!((roster.changes.len(), roster.world.as_str(), roster.era), (0, "domino", 2));
    assert_eq!(roster.map, genesis(2).map);
}

#[test]
fn the_pace_changes_at_a_named_tick() {
    let mut desk = Desk::started(config(2, 2), 2);
    desk.run(2_000);
    assert!(matches!(desk.order(Order::Pace(1)), Some(Err(OrderError::Invalid(_)))));
    let tick = desk.tick();
    assert_eq!(desk.order(Order::Pace(250)), Some(Ok(())));
    let timeline = desk.roster().timeline.unwrap();
    let pace = timeline.paces()[1];
    assert_eq!((pace.from, pace.permille), (tick + 13, 250), "a fifth of a second ahead");
    assert_eq!(timeline.due_us(pace.from + 60).unwrap() - timeline.due_us(pace.from).unwrap(), 4_000_000);
}

#[test]
fn the_world_stands_still_steps_and_goes_on() {
    let mut desk = Desk::started(config(2, 2), 2);
    desk.run(2_000);
    assert_eq!(desk.order(Order::Step(1)), Some(Err(OrderError::Running)));
    let tick = desk.tick();
    assert_eq!(desk.order(Order::Pause), Some(Ok(())));
    desk.run(3_000);
    let paused = desk.tick();
    assert_eq!(paused, tick + 13);
    assert_eq!(desk.order(Order::Pause), Some(Ok(())), "once is enough, and twice no mistake");
    assert_eq!(desk.order(Order::Step(3)), Some(Ok(())));
    desk.run(1_000);
    assert_eq!(desk.tick(), paused + 3);
    assert_eq!(desk.order(Order::Pace(500)), Some(Ok(())));
    desk.run(1_000);
    assert_eq!(desk.tick(), paused + 3, "another pace does not end a pause");
    assert_eq!(desk.order(Order::Resume), Some(Ok(())));
    desk.run(2_200);
    assert_eq!(desk.tick(), paused + 4 + 60, "two seconds at half the speed");
}

#[test]
fn a_world_is_loaded_while_time_stands_still_and_when_it_crawls() {
    let mut desk = Desk::started(config(2, 2), 2);
    desk.run(2_000);
    let load = || Order::Load { world: "domino".into(), map: genesis(2).map };
    desk.order(Order::Pause);
    desk.run(1_000);
    let paused = desk.tick();
    let cut = desk.roster().map.cuts().next().unwrap();
    desk.order(Order::MoveCut { index: cut.index, at: cut.at + 1.0, width_min: 1.0 });
    assert_eq!(desk.order(load()), Some(Ok(())));
    let [Change::Load { at, era: 2, .. }] = desk.roster().changes[..] else { panic!("{:?}", desk.roster().changes) };
    assert_eq!(at, paused + 1, "and the partition that was still to come is void");
    desk.run(1_500);
    assert_eq!(desk.tick(), at, "one step, and it stands still again");
    desk.order(Order::Pace(50));
    desk.order(Order::Resume);
    desk.run(2_000);
    assert_eq!((desk.roster().era, desk.roster().changes.len()), (2, 0));
    let tick = desk.tick();
    assert_eq!(desk.order(load()), Some(Ok(())));
    let at = desk.roster().changes[0].at();
    assert!(at > tick && at <= tick + 5, "a second is three ticks now: {at} after {tick}");
}

#[test]
fn a_change_stays_announced_until_every_server_has_heard_of_it() {
    let mut desk = Desk::started(config(2, 2), 2);
    desk.run(2_000);
    desk.deaf = true;
    assert_eq!(desk.order(Order::Load { world: "domino".into(), map: genesis(2).map }), Some(Ok(())));
    desk.run(4_000);
    assert_eq!(desk.roster().changes.len(), 1, "they are beyond its tick and did not make it");
    desk.deaf = false;
    desk.run(200);
    assert_eq!((desk.roster().changes.len(), desk.roster().era), (0, 2));
}

/// The backup has the change's own tick long before it has the one at which its server made it.
#[test]
fn a_change_that_was_made_late_stays_announced_until_the_backup_has_the_tick_at_which_it_was_made() {
    let mut desk = Desk::started(config(2, 2), 2);
    desk.run(2_000);
    desk.deaf = true;
    assert_eq!(desk.order(Order::Load { world: "domino".into(), map: genesis(2).map }), Some(Ok(())));
    let at = desk.roster().changes[0].at();
    desk.run(4_000);
    desk.kept_until = Some(desk.tick());
    assert!(desk.tick() > at + 60, "backups are far past its tick");
    desk.deaf = false;
    desk.run(400);
    assert!(desk.made.values().all(|(made, when)| made.era == 2 && *when > at + 60), "{:?}", desk.made);
    let roster = desk.roster();
    assert_eq!((roster.changes.len(), roster.era, roster.loaded_at), (1, 1, Tick(0)), "a successor would not have it");
    desk.kept_until = None;
    desk.run(200);
    let roster = desk.roster();
    assert_eq!((roster.changes.len(), roster.era, roster.loaded_at), (0, 2, at), "as of its own tick");
    assert_eq!(Roster::decode(&roster.encode()), Ok(roster));
}

#[test]
fn a_change_stays_announced_while_a_backup_is_given_what_was_before_it() {
    let mut desk = Desk { slow: true, ..Desk::started(config(2, 3), 2) };
    desk.join("n2", 2);
    desk.run(2_000);
    assert!(desk.roster().held().all(|(_, region)| !region.protected && region.backup.is_some()));
    assert_eq!(desk.order(Order::Load { world: "domino".into(), map: genesis(2).map }), Some(Ok(())));
    desk.run(4_000);
    assert_eq!(desk.roster().changes.len(), 1, "it may be promoted as soon as it has all of what was");
    desk.slow = false;
    desk.run(200);
    assert_eq!((desk.roster().changes.len(), desk.roster().era), (0, 2));
}

#[test]
fn a_process_may_leave_while_time_stands_still() {
    let mut desk = Desk::started(config(2, 2), 2);
    desk.run(2_000);
    desk.order(Order::Pause);
    desk.run(1_000);
    desk.say(1001, ToCoordinator::Drain(Incarnation(1)));
    desk.run(30_000);
    assert_eq!(desk.roster().processes[&Incarnation(1)].standing, Standing::Gone(Departure::Left));
    assert!(desk.roster().regions.values().all(|region| region.server == Incarnation(2)));
}
