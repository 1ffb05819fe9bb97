//! How bodies come into being: with the world, by injection, by command; and how the world pushes them.

use nimbus_model::{Group, Link, Member, Motion, Nid, Tick, Vec3, World};

use crate::event::{Cause, EventKind};
use crate::node::Node;

impl Node {
    /// Brings in the bodies that the world starts with and that belong here. A group of jointed bodies starts, whole,
    /// where its middle is; every server comes to the same verdict without asking.
    pub(crate) fn populate(&mut self) {
        let world = self.world.clone();
        let mut group = Group::default();
        for linkage in linkages(&world) {
            let middle =
                linkage.iter().map(|&i| world.bodies[i as usize].pose.position).sum::<Vec3>() / linkage.len() as f32;
            if self.map.region_at(middle) != self.config.region {
                continue;
            }
            for &i in &linkage {
                let spawn = &world.bodies[i as usize];
                group.members.push(Member {
                    nid: World::nid(self.era, i),
                    desc: spawn.desc.clone(),
                    motion: Motion::new(spawn.pose, spawn.velocity),
                });
            }
        }
        group.sort();
        let here = |i: u32| group.members.binary_search_by_key(&World::nid(self.era, i), |m| m.nid).is_ok();
        for (ordinal, joint) in world.joints.iter().enumerate() {
            if here(joint.a) || here(joint.b) {
                let (a, b) = (World::nid(self.era, joint.a), World::nid(self.era, joint.b));
                group.links.push(Link::new(a, b, ordinal as u16, joint.desc.clone()));
            }
        }
        self.bear(group);
    }

    /// Brings in what the world's injections add between two ticks.
    pub(crate) fn inject(&mut self, first: Tick, last: Tick) {
        let world = self.world.clone();
        let mut group = Group::default();
        for tick in first.0..=last.0 {
            let age = Tick(tick).since(self.loaded_at);
            for (i, injection) in world.injections.iter().enumerate() {
                for ordinal in injection.due(Tick(age), world.tick_hz) {
                    let (desc, pose, velocity) = injection.body(world.seed, i, ordinal);
                    if self.map.region_at(pose.position) == self.config.region {
                        let nid = world.injected_nid(self.era, i, ordinal);
                        let desc = self.shared_desc(desc);
                        group.members.push(Member { nid, desc, motion: Motion::new(pose, velocity) });
                    }
                }
            }
        }
        self.bear(group);
    }

    /// A body of this server's own making.
    pub(crate) fn next_nid(&mut self) -> Nid {
        self.serial += 1;
        Nid::new(self.config.origin, self.serial)
    }

    /// Makes the bodies of a group exist. What the engine will not have is reported dead at once, so that no id
    /// vanishes without a word.
    pub(crate) fn bear(&mut self, group: Group) {
        if group.is_empty() {
            return;
        }
        let nids: Vec<Nid> = group.members.iter().map(|m| m.nid).collect();
        let placed = self.physics.insert(group).is_ok();
        for nid in nids {
            self.report(nid, 1, EventKind::Born);
            if placed {
                self.hosted.insert(nid, 1);
                self.tell_hosted(nid, 1, None);
            } else {
                self.report(nid, 2, EventKind::Died(Cause::Unplaceable));
            }
        }
    }

    /// Gives the scripted pushes of some ticks to the bodies that are here.
    pub(crate) fn push_scripted(&mut self, first: Tick, last: Tick, concerns: impl Fn(Nid) -> bool) {
        let world = self.world.clone();
        let ages = first.since(self.loaded_at)..=last.since(self.loaded_at);
        let start = world.script.partition_point(|push| push.tick.0 < *ages.start());
        for push in world.script[start..].iter().take_while(|push| ages.contains(&push.tick.0)) {
            let nid = World::nid(self.era, push.body);
            if concerns(nid) && self.hosted.contains_key(&nid) {
                self.physics.change_velocity(nid, push.linear, push.angular);
            }
        }
    }
}

/// The owned bodies of a world in groups held together by joints, in order of their first member.
fn linkages(world: &World) -> Vec<Vec<u32>> {
    let mut leader: Vec<u32> = (0..world.bodies.len() as u32).collect();
    fn find(leader: &mut [u32], i: u32) -> u32 {
        let mut root = i;
        while leader[root as usize] != root {
            leader[root as usize] = leader[leader[root as usize] as usize];
            root = leader[root as usize];
        }
        root
    }
    let owned = |i: u32| world.bodies[i as usize].desc.kind != nimbus_model::BodyKind::Static;
    for joint in &world.joints {
        if owned(joint.a) && owned(joint.b) {
            let (a, b) = (find(&mut leader, joint.a), find(&mut leader, joint.b));
            leader[a.max(b) as usize] = a.min(b);
        }
    }
    let mut groups = std::collections::BTreeMap::<u32, Vec<u32>>::new();
    for (i, _) in world.owned_bodies() {
        groups.entry(find(&mut leader, i)).or_default().push(i);
    }
    groups.into_values().collect()
}
