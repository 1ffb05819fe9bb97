//! What lies in another region than its host's goes home, asleep or not, however large its island is.

mod pair;

use nimbus_model::{BodyDesc, Nid, Pose, RegionId, Shape, Vec3, Velocity, World};
use nimbus_node::Policy;

use pair::{LEFT, Pair, RIGHT, add_ball, empty_world};

fn add_cube(world: &mut World, position: Vec3) -> Nid {
    let cube = BodyDesc::dynamic(Shape::cuboid(0.5, 0.5, 0.5));
    World::nid(1, world.add(cube, Pose::at(position), Velocity::ZERO))
}

/// Where bodies lie, and who is to have them although they do not lie there.
const ELSEWHERE: [(f32, usize, usize); 2] = [(20.0, RIGHT, LEFT), (-20.0, LEFT, RIGHT)];

fn force(pair: &mut Pair, from: usize, to: usize, nids: &[Nid]) {
    pair.nodes[from].force(nids, RegionId(to as u16));
}

/// How often a body has come anywhere.
fn arrivals(pair: &Pair) -> u64 {
    pair.nodes.iter().map(|node| node.counters().arrived).sum()
}

/// Lets so many cubes that touch fall asleep, gives them to the other region, and waits.
fn assert_island_returns(columns: usize, rows: usize, grants_max: usize, (x, home, away): (f32, usize, usize)) {
    let mut world = empty_world();
    let places = (0..columns * rows).map(|i| Vec3::new(x, (i / columns) as f32 * 1.005, (i % columns) as f32 * 1.005));
    let nids: Vec<Nid> = places.map(|place| add_cube(&mut world, place)).collect();
    let mut pair = Pair::new(world, |config| (config.policy, config.grants_max) = (Policy::Aura, grants_max));
    pair.run(60);
    assert_eq!(pair.nodes[home].awake_count(), 0);
    force(&mut pair, home, away, &nids);
    pair.run(6);
    assert_eq!(pair.nodes[away].hosted_count(), nids.len());
    pair.run(100);
    assert_eq!((pair.nodes[home].hosted_count(), pair.nodes[home].awake_count()), (nids.len(), 0));
    assert_eq!(arrivals(&pair), 2 * nids.len() as u64, "each went and came back once");
}

#[test]
fn an_island_larger_than_what_goes_in_one_tick_goes_alone() {
    for elsewhere in ELSEWHERE {
        assert_island_returns(3, 2, 4, elsewhere);
    }
}

#[test]
fn an_island_larger_than_an_offer_is_offered_alone() {
    assert_island_returns(24, 22, 256, ELSEWHERE[0]);
}

#[test]
fn what_falls_asleep_elsewhere_goes_home() {
    for (x, home, away) in ELSEWHERE {
        // Some of these fall asleep before they may go, some after.
        for ticks in 20..30 {
            let mut world = empty_world();
            let cube = add_cube(&mut world, Vec3::X * x);
            let mut pair = Pair::new(world, |config| config.policy = Policy::Aura);
            pair.run(ticks);
            assert_eq!(pair.nodes[home].awake_count(), 1, "at tick {ticks}");
            force(&mut pair, home, away, &[cube]);
            pair.run(100);
            assert!(pair.hosts(cube)[home], "forced at tick {ticks} towards {away}");
            assert!(pair.nodes[home].motion(cube).is_some_and(|motion| motion.sleeping));
            assert_eq!(arrivals(&pair), 2, "it went and came back once");
        }
    }
}

#[test]
fn a_sleeper_that_came_with_others_goes_home_without_them() {
    for (x, home, away) in ELSEWHERE {
        let mut world = empty_world();
        let cube = add_cube(&mut world, Vec3::X * x);
        let ball = add_ball(&mut world, 2.0 * x, x.signum());
        let mut pair = Pair::new(world, |config| config.policy = Policy::Aura);
        pair.run(60);
        assert_eq!(pair.nodes[home].awake_count(), 1);
        force(&mut pair, home, away, &[cube, ball]);
        pair.run(100);
        assert!(pair.hosts(ball)[home] && pair.hosts(cube)[home], "{:?}", (pair.hosts(ball), pair.hosts(cube)));
        assert_eq!(arrivals(&pair), 4, "each went and came back once");
    }
}
