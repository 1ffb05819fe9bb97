//! How bodies come into being: with the world, by injection, by command; and how the world pushes them.

use nimbus_model::{Group, Link, Member, Motion, Nid, RegionId, Tick, Vec3, World};
use nimbus_space::PartitionMap;
use nimbus_wire::{BirthCause, PlannedBirth};
use std::sync::Arc;

use crate::config::{Planted, Policy};
use crate::event::{Cause, EventKind};
use crate::first_contacts;
use crate::node::Node;

/// A partition decides who makes new bodies only this long after it took effect. A server may hear of a partition late,
/// because a disk or a network was slow, and what it made or left to others until then cannot be undone. One that is out
/// of touch for so long has been given up.
const BIRTHS_LAG_TICKS: u64 = 600;

impl Node {
    /// Brings in the bodies that the world starts with and that belong here. A group of jointed bodies starts, whole,
    /// where its middle is; every server comes to the same verdict without asking.
    pub(crate) fn populate(&mut self) {
        let world = self.world.clone();
        let mut everyone = Group::default();
        everyone.members.extend(world.owned_bodies().map(|(i, spawn)| Member {
            nid: World::nid(self.era, i),
            desc: spawn.desc.clone(),
            motion: Motion::new(spawn.pose, spawn.velocity),
        }));
        let links = world.joints.iter().enumerate().map(|(ordinal, joint)| {
            let (a, b) = (World::nid(self.era, joint.a), World::nid(self.era, joint.b));
            Link::new(a, b, ordinal as u16, joint.desc.clone())
        });
        everyone.links.extend(links);
        let here = self.start(everyone.linkages(), self.loaded_at);
        self.bear_within_budget(here);
    }

    /// Which of the groups that a world has after a tick start here. A group starts where its middle is; under the aura
    /// policy, groups that may touch before their servers have heard of each other start together, on the lowest rank
    /// among them, and with them what injections add so early.
    pub(crate) fn start(&mut self, linkages: Vec<Group>, at: Tick) -> Group {
        let middle = |group: &Group| {
            group.members.iter().map(|m| m.motion.pose.position).sum::<Vec3>() / group.members.len().max(1) as f32
        };
        let mut homes: Vec<RegionId> = linkages.iter().map(|group| self.map.region_at(middle(group))).collect();
        if self.config.policy == Policy::Aura && self.map.regions().len() > 1 {
            let births = self.early_births(at);
            let mut makers: Vec<RegionId> =
                births.iter().map(|birth| self.map.region_at(birth.motion.pose.position)).collect();
            first_contacts::bring_together(self, at, (&linkages, &mut homes), (&births, &mut makers));
            for (birth, maker) in births.into_iter().zip(makers) {
                let here = self.map.region_at(birth.motion.pose.position) == self.config.region;
                match (here, maker == self.config.region) {
                    (true, false) => self.pending.pass_on(&birth),
                    (false, true) => self.pending.expect_birth(birth),
                    _ => {}
                }
            }
        }
        let mut group = Group::default();
        for (linkage, _) in linkages.into_iter().zip(homes).filter(|(_, home)| *home == self.config.region) {
            group.members.extend(linkage.members);
            group.links.extend(linkage.links);
        }
        group
    }

    /// What injections add so soon after a tick that servers cannot have told each other before.
    fn early_births(&self, at: Tick) -> Vec<PlannedBirth> {
        let last = if self.config.planted == Some(Planted::BirthsStay) { 0 } else { self.notice_ticks() };
        (1..=last).flat_map(|ahead| self.injected_at(at + ahead)).collect()
    }

    /// What the world's injections add at a tick, anywhere.
    pub(crate) fn injected_at(&self, at: Tick) -> impl Iterator<Item = PlannedBirth> + '_ {
        let world = &self.world;
        let age = Tick(at.since(self.loaded_at));
        world.injections.iter().enumerate().flat_map(move |(i, injection)| {
            injection.due(age, world.tick_hz).map(move |ordinal| {
                let (desc, pose, velocity) = injection.body(world.seed, i, ordinal);
                let nid = world.injected_nid(self.era, i, ordinal);
                let (desc, motion) = (Arc::new(desc.clone()), Motion::new(pose, velocity));
                PlannedBirth { at, nid, desc, motion, cause: BirthCause::World }
            })
        })
    }

    /// Notes a partition that will decide about births.
    pub(crate) fn expect_births(&mut self, map: &PartitionMap) {
        self.cradles.push(map.clone());
        self.cradles.sort_by_key(PartitionMap::epoch);
    }

    /// The partition that decides who makes bodies at a tick, which is not before the last one that was made.
    pub(crate) fn cradle(&self, tick: Tick) -> &PartitionMap {
        &self.cradles[self.cradle_index(tick)]
    }

    fn cradle_index(&self, tick: Tick) -> usize {
        self.cradles.iter().skip(1).take_while(|map| map.effective() + BIRTHS_LAG_TICKS <= tick).count()
    }

    /// Brings in what the world's injections add at a tick. Which server makes a body is decided by a partition that
    /// everybody has known for long by that tick, so this is called for every tick in turn, also for those that are
    /// skipped.
    pub(crate) fn inject(&mut self, tick: Tick) {
        if tick <= self.loaded_at {
            return;
        }
        self.cradles.drain(..self.cradle_index(tick));
        let makes = |birth: &PlannedBirth| {
            let maker = self.cradles[0].region_at(birth.motion.pose.position);
            maker == self.config.region && !self.pending.is_passed_on(birth.nid)
        };
        let births: Vec<PlannedBirth> = self.injected_at(tick).filter(makes).collect();
        let mut group = Group::default();
        for PlannedBirth { nid, desc, motion, .. } in births {
            let desc = self.shared_desc(&desc);
            group.members.push(Member { nid, desc, motion });
        }
        self.bear_within_budget(group);
        self.pending.forget_passed_on(tick);
    }

    /// A body of this server's own making.
    pub(crate) fn next_nid(&mut self) -> Nid {
        self.serial += 1;
        Nid::new(self.config.origin, self.serial)
    }

    /// Makes the bodies of a group exist, each under its epoch. What the engine will not have is reported dead at once, so that no id
    /// vanishes without a word; it takes nothing with it but what is jointed to it.
    pub(crate) fn bear(&mut self, group: Group, epoch_of: impl Fn(Nid) -> u32) {
        if group.is_empty() {
            return;
        }
        let nids: Vec<Nid> = group.members.iter().map(|m| m.nid).collect();
        if self.physics.insert(group.clone()).is_err() {
            for linkage in group.linkages() {
                self.counters.unplaceable += u64::from(self.physics.insert(linkage).is_err());
            }
        }
        for nid in nids {
            let epoch = epoch_of(nid);
            self.report(nid, epoch, EventKind::Born);
            if self.physics.contains(nid) {
                self.hosted.insert(nid, epoch);
                if let Some(body) = self.physics.view(nid) {
                    self.seam.learn(body.desc);
                }
                self.tell_hosted(nid, None);
                if self.sleeps(nid) {
                    // No step will say that it fell asleep.
                    self.note_sleeper(nid);
                    self.suspect_outside(nid);
                }
            } else {
                self.report(nid, epoch + 1, EventKind::Died(Cause::Unplaceable));
            }
        }
    }

    /// Gives the scripted pushes of some ticks to the bodies that are here.
    pub(crate) fn push_scripted(&mut self, first: Tick, last: Tick, concerns: impl Fn(Nid) -> bool) {
        let world = self.world.clone();
        for tick in first.0..=last.0 {
            for push in world.pushes_at(Tick(tick), self.loaded_at) {
                let nid = World::nid(self.era, push.body);
                if concerns(nid) && self.hosted.contains(nid) {
                    self.physics.change_velocity(nid, push.linear, push.angular);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NodeConfig;
    use nimbus_model::{Aabb, BodyDesc, Choice, Injection, Layout, Pose, Shape, Velocity};

    #[test]
    fn what_is_born_asleep_is_known_to_lie_there() {
        let mut world = World::new("test");
        world.layout = Layout::columns(2, 200.0);
        let map = PartitionMap::from_layout(&world.layout).unwrap();
        let mut node = Node::new(NodeConfig::new(RegionId(0)), Arc::new(world), 1, map, Tick(0));
        node.tick(Tick(1));
        let desc = Arc::new(BodyDesc::dynamic(Shape::ball(0.5)));
        let restless = Arc::new(BodyDesc { can_sleep: false, ..(*desc).clone() });
        let born = |node: &mut Node, x: f32, desc: &Arc<BodyDesc>, sleeping: bool| {
            let nid = node.next_nid();
            let motion = Motion { sleeping, ..Motion::new(Pose::at(Vec3::X * x), Velocity::ZERO) };
            node.spawn(nid, desc.clone(), motion);
            (node.seam.sleepers.contains_key(&nid), node.suspects.contains(&nid))
        };
        assert_eq!(born(&mut node, -5.0, &desc, true), (true, false));
        assert_eq!(born(&mut node, 5.0, &desc, true), (true, true), "it lies elsewhere");
        assert_eq!(born(&mut node, -8.0, &desc, false), (false, false));
        assert_eq!(born(&mut node, -11.0, &restless, true), (false, false), "it never sleeps");
    }

    /// Where bodies are made that two injections add in the first ticks, at these places.
    fn makers(places: [f32; 2], planted: Option<Planted>) -> [Vec<u16>; 2] {
        let mut world = World::new("test");
        world.layout = Layout::columns(2, 200.0);
        world.injections = places
            .into_iter()
            .enumerate()
            .map(|(i, x)| Injection {
                volume: Aabb::around(Vec3::X * x, Vec3::splat(0.01)),
                per_second: 60.0,
                start: Tick(1 + 2 * i as u64),
                count: 1,
                velocity_min: Vec3::ZERO,
                velocity_max: Vec3::ZERO,
                turned: false,
                choices: vec![Choice { weight: 1, body: BodyDesc::dynamic(Shape::ball(0.5)) }],
            })
            .collect();
        let world = Arc::new(world);
        let map = PartitionMap::from_layout(&world.layout).unwrap();
        let mut made = [Vec::new(), Vec::new()];
        for region in [0, 1] {
            let config = NodeConfig { planted, ..NodeConfig::new(RegionId(region)) };
            let mut node = Node::new(config, world.clone(), 1, map.clone(), Tick(0));
            (1..=6).for_each(|tick| node.tick(Tick(tick)));
            for (i, made) in made.iter_mut().enumerate() {
                made.extend(node.hosted().any(|(nid, _)| nid == world.injected_nid(1, i, 0)).then_some(region));
            }
        }
        made
    }

    #[test]
    fn what_injections_add_side_by_side_before_servers_have_spoken_is_made_by_one() {
        assert_eq!(makers([-0.4, 0.4], None), [vec![0], vec![0]]);
        assert_eq!(makers([-0.4, 0.4], Some(Planted::BirthsStay)), [vec![0], vec![1]]);
        assert_eq!(makers([-30.0, 30.0], None), [vec![0], vec![1]], "far apart");
    }
}
