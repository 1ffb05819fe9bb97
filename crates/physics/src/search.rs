//! Looking for the best answer among bodies in a tree of boxes, that of the engine or that of a mirror.

use glam::Vec3A;
use nimbus_model::Vec3;
use rapier3d::parry::partitioning::{Bvh, BvhNode};
use std::cell::Cell;

use crate::narrow::{Placed, Ranked};

pub(crate) type Node = BvhNode;

/// The best answer that a body gives, and how many were asked. `bound` says of a box what no body in it can be better
/// than, `f32::MAX` if none is met; `body` is what a leaf of the tree stands for, if it counts.
pub(crate) fn best<'a, T: Ranked>(
    boxes: &Bvh,
    max: f32,
    bound: impl Fn(&Node) -> f32,
    body: impl Fn(u32) -> Option<Placed<'a>>,
    answer: impl Fn(&Placed<'a>) -> Option<T>,
) -> (Option<T>, u64) {
    let best: Cell<Option<T>> = Cell::new(None);
    let tried = Cell::new(0);
    // A box a little farther away than the best may hold a tie, which goes to the lower id.
    let slack = |node: &Node, _| {
        let bound = bound(node);
        if bound == f32::MAX { bound } else { bound * (1.0 - 1e-5) - 1e-5 }
    };
    let limit = (max * (1.0 + 1e-5) + 1e-5).min(f32::MAX);
    boxes.find_best(limit, slack, |key, _| {
        let body = body(key)?;
        tried.set(tried.get() + 1);
        let found = answer(&body)?;
        if best.get().is_none_or(|best| found.order(&best).is_lt()) {
            best.set(Some(found));
        }
        Some(found.rank().0)
    });
    (best.get(), tried.get())
}

/// A ray, or the way of a box, against the boxes of a tree.
pub(crate) struct Line {
    origin: Vec3A,
    inverse: Vec3A,
    half: Vec3A,
}

impl Line {
    /// From a place along a unit direction; `half` is that of a box that moves along it.
    pub(crate) fn new(origin: Vec3, direction: Vec3, half: Vec3) -> Line {
        // A direction that has nothing of an axis gets next to nothing of it: less than the margin of a box over the
        // extent of any world.
        let inverse = direction.map(|d| 1.0 / if d.abs() < f32::EPSILON { f32::EPSILON.copysign(d) } else { d });
        Line { origin: origin.into(), inverse: inverse.into(), half: half.into() }
    }

    /// How far along it enters a box; `f32::MAX` when it does not.
    pub(crate) fn enters(&self, node: &Node) -> f32 {
        let low = (Vec3A::from(node.mins()) - self.half - self.origin) * self.inverse;
        let high = (Vec3A::from(node.maxs()) + self.half - self.origin) * self.inverse;
        let enters = low.min(high).max_element().max(0.0);
        let leaves = low.max(high).min_element();
        if leaves >= enters { enters } else { f32::MAX }
    }
}

/// How far a place is from a box.
pub(crate) fn distance(node: &Node, place: Vec3) -> f32 {
    (node.mins() - place).max(place - node.maxs()).max(Vec3::ZERO).length()
}
