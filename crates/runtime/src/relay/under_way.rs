//! Packets on their way: a bounded queue in the order in which they arrive.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

/// Most packets that are under way at once; what comes on top is dropped and counted, as by any router.
pub const PACKETS_MAX: usize = 32_768;
/// Most bytes of them.
pub const BYTES_MAX: usize = 32 << 20;

/// A packet and when it is due.
pub(super) struct Packet {
    pub(super) bytes: Arc<[u8]>,
    pub(super) socket: Arc<UdpSocket>,
    /// Where to, from a socket that has no partner of its own.
    pub(super) to: Option<SocketAddr>,
}

/// The queue.
#[derive(Default)]
pub(super) struct UnderWay {
    heap: BinaryHeap<Entry>,
    bytes: usize,
    taken: u64,
}

struct Entry {
    due: Duration,
    /// Those that are due at the same time go in the order in which they came.
    number: u64,
    packet: Packet,
}

impl UnderWay {
    /// Takes a packet; false when there is no room.
    pub(super) fn push(&mut self, due: Duration, packet: Packet) -> bool {
        if self.heap.len() >= PACKETS_MAX || self.bytes + packet.bytes.len() > BYTES_MAX {
            return false;
        }
        self.bytes += packet.bytes.len();
        self.taken += 1;
        self.heap.push(Entry { due, number: self.taken, packet });
        true
    }

    /// When the next one is due.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.heap.peek().map(|entry| entry.due)
    }

    /// The next one, if it is due.
    pub(super) fn pop(&mut self, now: Duration) -> Option<Packet> {
        self.next_due().filter(|due| *due <= now)?;
        let packet = self.heap.pop()?.packet;
        self.bytes -= packet.bytes.len();
        Some(packet)
    }
}

impl Ord for Entry {
    /// The heap gives out the greatest, so what is due first is the greatest.
    fn cmp(&self, other: &Entry) -> Ordering {
        (other.due, other.number).cmp(&(self.due, self.number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn packet(bytes: &[u8]) -> Packet {
        let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        Packet { bytes: bytes.into(), socket, to: None }
    }

    #[test]
    fn relay_packets_come_out_when_they_are_due() {
        let mut queue = UnderWay::default();
        for (due, byte) in [(3, 0), (1, 1), (3, 2), (2, 3)] {
            assert!(queue.push(due * MS, packet(&[byte])));
        }
        assert!(queue.pop(Duration::ZERO).is_none());
        let order: Vec<u8> = std::iter::from_fn(|| queue.pop(3 * MS)).map(|packet| packet.bytes[0]).collect();
        assert_eq!(order, [1, 3, 0, 2]);
    }

    #[test]
    fn relay_packets_under_way_are_bounded() {
        let mut queue = UnderWay::default();
        let Packet { bytes, socket, .. } = packet(&vec![0; BYTES_MAX / 4]);
        let mut push = || queue.push(MS, Packet { bytes: bytes.clone(), socket: socket.clone(), to: None });
        assert_eq!([(); 5].map(|()| push()), [true, true, true, true, false]);
        queue.pop(MS).unwrap();
        let tiny: Arc<[u8]> = [0; 1].into();
        let mut push = || queue.push(MS, Packet { bytes: tiny.clone(), socket: socket.clone(), to: None });
        assert_eq!((0..PACKETS_MAX).filter(|_| push()).count(), PACKETS_MAX - 3);
    }
}
