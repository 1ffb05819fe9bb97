//! What a client may ask about one body: who owns it, since when, and who did before.

use nimbus_model::{BodyDesc, Nid, RegionId, Tick, Velocity};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::nid_text;

/// One change of owner, as a gateway saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandOver {
    /// When the new owner first spoke for the body.
    pub tick: Tick,
    /// Who had it.
    pub from: RegionId,
    /// Who has it from then on.
    pub to: RegionId,
    /// The epoch of the new reign.
    pub epoch: u32,
}

/// Everything a gateway knows of one body, as the answer to `inspect`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BodyCard {
    /// The client's number for the question.
    pub seq: Option<u64>,
    /// Which body.
    #[serde(with = "nid_text::one")]
    pub nid: Nid,
    /// Who owns it.
    pub region: RegionId,
    /// Under which reign; raised by one with every change of owner.
    pub epoch: u32,
    /// The tick of the newest claim about it.
    pub tick: Tick,
    /// How it moves.
    pub velocity: Velocity,
    /// At rest until something wakes it.
    pub sleeping: bool,
    /// What it is.
    pub desc: Arc<BodyDesc>,
    /// How often it changed owner while the gateway watched.
    pub hand_overs: u64,
    /// The latest of those changes, oldest first.
    pub history: Vec<HandOver>,
}
