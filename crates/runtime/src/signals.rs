//! The operating system's wish that the process ends.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for Ctrl-C and for the signal by which service managers end a process.
pub struct Signals {
    runtime: tokio::runtime::Runtime,
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Starts to listen; from now on the process does not end by itself when asked to.
    pub fn listen() -> std::io::Result<Signals> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let _inside = runtime.enter();
        let (interrupt, terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        drop(_inside);
        Ok(Signals { runtime, interrupt, terminate })
    }

    /// Waits until the process is asked to end.
    pub fn wait(&mut self) {
        let Signals { runtime, interrupt, terminate } = self;
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        });
    }

    /// Waits the same way, but no longer than this. True when the process was asked to end.
    pub fn wait_for(&mut self, longest: std::time::Duration) -> bool {
        let Signals { runtime, interrupt, terminate } = self;
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => true,
                _ = terminate.recv() => true,
                () = tokio::time::sleep(longest) => false,
            }
        })
    }
}
