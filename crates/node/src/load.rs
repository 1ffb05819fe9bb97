//! What a server costs and where that lies, for whoever decides where boundaries should be.

use nimbus_model::Nid;
use nimbus_space::Spread;

use crate::node::Node;

/// A body that is awake costs about so many times as much as one that sleeps.
const AWAKE_WEIGHT: u32 = 16;
/// Modelled cost of a tick, nanoseconds: of the server itself, of a body awake, of a pair that touches or nearly does,
/// and of a body that is announced or known of elsewhere. Near enough to what is measured to try a planner with.
const TICK_NS: u64 = 20_000;
const AWAKE_NS: u64 = 1_500;
const PAIR_NS: u64 = 700;
const AURA_NS: u64 = 400;

impl Node {
    /// Where its bodies lie along x, y and z, and what they weigh.
    pub fn spread(&self) -> [Spread; 3] {
        let mut places: Vec<([f32; 3], u32)> = Vec::with_capacity(self.hosted_count());
        let mut awake: Vec<Nid> = self.physics.awake().collect();
        awake.sort_unstable();
        self.physics.for_each(|body| {
            let weight = if awake.binary_search(&body.nid).is_ok() { AWAKE_WEIGHT } else { 1 };
            places.push((body.pose.position.to_array(), weight));
        });
        let mut along = Vec::with_capacity(places.len());
        [0, 1, 2].map(|axis| {
            along.clear();
            along.extend(places.iter().map(|(position, weight)| (position[axis], *weight)));
            Spread::of(&mut along)
        })
    }

    /// What its last tick should have cost, microseconds, by what there was to do. Depends on nothing but its state, so a
    /// simulator can plan with it and still be the same every time.
    pub fn modelled_cost_us(&self) -> u32 {
        let count = |n: usize| n as u64;
        let auras = self.counters.auras + self.counters.ghosts;
        let ns = TICK_NS
            + AWAKE_NS * count(self.awake_count())
            + PAIR_NS * count(self.physics.pair_count())
            + AURA_NS * auras;
        u32::try_from(ns / 1_000).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NodeConfig;
    use nimbus_model::{BodyDesc, Layout, Pose, RegionId, Shape, Tick, Vec3, Velocity, World};
    use nimbus_space::PartitionMap;
    use std::sync::Arc;

    fn node(bodies: usize) -> Node {
        let mut world = World::new("test");
        world.layout = Layout::columns(2, 200.0);
        for i in 0..bodies {
            let pose = Pose::at(Vec3::new(10.0 + 2.0 * i as f32, 5.0, 0.0));
            world.add(BodyDesc::dynamic(Shape::ball(0.5)), pose, Velocity::ZERO);
        }
        let map = PartitionMap::from_layout(&world.layout).unwrap();
        let mut node = Node::new(NodeConfig::new(RegionId(1)), Arc::new(world), 1, map, Tick(0));
        node.tick(Tick(1));
        node
    }

    #[test]
    fn a_server_knows_where_its_load_lies() {
        let [x, y, z] = node(11).spread();
        assert_eq!((x.bodies(), x.range()), (11, Some((10.0, 30.0))));
        assert!((x.share_between(0.0, 20.0) - 0.5).abs() < 0.1);
        assert!(y.range().is_some() && z.range() == Some((0.0, 0.0)));
    }

    #[test]
    fn more_bodies_cost_more() {
        let (few, many) = (node(2).modelled_cost_us(), node(50).modelled_cost_us());
        assert!(few > 0 && many > few + 50, "{few} and {many}");
    }
}
