//! Where many bodies are, at every tick, in as few bits as the eye allows.
//!
//! A [`StreamEncoder`] and a [`StreamDecoder`] hold one stream to one client. Every packet is a whole snapshot and may get
//! lost: what it leaves out is in a snapshot that the client has acknowledged, never in one that was merely sent. That
//! goes for everything the two sides remember, poses, velocities and the odds of the entropy coder alike: all of it is part
//! of a snapshot, and a packet names the snapshot that it goes on from. So there is nothing to fall out of step.
//!
//! While packets get lost, each also has the snapshot before it, so that a client can show what it missed. That one is only for
//! showing; nothing goes on from it but the rest of its own packet.
//!
//! The caller hands the bytes to a transport that drops damaged packets, and tells the encoder what arrived:
//!
//! 1. [`StreamEncoder::encode`] once a tick, to the client;
//! 2. [`StreamDecoder::decode`] for each packet that arrives, in any order; its sequence number goes back;
//! 3. [`StreamEncoder::acknowledge`] for each number that comes back, whenever it does.

mod body;
mod decoder;
mod encoder;
mod fidelity;
mod history;
mod loss;
mod model;
mod odds;
mod plain_bits;
mod prediction;
mod range_coder;
mod rotation;
mod scale;
mod technique;

pub use decoder::{Decoded, StreamDecodeError, StreamDecoder};
pub use encoder::{StreamEncodeError, StreamEncoder};
pub use fidelity::{Fidelity, FidelityError, View};
pub use history::SNAPSHOTS_KEPT;
pub use technique::Techniques;

use nimbus_model::Pose;

/// Mark of a packet that has the snapshot before, in the byte that says how old the snapshot is that it goes on from.
const REPEATS: u8 = 0x80;

/// Most bodies of one snapshot; a world with more is cut into several streams. Bounds what a few forged bytes can make a
/// client allocate.
pub const STREAM_BODIES_MAX: usize = 4096;

/// What a client is told about one body at one tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyState {
    /// The gateway's short name for the body.
    pub slot: u32,
    /// Where it is.
    pub pose: Pose,
    /// At rest until told otherwise; a client need not guess where it goes.
    pub at_rest: bool,
}

/// What both ends of a stream have to agree on before it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamConfig {
    /// What is done to make it short.
    pub techniques: Techniques,
    /// How exact it is.
    pub fidelity: Fidelity,
}
