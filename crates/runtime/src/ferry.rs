//! Bodies given away tick by tick on order, so that an experiment can load a link as much as it likes. No policy would
//! do this; the hand-overs themselves are those that every body takes.

use nimbus_model::{Nid, RegionId};
use nimbus_node::Node;

/// Most bodies that one tick is asked to give away.
const BODIES_MAX: usize = 4_096;

/// A standing order of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ferry {
    to: RegionId,
    bodies: usize,
    /// The last one that went; the next in order of id follows, so that each has its turn.
    last: Nid,
}

impl Ferry {
    /// Gives so many bodies to another region at every tick.
    pub(crate) fn new(to: RegionId, bodies: usize) -> Ferry {
        Ferry { to, bodies: bodies.min(BODIES_MAX), last: Nid(u64::MAX) }
    }

    /// Orders what the next tick is to give away.
    pub(crate) fn load(&mut self, node: &mut Node) {
        let after = node.hosted().filter(|(nid, _)| *nid > self.last);
        let before = node.hosted().take_while(|(nid, _)| *nid <= self.last);
        let nids: Vec<Nid> = after.chain(before).take(self.bodies).map(|(nid, _)| nid).collect();
        if let Some(last) = nids.last() {
            self.last = *last;
            node.force(&nids, self.to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::{BodyDesc, Layout, Pose, Shape, Tick, Vec3, Velocity, World};
    use nimbus_node::NodeConfig;
    use nimbus_space::PartitionMap;
    use std::sync::Arc;

    #[test]
    fn every_body_has_its_turn() {
        let mut world = World::new("ferry");
        world.layout = Layout::columns(2, 100.0);
        for i in 0..5 {
            let pose = Pose::at(Vec3::new(-50.0, 0.0, 10.0 * i as f32));
            world.add(BodyDesc::dynamic(Shape::ball(0.5)), pose, Velocity::ZERO);
        }
        let map = PartitionMap::from_layout(&world.layout).unwrap();
        let mut node = Node::new(NodeConfig::new(RegionId(0)), Arc::new(world), 1, map, Tick(0));
        let mut ferry = Ferry::new(RegionId(1), 2);
        for (tick, stay) in [(1, 3), (2, 1), (3, 0), (4, 0)] {
            ferry.load(&mut node);
            node.tick(Tick(tick));
            assert_eq!(node.hosted_count(), stay, "after tick {tick}");
        }
        assert_eq!(node.in_flight().count(), 5);
    }
}
