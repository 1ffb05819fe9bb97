//! Which regions touch, and how.

use nimbus_model::{Aabb, RegionId};

use crate::tree::{Node, Tree};

/// How two regions touch. The order is the order of strength: a face lets most traffic through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contact {
    /// They share a point only.
    Corner,
    /// They share a line.
    Edge,
    /// They share an area.
    Face,
}

/// A region that touches another. Only neighbours can be reached without crossing a third region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Who it is.
    pub region: RegionId,
    /// The strongest contact between any leaf of one and any leaf of the other.
    pub contact: Contact,
}

/// How two disjoint leaves touch; `None` when there is space between them.
///
/// Touching faces come from one cut or from equal cuts, so exact comparison is right here.
pub(crate) fn contact(a: &Aabb, b: &Aabb) -> Option<Contact> {
    let low = a.min.max(b.min);
    let high = a.max.min(b.max);
    if low.cmpgt(high).any() {
        return None;
    }
    match low.cmpeq(high).bitmask().count_ones() {
        0 | 1 => Some(Contact::Face),
        2 => Some(Contact::Edge),
        _ => Some(Contact::Corner),
    }
}

/// The neighbours of the region in `slot`, sorted by region.
///
/// `strongest` is working space with one entry per region; it comes back empty.
pub(crate) fn of_region(
    tree: &Tree,
    slot: usize,
    leaves: &[Aabb],
    strongest: &mut [Option<Contact>],
) -> Vec<Neighbour> {
    for leaf in leaves {
        note_touching(tree, 0, leaf, strongest);
    }
    strongest[slot] = None;
    let touching = strongest.iter_mut().zip(tree.regions());
    touching.filter_map(|(contact, &region)| contact.take().map(|contact| Neighbour { region, contact })).collect()
}

fn note_touching(tree: &Tree, mut index: usize, leaf: &Aabb, strongest: &mut [Option<Contact>]) {
    loop {
        match tree.nodes()[index] {
            Node::Leaf { slot, .. } => {
                let noted = &mut strongest[slot as usize];
                if *noted != Some(Contact::Face) {
                    *noted = (*noted).max(contact(leaf, &tree.bounds()[index]));
                }
                return;
            }
            Node::Cut { axis, at, high } => {
                let axis = axis as usize;
                if leaf.max[axis] < at {
                    index += 1;
                } else {
                    if leaf.min[axis] <= at {
                        note_touching(tree, index + 1, leaf, strongest);
                    }
                    index = high as usize;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::Vec3;

    #[test]
    fn contact_counts_the_axes_that_only_touch() {
        let unit = |x: f32, y: f32, z: f32| Aabb::new(Vec3::new(x, y, z), Vec3::new(x + 1.0, y + 1.0, z + 1.0));
        let origin = unit(0.0, 0.0, 0.0);
        assert_eq!(contact(&origin, &unit(1.0, 0.5, -0.5)), Some(Contact::Face));
        assert_eq!(contact(&origin, &unit(1.0, 1.0, 0.0)), Some(Contact::Edge));
        assert_eq!(contact(&origin, &unit(-1.0, 1.0, -1.0)), Some(Contact::Corner));
        assert_eq!(contact(&origin, &unit(1.5, 0.0, 0.0)), None);
    }

    #[test]
    fn half_spaces_touch_along_their_plane() {
        let mut low = Aabb::EVERYTHING;
        let mut high = Aabb::EVERYTHING;
        low.max.z = 4.0;
        high.min.z = 4.0;
        assert_eq!(contact(&low, &high), Some(Contact::Face));
    }
}
