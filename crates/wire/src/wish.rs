//! What a gateway wants to hear from every region on top of births, hand-overs, rests and deaths, which it hears in any case.
//!
//! Only the latest wish counts. It is said again every now and then; a region that has not heard one for a while tells
//! everything, so that a wish that is lost costs bytes and not knowledge.

use nimbus_model::{Aabb, Nid, Vec3};
use serde::{Deserialize, Serialize};

/// Most boxes in a wish.
pub const WISH_BOXES_MAX: usize = 16;
/// Most bodies named in a wish.
pub const WISH_BODIES_MAX: usize = 1_024;

/// Where motion is to be told of at every tick. Elsewhere it is told of now and then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Places {
    /// Wherever it is.
    Everywhere,
    /// In these boxes, at most [`WISH_BOXES_MAX`]; nowhere if there are none.
    Within(Vec<Aabb>),
}

/// What a gateway wants to hear from a region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wish {
    /// Where bodies move.
    pub motion: Places,
    /// Which bodies begin and cease to touch, for certain.
    pub touches: WantedTouches,
}

/// Whose touches a gateway wants to hear of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WantedTouches {
    /// Nobody's.
    None,
    /// Those of these bodies, in order and each once, at most [`WISH_BODIES_MAX`]. They are told however many others touch.
    Of(Vec<Nid>),
    /// All there are.
    All,
}

impl WantedTouches {
    /// Those of these bodies, or all when there are too many to name.
    pub fn of(nids: impl IntoIterator<Item = Nid>) -> WantedTouches {
        let mut nids: Vec<Nid> = nids.into_iter().collect();
        nids.sort_unstable();
        nids.dedup();
        match nids.len() {
            0 => WantedTouches::None,
            1..=WISH_BODIES_MAX => WantedTouches::Of(nids),
            _ => WantedTouches::All,
        }
    }

    /// True when a touch between two bodies is wanted.
    pub fn concern(&self, one: Nid, two: Nid) -> bool {
        match self {
            WantedTouches::None => false,
            WantedTouches::Of(nids) => [one, two].iter().any(|nid| nids.binary_search(nid).is_ok()),
            WantedTouches::All => true,
        }
    }

    /// True when all that the other wants is wanted.
    pub fn covers(&self, other: &WantedTouches) -> bool {
        match (self, other) {
            (WantedTouches::All, _) | (_, WantedTouches::None) => true,
            (WantedTouches::Of(all), WantedTouches::Of(some)) => some.iter().all(|nid| all.binary_search(nid).is_ok()),
            _ => false,
        }
    }

    fn is_sound(&self) -> bool {
        match self {
            WantedTouches::None | WantedTouches::All => true,
            WantedTouches::Of(nids) => nids.len() <= WISH_BODIES_MAX && nids.is_sorted_by(|a, b| a < b),
        }
    }
}

impl Places {
    /// True when motion at this place is to be told of at every tick.
    pub fn hold(&self, place: Vec3) -> bool {
        match self {
            Places::Everywhere => true,
            Places::Within(boxes) => boxes.iter().any(|within| within.holds(place)),
        }
    }
}

impl Wish {
    pub(crate) fn is_sound(&self) -> bool {
        let is_possible = match &self.motion {
            Places::Everywhere => true,
            Places::Within(boxes) => {
                boxes.len() <= WISH_BOXES_MAX && boxes.iter().all(|within| within.min.cmple(within.max).all())
            }
        };
        is_possible && self.touches.is_sound()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_wants_more_covers_whoever_wants_less() {
        let of = |nids: &[u64]| WantedTouches::of(nids.iter().copied().map(Nid));
        let (few, more) = (of(&[3]), of(&[7, 3, 3, 5]));
        assert_eq!((of(&[]), more.clone()), (WantedTouches::None, WantedTouches::Of(vec![Nid(3), Nid(5), Nid(7)])));
        assert_eq!(WantedTouches::of((0..=WISH_BODIES_MAX as u64).map(Nid)), WantedTouches::All);
        let ascending = [WantedTouches::None, few, more, WantedTouches::All];
        for (i, one) in ascending.iter().enumerate() {
            for (j, other) in ascending.iter().enumerate() {
                assert_eq!(one.covers(other), i >= j, "{one:?} {other:?}");
            }
        }
        let concerned = ascending.map(|of| of.concern(Nid(5), Nid(9)));
        assert_eq!(concerned, [false, false, true, true]);
    }
}
