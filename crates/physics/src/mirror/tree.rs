//! Bodies in a search tree of boxes.

use nimbus_model::{BodyDesc, Nid};
use rapier3d::geometry::InteractionGroups;
use rapier3d::math::Pose as EnginePose;
use rapier3d::parry::bounding_volume::{Aabb, BoundingVolume};
use rapier3d::parry::partitioning::{Bvh, BvhBuildStrategy, BvhWorkspace};
use rapier3d::parry::shape::SharedShape;

use crate::body;
use crate::narrow::{Placed, Ranked};
use crate::queries::Filter;
use crate::search::{self, Node};

/// How much larger than its body a box is, metres. A body that moves less leaves the tree alone, and whoever passes by
/// the box for rounding still meets it. Larger boxes are met by more rays that miss the body.
const MARGIN: f32 = 0.01;

/// A body of a mirror.
pub(super) struct Entry {
    at: EnginePose,
    shape: SharedShape,
    nid: Nid,
    groups: InteractionGroups,
    sensor: bool,
}

impl Entry {
    pub(super) fn new(nid: Nid, desc: &BodyDesc, shape: SharedShape, at: EnginePose) -> Entry {
        Entry { at, shape, nid, groups: body::groups(desc.groups), sensor: desc.sensor }
    }

    fn placed(&self) -> Placed<'_> {
        Placed { nid: self.nid, at: &self.at, shape: &*self.shape }
    }

    fn bounds(&self) -> Aabb {
        self.shape.compute_aabb(&self.at)
    }
}

/// Bodies by key, and their boxes in a tree.
#[derive(Default)]
pub(super) struct Tree {
    entries: Vec<Option<Entry>>,
    count: usize,
    boxes: Bvh,
    workspace: BvhWorkspace,
    /// Boxes that came, went or moved since the tree was last put in order.
    changes: usize,
    /// Boxes that came since the tree was last built.
    fresh: usize,
}

impl Tree {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn insert(&mut self, key: u32, entry: Entry) {
        let at = key as usize;
        if self.entries.len() <= at {
            self.entries.resize_with(at + 1, || None);
        }
        self.boxes.insert(entry.bounds().loosened(MARGIN), key);
        self.count += usize::from(self.entries[at].replace(entry).is_none());
        self.changes += 1;
        self.fresh += 1;
    }

    pub(super) fn place(&mut self, key: u32, at: EnginePose) -> bool {
        let Some(entry) = self.entries.get_mut(key as usize).and_then(Option::as_mut) else { return false };
        entry.at = at;
        let bounds = entry.bounds();
        if self.boxes.leaf_node(key).is_none_or(|leaf| !leaf.contains_aabb(&bounds)) {
            self.boxes.insert(bounds.loosened(MARGIN), key);
            self.changes += 1;
        }
        true
    }

    pub(super) fn remove(&mut self, key: u32) -> bool {
        let known = self.entries.get_mut(key as usize).is_some_and(|entry| entry.take().is_some());
        if known {
            self.boxes.remove(key);
            self.count -= 1;
            self.changes += 1;
        }
        known
    }

    /// Makes the tree quick again. It is right without.
    pub(super) fn settle(&mut self) {
        if self.changes == 0 {
            return;
        }
        if self.fresh * 4 > self.count {
            self.boxes.rebuild(&mut self.workspace, BvhBuildStrategy::Binned);
            self.fresh = 0;
        } else {
            self.boxes.optimize_incremental(&mut self.workspace);
        }
        self.boxes.refit(&mut self.workspace);
        self.changes = 0;
    }

    /// The best answer that a body gives, and how many were asked. `bound` says of a box what no body in it can be
    /// better than, `f32::MAX` if none is met; `answer` is given how far to look.
    pub(super) fn best<T: Ranked>(
        &self,
        filter: Filter,
        max: f32,
        bound: impl Fn(&Node) -> f32,
        answer: impl Fn(&Placed<'_>, f32) -> Option<T>,
    ) -> (Option<T>, u64) {
        search::best(&self.boxes, max, bound, |key| self.admitted(key, filter), |body| answer(body, max))
    }

    fn admitted(&self, key: u32, filter: Filter) -> Option<Placed<'_>> {
        let entry = self.entries.get(key as usize)?.as_ref()?;
        filter.passes(entry.nid, entry.sensor, entry.groups).then(|| entry.placed())
    }

    /// Bodies that count and whose boxes meet this one.
    pub(super) fn within(&self, bounds: &Aabb, filter: Filter) -> impl Iterator<Item = Placed<'_>> {
        let bounds = *bounds;
        let keys = self.boxes.leaves(move |node: &Node| node.aabb().intersects(&bounds));
        keys.filter_map(move |key| self.admitted(key, filter))
    }
}
