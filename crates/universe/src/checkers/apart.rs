//! Bodies of different servers never touch: while every promise holds, what may touch is on one server before it does.
//!
//! Two bodies that overlap cannot both lie inside the regions of their servers. So it is enough to look at the bodies
//! that stick out of theirs, and to ask all other servers that are at the same tick what is there. A body that is given
//! away too late overlaps at the very tick at which it leaves, when nobody simulates it any more; so bodies that leave
//! are looked at as well, as they are described to their new server.

use nimbus_model::{BodyDesc, Groups, Nid, Pose, RegionId, Tick};
use nimbus_node::{Event, EventKind, Node};
use nimbus_wire::{Content, Frame, Item, decode_group};
use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Broken, Scene};

const RULE: &str = "apart";
/// Bodies of different servers must be this deep in each other, metres: the engine lets bodies touch a little.
const DEPTH_M: f32 = 0.05;

/// A body as a server had it at a tick.
struct Seen {
    nid: Nid,
    region: RegionId,
    tick: Tick,
    desc: Arc<BodyDesc>,
    pose: Pose,
}

#[derive(Default)]
pub(super) struct Apart {
    /// Bodies that left since the last look.
    left: Vec<Seen>,
    /// Births since the last look. Whoever is born inside another server's body and leaves at once is not to blame.
    born: BTreeSet<(Nid, Tick)>,
    /// Pairs found already; they tend to stay together for a while.
    found: BTreeSet<(Nid, Nid)>,
}

impl Apart {
    pub(super) fn observe(&mut self, event: &Event) {
        if event.kind == EventKind::Born {
            self.born.insert((event.nid, event.tick));
        }
    }

    /// Takes note of the bodies that a server gives away in these frames.
    pub(super) fn depart(&mut self, node: &Node, frames: &[Frame]) {
        let (region, tick) = (node.region(), node.now());
        let items = frames.iter().filter_map(|frame| match &frame.content {
            Content::Lane(lane) => Some(&lane.items),
            _ => None,
        });
        for (_, item) in items.flatten() {
            let Item::Transfer(transfer) = item else { continue };
            // What is sent again, or given back, is not as it was at this tick.
            if transfer.tick != tick || transfer.returned.is_some() {
                continue;
            }
            let Ok(group) = decode_group(&transfer.payload) else { continue };
            self.left.extend(group.members.into_iter().map(|member| Seen {
                nid: member.nid,
                region,
                tick,
                desc: member.desc,
                pose: member.motion.pose,
            }));
        }
    }

    pub(super) fn inspect(&mut self, scene: &Scene<'_>, broken: &mut Vec<Broken>) {
        let mut seen = std::mem::take(&mut self.left);
        let born = std::mem::take(&mut self.born);
        seen.retain(|body| !born.contains(&(body.nid, body.tick)));
        for node in &scene.nodes {
            let (region, tick) = (node.region(), node.now());
            node.physics().for_each(|body| {
                let inside = node.map().distance_to_boundary(region, body.pose.position);
                if inside <= body.desc.shape.bounding_radius() {
                    seen.push(Seen { nid: body.nid, region, tick, desc: body.desc.clone(), pose: body.pose });
                }
            });
        }
        for body in seen.iter().filter(|body| !body.desc.sensor) {
            let others = scene.nodes.iter().filter(|node| node.region() != body.region && node.now() == body.tick);
            for other in others {
                self.compare(body, other, broken);
            }
        }
    }

    fn compare(&mut self, body: &Seen, other: &Node, broken: &mut Vec<Broken>) {
        let there = other.physics();
        for nid in there.overlap(&body.desc.shape, body.pose, Default::default()) {
            let Some(met) = there.view(nid).filter(|_| there.contains(nid) && nid != body.nid) else { continue };
            let deep = body.desc.shape.bounds_at(&body.pose).depth(&met.desc.shape.bounds_at(&met.pose));
            let pair = (body.nid.min(nid), body.nid.max(nid));
            if deep > DEPTH_M && touch(body.desc.groups, met.desc.groups) && self.found.insert(pair) {
                let Seen { nid: one, region, tick, pose, .. } = body;
                let what = format!("{one} of {region} is {deep} m deep in {nid} of {}", other.region());
                broken.push(Broken(RULE, format!("{what} at {}, tick {tick}", pose.position)));
            }
        }
    }
}

/// True when bodies of these groups collide.
fn touch(one: Groups, two: Groups) -> bool {
    one.memberships & two.filter != 0 && two.memberships & one.filter != 0
}
