//! Feeds damaged and forged bytes to everything that decodes what comes from a file, a peer or a client, and watches for
//! panics and for memory out of proportion.
//!
//! A [`Target`] is one decoder: a function of bytes, a maker of messages that it accepts, and a limit for the memory it
//! may take. [`runner`] mutates messages and runs the decoder on them; everything follows from one seed, so a finding is
//! a seed and an input. Inputs that once were findings are in `regressions/`, and every test run replays them.

pub mod allocation;
pub mod corpus;
pub mod mutation;
pub mod runner;
pub mod targets;

/// What became of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They were a value.
    Accepted,
    /// They were not.
    Refused,
}

impl Verdict {
    /// Accepted if the bytes were a value.
    pub fn of(is_value: bool) -> Verdict {
        if is_value { Verdict::Accepted } else { Verdict::Refused }
    }
}

/// How much memory a decoder may hold at once while it decodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Bytes for every byte of input.
    pub factor: usize,
    /// Bytes besides, however short the input is.
    pub room: usize,
}

impl Limit {
    /// For an input of this length.
    pub fn bytes(self, input: usize) -> usize {
        self.factor.saturating_mul(input).saturating_add(self.room)
    }
}

/// One decoder.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name on the command line, and of its folder in the corpus.
    pub name: &'static str,
    /// Decodes bytes from outside.
    pub decode: fn(&[u8]) -> Verdict,
    /// Makes a message that it accepts.
    pub make: fn(&mut nimbus_model::Rng) -> Vec<u8>,
    /// What it may take.
    pub limit: Limit,
}
