//! Collisions at a boundary: bodies that fly at each other and meet while one of them straddles a boundary, run on
//! several servers and, from the same start, on one. `aura-correctness` and `packet-loss` are made of such runs.
//!
//! - `scene.rs` builds the world of a run.
//! - `run.rs` runs it and writes down what every server saw at every tick.
//! - `judge.rs` compares the run with its control on one server.
//! - `batch.rs` does thousands of these, and adds up.
//! - `aura_size.rs` says how far the auras reach.
//! - `strain.rs` makes legs longer: backups, computing, frame times that vary.

mod aura_size;
mod batch;
mod judge;
mod run;
mod scene;
mod strain;

pub(crate) use aura_size::{aura_radius, original_aura_radius};
pub(crate) use batch::{Tally, run_all};
pub(crate) use run::Setup;
pub(crate) use scene::{Case, RADIUS};
pub(crate) use strain::Strain;
