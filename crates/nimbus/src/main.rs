//! The one binary: the command line of the library, without a game.

use std::process::ExitCode;

/// Contacts, frames and records are many small allocations of short life, see docs/performance.md.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    nimbus::command_line(None)
}
