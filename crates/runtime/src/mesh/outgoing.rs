//! What waits to be sent to one peer, bounded, without ever making the sender wait.

use bytes::Bytes;
use nimbus_wire::{Content, FRAME_BYTES_MAX};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// Most frames that wait for their turn in order.
pub const ORDERED_FRAMES_MAX: usize = 1024;

/// Most frames that wait of which only the latest count.
pub const LATEST_FRAMES_MAX: usize = 256;

/// Longest frame of which only the latest counts.
pub const LATEST_BYTES_MAX: usize = 4 << 20;

/// A frame of which only the latest counts is out of date after this time: many newer ones have been made.
pub const LATEST_AGE_MAX: Duration = Duration::from_millis(250);

/// Most bytes that wait in one queue. The longest frame fits.
const QUEUE_BYTES_MAX: usize = 2 * FRAME_BYTES_MAX;

/// How a frame travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// On the one reliable stream: in order, and all of it for as long as the connection lasts.
    Ordered,
    /// By itself, at once; newer frames push out older ones that still wait.
    Latest,
    /// Like `Latest`, so many times, in pieces that each fit a packet.
    Copies(u8),
}

/// A frame that goes by itself.
pub(crate) struct Single {
    /// When it was handed in.
    pub(crate) since: Duration,
    pub(crate) bytes: Bytes,
    /// How often it goes.
    pub(crate) copies: u8,
}

impl Delivery {
    /// How content travels.
    pub fn of(content: &Content) -> Delivery {
        match content {
            Content::States(_) | Content::Auras(_) => Delivery::Latest,
            Content::Lane(_) | Content::Seams(_) | Content::Records(_) | Content::Kept(_) | Content::Commit(_) => {
                Delivery::Ordered
            }
            Content::Ask(_) | Content::Reply(_) | Content::Wish(_) => Delivery::Ordered,
        }
    }
}

/// What waits to be sent on one connection.
pub(crate) struct Outgoing {
    ordered: Queue,
    latest: Queue,
}

/// What became of the frames in a queue when one more was handed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pushed {
    /// Whether it waits now.
    pub(crate) taken: bool,
    /// How many frames were thrown away, be it this one or older ones.
    pub(crate) dropped: u64,
}

struct Queue {
    waiting: Mutex<Waiting>,
    wake: Notify,
    frames_max: usize,
}

#[derive(Default)]
struct Waiting {
    frames: VecDeque<Single>,
    bytes: usize,
    closed: bool,
}

impl Outgoing {
    pub(crate) fn new() -> Outgoing {
        Outgoing { ordered: Queue::new(ORDERED_FRAMES_MAX), latest: Queue::new(LATEST_FRAMES_MAX) }
    }

    /// Hands in a frame. In order, a full queue refuses the new one; of the others it forgets the oldest.
    pub(crate) fn push(&self, kind: Delivery, bytes: Bytes, now: Duration) -> Pushed {
        let single = |copies| Single { since: now, bytes: bytes.clone(), copies };
        match kind {
            Delivery::Ordered if bytes.len() <= FRAME_BYTES_MAX => self.ordered.push(single(1), false),
            Delivery::Latest if bytes.len() <= LATEST_BYTES_MAX => self.latest.push(single(1), true),
            Delivery::Copies(copies) if bytes.len() <= LATEST_BYTES_MAX => self.latest.push(single(copies), true),
            _ => Pushed { taken: false, dropped: 1 },
        }
    }

    /// The next frame in order.
    pub(crate) async fn next_ordered(&self) -> Bytes {
        self.ordered.next().await.bytes
    }

    /// The next of the other frames.
    pub(crate) async fn next_latest(&self) -> Single {
        self.latest.next().await
    }

    /// Takes nothing more, and says how many frames will never be sent.
    pub(crate) fn close(&self) -> u64 {
        self.ordered.close() + self.latest.close()
    }
}

impl Queue {
    fn new(frames_max: usize) -> Queue {
        Queue { waiting: Mutex::default(), wake: Notify::new(), frames_max }
    }

    fn push(&self, single: Single, forget_oldest: bool) -> Pushed {
        let mut waiting = self.lock();
        if waiting.closed {
            return Pushed { taken: false, dropped: 1 };
        }
        let mut dropped = 0;
        while waiting.frames.len() >= self.frames_max || waiting.bytes + single.bytes.len() > QUEUE_BYTES_MAX {
            dropped += 1;
            if !forget_oldest || waiting.pop().is_none() {
                return Pushed { taken: false, dropped };
            }
        }
        waiting.bytes += single.bytes.len();
        waiting.frames.push_back(single);
        drop(waiting);
        self.wake.notify_one();
        Pushed { taken: true, dropped }
    }

    async fn next(&self) -> Single {
        loop {
            let next = self.lock().pop();
            match next {
                Some(next) => return next,
                None => self.wake.notified().await,
            }
        }
    }

    fn close(&self) -> u64 {
        let mut waiting = self.lock();
        let left = waiting.frames.len() as u64;
        *waiting = Waiting { closed: true, ..Waiting::default() };
        left
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn pop(&mut self) -> Option<Single> {
        let next = self.frames.pop_front()?;
        self.bytes -= next.bytes.len();
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(outgoing: &Outgoing, kind: Delivery, bytes: Vec<u8>) -> Pushed {
        outgoing.push(kind, bytes.into(), Duration::ZERO)
    }

    fn first(outgoing: &Outgoing, kind: Delivery) -> u8 {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            match kind {
                Delivery::Ordered => outgoing.next_ordered().await[0],
                Delivery::Latest | Delivery::Copies(_) => outgoing.next_latest().await.bytes[0],
            }
        })
    }

    #[test]
    fn a_full_queue_refuses_in_order_and_forgets_the_oldest_otherwise() {
        for (kind, max, stays) in [
            (Delivery::Ordered, ORDERED_FRAMES_MAX, 0),
            (Delivery::Latest, LATEST_FRAMES_MAX, 3),
            (Delivery::Copies(2), LATEST_FRAMES_MAX, 3),
        ] {
            let outgoing = Outgoing::new();
            let dropped: u64 = (0..max + 3).map(|at| push(&outgoing, kind, vec![at as u8]).dropped).sum();
            assert_eq!((dropped, first(&outgoing, kind)), (3, stays), "{kind:?}");
            assert_eq!(outgoing.close(), max as u64 - 1);
            assert_eq!(push(&outgoing, kind, vec![0]), Pushed { taken: false, dropped: 1 });
        }
    }

    #[test]
    fn bytes_are_bounded_too() {
        let outgoing = Outgoing::new();
        assert!(!push(&outgoing, Delivery::Ordered, vec![0; FRAME_BYTES_MAX + 1]).taken);
        assert!(!push(&outgoing, Delivery::Latest, vec![0; LATEST_BYTES_MAX + 1]).taken);
        for (taken, dropped) in [(true, 0), (true, 0), (false, 1)] {
            let pushed = push(&outgoing, Delivery::Ordered, vec![0; FRAME_BYTES_MAX]);
            assert_eq!(pushed, Pushed { taken, dropped });
        }
        let pushed: Vec<Pushed> =
            (0..5).map(|_| push(&outgoing, Delivery::Latest, vec![0; LATEST_BYTES_MAX])).collect();
        assert_eq!(pushed[3..], [Pushed { taken: true, dropped: 0 }, Pushed { taken: true, dropped: 1 }]);
    }
}
