//! Touches are told once: by whoever has the bodies, and when it is certain.

mod cluster;
mod pair;

use cluster::Cluster;
use nimbus_model::{BodyDesc, ClientId, Nid, Pose, RegionId, Shape, Tick, Vec3, Velocity, World};
use nimbus_node::{ContactKind, Node, NodeConfig, Planted, Policy};
use nimbus_wire::{Address, Command, CommandRef, Content, Frame, GatewayId, Item, LaneFrame, Order};
use pair::{LEFT, Pair, RIGHT, add_ball, empty_world};

use ContactKind::{Began, Ended};

/// What a server tells, without the wrapping.
fn told(node: &mut Node) -> Vec<(u64, Nid, Nid, ContactKind)> {
    let ticks = node.take_contacts();
    assert!(ticks.iter().all(|told| told.left_out == 0 && !told.contacts.is_empty()), "{ticks:?}");
    ticks.into_iter().flat_map(|told| told.contacts).map(|c| (c.tick.0, c.one, c.two, c.kind)).collect()
}

fn with_contacts(config: &mut NodeConfig) {
    config.contacts = true;
}

/// Two balls that touch, and a wall that the first one touches.
fn touching() -> (World, [Nid; 3]) {
    let mut world = empty_world();
    let one = add_ball(&mut world, -20.0, 0.0);
    let two = add_ball(&mut world, -19.0, 0.0);
    let wall = BodyDesc::fixed(Shape::cuboid(0.5, 1.0, 1.0));
    let wall = Nid::of_world(1, world.add(wall, Pose::at(Vec3::new(-21.0, 0.0, 0.0)), Velocity::ZERO));
    (world, [one, two, wall])
}

fn sorted(one: Nid, two: Nid) -> (Nid, Nid) {
    (one.min(two), one.max(two))
}

#[test]
fn nobody_who_does_not_ask_is_told() {
    let mut pair = Pair::new(touching().0, |_| {});
    pair.run(10);
    assert!(pair.nodes[LEFT].take_contacts().is_empty());
    assert_eq!(pair.nodes[LEFT].counters().contacts_began, 0);
    assert!(pair.nodes[LEFT].physics().last_report().contacts.is_empty());
}

#[test]
fn a_death_ends_what_touched() {
    let (world, [one, two, wall]) = touching();
    let mut pair = Pair::new(world, with_contacts);
    pair.run(5);
    let (a, b) = (sorted(one, two), sorted(one, wall));
    let both = std::collections::BTreeSet::from([a, b]);
    let begun = told(&mut pair.nodes[LEFT]);
    assert!(begun.iter().all(|(tick, .., kind)| (*tick, *kind) == (1, Began)), "{begun:?}");
    assert!(begun.iter().map(|(_, a, b, _)| (*a, *b)).eq(both.iter().copied()), "{begun:?}");

    let by = CommandRef { gateway: GatewayId(0), client: ClientId(7), sequence: 1 };
    let order = Item::Order(Order { by, hops: 0, command: Command::Despawn { nid: one } });
    let content = Content::Lane(LaneFrame { ack: 0, first: 1, items: vec![(pair.tick, order)] });
    let (from, to) = (Address::Gateway(GatewayId(0)), Address::Region(RegionId(0)));
    pair.nodes[LEFT].handle(Frame { from, to, era: 1, epoch: 1, tick: pair.tick, content });
    pair.run(5);
    let ended = told(&mut pair.nodes[LEFT]);
    assert!(ended.iter().all(|(tick, .., kind)| (*tick, *kind) == (6, Ended)), "{ended:?}");
    assert!(ended.iter().map(|(_, a, b, _)| (*a, *b)).eq(both.iter().copied()), "{ended:?}");
    let counters = pair.nodes[LEFT].counters();
    assert_eq!((counters.contacts_began, counters.contacts_ended, counters.contacts_left_out), (2, 2, 0));
}

#[test]
fn whoever_leaves_alone_ceases_to_touch_what_stays() {
    let (world, [one, two, _]) = touching();
    let mut pair = Pair::new(world, with_contacts);
    pair.run(5);
    told(&mut pair.nodes[LEFT]);
    pair.nodes[LEFT].force(&[two], RegionId(1));
    pair.run(2);
    let (a, b) = sorted(one, two);
    assert_eq!(told(&mut pair.nodes[LEFT]), [(6, a, b, Ended)]);
    // It lies far outside of its new owner's region, which gives it back.
    pair.run(10);
    assert_eq!(told(&mut pair.nodes[RIGHT]), []);
    let again = told(&mut pair.nodes[LEFT]);
    assert!(matches!(again[..], [(8.., one, two, Began)] if (one, two) == (a, b)), "{again:?}");
}

#[test]
fn a_cluster_takes_its_touches_along() {
    let moves = |planted| {
        let (world, [one, two, _]) = touching();
        let mut pair = Pair::new(world, |config| {
            config.contacts = true;
            config.policy = Policy::Aura;
            config.planted = planted;
        });
        pair.run(5);
        assert_eq!(told(&mut pair.nodes[LEFT]).len(), 2);
        pair.nodes[LEFT].force(&[two], RegionId(1));
        pair.run(4);
        assert_eq!((pair.hosts(one), pair.hosts(two)), ([false, true], [false, true]));
        [LEFT, RIGHT].map(|i| told(&mut pair.nodes[i]).len())
    };
    assert_eq!(moves(None), [0, 0]);
    assert_eq!(moves(Some(Planted::ForgottenTouches)), [0, 2], "the check can fail");
}

/// A ball that hits another one and bounces off.
fn collision() -> World {
    let mut world = empty_world();
    for (x, speed) in [(-20.0, 6.0), (-18.0, 0.0)] {
        let ball = BodyDesc { restitution: 1.0, ..pair::ball() };
        world.add(ball, Pose::at(Vec3::new(x, 0.0, 0.0)), Velocity::linear(Vec3::new(speed, 0.0, 0.0)));
    }
    world
}

fn is_kept(frame: &Frame) -> bool {
    matches!(frame.content, Content::Kept(_))
}

/// The ticks at which the collision begins and ends.
fn collision_ticks() -> [u64; 2] {
    let mut cluster = Cluster::of(collision(), with_contacts);
    cluster.run(40, |_| true);
    let seen = told(&mut cluster.pair.nodes[LEFT]);
    assert!(matches!(seen[..], [(_, _, _, Began), (_, _, _, Ended)]), "{seen:?}");
    [seen[0].0, seen[1].0]
}

#[test]
fn nothing_is_told_before_the_backup_has_it() {
    let [began, _] = collision_ticks();
    let mut cluster = Cluster::of(collision(), with_contacts);
    cluster.run(4, |_| true);
    cluster.run(30, |frame| !is_kept(frame));
    assert!(cluster.pair.tick > Tick(began + 2));
    assert_eq!(told(&mut cluster.pair.nodes[LEFT]), []);
    cluster.run(3, |_| true);
    let seen = told(&mut cluster.pair.nodes[LEFT]);
    assert!(seen.len() == 2 && seen[0].0 == began, "{seen:?}");
}

/// What a shell hears of the collision when the process dies after a tick and frames of the last ticks were lost.
/// `says` if it says to the successor how far it heard.
fn heard_over_a_crash(crash: u64, lost: impl Fn(u64, &Frame) -> bool, says: bool) -> Vec<ContactKind> {
    let mut cluster = Cluster::of(collision(), with_contacts);
    let (mut heard, mut kinds) = (Tick(0), Vec::new());
    for tick in 1..crash + 40 {
        cluster.tick(|frame| tick > crash || !lost(tick, frame));
        for told in cluster.pair.nodes[LEFT].take_contacts() {
            heard = told.tick;
            kinds.extend(told.contacts.iter().map(|contact| contact.kind));
        }
        if tick == crash {
            cluster.promote(LEFT, 2);
            if says {
                cluster.pair.nodes[LEFT].contacts_heard(heard);
            }
        }
    }
    kinds
}

#[test]
fn a_successor_tells_what_was_not_heard_and_nothing_twice() {
    let [began, ended] = collision_ticks();
    let is_records = |frame: &Frame| matches!(frame.content, Content::Records(_));
    let mut repeated = 0;
    for crash in began - 3..ended + 6 {
        for lost_ticks in 0..4 {
            // What the process wrote is lost, or the answers to it.
            let records = |tick, frame: &Frame| tick + lost_ticks > crash && is_records(frame);
            let answers = |tick, frame: &Frame| tick + lost_ticks > crash && is_kept(frame);
            assert_eq!(heard_over_a_crash(crash, records, true), [Began, Ended], "{crash}, {lost_ticks} written lost");
            assert_eq!(heard_over_a_crash(crash, answers, true), [Began, Ended], "{crash}, {lost_ticks} answers lost");
            repeated += u64::from(heard_over_a_crash(crash, records, false) != [Began, Ended]);
        }
    }
    assert!(repeated > 0, "a successor that is not told repeats what it cannot know to be heard");
}
