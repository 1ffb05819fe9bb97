//! What a gateway wants to hear from every region on top of births, hand-overs, rests and deaths, which it hears in any case.
//!
//! Only the latest wish counts. It is said again every now and then; a region that has not heard one for a while tells
//! everything, so that a wish that is lost costs bytes and not knowledge.

use nimbus_model::{Aabb, Vec3};
use serde::{Deserialize, Serialize};

/// Most boxes in a wish.
pub const WISH_BOXES_MAX: usize = 16;

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
    pub touches: bool,
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
        match &self.motion {
            Places::Everywhere => true,
            Places::Within(boxes) => {
                boxes.len() <= WISH_BOXES_MAX && boxes.iter().all(|within| within.min.cmple(within.max).all())
            }
        }
    }
}
