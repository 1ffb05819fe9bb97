//! Boxes drawn by hand, cut into leaves along their faces.

use nimbus_model::{Aabb, RegionBox, RegionId};

use crate::layout::{AXIS_NAMES, AXIS_ORDER, BOXES_MAX, LayoutError};
use crate::tree::{DEPTH_MAX, LEAVES_MAX, MapError, Piece};

/// Cuts space so that each leaf lies in one region: that of the first box that holds it, or the default.
pub(crate) fn cut(boxes: &[RegionBox], default: RegionId) -> Result<Vec<Piece>, LayoutError> {
    let infinite = |drawn: &RegionBox| !drawn.bounds.min.is_finite() || !drawn.bounds.max.is_finite();
    if let Some(index) = boxes.iter().position(infinite) {
        return Err(LayoutError::BoxNotFinite { index });
    }
    cut_open(boxes, default)
}

/// The same with boxes that may reach to infinity, as those of a map do.
pub(crate) fn cut_open(boxes: &[RegionBox], default: RegionId) -> Result<Vec<Piece>, LayoutError> {
    if boxes.len() > BOXES_MAX {
        return Err(LayoutError::TooManyBoxes { count: boxes.len() });
    }
    for (index, drawn) in boxes.iter().enumerate() {
        check(index, &drawn.bounds)?;
    }
    let mut visible: Vec<RegionBox> = Vec::with_capacity(boxes.len());
    for drawn in boxes {
        if !visible.iter().any(|earlier| covers(&earlier.bounds, &drawn.bounds)) {
            visible.push(*drawn);
            while let [.., a, b] = visible.as_slice()
                && let Some(both) = joined(a, b)
            {
                visible.truncate(visible.len() - 2);
                visible.push(both);
            }
        }
    }
    let mut cutter = Cutter { default, pieces: Vec::new(), leaves: 0 };
    cutter.cut(&Aabb::EVERYTHING, &visible, 0)?;
    Ok(cutter.pieces)
}

fn check(index: usize, bounds: &Aabb) -> Result<(), LayoutError> {
    if bounds.min.is_nan() || bounds.max.is_nan() {
        return Err(LayoutError::BoxNotFinite { index });
    }
    for (i, axis) in AXIS_NAMES.into_iter().enumerate() {
        let (min, max) = (bounds.min[i], bounds.max[i]);
        if min >= max {
            return Err(LayoutError::BoxEmpty { index, axis, min, max });
        }
    }
    Ok(())
}

fn covers(outer: &Aabb, inner: &Aabb) -> bool {
    outer.min.cmple(inner.min).all() && outer.max.cmpge(inner.max).all()
}

/// True when the two boxes share volume, not only a face.
fn overlaps(a: &Aabb, b: &Aabb) -> bool {
    a.min.cmplt(b.max).all() && b.min.cmplt(a.max).all()
}

/// Two boxes of one region as one box, if together they are one. Only for boxes that follow each other in the list: a
/// box between them could win over the second.
fn joined(a: &RegionBox, b: &RegionBox) -> Option<RegionBox> {
    let same = a.bounds.min.cmpeq(b.bounds.min) & a.bounds.max.cmpeq(b.bounds.max);
    let lined_up = same.bitmask().count_ones() >= 2 && a.bounds.meets(&b.bounds);
    (a.region == b.region && lined_up).then(|| RegionBox { region: a.region, bounds: a.bounds.union(&b.bounds) })
}

struct Cutter {
    default: RegionId,
    pieces: Vec<Piece>,
    leaves: usize,
}

impl Cutter {
    /// Cuts one cell, given the boxes that may reach into it, first wins.
    fn cut(&mut self, cell: &Aabb, boxes: &[RegionBox], depth: usize) -> Result<(), MapError> {
        let mut inside: Vec<RegionBox> = boxes.iter().filter(|drawn| overlaps(&drawn.bounds, cell)).copied().collect();
        let rest = match inside.iter().position(|drawn| covers(&drawn.bounds, cell)) {
            Some(first) => {
                inside.truncate(first + 1);
                inside[first].region
            }
            None => self.default,
        };
        if inside.iter().all(|drawn| drawn.region == rest) {
            return self.leaf(rest);
        }
        let Some((axis, at)) = best_face(cell, &inside) else {
            return self.leaf(inside[0].region);
        };
        if depth == DEPTH_MAX {
            return Err(MapError::TooDeep);
        }
        let place = self.pieces.len();
        self.pieces.push(Piece::Cut { axis: axis as u8, at });
        let (mut low, mut high) = (*cell, *cell);
        low.max[axis] = at;
        high.min[axis] = at;
        self.cut(&low, &inside, depth + 1)?;
        self.cut(&high, &inside, depth + 1)?;
        self.merge(place);
        Ok(())
    }

    fn leaf(&mut self, region: RegionId) -> Result<(), MapError> {
        self.leaves += 1;
        if self.leaves > LEAVES_MAX {
            return Err(MapError::TooManyLeaves);
        }
        self.pieces.push(Piece::Leaf { region });
        Ok(())
    }

    /// Takes back a cut whose two sides turned out to be leaves of one region.
    fn merge(&mut self, place: usize) {
        if let [Piece::Leaf { region: low }, Piece::Leaf { region: high }] = self.pieces[place + 1..]
            && low == high
        {
            self.pieces.truncate(place);
            self.pieces.push(Piece::Leaf { region: low });
            self.leaves -= 1;
        }
    }
}

/// The face to cut along. A plane where every box ends comes first: it costs one leaf now and many later. Otherwise few
/// boxes cut in two, then an even share on both sides; boxes in two weigh double, because each of them may grow leaves
/// on both sides.
fn best_face(cell: &Aabb, inside: &[RegionBox]) -> Option<(usize, f32)> {
    let mut best: Option<(usize, usize, f32)> = None;
    for axis in AXIS_ORDER {
        let mut mins: Vec<f32> = inside.iter().map(|drawn| drawn.bounds.min[axis]).collect();
        let mut maxs: Vec<f32> = inside.iter().map(|drawn| drawn.bounds.max[axis]).collect();
        mins.sort_unstable_by(f32::total_cmp);
        maxs.sort_unstable_by(f32::total_cmp);
        let shared = [&mins, &maxs].map(|faces| (faces.first() == faces.last()).then_some(faces[0]));
        for &at in mins.iter().chain(&maxs) {
            if at <= cell.min[axis] || at >= cell.max[axis] {
                continue;
            }
            if shared.contains(&Some(at)) {
                return Some((axis, at));
            }
            let low = mins.partition_point(|&min| min < at);
            let high = inside.len() - maxs.partition_point(|&max| max <= at);
            let cost = 2 * (low + high) + low.max(high);
            if best.is_none_or(|(least, ..)| cost < least) {
                best = Some((cost, axis, at));
            }
        }
    }
    best.map(|(_, axis, at)| (axis, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use nimbus_model::Vec3;

    fn drawn(region: u16, min: [f32; 3], max: [f32; 3]) -> RegionBox {
        RegionBox { region: RegionId(region), bounds: Aabb::new(Vec3::from(min), Vec3::from(max)) }
    }

    fn tree(boxes: &[RegionBox]) -> Tree {
        Tree::read(&cut(boxes, RegionId(0)).unwrap()).unwrap()
    }

    #[test]
    fn no_boxes_leave_everything_to_the_default() {
        assert_eq!(tree(&[]).write(), [Piece::Leaf { region: RegionId(0) }]);
    }

    #[test]
    fn one_box_takes_six_cuts() {
        let tree = tree(&[drawn(1, [-1.0; 3], [1.0; 3])]);
        assert_eq!(tree.leaves().count(), 7);
        assert_eq!(tree.region_at(Vec3::splat(-1.0)), RegionId(1));
        assert_eq!(tree.region_at(Vec3::splat(1.0)), RegionId(0));
    }

    #[test]
    fn the_first_box_wins_and_a_hidden_one_leaves_no_trace() {
        let above = drawn(1, [0.0; 3], [10.0; 3]);
        let hidden = drawn(2, [2.0; 3], [8.0; 3]);
        assert_eq!(tree(&[above, hidden]).leaves().count(), 7);
        assert_eq!(tree(&[hidden, above]).region_at(Vec3::splat(5.0)), RegionId(2));
    }

    #[test]
    fn boxes_of_one_region_merge() {
        let quarter = |x: f32, z: f32| drawn(1, [x, 0.0, z], [x + 5.0, 10.0, z + 5.0]);
        let whole = tree(&[drawn(1, [0.0; 3], [10.0; 3])]);
        assert_eq!(tree(&[quarter(0.0, 0.0), quarter(5.0, 0.0), quarter(0.0, 5.0), quarter(5.0, 5.0)]), whole);
    }

    #[test]
    fn boxes_do_not_merge_past_one_that_wins_in_between() {
        let between = drawn(2, [6.0; 3], [8.0; 3]);
        let tree = tree(&[drawn(1, [0.0; 3], [5.0, 10.0, 10.0]), between, drawn(1, [5.0, 0.0, 0.0], [10.0; 3])]);
        assert_eq!(tree.region_at(Vec3::splat(7.0)), RegionId(2));
        assert_eq!(tree.region_at(Vec3::splat(5.5)), RegionId(1));
    }

    #[test]
    fn a_full_set_of_boxes_stays_within_bounds() {
        let boxes: Vec<RegionBox> = (0..BOXES_MAX)
            .map(|i| {
                let low = [(i % 32) as f32 * 10.0, 0.0, (i / 32) as f32 * 10.0];
                drawn(i as u16 % 1000, low, [low[0] + 10.0, 50.0, low[2] + 10.0])
            })
            .collect();
        let tree = tree(&boxes);
        assert!(tree.leaves().count() < 1_200, "{} leaves", tree.leaves().count());
        assert_eq!(tree.regions().len(), 1000);
    }

    #[test]
    fn bad_boxes_are_refused() {
        let refusal = |bad: RegionBox| cut(&[drawn(1, [0.0; 3], [1.0; 3]), bad], RegionId(0)).unwrap_err();
        assert_eq!(refusal(drawn(1, [0.0; 3], [f32::INFINITY; 3])), LayoutError::BoxNotFinite { index: 1 });
        assert_eq!(refusal(drawn(1, [f32::NAN; 3], [1.0; 3])), LayoutError::BoxNotFinite { index: 1 });
        let inverted = LayoutError::BoxEmpty { index: 1, axis: 'y', min: 2.0, max: 1.0 };
        assert_eq!(refusal(drawn(1, [0.0, 2.0, 0.0], [1.0; 3])), inverted);
        let many = vec![drawn(1, [0.0; 3], [1.0; 3]); BOXES_MAX + 1];
        assert_eq!(cut(&many, RegionId(0)).unwrap_err(), LayoutError::TooManyBoxes { count: BOXES_MAX + 1 });
    }

    #[test]
    fn boxes_that_need_too_deep_a_tree_are_refused() {
        let onion: Vec<RegionBox> = (1..500).map(|i| drawn(i, [-f32::from(i); 3], [f32::from(i); 3])).collect();
        assert!(matches!(cut(&onion, RegionId(0)).unwrap_err(), LayoutError::Tree(MapError::TooDeep)));
    }
}
