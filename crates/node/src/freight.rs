//! What a group takes on the wire. A group is one item of a lane and an item is never cut, so one that no frame can hold
//! would stop its lane for ever, with its bodies on it: it must not leave in the first place.

use nimbus_model::Nid;
use nimbus_wire::lane::approximate_body_bytes;
use nimbus_wire::{FRAME_BYTES_MAX, encode_group};

use crate::breach::Factor;
use crate::node::Node;

/// A group that takes more than this stays where it is. The rest of a frame is for the envelope.
pub(crate) const GROUP_BYTES_MAX: usize = FRAME_BYTES_MAX - (64 << 10);

/// The most that the touches of one body take: 64 of 8 points each.
const TOUCHES_BYTES_MAX: usize = 64 * 512;
/// The most that a joint takes.
const JOINT_BYTES_MAX: usize = 256;
/// Claim of a body, and the ends of lists.
const CLAIM_BYTES_MAX: usize = 48;
/// A command that a body has obeyed.
const OBEYED_BYTES_MAX: usize = 32;
/// Where a body is on its way to.
const COURSE_BYTES_MAX: usize = 64;

impl Node {
    /// True when a frame can hold a group. Small ones are not measured.
    pub(crate) fn fits_a_frame(&self, nids: &[Nid]) -> bool {
        let bound = |nid: &Nid| {
            let body = self.physics.view(*nid).map_or(0, |body| approximate_body_bytes(body.desc));
            body + TOUCHES_BYTES_MAX + JOINT_BYTES_MAX * self.physics.link_count(*nid)
        };
        let baggage = self.baggage_bytes(nids);
        // Half of it, because a bound is an opinion.
        baggage + nids.iter().map(bound).sum::<usize>() <= self.group_bytes_max / 2
            || self.freight_bytes(nids) <= self.group_bytes_max
    }

    /// Counts a group that may not go now. One that no frame can hold is left in peace for a while, and that is said.
    pub(crate) fn put_off(&mut self, nids: &[Nid]) {
        self.counters.grants_deferred += 1;
        if self.rests_after_return(nids) || self.fits_a_frame(nids) {
            return;
        }
        let (count, limit) = (nids.len() as f32, self.group_bytes_max as f32);
        let fit = (count * limit / self.freight_bytes(nids) as f32).floor();
        self.breach(Factor::ClusterSize, count, fit, nids.iter().take(4).copied().collect());
        self.returned.extend(nids.iter().map(|nid| (*nid, self.now)));
    }

    /// What a group takes on the wire, measured.
    fn freight_bytes(&self, nids: &[Nid]) -> usize {
        encode_group(&self.physics.group_of(nids)).len() + self.baggage_bytes(nids)
    }

    /// At most so much goes with the bodies of a group.
    fn baggage_bytes(&self, nids: &[Nid]) -> usize {
        let of = |nid: &Nid| {
            let kept = self.keepsakes.get(nid).map_or(0, |kept| 32 + kept.state.bytes().len());
            let course = if self.courses.contains_key(nid) { COURSE_BYTES_MAX } else { 0 };
            CLAIM_BYTES_MAX + kept + course + OBEYED_BYTES_MAX * self.recent.count(*nid)
        };
        nids.iter().map(of).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{NodeConfig, Policy};
    use nimbus_model::{
        BodyDesc, GameState, JointDesc, JointKind, Keepsake, Layout, Pose, RegionId, Shape, Tick, Vec3, Velocity, World,
    };
    use nimbus_space::PartitionMap;
    use nimbus_wire::{Address, Course, Frame};
    use std::sync::Arc;

    /// Six balls that hang together, and one alone, all about to cross from one region into the next.
    fn pair(policy: Policy) -> ([Node; 2], Vec<Nid>, Nid) {
        let mut world = World::new("freight");
        world.gravity = Vec3::ZERO;
        world.layout = Layout::columns(2, 100.0);
        let ball = BodyDesc::dynamic(Shape::ball(0.5));
        let velocity = Velocity::linear(Vec3::X * 6.0);
        let mut add = |place: Vec3| world.add(ball.clone(), Pose::at(place), velocity);
        let chain: Vec<u32> = (0..6).map(|i| add(Vec3::new(-3.0, i as f32, 0.0))).collect();
        let single = add(Vec3::new(-1.0, 0.0, 40.0));
        for two in chain.windows(2) {
            world.join(two[0], two[1], JointDesc::new(JointKind::Spherical, Vec3::Y * 0.5, Vec3::Y * -0.5));
        }
        let map = PartitionMap::from_layout(&world.layout).unwrap();
        let world = Arc::new(world);
        let node = |region| {
            let config = NodeConfig { policy, ..NodeConfig::new(RegionId(region)) };
            Node::new(config, world.clone(), 1, map.clone(), Tick(0))
        };
        ([node(0), node(1)], chain.iter().map(|body| World::nid(1, *body)).collect(), World::nid(1, single))
    }

    fn run(nodes: &mut [Node; 2], ticks: u64) {
        for _ in 0..ticks {
            let mut frames: Vec<Frame> = Vec::new();
            for node in nodes.iter_mut() {
                node.tick(node.now().next());
                node.emit(&mut frames);
            }
            for frame in frames {
                if let Address::Region(to) = frame.to {
                    nodes[usize::from(to.0)].handle(frame);
                }
            }
        }
    }

    #[test]
    fn a_group_that_no_frame_can_hold_stays_and_the_lane_keeps_moving() {
        for policy in [Policy::Exclusive, Policy::Aura] {
            let (mut nodes, chain, single) = pair(policy);
            nodes[0].group_bytes_max = 1_000;
            run(&mut nodes, 120);
            assert!(chain.iter().all(|nid| nodes[0].hosted.contains(*nid)), "{policy:?}");
            assert!(nodes[1].hosted.contains(single) && nodes[0].in_flight().count() == 0, "{policy:?}");
            let breaches = nodes[0].take_breaches();
            let said = breaches.iter().filter(|breach| breach.factor == Factor::ClusterSize);
            assert!((1..10).contains(&said.count()), "{policy:?}: {breaches:?}");
            assert!(breaches[0].value == 6.0 && breaches[0].limit < 6.0, "{:?}", breaches[0]);
            nodes[0].group_bytes_max = GROUP_BYTES_MAX;
            run(&mut nodes, 60);
            assert!(chain.iter().all(|nid| nodes[1].hosted.contains(*nid)), "{policy:?}: when it fits, it goes");
        }
    }

    #[test]
    fn a_group_is_never_larger_than_it_was_measured() {
        let (mut nodes, chain, _) = pair(Policy::Aura);
        let node = &mut nodes[0];
        node.tick(Tick(1));
        for nid in &chain {
            let state = GameState::new([7; 200]).unwrap();
            node.keepsakes.insert(*nid, Keepsake { children: u32::MAX, state });
            node.courses.insert(*nid, Course { pose: Pose::IDENTITY, until: Tick(u64::MAX) });
        }
        let measured = node.freight_bytes(&chain);
        node.grant(&chain, RegionId(1));
        let mut frames = Vec::new();
        node.emit(&mut frames);
        let lane = frames.iter().find(|frame| frame.to == Address::Region(RegionId(1))).unwrap();
        let bytes = lane.encode().len();
        assert!(bytes <= measured + 256 && measured < bytes + 100 * chain.len(), "{measured} measured, {bytes} sent");
    }
}
