//! Game logic on servers: hooks are called once, what a game keeps goes with the bodies, and a replay plays the same.

mod cluster;
mod pair;

use cluster::Cluster;
use nimbus_model::{BodyDesc, ClientId, GAME_STATE_BYTES_MAX, Nid, RegionId, Shape, Vec3, Velocity, World};
use nimbus_node::{Checkpoint, Contact, Game, GameEvent, NewBody, Node, NodeConfig, Planted, Policy, Rules, Turn};
use nimbus_wire::{Address, Command, CommandRef, Content, Frame, GatewayId, Item, LaneFrame, Order, Outcome};
use pair::{LEFT, Pair, RIGHT, add_ball, empty_world};
use std::sync::Arc;

const GATEWAY: GatewayId = GatewayId(0);
const TOUCHED: u16 = 7;

/// Counts what happens to bodies, in the bodies; and does as it is told.
#[derive(Debug)]
struct Toy;

/// Ticks, touches and commands.
type Counts = (u64, u64, u64);

impl Game for Toy {
    fn minds(&self, desc: &BodyDesc) -> bool {
        desc.user_data == 0
    }

    fn on_tick(&self, turn: &mut Turn<'_>, body: Nid) {
        let (ticks, touches, commands): Counts = turn.load(body).unwrap_or_default();
        assert!(turn.store(body, &(ticks + 1, touches, commands)));
    }

    fn on_contact(&self, turn: &mut Turn<'_>, contact: Contact) {
        for nid in [contact.one, contact.two].into_iter().filter(|nid| turn.is_here(*nid)).collect::<Vec<_>>() {
            let (ticks, touches, commands): Counts = turn.load(nid).unwrap_or_default();
            assert!(turn.store(nid, &(ticks, touches + 1, commands)));
            assert!(turn.emit(nid, TOUCHED, touches as i64));
        }
    }

    fn on_command(&self, turn: &mut Turn<'_>, body: Nid, _: CommandRef, payload: &[u8]) -> Result<(), String> {
        let (ticks, touches, commands): Counts = turn.load(body).unwrap_or_default();
        turn.store(body, &(ticks, touches, commands + 1));
        match payload {
            b"count" => {}
            b"spawn" => {
                // As far to the other side of the boundary as the parent is to this one.
                let place = turn.body(body).map(|body| body.pose.position).unwrap_or_default();
                let ball = BodyDesc { user_data: 1, ..BodyDesc::dynamic(Shape::ball(0.5)) };
                let child = NewBody {
                    state: nimbus_model::GameState::new(*b"born").unwrap_or_default(),
                    ..NewBody::at(ball, -place)
                };
                let born = turn.spawn(body, child)?;
                turn.emit(born, 1, 0);
            }
            b"many" => {
                let ball = Arc::new(BodyDesc { user_data: 1, ..BodyDesc::dynamic(Shape::ball(0.1)) });
                let at = |i: usize| NewBody::at(ball.clone(), Vec3::new(-30.0, i as f32, 0.0));
                let made = (0..1_000).filter(|i| turn.spawn(body, at(*i)).is_ok()).count();
                assert!(made < 100, "{made}");
                assert!((0..1_000).filter(|_| turn.emit(body, 2, 0)).count() < 100);
                assert!(!turn.set_state(body, &[0; GAME_STATE_BYTES_MAX + 1]));
            }
            b"die" => {
                assert!(turn.despawn(body) && !turn.despawn(body) && !turn.push(body, Vec3::Y));
                assert!(turn.body(body).is_none());
            }
            b"push" => assert!(turn.push(body, Vec3::Y * 1_000.0)),
            b"jump" => assert!(turn.set_velocity(body, Velocity::linear(Vec3::Y * 2.0))),
            _ => return Err("what?".to_owned()),
        }
        Ok(())
    }
}

fn playing(config: &mut NodeConfig) {
    config.game = Some(Rules::new(Toy));
}

fn tell(pair: &mut Pair, node: usize, sequence: u64, nid: Nid, payload: &[u8]) {
    let by = CommandRef { gateway: GATEWAY, client: ClientId(node as u32), sequence };
    let command = Command::Game { nid, payload: payload.to_vec() };
    let items = vec![(pair.tick, Item::Order(Order { by, hops: 0, command }))];
    let content = Content::Lane(LaneFrame { ack: 0, first: sequence, items });
    let to = Address::Region(RegionId(node as u16));
    let frame = Frame { from: Address::Gateway(GATEWAY), to, era: 1, epoch: 1, tick: pair.tick, content };
    pair.nodes[node].handle(frame.clone());
    pair.nodes[node].handle(frame);
}

fn outcomes(pair: &Pair) -> Vec<Outcome> {
    let lanes = pair.to_gateway.iter().filter_map(|frame| match &frame.content {
        Content::Lane(lane) => Some(lane),
        _ => None,
    });
    let mut seen: Vec<(CommandRef, Outcome)> = Vec::new();
    for (_, item) in lanes.flat_map(|lane| &lane.items) {
        if let Item::Outcome(by, outcome) = item
            && !seen.iter().any(|(told, _)| told == by)
        {
            seen.push((*by, outcome.clone()));
        }
    }
    seen.into_iter().map(|(_, outcome)| outcome).collect()
}

fn counts(node: &Node, nid: Nid) -> Counts {
    nimbus_model::coding::read(node.game_state(nid)).unwrap_or_default()
}

fn events(node: &mut Node) -> Vec<GameEvent> {
    node.take_game_events().into_iter().flat_map(|told| told.events).collect()
}

/// Two balls that touch.
fn touching() -> (World, [Nid; 2]) {
    let mut world = empty_world();
    let one = add_ball(&mut world, -20.0, 0.0);
    let two = add_ball(&mut world, -19.0, 0.0);
    (world, [one, two])
}

#[test]
fn a_touch_that_goes_on_elsewhere_is_told_once_and_counts_go_along() {
    let moves = |planted| {
        let (world, [one, two]) = touching();
        let mut pair = Pair::new(world, |config| {
            playing(config);
            config.policy = Policy::Aura;
            config.planted = planted;
        });
        pair.run(5);
        assert_eq!(counts(&pair.nodes[LEFT], one), (5, 1, 0));
        pair.nodes[LEFT].force(&[two], RegionId(1));
        pair.run(4);
        assert_eq!((pair.hosts(one), pair.hosts(two)), ([false, true], [false, true]));
        let told = [LEFT, RIGHT].map(|i| events(&mut pair.nodes[i]).len());
        (counts(&pair.nodes[RIGHT], two), told)
    };
    let ((ticks, touches, _), told) = moves(None);
    assert!(ticks >= 8 && touches == 1 && told == [2, 0], "{ticks} ticks, {touches} touches, {told:?}");
    assert_eq!(moves(Some(Planted::ForgottenTouches)).1, [2, 2], "the check can fail");
    assert!(moves(Some(Planted::ForgottenKeepsakes)).0.0 < 5, "and so can this one");
}

#[test]
fn what_a_group_touches_on_its_way_is_told_where_it_arrives() {
    let mut world = empty_world();
    let nid = add_ball(&mut world, -3.0, 12.0);
    let wall = BodyDesc::fixed(Shape::cuboid(0.5, 2.0, 2.0));
    world.add(wall, nimbus_model::Pose::at(Vec3::X * 1.5), Velocity::ZERO);
    for held_back in 0..12 {
        let mut pair = Pair::new(world.clone(), |config| {
            playing(config);
            config.policy = Policy::Aura;
        });
        pair.nodes[LEFT].force(&[nid], RegionId(1));
        for tick in 0..60 {
            pair.tick_with(|frame| {
                let moves = matches!(&frame.content, Content::Lane(lane) if !lane.items.is_empty());
                usize::from(!moves || tick > held_back)
            });
        }
        let told: Vec<GameEvent> = pair.nodes.iter_mut().flat_map(events).collect();
        assert!(matches!(told[..], [GameEvent { nid: of, kind: TOUCHED, value: 0, .. }] if of == nid), "{told:?}");
    }
}

#[test]
fn a_command_follows_its_body_and_is_obeyed_once() {
    let mut world = empty_world();
    let nid = add_ball(&mut world, -1.0, 6.0);
    let mut pair = Pair::new(world, playing);
    pair.run(40);
    assert_eq!(pair.hosts(nid), [false, true]);
    tell(&mut pair, LEFT, 1, nid, b"count");
    pair.run(6);
    tell(&mut pair, RIGHT, 1, nid, b"nonsense");
    tell(&mut pair, LEFT, 2, Nid(99), b"count");
    pair.run(6);
    let mut said = outcomes(&pair);
    said.sort_by_key(|outcome| format!("{outcome:?}"));
    let refused = |why: &str| Outcome::Refused(why.to_owned());
    assert_eq!(said, [Outcome::Done(nid), refused("there is no body 0.99"), refused("what?")]);
    assert_eq!(counts(&pair.nodes[RIGHT], nid).2, 2, "what was done before a refusal stands");
    assert_eq!(pair.nodes[RIGHT].counters().orders_refused, 1);
}

#[test]
fn without_a_game_commands_to_it_are_refused_and_nothing_is_kept() {
    let mut world = empty_world();
    let nid = add_ball(&mut world, -20.0, 0.0);
    let mut pair = Pair::new(world, |_| {});
    tell(&mut pair, LEFT, 1, nid, b"count");
    pair.run(3);
    assert!(matches!(&outcomes(&pair)[..], [Outcome::Refused(why)] if why.contains("no game")));
    assert!(pair.nodes[LEFT].game_state(nid).is_empty() && pair.nodes[LEFT].take_game_events().is_empty());
}

#[test]
fn a_body_made_beyond_the_boundary_appears_there_once_under_the_same_name() {
    for (policy, x) in [(Policy::Exclusive, -20.0), (Policy::Aura, -20.0), (Policy::Aura, -2.0)] {
        let mut world = empty_world();
        let parent = add_ball(&mut world, x, 0.0);
        let mut pair = Pair::new(world, |config| {
            playing(config);
            config.policy = policy;
        });
        pair.run(2);
        tell(&mut pair, LEFT, 1, parent, b"spawn");
        pair.run(20);
        let child = Nid::of_game(1, parent, 0);
        assert_eq!(pair.hosts(child), [false, true], "{policy:?} {x}");
        assert_eq!(pair.nodes[RIGHT].game_state(child), b"born");
        tell(&mut pair, LEFT, 2, parent, b"die");
        pair.run(3);
        assert_eq!(pair.hosts(parent), [false, false]);
        assert!(pair.nodes[LEFT].game_state(parent).is_empty(), "nothing is kept of the dead");
    }
}

#[test]
fn a_game_that_asks_for_too_much_gets_some_of_it() {
    let mut world = empty_world();
    let nid = add_ball(&mut world, -20.0, 0.0);
    let mut pair = Pair::new(world, playing);
    tell(&mut pair, LEFT, 1, nid, b"many");
    pair.run(5);
    let node = &mut pair.nodes[LEFT];
    assert!((10..100).contains(&node.hosted_count()), "{}", node.hosted_count());
    assert!(node.counters().game_refused > 1_800);
    assert!((1..100).contains(&events(node).len()));
}

#[test]
fn pushes_wait_near_a_boundary_and_nowhere_else() {
    for (x, waits) in [(-40.0, false), (-1.0, true)] {
        for payload in [b"push", b"jump"] {
            let mut world = empty_world();
            let nid = add_ball(&mut world, x, 0.0);
            let mut pair = Pair::new(world, |config| {
                playing(config);
                config.policy = Policy::Aura;
            });
            pair.run(2);
            tell(&mut pair, LEFT, 1, nid, payload);
            let rises = |pair: &Pair| pair.nodes[LEFT].motion(nid).is_some_and(|motion| motion.velocity.linear.y > 0.5);
            pair.run(1);
            assert_eq!(rises(&pair), !waits, "{x}");
            pair.run(12);
            assert!(rises(&pair), "{x}");
        }
    }
}

#[test]
fn the_same_snapshot_log_and_rules_give_the_same_bits() {
    let (world, [one, _]) = touching();
    let mut pair = Pair::new(world, playing);
    pair.run(3);
    let snapshot = pair.nodes[LEFT].snapshot();
    pair.nodes[LEFT].take_log();
    tell(&mut pair, LEFT, 1, one, b"spawn");
    pair.run(20);
    let log = pair.nodes[LEFT].take_log();
    let again = |rules: Option<Rules>| {
        let mut again = Node::restore(&snapshot).unwrap();
        again.play(rules);
        log.iter().for_each(|entry| again.replay(entry));
        again.state_hash()
    };
    assert_eq!(again(Some(Rules::new(Toy))), pair.nodes[LEFT].state_hash());
    assert_ne!(again(None), pair.nodes[LEFT].state_hash(), "the game is part of what is compared");
}

#[test]
fn a_checkpoint_has_what_is_kept_and_what_is_to_appear() {
    let mut world = empty_world();
    let parent = add_ball(&mut world, -20.0, 0.0);
    let traveller = add_ball(&mut world, -1.0, 6.0);
    let mut pair = Pair::new(world, playing);
    pair.run(2);
    tell(&mut pair, LEFT, 1, parent, b"spawn");
    let child = Nid::of_game(1, parent, 0);
    for tick in 3..60 {
        pair.run(1);
        let parts: Vec<_> = pair.nodes.iter().map(|node| node.contribution(node.whole_draft()).into_part()).collect();
        let stored: Vec<_> =
            parts.iter().map(|part| nimbus_node::Part::decode(part.region, &part.encode()).unwrap()).collect();
        let regions = [RegionId(0), RegionId(1)];
        let whole = Checkpoint::assemble(pair.nodes[LEFT].world().clone(), &regions, &stored).unwrap();
        assert!(whole.nids().any(|nid| nid == child), "tick {tick}");
        assert_eq!(whole.game_state(child), b"born", "tick {tick}");
        assert!(!whole.game_state(traveller).is_empty(), "tick {tick}");
        let mut config = NodeConfig::new(RegionId(0));
        playing(&mut config);
        let map = nimbus_space::PartitionMap::from_layout(&nimbus_model::Layout::columns(1, 100.0)).unwrap();
        let resumed = Node::resume(config, &whole, map);
        assert_eq!(resumed.game_state(child), b"born");
        assert_eq!(resumed.hosted_count(), 3);
    }
    assert_eq!(pair.hosts(traveller), [false, true]);
}

#[test]
fn a_backup_that_takes_over_goes_on_with_the_game() {
    let mut world = empty_world();
    let nid = add_ball(&mut world, -1.0, 6.0);
    let mut cluster = Cluster::of(world, playing);
    cluster.run(30, |_| true);
    let copy = cluster.backups[LEFT].copy().unwrap();
    assert_eq!(copy.state_hash(), cluster.pair.nodes[LEFT].state_hash());
    assert!(counts(&copy, nid).0 > 5 || cluster.pair.hosts(nid) != [true, false]);
    let before: u64 = cluster.pair.nodes.iter().map(|node| counts(node, nid).0).sum();
    cluster.promote(LEFT, 2);
    cluster.promote(RIGHT, 3);
    cluster.run(40, |_| true);
    assert_eq!(cluster.pair.hosts(nid), [false, true]);
    assert!(counts(&cluster.pair.nodes[RIGHT], nid).0 > before + 10, "{before}");
}

#[test]
fn what_is_not_certain_is_not_told_and_what_was_undone_is_told_once() {
    let told = |planted| {
        let mut world = empty_world();
        add_ball(&mut world, -22.0, 6.0);
        add_ball(&mut world, -20.0, 0.0);
        let mut cluster = Cluster::of(world, |config| {
            playing(config);
            config.planted = planted;
        });
        cluster.run(4, |_| true);
        cluster.run(20, |frame| frame.to != Address::Backup(RegionId(0)));
        let early = events(&mut cluster.pair.nodes[LEFT]).len();
        cluster.promote(LEFT, 2);
        cluster.run(30, |_| true);
        (early, events(&mut cluster.pair.nodes[LEFT]).len())
    };
    assert_eq!(told(None), (0, 2), "two bodies that touch once");
    assert_eq!(told(Some(Planted::EagerEvents)), (2, 2), "the check can fail");
}
