//! Bodies of different servers that are in each other: each server simulates its own as if the other one were not there.

use nimbus_model::{BodyDesc, Pose};
use nimbus_node::Node;
use std::sync::Arc;

/// How deep any two bodies of different servers are in each other, metres. Two that overlap cannot both lie inside the
/// regions of their servers, so only those are looked at that do not. The shapes must overlap; the depth is that of
/// their boxes, along the axis where it is least. Servers are compared when they are at the same tick.
pub(super) fn deepest_overlap(nodes: &[Node]) -> f32 {
    let mut outside: Vec<(&Node, Arc<BodyDesc>, Pose)> = Vec::new();
    for node in nodes {
        node.physics().for_each(|body| {
            let inside = node.map().distance_to_boundary(node.region(), body.pose.position);
            if inside <= body.desc.shape.bounding_radius() && !body.desc.sensor {
                outside.push((node, body.desc.clone(), body.pose));
            }
        });
    }
    let mut deepest: f32 = 0.0;
    for (node, desc, pose) in &outside {
        for other in nodes.iter().filter(|other| other.region() != node.region() && other.now() == node.now()) {
            let there = other.physics();
            for nid in there.overlap(&desc.shape, *pose, Default::default()) {
                // Statics are everywhere.
                if let Some(met) = there.view(nid).filter(|_| there.contains(nid)) {
                    deepest = deepest.max(desc.shape.bounds_at(pose).depth(&met.desc.shape.bounds_at(&met.pose)));
                }
            }
        }
    }
    deepest
}
