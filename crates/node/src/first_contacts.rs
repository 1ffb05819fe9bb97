//! What may touch before servers have heard of each other's bodies, when a world begins: it starts on one server.
//!
//! The first auras go out after the first tick. They are heard a leg later, and what they draw arrives another leg later,
//! or more where servers may relay it. Until then the bodies of a world go where their velocities and scripted pushes take
//! them, unless they strike each other: what may be struck may then go anywhere as fast as what strikes it. What an injection
//! adds within that time is in the same case.

use nimbus_model::{Aabb, Extent, Group, Member, RegionId, Tick, Vec3, World};
use nimbus_wire::PlannedBirth;
use std::collections::BTreeMap;

use crate::horizon::TOUCH_M;
use crate::node::Node;
use crate::planned_births::extent_of;

/// How often two bodies are looked at on their way.
const LOOKS: u32 = 8;

/// A body as the world begins.
struct Start {
    linkage: usize,
    extent: Extent,
    velocity: Vec3,
    /// What joints, pushes and strikes of others may add in any direction, m/s.
    any_way: f32,
    /// How fast its surface turns, m/s.
    turns: f32,
}

impl Start {
    fn is_still(&self) -> bool {
        self.velocity == Vec3::ZERO && self.any_way == 0.0 && self.turns == 0.0
    }
}

/// Gives groups that may touch so early after a tick one home: the lowest rank among them; and likewise what injections add
/// so early. Every server comes to the same verdict.
pub(crate) fn bring_together(
    node: &Node,
    at: Tick,
    (linkages, homes): (&[Group], &mut [RegionId]),
    (births, makers): (&[PlannedBirth], &mut [RegionId]),
) {
    let relay = node.seam.corner_max.min(1);
    let last_birth = births.last().map_or(0, |birth| birth.at.since(at));
    let ticks = last_birth + 1 + (2 + relay) * node.horizon.legs + u64::from(node.seam.sweeps);
    let mut starts: Vec<Start> = Vec::new();
    for (linkage, group) in linkages.iter().enumerate() {
        starts.extend(group.members.iter().map(|member| start_of(node, at, linkage, group, member)));
    }
    starts.extend(births.iter().enumerate().map(|(i, birth)| start_of_unborn(node, linkages.len() + i, birth)));
    // The second round knows what the first found to be struck.
    let strikes = meetings(node, &starts, ticks);
    for (one, two) in strikes {
        let [a, b] = [&starts[one], &starts[two]];
        let strike = (a.velocity - b.velocity).length() + a.any_way.max(b.any_way) + a.turns.max(b.turns);
        for at in [one, two] {
            starts[at].any_way = starts[at].any_way.max(strike.min(2.0 * node.horizon.speed));
        }
    }
    let mut leader: Vec<usize> = (0..linkages.len() + births.len()).collect();
    for (one, two) in meetings(node, &starts, ticks) {
        let (one, two) = (find(&mut leader, starts[one].linkage), find(&mut leader, starts[two].linkage));
        leader[one.max(two)] = one.min(two);
    }
    let mut lowest: BTreeMap<usize, RegionId> = BTreeMap::new();
    for (i, home) in homes.iter().chain(makers.iter()).enumerate() {
        let first = lowest.entry(find(&mut leader, i)).or_insert(*home);
        if node.outranks(*home, *first) {
            *first = *home;
        }
    }
    for (i, home) in homes.iter_mut().chain(makers).enumerate() {
        *home = lowest[&find(&mut leader, i)];
    }
}

fn find(leader: &mut [usize], mut i: usize) -> usize {
    while leader[i] != i {
        leader[i] = leader[leader[i]];
        i = leader[i];
    }
    i
}

fn start_of(node: &Node, at: Tick, linkage: usize, group: &Group, member: &Member) -> Start {
    let motion = &member.motion;
    let velocity = motion.velocity.linear;
    let held = group.members.iter().map(|other| {
        let other = &other.motion.velocity;
        (other.linear - velocity).length()
    });
    let turning =
        |other: &Member| other.desc.shape.turning_speed(other.motion.pose.rotation, other.motion.velocity.angular);
    let turns = group.members.iter().map(turning).fold(0.0, f32::max);
    let held = held.fold(0.0, f32::max);
    let mut pushed: f32 = 0.0;
    if !node.world.script.is_empty() {
        let named = |body: u32| group.members.iter().any(|member| World::nid(node.era, body) == member.nid);
        for ahead in 1..=node.notice_ticks() {
            let pushes = node.world.pushes_at(at + ahead, node.loaded_at).iter();
            let strength = pushes
                .filter(|push| named(push.body))
                .map(|push| push.linear.length() + push.angular.length() * member.desc.shape.bounding_radius());
            pushed += strength.sum::<f32>();
        }
    }
    let extent = extent_of(&member.desc, &motion.pose);
    // What turns stays in the ball around it.
    let extent = if turns > 0.0 { extent.in_ball(member.desc.shape.bounding_radius()) } else { extent };
    Start { linkage, extent, velocity, any_way: held + pushed, turns }
}

/// A body that an injection will add. When it begins to move is left open: it may go astray as fast as it will be, and fall.
fn start_of_unborn(node: &Node, linkage: usize, birth: &PlannedBirth) -> Start {
    let PlannedBirth { desc, motion, .. } = birth;
    let turns = desc.shape.turning_speed(motion.pose.rotation, motion.velocity.angular);
    let any_way = motion.velocity.linear.length().max(node.horizon.gravity * node.horizon.tick_s);
    let extent = extent_of(desc, &motion.pose);
    let extent = if turns > 0.0 { extent.in_ball(desc.shape.bounding_radius()) } else { extent };
    Start { linkage, extent, velocity: Vec3::ZERO, any_way, turns }
}

/// Pairs of bodies of different groups that may touch within some ticks, by their places in the list.
fn meetings(node: &Node, starts: &[Start], ticks: u64) -> Vec<(usize, usize)> {
    let horizon = &node.horizon;
    let falls = horizon.reach(0.0, horizon.gravity, ticks);
    let reach = |start: &Start| {
        let reach = horizon.reach(start.velocity.length() + start.any_way, 0.0, ticks);
        0.5 * TOUCH_M + if start.is_still() { 0.0 } else { reach + falls }
    };
    let mut boxes: Vec<(usize, Aabb)> =
        starts.iter().enumerate().map(|(i, start)| (i, start.extent.bounds.grown(reach(start)))).collect();
    boxes.sort_by(|one, two| one.1.min.x.total_cmp(&two.1.min.x));
    let mut pairs = Vec::new();
    for (at, (i, bounds)) in boxes.iter().enumerate() {
        for (j, other) in boxes[at + 1..].iter().take_while(|(_, other)| other.min.x <= bounds.max.x) {
            let (one, two) = (&starts[*i], &starts[*j]);
            if one.linkage == two.linkage || !bounds.meets(other) {
                continue;
            }
            if may_meet(one, two, TOUCH_M, 2.0 * falls, ticks as f32 * horizon.tick_s) {
                pairs.push((*i, *j));
            }
        }
    }
    pairs
}

/// True when two bodies that fly on as they do come within a distance of each other in some seconds, where each may go
/// astray as fast as it says, and both together by `falls` metres.
fn may_meet(one: &Start, two: &Start, touch: f32, falls: f32, seconds: f32) -> bool {
    if one.is_still() && two.is_still() {
        return one.extent.is_within(touch, &two.extent);
    }
    let velocity = one.velocity - two.velocity;
    let astray = (one.any_way + two.any_way) * seconds;
    // Between two looks they come nearer by half of what they cover at the most.
    let gap = touch + falls + astray + 0.5 * velocity.length() * seconds / LOOKS as f32;
    (0..=LOOKS).any(|look| {
        let way = velocity * (seconds * look as f32 / LOOKS as f32);
        one.extent.moved(way).is_within(gap, &two.extent)
    })
}
