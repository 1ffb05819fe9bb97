//! Touches that began and ended, as a region tells a gateway that wants to know.

use nimbus_model::{Nid, Tick};
use serde::{Deserialize, Serialize};

/// Most touches in one [`Touches`].
pub const TOUCHES_MAX: usize = 1_024;

/// Two bodies began or ceased to touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Touch {
    /// When. It may lie before the tick at which the server learned of it, while the bodies were on their way to it.
    pub tick: Tick,
    /// The lower id.
    pub one: Nid,
    /// The higher id; one of the two may be a static.
    pub two: Nid,
    /// They began to touch; or else they ceased, or one of them ceased to be.
    pub began: bool,
}

/// What a region learned of at one tick.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touches {
    /// In the order in which the region learned of them, at most [`TOUCHES_MAX`].
    pub touches: Vec<Touch>,
    /// How many more there were, since the last that was told.
    pub left_out: u64,
}
