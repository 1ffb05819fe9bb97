//! The relay that `nimbus cluster` starts when the cluster's file has one.

use anyhow::Context;
use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nimbus::runtime::Signals;

/// A longer line is passed on in pieces, which are no orders.
const LINE_BYTES_MAX: u64 = 256;
/// How often, and how many times, it is looked at whether it has ended by itself.
const END_LOOK: Duration = Duration::from_millis(20);
const END_LOOKS: usize = 50;

/// Ends with the value.
pub(crate) struct OwnRelay {
    child: Child,
    orders: Arc<Mutex<Option<ChildStdin>>>,
    config: PathBuf,
}

impl OwnRelay {
    /// Starts it, and passes on to it what this process is told on standard input.
    pub(crate) fn start(config: &Path) -> anyhow::Result<OwnRelay> {
        let mut child = spawn(config)?;
        let orders = Arc::new(Mutex::new(child.stdin.take()));
        let to = orders.clone();
        // It ends with standard input, or with the process.
        std::thread::Builder::new().name("orders".to_owned()).spawn(move || {
            let mut input = std::io::stdin().lock();
            let mut line = Vec::new();
            while input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                tell(&to, &line);
                line.clear();
            }
        })?;
        Ok(OwnRelay { child, orders, config: config.to_owned() })
    }

    /// Starts it again if it has died.
    pub(crate) fn look_after(&mut self) -> anyhow::Result<()> {
        if let Some(status) = self.child.try_wait()? {
            eprintln!("nimbus: the relay ended ({status}) and is started again");
            self.child = spawn(&self.config)?;
            *self.orders.lock().unwrap_or_else(PoisonError::into_inner) = self.child.stdin.take();
        }
        Ok(())
    }

    /// Has it say its counts and end.
    pub(crate) fn end(mut self, signals: &mut Signals) {
        tell(&self.orders, b"end\n");
        for _ in 0..END_LOOKS {
            if !matches!(self.child.try_wait(), Ok(None)) {
                break;
            }
            signals.wait_for(END_LOOK);
        }
    }
}

impl Drop for OwnRelay {
    fn drop(&mut self) {
        // One that has ended by itself needs no more.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// One that has died is not told; it will be started again.
fn tell(orders: &Mutex<Option<ChildStdin>>, line: &[u8]) {
    if let Some(orders) = &mut *orders.lock().unwrap_or_else(PoisonError::into_inner) {
        _ = orders.write_all(line).and_then(|()| orders.flush());
    }
}

fn spawn(config: &Path) -> anyhow::Result<Child> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.arg("relay").arg("--config").arg(config).stdin(Stdio::piped());
    command.spawn().context("cannot start the relay")
}
