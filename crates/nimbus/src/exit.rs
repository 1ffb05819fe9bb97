//! What the shell hears: 0 good, 1 the thing's own bar is not met, 2 bad usage or input.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All is well.
    Good,
    /// It ran, and what it checks does not hold.
    NotMet,
}

/// The verdict as an exit code; errors are printed and count as bad usage or input.
pub(crate) fn report(outcome: anyhow::Result<Verdict>) -> ExitCode {
    match outcome {
        Ok(Verdict::Good) => ExitCode::SUCCESS,
        Ok(Verdict::NotMet) => ExitCode::from(1),
        Err(error) => {
            eprintln!("nimbus: {error:#}");
            ExitCode::from(2)
        }
    }
}
