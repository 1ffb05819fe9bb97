//! Statics and regions that a client changes while bodies are about to meet at a seam.

use nimbus_model::{Aabb, BodyDesc, BodyKind, Pose, RegionBox, RegionId, Shape, Vec3};
use nimbus_node::Node;
use nimbus_wire::client::StaticSpawn;

use crate::stage::{Stage, add, add_ball, assert_same, world};

/// A wall is put in across the way of balls that come to it from both sides of the seam.
fn with_wall(servers: u16, seed: u64) -> Stage {
    let mut world = world(servers);
    for i in 0..6 {
        let sense = if i % 2 == 0 { 1.0 } else { -1.0 };
        add_ball(&mut world, Vec3::new(-9.0 * sense, 0.0, 4.0 * i as f32), Vec3::new(6.0 * sense, 0.0, 0.0));
    }
    let mut stage = Stage::new(world, seed, 260);
    stage.until(5);
    let wall = StaticSpawn {
        restitution: 1.0,
        friction: 0.0,
        ..StaticSpawn::new(Shape::cuboid(0.5, 3.0, 30.0), Pose::IDENTITY)
    };
    stage.ask(|client| client.place_static(wall));
    stage.until(200);
    stage
}

#[test]
fn a_static_across_a_seam() {
    for seed in 1..=3 {
        let case = format!("seed {seed}");
        let (one, mut many) = (with_wall(1, seed), with_wall(2, seed));
        assert_same(&one, &many, 6, &case);
        let answer = many.answers().remove(0);
        let nid = answer.outcome.expect("it is put in").expect("and has an id");
        assert!(many.universe.nodes().iter().all(|node| node.physics().view(nid).is_some()), "{case}: everywhere");
        assert!(many.universe.clients_mut()[0].statics().iter().any(|known| known.nid == nid), "{case}: and seen");
        many.ask(|client| client.despawn(nid));
        many.until(250);
        assert!(many.universe.nodes().iter().all(|node| node.physics().view(nid).is_none()), "{case}: and gone");
        let outcome = many.finish_promised(&case);
        assert_eq!(outcome.statics, 2, "{case}");
    }
}

#[test]
fn a_lift_that_is_sent_across_a_seam_pushes_what_is_in_its_way() {
    let run = |servers, seed| {
        let mut world = world(servers);
        let lift = BodyDesc { kind: BodyKind::Kinematic, ..BodyDesc::dynamic(Shape::cuboid(0.5, 1.0, 1.0)) };
        let lift = add(&mut world, BodyDesc { friction: 0.0, ..lift }, Vec3::new(-20.0, 0.0, 0.0), Vec3::ZERO);
        let ball = add_ball(&mut world, Vec3::new(3.0, 0.0, 0.0), Vec3::ZERO);
        let mut stage = Stage::new(world, seed, 300);
        stage.until(5);
        stage.ask(|client| client.target(lift, Pose::at(Vec3::new(20.0, 0.0, 0.0)), 200));
        stage.until(250);
        (stage, lift, ball)
    };
    for seed in 1..=3 {
        let case = format!("seed {seed}");
        let ((one, ..), (many, lift, ball)) = (run(1, seed), run(2, seed));
        // The command may reach its server a tick earlier or later.
        let hit = |stage: &Stage| stage.lives[&ball].hits().first().copied().expect("it is hit");
        assert!(hit(&one).abs_diff(hit(&many)) <= 1, "{case}: {} and {}", hit(&one), hit(&many));
        let node = many.owner(lift).expect("somebody has it");
        let motion = node.motion(lift).expect("it is hosted");
        assert_eq!(node.region(), RegionId(1), "{case}");
        assert!(motion.pose.position.distance(Vec3::new(20.0, 0.0, 0.0)) < 0.01, "{case}: {}", motion.pose.position);
        many.finish_promised(&case);
    }
}

#[test]
fn regions_that_are_drawn_anew_take_their_bodies_along() {
    for seed in 1..=3 {
        let case = format!("seed {seed}");
        let mut world = world(3);
        for i in 0..40 {
            add_ball(&mut world, Vec3::new(-60.0 + 3.0 * i as f32, 0.0, 3.0 * (i % 5) as f32), Vec3::ZERO);
        }
        let mut stage = Stage::new(world, seed, 700);
        stage.until(5);
        // The first and the last change places, and the middle one gets a piece of both.
        let slab = |region: u16, low: f32, high: f32| {
            let bounds = Aabb::new(Vec3::NEG_INFINITY.with_x(low), Vec3::INFINITY.with_x(high));
            RegionBox { region: RegionId(region), bounds }
        };
        let boxes = vec![slab(2, f32::NEG_INFINITY, -40.0), slab(1, -40.0, 40.0)];
        stage.ask(|client| client.draw_regions(boxes, RegionId(0)));
        stage.until(600);
        assert_eq!(stage.answers().remove(0).outcome, Ok(None), "{case}");
        for node in stage.universe.nodes() {
            let stray = node.hosted().find(|(nid, _)| {
                node.motion(*nid).is_some_and(|motion| node.map().region_at(motion.pose.position) != node.region())
            });
            assert_eq!(stray, None, "{case}: {} has what lies elsewhere", node.region());
        }
        let counts: Vec<usize> = stage.universe.nodes().iter().map(Node::hosted_count).collect();
        assert_eq!(counts.iter().sum::<usize>(), 40, "{case}");
        assert!(counts[1] > 20 && counts.iter().all(|count| *count > 0), "{case}: {counts:?}");
        let outcome = stage.finish(&case);
        assert_eq!(outcome.redraws, 1, "{case}");
    }
}

#[test]
fn regions_that_cannot_be_are_refused_with_a_reason() {
    let mut stage = Stage::new(world(2), 1, 60);
    stage.until(5);
    let sliver = Aabb::new(Vec3::NEG_INFINITY.with_x(3.0), Vec3::INFINITY.with_x(5.0));
    let everything = |region: u16| vec![RegionBox { region: RegionId(region), bounds: Aabb::EVERYTHING }];
    stage.ask(|client| client.draw_regions(vec![RegionBox { region: RegionId(1), bounds: sliver }], RegionId(0)));
    stage.ask(|client| client.draw_regions(everything(1), RegionId(0)));
    stage.until(30);
    let reasons: Vec<String> = stage.answers().into_iter().filter_map(|answer| answer.outcome.err()).collect();
    assert_eq!(reasons.len(), 2);
    assert!(reasons[0].contains("must be at least") && reasons[1].contains("no place any more"), "{reasons:?}");
}
