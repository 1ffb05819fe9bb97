//! Frames that have arrived and wait to be looked at: one bounded place for all peers.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::names::{ProcessName, Role};

/// Most frames that wait.
pub const INBOX_FRAMES_MAX: usize = 4096;

/// Most bytes that wait.
pub const INBOX_BYTES_MAX: usize = 64 << 20;

/// A frame from a peer that has shown its certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Who sent it.
    pub from: ProcessName,
    /// What the sender is for, by its certificate.
    pub role: Role,
    /// Which life of the sender sent it.
    pub incarnation: u16,
    /// The frame, not decoded.
    pub bytes: Vec<u8>,
}

/// Frames that have arrived.
#[derive(Default)]
pub(crate) struct Inbox {
    waiting: Mutex<Waiting>,
    wake: Condvar,
}

#[derive(Default)]
struct Waiting {
    frames: VecDeque<Received>,
    bytes: usize,
}

impl Inbox {
    /// Puts a frame in; false when there is no room.
    pub(crate) fn push(&self, frame: Received) -> bool {
        let mut waiting = self.lock();
        if waiting.frames.len() >= INBOX_FRAMES_MAX || waiting.bytes + frame.bytes.len() > INBOX_BYTES_MAX {
            return false;
        }
        waiting.bytes += frame.bytes.len();
        waiting.frames.push_back(frame);
        drop(waiting);
        self.wake.notify_one();
        true
    }

    /// The next frame.
    pub(crate) fn pop(&self) -> Option<Received> {
        let mut waiting = self.lock();
        let next = waiting.frames.pop_front()?;
        waiting.bytes -= next.bytes.len();
        Some(next)
    }

    /// All frames that wait now.
    pub(crate) fn take(&self) -> VecDeque<Received> {
        std::mem::take(&mut *self.lock()).frames
    }

    /// Waits until there is a frame, but no longer than this; true when there is one.
    pub(crate) fn wait(&self, longest: Duration) -> bool {
        let (waiting, _) = self
            .wake
            .wait_timeout_while(self.lock(), longest, |waiting| waiting.frames.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        !waiting.frames.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(bytes: usize) -> Received {
        let from = ProcessName::new("node-0").unwrap();
        Received { from, role: Role::Node, incarnation: 0, bytes: vec![0; bytes] }
    }

    #[test]
    fn frames_and_bytes_are_bounded() {
        let inbox = Inbox::default();
        let taken = (0..INBOX_FRAMES_MAX + 5).filter(|_| inbox.push(frame(1))).count();
        assert_eq!(taken, INBOX_FRAMES_MAX);
        assert!(inbox.pop().is_some() && inbox.push(frame(1)));
        assert_eq!(inbox.take().len(), INBOX_FRAMES_MAX);
        let taken = (0..9).filter(|_| inbox.push(frame(INBOX_BYTES_MAX / 8))).count();
        assert_eq!(taken, 8);
    }

    #[test]
    fn waiting_ends_with_time_or_a_frame() {
        let inbox = Inbox::default();
        assert!(!inbox.wait(Duration::from_millis(1)));
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| inbox.wait(Duration::from_secs(20)));
            inbox.push(frame(1));
            assert!(waiter.join().unwrap());
        });
    }
}
