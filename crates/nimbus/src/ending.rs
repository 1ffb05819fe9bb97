//! Ends a process that is asked to, also while its world is still being made or a tick takes long.

use nimbus::runtime::Signals;
use std::process::exit;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use crate::logging::say;

/// How long servers may take to complete the tick that they are in, once the process is asked to end.
const GRACE: Duration = Duration::from_millis(1_500);
/// What a shell expects of a process that was interrupted before it had done all it should.
const INTERRUPTED: i32 = 130;

/// Whether the process is asked to end.
pub(crate) struct Ending {
    asked: Receiver<()>,
}

impl Ending {
    /// Listens from now on. Asked to end, the process does so after a while at the latest, unless there is a recording to
    /// complete: then it waits for its servers until it is asked again.
    pub(crate) fn listen(recording: bool) -> std::io::Result<Ending> {
        let mut signals = Signals::listen()?;
        let (sender, asked) = sync_channel(1);
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            signals.wait();
            say("ending");
            // The receiver may not wait yet, or be gone already.
            _ = sender.try_send(());
            let again = signals.wait_for(GRACE);
            if recording {
                if !again {
                    say("servers complete their ticks and the recording; Ctrl-C again ends at once, without its end");
                    signals.wait();
                }
                exit(INTERRUPTED);
            }
            let ms = GRACE.as_millis();
            say(&format!("ended in the middle of a tick, or of making the world, that took more than {ms} ms"));
            exit(0);
        })?;
        Ok(Ending { asked })
    }

    /// Waits until the process is asked to end.
    pub(crate) fn wait(&self) {
        // The other side lives for as long as the process does.
        _ = self.asked.recv();
    }
}
