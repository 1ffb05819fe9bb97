//! What happened to bodies: the raw material of checkers, recordings and metrics.

use nimbus_model::{Nid, RegionId, Tick};
use nimbus_wire::Refusal;
use serde::{Deserialize, Serialize};

/// Why a body died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// It left the world's kill box.
    LeftWorld,
    /// A command removed it.
    Despawned,
    /// Its state was no longer a number.
    Quarantined,
    /// It appeared where it cannot be, for example with an id already present.
    Unplaceable,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventKind {
    /// A body came into being here.
    Born,
    /// A body ceased to be.
    Died(Cause),
    /// Authority was given to a region; the body is on its way.
    Granted(RegionId),
    /// Authority was taken over from a region.
    Adopted(RegionId),
    /// A transfer from a region could not be taken; the body goes back.
    Refused(RegionId, Refusal),
    /// A body was to come into being here and does not: the server's budget is used up. Its id is never used.
    NotBorn,
}

/// Something that happened to a body, as one server saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// How often the world had been loaded: ids of one era mean nothing in another.
    pub era: u16,
    /// When.
    pub tick: Tick,
    /// Where.
    pub region: RegionId,
    /// To which body.
    pub nid: Nid,
    /// Under which epoch: for a grant the new owner's.
    pub body_epoch: u32,
    /// What.
    pub kind: EventKind,
}
