//! Giving bodies away by order. Tests and experiments ask for hand-overs that no policy would make; nothing else about
//! them is special: the same groups, the same lane, the same log.

use nimbus_model::{Nid, RegionId};
use std::collections::BTreeSet;

use crate::config::Policy;
use crate::inbox::Input;
use crate::node::Node;

/// Most bodies that are handed over as one, unless a cluster alone has more: they arrive together or go back together.
const BATCH_BODIES: usize = 64;

impl Node {
    /// Gives bodies to another region at the end of the next tick, with everything here that they may soon touch.
    ///
    /// What is not here by then stays unmentioned; what may not be given away just then, because the other side is
    /// silent or full of unread items, stays and is counted among the deferred grants. The order is an input of that
    /// tick, so that a replay of its log obeys it too. A policy that disagrees takes the bodies back in its own time.
    pub fn force(&mut self, nids: &[Nid], to: RegionId) {
        self.inbox.forced.push((nids.to_vec(), to));
    }

    /// Carries out the orders among a tick's inputs. Comes after the step, because a group that is given away takes with
    /// it the state after the tick, and before the policy, which must not judge what is gone.
    pub(crate) fn obey(&mut self, inputs: &[Input]) {
        let mut gone = BTreeSet::new();
        for input in inputs {
            let Input::Force { nids, to } = input else { continue };
            if *to == self.config.region || !self.map.regions().contains(to) {
                continue;
            }
            self.part_with(nids, *to, &mut gone);
        }
        self.leave_out(&gone);
    }

    /// Gives bodies to another region, each with everything here that it may soon touch, as far as they may be given.
    pub(crate) fn part_with(&mut self, nids: &[Nid], to: RegionId, gone: &mut BTreeSet<Nid>) {
        match self.config.policy {
            Policy::Aura => self.part_clusters(nids, to, gone),
            _ => self.grant_linkages(nids, to, gone),
        }
    }

    /// Keeps what was given away since the step from being judged at this tick.
    pub(crate) fn leave_out(&mut self, gone: &BTreeSet<Nid>) {
        if !gone.is_empty() {
            self.moved.retain(|moved| !gone.contains(&moved.nid));
            self.outside.retain(|nid| !gone.contains(nid));
        }
    }

    fn part_clusters(&mut self, nids: &[Nid], to: RegionId, gone: &mut BTreeSet<Nid>) {
        let mut scene = std::mem::take(&mut self.seam.scene);
        scene.survey(self, true);
        // Clusters that are ordered together travel together: on their way and on arrival they cost as much as one.
        let (mut batch, mut aboard): (Vec<u32>, Vec<Nid>) = (Vec::new(), Vec::new());
        for nid in nids {
            let Some(row) = scene.row_of(*nid).filter(|_| !gone.contains(nid)) else { continue };
            let Some(mut cluster) = self.cluster(&mut scene, row, self.horizon.look_ahead()) else { continue };
            cluster.retain(|row| !gone.contains(&scene.rows[*row as usize].nid));
            let together: Vec<Nid> = cluster.iter().map(|row| scene.rows[*row as usize].nid).collect();
            if cluster.len() > self.config.aura.cluster_max || !self.may_grant(to, &together) {
                self.put_off(&together);
                continue;
            }
            let all = [aboard.as_slice(), &together].concat();
            if !batch.is_empty() && (all.len() > BATCH_BODIES || !self.may_grant(to, &all)) {
                self.part(&mut scene, &std::mem::take(&mut batch), to, false);
                aboard.clear();
            }
            batch.extend(cluster);
            aboard.extend_from_slice(&together);
            gone.extend(together);
        }
        if !batch.is_empty() {
            self.part(&mut scene, &batch, to, false);
        }
        self.seam.scene = scene;
    }

    fn grant_linkages(&mut self, nids: &[Nid], to: RegionId, gone: &mut BTreeSet<Nid>) {
        for nid in nids.iter().filter(|nid| self.hosted.contains(**nid)).copied().collect::<Vec<_>>() {
            if gone.contains(&nid) {
                continue;
            }
            let linkage = self.physics.linkage(nid);
            if self.may_grant(to, &linkage) {
                self.grant(&linkage, to);
                gone.extend(linkage);
            } else {
                self.put_off(&linkage);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use nimbus_model::{BodyDesc, Layout, Pose, Shape, Tick, Vec3, Velocity, World};
    use nimbus_space::PartitionMap;
    use std::sync::Arc;

    use super::*;
    use crate::NodeConfig;

    /// A server with two cubes on top of each other and a third far away.
    fn server(policy: Policy) -> Node {
        let mut world = World::new("force");
        world.layout = Layout::columns(2, 100.0);
        world.add_ground(100.0, 100.0);
        for place in [Vec3::new(-2.0, 0.5, 0.0), Vec3::new(-2.0, 1.5, 0.0), Vec3::new(-40.0, 0.5, 0.0)] {
            world.add(BodyDesc::dynamic(Shape::cuboid(0.5, 0.5, 0.5)), Pose::at(place), Velocity::ZERO);
        }
        let map = PartitionMap::from_layout(&world.layout).unwrap();
        let config = NodeConfig { policy, log: true, ..NodeConfig::new(RegionId(0)) };
        Node::new(config, Arc::new(world), 1, map, Tick(0))
    }

    #[test]
    fn what_is_forced_leaves_with_what_it_touches() {
        for (policy, stay) in [(Policy::Aura, 1), (Policy::Exclusive, 2)] {
            let mut node = server(policy);
            node.tick(Tick(1));
            node.force(&[World::nid(1, 1)], RegionId(1));
            assert_eq!(node.hosted_count(), 3, "an order waits for its tick");
            node.tick(Tick(2));
            assert_eq!(node.hosted_count(), stay);
            assert_eq!(node.in_flight().count(), 3 - stay);
        }
    }

    #[test]
    fn what_is_ordered_together_travels_together() {
        let mut node = server(Policy::Aura);
        node.force(&[World::nid(1, 1), World::nid(1, 3)], RegionId(1));
        node.tick(Tick(1));
        assert_eq!((node.hosted_count(), node.in_flight().count()), (0, 3));
        assert_eq!(node.queues().map(|(_, length, _)| length).sum::<usize>(), 1, "in one item");
    }

    #[test]
    fn orders_that_make_no_sense_change_nothing() {
        let mut node = server(Policy::Aura);
        node.force(&[World::nid(1, 1)], RegionId(0));
        node.force(&[World::nid(1, 1)], RegionId(9));
        node.force(&[World::nid(1, 77)], RegionId(1));
        node.tick(Tick(1));
        assert_eq!(node.hosted_count(), 3);
    }

    #[test]
    fn a_replay_obeys_too() {
        let mut node = server(Policy::Aura);
        node.tick(Tick(1));
        let mut again = Node::restore(&node.snapshot()).unwrap();
        node.take_log();
        node.force(&[World::nid(1, 2)], RegionId(1));
        (2..10).for_each(|tick| node.tick(Tick(tick)));
        node.take_log().iter().for_each(|entry| again.replay(entry));
        assert_eq!(again.hosted_count(), 1);
        assert_eq!(again.state_hash(), node.state_hash());
        assert!(again.in_flight().eq(node.in_flight()));
    }
}
