//! A world that stops at one tick and goes on elsewhere, on another number of servers.

mod pair;

use nimbus_model::{BodyDesc, Layout, Nid, Pose, RegionId, Shape, Tick, Vec3, Velocity, World};
use nimbus_node::{Checkpoint, CheckpointError, Node, NodeConfig, Part, Policy};
use nimbus_space::PartitionMap;
use nimbus_wire::Content;
use std::collections::BTreeMap;

use pair::{LEFT, Pair, RIGHT, add_ball, empty_world};

/// Balls on both sides of the seam; some cross it every few ticks.
fn traffic() -> (Pair, Vec<Nid>) {
    let mut world = empty_world();
    let nids =
        (0..40).map(|i| add_ball(&mut world, -40.0 + 2.0 * i as f32, if i % 2 == 0 { 6.0 } else { 0.0 })).collect();
    (Pair::new(world, |_| {}), nids)
}

fn parts(pair: &Pair) -> Vec<Part> {
    pair.nodes.iter().map(|node| node.contribution(node.whole_draft()).into_part()).collect()
}

fn assemble(pair: &Pair, parts: &[Part]) -> Result<Checkpoint, CheckpointError> {
    Checkpoint::assemble(pair.nodes[LEFT].world().clone(), &[RegionId(0), RegionId(1)], parts)
}

#[test]
fn a_checkpoint_at_any_tick_has_every_body_once_and_goes_on_from_there() {
    let (mut pair, nids) = traffic();
    let mut under_way = 0;
    for _ in 0..200 {
        // Acknowledgements get lost now and then, so that bodies are in two parts.
        let tick = pair.tick;
        pair.tick_with(|frame| {
            let answers = matches!(&frame.content, Content::Lane(lane) if lane.items.is_empty());
            usize::from(!(answers && tick.0 % 3 == 0))
        });
        under_way += pair.nodes.iter().map(|node| node.in_flight().count()).sum::<usize>();
        let stored: Vec<Part> = parts(&pair)
            .iter()
            .map(|part| Part::decode(part.region, &part.encode()).expect("it was written"))
            .collect();
        let checkpoint = assemble(&pair, &stored).expect("the parts fit");
        assert!(checkpoint.nids().eq(nids.iter().copied()));
    }
    assert!(under_way > 10, "bodies were under way {under_way} times");

    let checkpoint = assemble(&pair, &parts(&pair)).expect("the parts fit");
    let was: BTreeMap<Nid, Vec3> =
        checkpoint.members().iter().map(|member| (member.nid, member.motion.pose.position)).collect();
    for servers in [1, 2, 4, 8] {
        let map = PartitionMap::from_layout(&Layout::columns(servers, 20.0)).expect("a good layout");
        let nodes: Vec<Node> = (0..servers)
            .map(|region| Node::resume(NodeConfig::new(RegionId(region)), &checkpoint, map.clone()))
            .collect();
        let mut found = BTreeMap::new();
        for node in &nodes {
            assert_eq!((node.now(), node.loaded_at(), node.era()), (pair.tick, Tick(0), 1));
            for (nid, epoch) in node.hosted() {
                let position = node.motion(nid).expect("it is hosted").pose.position;
                assert!(found.insert(nid, position).is_none(), "{nid} is at two of {servers}");
                assert!(epoch >= 1);
            }
        }
        assert_eq!(found, was, "on {servers} servers");
    }
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let (mut pair, _) = traffic();
    pair.run(30);
    let earlier = parts(&pair);
    // A body crosses, arrives, and is acknowledged; an older part of the receiver knows nothing of it.
    let arrived = pair.nodes[RIGHT].counters().arrived;
    while pair.nodes[RIGHT].counters().arrived == arrived || pair.nodes[LEFT].in_flight().count() > 0 {
        pair.run(1);
    }
    let later = parts(&pair);
    assert_eq!(assemble(&pair, &later[..1]), Err(CheckpointError::NotOnce(RegionId(1))));
    assert_eq!(assemble(&pair, &[later[0].clone(), later[0].clone()]), Err(CheckpointError::NotOnce(RegionId(0))));
    let mixed = [later[LEFT].clone(), earlier[RIGHT].clone()];
    assert_eq!(assemble(&pair, &mixed), Err(CheckpointError::OtherTick(RegionId(1))));
    let mut behind = earlier[RIGHT].clone();
    behind.tick = later[LEFT].tick;
    let torn = [later[LEFT].clone(), behind];
    let error = assemble(&pair, &torn).expect_err("a body is in neither");
    assert_eq!(error, CheckpointError::Torn { sender: RegionId(0), receiver: RegionId(1) });
    let bytes = later[LEFT].encode();
    for cut in [0, 1, bytes.len() / 2, bytes.len() - 1] {
        assert_eq!(Part::decode(RegionId(0), &bytes[..cut]), Err(CheckpointError::Damaged(RegionId(0))), "{cut} bytes");
    }
    assert_eq!(Part::decode(RegionId(1), &bytes), Err(CheckpointError::Damaged(RegionId(1))), "another region's");
}

#[test]
fn what_slept_at_the_checkpoint_is_still_there_for_the_neighbours() {
    // The crate lies half a metre within one region; the ball comes from the other, which is once of the higher rank and
    // once of the lower.
    for (crate_x, ball_x, speed) in [(-1.0, 24.0, -6.0), (1.0, -24.0, 6.0)] {
        let mut world = empty_world();
        let cube = BodyDesc::dynamic(Shape::cuboid(0.5, 0.5, 0.5));
        let asleep = World::nid(1, world.add(cube, Pose::at(Vec3::X * crate_x), Velocity::ZERO));
        let ball = add_ball(&mut world, ball_x, speed);
        let mut pair = Pair::new(world, |config| config.policy = Policy::Aura);
        pair.run(60);
        let checkpoint = assemble(&pair, &parts(&pair)).expect("the parts fit");
        let member = checkpoint.members().iter().find(|member| member.nid == asleep).expect("it is there");
        assert!(member.motion.sleeping);

        let map = |servers| PartitionMap::from_layout(&Layout::columns(servers, 100.0)).expect("a good layout");
        let resume = |region, servers| Node::resume(NodeConfig::new(RegionId(region)), &checkpoint, map(servers));
        let mut one = resume(0, 1);
        pair.nodes = [resume(0, 2), resume(1, 2)];
        assert_eq!(pair.hosts(asleep), [crate_x < 0.0, crate_x > 0.0]);
        let mut struck = false;
        for _ in 0..240 {
            pair.run(1);
            one.tick(pair.tick);
            for nid in [asleep, ball] {
                // One that is under way is at neither.
                let Some(here) = pair.nodes.iter().find_map(|node| node.motion(nid)) else { continue };
                let alone = one.motion(nid).expect("it is hosted");
                let off = here.pose.position.distance(alone.pose.position);
                assert!(off < 1e-3, "{nid} is at {} and alone at {}", here.pose.position, alone.pose.position);
                struck |= nid == asleep && here.velocity.linear.length() > 1.0;
            }
        }
        assert!(struck);
    }
}
