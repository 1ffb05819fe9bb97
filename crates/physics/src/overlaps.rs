//! Bodies of a world that start inside each other, for those who write worlds: the engine pushes them apart in the first
//! ticks, at a speed that nothing in the world explains.

use nimbus_model::{BodyKind, BodySpawn, World};
use rapier3d::math::Pose as EnginePose;
use rapier3d::parry::bounding_volume::{Aabb, BoundingVolume};
use rapier3d::parry::partitioning::{Bvh, BvhBuildStrategy};
use rapier3d::parry::query;
use rapier3d::parry::shape::SharedShape;
use std::collections::BTreeSet;

use crate::shapes::ShapeStore;
use crate::{body, convert};

/// An overlap is deep when it is deeper than this share of the smaller body's least half extent.
pub const DEEP_SHARE: f32 = 0.1;
/// And deeper than this, metres: about what the engine leaves between bodies that lie on each other.
pub const DEEP_LEAST_M: f32 = 0.02;
/// Pairs that are looked at closely; a world in which more bodies are that near each other is crowded all over.
const TRIES_MAX: usize = 500_000;

/// Two bodies that start inside each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeepOverlap {
    /// Index of the first body in the world.
    pub one: u32,
    /// Index of the second.
    pub two: u32,
    /// How deep, metres: the shortest way by which they come apart.
    pub depth: f32,
}

/// Every pair of bodies that starts deep inside each other, the deepest first, and whether all pairs were looked at.
/// Bodies that do not push each other do not count: those that groups or joints keep apart, sensors, and pairs without a
/// dynamic body.
pub fn deep_overlaps(world: &World) -> (Vec<DeepOverlap>, bool) {
    let mut shapes = ShapeStore::default();
    let solid: Vec<Option<Solid<'_>>> = world.bodies.iter().map(|spawn| Solid::new(spawn, &mut shapes)).collect();
    let jointed: BTreeSet<(u32, u32)> = world
        .joints
        .iter()
        .filter(|joint| !joint.desc.contacts)
        .map(|joint| (joint.a.min(joint.b), joint.a.max(joint.b)))
        .collect();
    let leaves = solid.iter().enumerate().filter_map(|(index, solid)| Some((index, solid.as_ref()?.bounds)));
    let tree = Bvh::from_iter(BvhBuildStrategy::Binned, leaves);
    let (mut found, mut tries) = (Vec::new(), 0);
    for (one, body) in (0..).zip(&solid) {
        let Some(body) = body else { continue };
        let bounds = body.bounds;
        for two in tree.leaves(|node| node.aabb().intersects(&bounds)).filter(|two| *two > one) {
            let Some(Some(other)) = solid.get(two as usize) else { continue };
            if jointed.contains(&(one, two)) || !body.pushes(other) {
                continue;
            }
            tries += 1;
            if tries > TRIES_MAX {
                return (in_order(found), false);
            }
            found.extend(body.depth_in(other).map(|depth| DeepOverlap { one, two, depth }));
        }
    }
    (in_order(found), true)
}

fn in_order(mut found: Vec<DeepOverlap>) -> Vec<DeepOverlap> {
    found.sort_by(|a, b| b.depth.total_cmp(&a.depth).then((a.one, a.two).cmp(&(b.one, b.two))));
    found
}

struct Solid<'a> {
    spawn: &'a BodySpawn,
    shape: SharedShape,
    at: EnginePose,
    bounds: Aabb,
    /// The least half extent of the shape in its own frame.
    half: f32,
}

impl<'a> Solid<'a> {
    /// A body that may push others, or none.
    fn new(spawn: &'a BodySpawn, shapes: &mut ShapeStore) -> Option<Solid<'a>> {
        if spawn.desc.sensor || spawn.desc.problem().is_some() {
            return None;
        }
        let shape = shapes.get(&spawn.desc.shape).ok()?;
        let at = convert::engine_pose(&spawn.pose);
        let bounds = shape.compute_aabb(&at);
        // A surface has no inside: what is in it is judged by its own size.
        let half =
            if spawn.desc.shape.is_surface() { f32::MAX } else { spawn.desc.shape.bounds().half().min_element() };
        Some(Solid { spawn, shape, at, bounds, half })
    }

    fn pushes(&self, other: &Solid<'_>) -> bool {
        let dynamic = [self, other].iter().any(|solid| solid.spawn.desc.kind == BodyKind::Dynamic);
        dynamic && body::groups(self.spawn.desc.groups).test(body::groups(other.spawn.desc.groups))
    }

    fn depth_in(&self, other: &Solid<'_>) -> Option<f32> {
        let touch = query::contact(&self.at, &*self.shape, &other.at, &*other.shape, 0.0).ok()??;
        let deep = (DEEP_SHARE * self.half.min(other.half)).max(DEEP_LEAST_M);
        (-touch.dist > deep).then_some(-touch.dist)
    }
}
