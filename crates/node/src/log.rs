//! The log: what took effect at each tick. A snapshot and the log that follows it are the whole truth about a server.

use nimbus_model::{Tick, coding};
use serde::{Deserialize, Serialize};

use crate::inbox::Input;

/// Everything that took effect at one tick, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TickLog {
    /// The tick. A gap to the one before means that tick numbers were skipped.
    pub tick: Tick,
    /// What took effect, in order.
    pub inputs: Vec<Input>,
}

impl TickLog {
    /// A tick as its record has it, for whoever keeps or replays one; none when the bytes are not a tick.
    pub fn decode(bytes: &[u8]) -> Option<TickLog> {
        coding::read(bytes).ok()
    }

    /// The tick as bytes.
    pub fn encode(&self) -> Vec<u8> {
        coding::write(self)
    }
}
