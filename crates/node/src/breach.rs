//! Promises that are void for now. The words are those of the wire, so that metrics, reports and viewers use the same.

pub use nimbus_wire::{Breach, Factor};
