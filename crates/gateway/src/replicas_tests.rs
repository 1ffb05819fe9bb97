//! Each rule of the replicas, one test each.

use super::*;
use nimbus_model::{Shape, Vec3};
use proptest::prelude::*;

const A: RegionId = RegionId(0);
const B: RegionId = RegionId(1);

fn voice(region: RegionId, tick: u64) -> Voice {
    Voice { region, epoch: 1, tick: Tick(tick) }
}

fn at(x: f32) -> Motion {
    Motion::new(Pose::at(Vec3::new(x, 0.0, 0.0)), Velocity::ZERO)
}

struct World {
    replicas: Replicas,
    counters: Counters,
}

impl World {
    fn new() -> World {
        World { replicas: Replicas::default(), counters: Counters::default() }
    }

    /// A world with body 1 at x = 0, owned by A at epoch 1 since tick 10, and known to clients.
    fn with_body() -> World {
        let mut world = World::new();
        world.hosted(voice(A, 10), 1, 1, 0.0);
        world.end_tick();
        world
    }

    fn hosted(&mut self, voice: Voice, nid: u64, epoch: u32, x: f32) {
        let desc = Arc::new(BodyDesc::dynamic(Shape::ball(0.5)));
        self.replicas.hosted(voice, (Nid(nid), epoch), &desc, &at(x), &mut self.counters);
    }

    fn rested(&mut self, voice: Voice, nid: u64, epoch: u32, x: f32) {
        self.replicas.rested(voice, Nid(nid), epoch, &at(x), &mut self.counters);
    }

    fn died(&mut self, nid: u64, epoch: u32) {
        self.replicas.died(Tick(10), Nid(nid), epoch, &mut self.counters);
    }

    fn state(&mut self, voice: Voice, nid: u64, epoch: u32, x: f32) {
        self.replicas.settle();
        let (pose, velocity) = (at(x).pose, Velocity::ZERO);
        let update = StateUpdate { nid: Nid(nid), body_epoch: epoch, pose, velocity };
        self.replicas.states(voice, &[update], &mut self.counters);
    }

    fn end_tick(&mut self) {
        self.replicas.settle();
        self.replicas.end_tick(Tick(10));
    }

    fn x(&self, nid: u64) -> f32 {
        self.replicas.of(Nid(nid)).expect("the body is known").pose.position.x
    }

    fn owner(&self, nid: u64) -> RegionId {
        self.replicas.of(Nid(nid)).expect("the body is known").region
    }
}

#[test]
fn within_a_reign_the_later_tick_wins() {
    let mut world = World::with_body();
    world.state(voice(A, 12), 1, 1, 2.0);
    assert_eq!(world.x(1), 2.0);
    world.state(voice(A, 11), 1, 1, 1.0);
    world.state(voice(A, 12), 1, 1, 3.0);
    assert_eq!(world.x(1), 2.0);
    assert_eq!(world.counters.states_stale, 2);
    assert_eq!(world.replicas.changes().moved.len(), 1, "a body that moved twice is told of once");
}

#[test]
fn a_later_life_of_a_region_beats_a_later_tick() {
    let mut world = World::with_body();
    world.state(voice(A, 20), 1, 1, 2.0);
    world.state(Voice { epoch: 2, ..voice(A, 15) }, 1, 1, 3.0);
    assert_eq!(world.x(1), 3.0);
    world.state(voice(A, 21), 1, 1, 4.0);
    assert_eq!(world.x(1), 3.0);
}

#[test]
fn a_hand_over_keeps_the_slot_and_beats_a_later_tick() {
    let mut world = World::with_body();
    world.hosted(voice(A, 10), 2, 1, 0.0);
    world.end_tick();
    let slot = world.replicas.of(Nid(1)).unwrap().slot;
    world.state(voice(A, 30), 1, 1, 1.0);
    world.hosted(voice(B, 12), 1, 2, 2.0);
    assert_eq!((world.owner(1), world.x(1)), (B, 2.0));
    assert_eq!(world.replicas.of(Nid(1)).unwrap().slot, slot);
    assert_eq!(world.replicas.changes().owners, [slot]);
    assert!(world.replicas.changes().created.is_empty());
    world.state(voice(A, 31), 1, 1, 9.0);
    assert_eq!((world.owner(1), world.x(1)), (B, 2.0), "the former owner is not believed");
    assert_eq!(world.counters.hand_overs, 1);
}

#[test]
fn a_late_arrival_of_a_former_reign_changes_nothing() {
    let mut world = World::with_body();
    world.hosted(voice(B, 12), 1, 3, 2.0);
    world.hosted(voice(A, 40), 1, 2, 7.0);
    assert_eq!((world.owner(1), world.x(1)), (B, 2.0));
    assert_eq!(world.counters.items_stale, 1);
}

#[test]
fn a_state_of_a_new_owner_may_overtake_its_arrival() {
    let mut world = World::with_body();
    world.state(voice(B, 13), 1, 2, 3.0);
    assert_eq!((world.owner(1), world.x(1)), (B, 3.0));
    world.hosted(voice(B, 12), 1, 2, 2.0);
    assert_eq!((world.owner(1), world.x(1)), (B, 3.0));
    assert_eq!(world.counters.hand_overs, 1);
}

#[test]
fn two_regions_cannot_share_a_reign() {
    let mut world = World::with_body();
    world.state(voice(B, 20), 1, 1, 5.0);
    world.rested(voice(B, 21), 1, 1, 6.0);
    assert_eq!((world.owner(1), world.x(1)), (A, 0.0));
    assert_eq!((world.counters.states_foreign, world.counters.items_stale), (1, 1));
}

#[test]
fn rest_is_exact_and_ends_with_the_next_state() {
    let mut world = World::with_body();
    world.state(voice(A, 12), 1, 1, 2.0);
    world.rested(voice(A, 12), 1, 1, 2.5);
    assert!(world.replicas.of(Nid(1)).unwrap().sleeping);
    assert_eq!(world.x(1), 2.5, "at an equal stamp the lane counts");
    world.rested(voice(A, 11), 1, 1, 9.0);
    assert_eq!(world.x(1), 2.5);
    world.state(voice(A, 13), 1, 1, 3.0);
    assert!(!world.replicas.of(Nid(1)).unwrap().sleeping);
}

#[test]
fn the_dead_stay_dead() {
    let mut world = World::with_body();
    world.died(1, 2);
    assert!(world.replicas.of(Nid(1)).is_none());
    world.hosted(voice(B, 50), 1, 2, 1.0);
    world.hosted(voice(B, 50), 1, 1, 1.0);
    world.state(voice(A, 50), 1, 1, 1.0);
    world.end_tick();
    assert!(world.replicas.of(Nid(1)).is_none());
    assert_eq!(world.replicas.len(), 0);
    assert_eq!((world.counters.items_stale, world.counters.states_unknown), (2, 1));
}

#[test]
fn a_death_may_come_before_the_birth_it_ends() {
    let mut world = World::new();
    world.died(1, 3);
    world.hosted(voice(A, 10), 1, 1, 0.0);
    assert!(world.replicas.of(Nid(1)).is_none());
    world.hosted(voice(A, 10), 2, 1, 0.0);
    assert!(world.replicas.of(Nid(2)).is_some(), "another body is not touched");
}

#[test]
fn a_death_of_a_former_reign_is_not_believed() {
    let mut world = World::with_body();
    world.hosted(voice(B, 12), 1, 5, 2.0);
    world.died(1, 4);
    assert_eq!(world.owner(1), B);
}

#[test]
fn graves_are_bounded() {
    let mut world = World::new();
    for nid in 0..GRAVES_MAX as u64 + 10 {
        world.died(nid, 1);
    }
    world.end_tick();
    assert_eq!((world.replicas.graves.len(), world.replicas.grave_ages.len()), (GRAVES_MAX, GRAVES_MAX));
    assert!(!world.replicas.graves.contains_key(&Nid(0)), "the oldest goes first");
    world.replicas.end_tick(Tick(10 + GRAVE_TICKS + 1));
    assert!(world.replicas.graves.is_empty());
}

#[test]
fn unknown_bodies_do_not_appear_by_state() {
    let mut world = World::with_body();
    world.state(voice(A, 12), 2, 1, 1.0);
    assert_eq!((world.replicas.len(), world.counters.states_unknown), (1, 1));
}

#[test]
fn slots_are_used_again_lowest_first_but_not_within_a_tick() {
    let mut world = World::new();
    for nid in 1..=4 {
        world.hosted(voice(A, 10), nid, 1, 0.0);
    }
    world.end_tick();
    world.died(3, 2);
    world.died(1, 2);
    world.hosted(voice(A, 11), 5, 1, 0.0);
    assert_eq!(world.replicas.of(Nid(5)).unwrap().slot, 4);
    world.end_tick();
    world.hosted(voice(A, 12), 6, 1, 0.0);
    world.hosted(voice(A, 12), 7, 1, 0.0);
    let slot = |nid| world.replicas.of(Nid(nid)).unwrap().slot;
    assert_eq!((slot(6), slot(7)), (0, 2));
}

#[test]
fn a_body_that_lives_less_than_a_tick_is_never_told_of() {
    let mut world = World::new();
    world.hosted(voice(A, 10), 1, 1, 0.0);
    world.died(1, 2);
    assert!(world.replicas.changes().destroyed.is_empty());
    assert!(world.replicas.changes().created.iter().all(|slot| world.replicas.get(*slot).is_none()));
    world.end_tick();
    assert_eq!(world.replicas.len(), 0);
}

#[test]
fn motion_that_is_no_number_is_dropped() {
    let mut world = World::with_body();
    world.hosted(voice(A, 11), 2, 1, f32::NAN);
    world.rested(voice(A, 11), 1, 1, f32::INFINITY);
    assert_eq!((world.replicas.len(), world.counters.items_bad, world.x(1)), (1, 2, 0.0));
}

proptest! {
    /// The joined index finds exactly what a plain search finds, whatever is asked in whatever order.
    #[test]
    fn states_reach_every_body_in_any_order(
        known in prop::collection::btree_set(0u64..500, 0..200),
        late in prop::collection::btree_set(0u64..500, 0..50),
        dead in prop::collection::btree_set(0u64..500, 0..50),
        asked in prop::collection::vec(0u64..500, 0..300),
        sorted in any::<bool>(),
    ) {
        let mut world = World::new();
        for nid in &known {
            world.hosted(voice(A, 1), *nid, 1, 0.0);
        }
        world.end_tick();
        for nid in &dead {
            world.died(*nid, 2);
        }
        for nid in &late {
            world.hosted(voice(A, 1), *nid, 3, 0.0);
        }
        world.replicas.settle();
        let expected = |nid: &u64| known.contains(nid) && !dead.contains(nid) || late.contains(nid);
        prop_assert!(world.replicas.index.is_sorted());
        let mut ids: Vec<u64> = (0..500).filter(expected).collect();
        prop_assert!(world.replicas.iter().map(|replica| replica.nid.0).eq(ids.drain(..)));

        let mut asked = asked;
        if sorted {
            asked.sort_unstable();
        }
        let update = |nid: &u64| StateUpdate {
            nid: Nid(*nid),
            body_epoch: 9,
            pose: at(*nid as f32 + 1.0).pose,
            velocity: Velocity::ZERO,
        };
        let updates: Vec<StateUpdate> = asked.iter().map(update).collect();
        world.replicas.states(voice(A, 5), &updates, &mut world.counters);
        for replica in world.replicas.iter() {
            let moved = replica.pose.position.x == replica.nid.0 as f32 + 1.0;
            prop_assert_eq!(moved, asked.contains(&replica.nid.0));
        }
        let unknown = asked.iter().filter(|nid| !expected(nid)).count();
        prop_assert_eq!(world.counters.states_unknown, unknown as u64);
    }
}
