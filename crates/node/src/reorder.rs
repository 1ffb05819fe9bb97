//! Bodies given to the engine in another order, while a world runs.
//!
//! The engine solves contacts one after the other, in an order that follows from the order in which it got the bodies. A
//! hand-over changes that order and nothing else. To tell what the order alone does to a world, a server can take bodies out
//! of its engine and put them back as they were.

use nimbus_model::{Nid, Rng};

use crate::node::Node;

/// One body in so many is taken out and put back at every tick.
const ONE_IN: u64 = 8;

impl Node {
    /// Takes some awake bodies out of the engine and puts them back in an order drawn from this server's number for it, if
    /// it has one. Only bodies that touch nothing and that no joint holds: they move on exactly as they would have.
    pub(crate) fn reorder(&mut self) {
        let Some(seed) = self.config.reorder else { return };
        let mut rng = Rng::stream(seed, self.now.0);
        let mut drawn: Vec<Nid> = self.physics.awake().filter(|_| rng.below(ONE_IN) == 0).collect();
        drawn.retain(|nid| self.physics.linked(*nid).next().is_none() && self.physics.touching(*nid).is_empty());
        for i in (1..drawn.len()).rev() {
            drawn.swap(i, rng.below(i as u64 + 1) as usize);
        }
        for nid in drawn {
            let group = self.physics.remove(&[nid]);
            let kept = self.physics.insert(group);
            debug_assert!(kept.is_ok(), "{kept:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::NodeConfig;
    use crate::node::Node;
    use nimbus_model::{BodyDesc, Layout, Pose, RegionId, Shape, Tick, Vec3, Velocity, World};
    use nimbus_space::PartitionMap;
    use std::sync::Arc;

    /// Where bodies are after some ticks: ten that never meet, and three that meet at once.
    fn run(reorder: Option<u64>) -> (Vec<Vec3>, Vec<Vec3>) {
        let mut world = World::new("order");
        world.layout = Layout::columns(1, 400.0);
        let mut ball = BodyDesc::dynamic(Shape::ball(0.3));
        ball.restitution = 1.0;
        for i in 0..10 {
            world.add(ball.clone(), Pose::at(Vec3::new(0.0, 60.0, 5.0 * i as f32)), Velocity::linear(Vec3::X * 9.0));
        }
        for (x, y) in [(-4.0, 80.0), (4.0, 80.1), (0.1, 84.0)] {
            let velocity = (Vec3::new(0.0, 80.0, 0.0) - Vec3::new(x, y, 0.0)) * 2.0;
            world.add(ball.clone(), Pose::at(Vec3::new(x, y, -40.0)), Velocity::linear(velocity));
        }
        let map = PartitionMap::from_layout(&world.layout).unwrap();
        let config = NodeConfig { reorder, ..NodeConfig::new(RegionId(0)) };
        let mut node = Node::new(config, Arc::new(world), 1, map, Tick(0));
        (1..=60).for_each(|tick| node.tick(Tick(tick)));
        let places: Vec<Vec3> =
            node.hosted().filter_map(|(nid, _)| node.motion(nid)).map(|motion| motion.pose.position).collect();
        (places[..10].to_vec(), places[10..].to_vec())
    }

    #[test]
    fn bodies_that_meet_nothing_move_on_as_they_would_and_three_that_meet_at_once_do_not() {
        let (free, met) = run(None);
        let orders: Vec<_> = (0..8).map(|seed| run(Some(seed))).collect();
        assert!(orders.iter().all(|other| other.0 == free), "the same bits");
        assert!(orders.iter().any(|other| other.1 != met), "the order of three contacts matters");
        assert_eq!(run(Some(3)), orders[3], "and it is decided by the number");
    }
}
