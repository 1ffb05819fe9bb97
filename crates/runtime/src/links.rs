//! Links between the servers and the gateways of a world: in memory within a process, over the mesh between processes.
//!
//! Frames travel as bytes, as they would between machines. Every link is bounded: a frame that finds it full is dropped
//! and counted, and the lanes send what mattered again.

use bytes::Bytes;
use nimbus_model::{RegionId, Tick};
use nimbus_wire::{Address, Frame, GatewayId};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use crate::clock::Clock;
use crate::mesh::{Delivery, Mesh, ProcessName};

/// Most frames that wait at one receiver.
pub const LINK_FRAMES_MAX: usize = 1024;

/// Where frames are handed in. Cheap to clone; every thread has one.
#[derive(Clone)]
pub struct Links {
    ends: Arc<RwLock<BTreeMap<Address, SyncSender<Arrived>>>>,
    far: Arc<RwLock<Option<Far>>>,
    lost: Arc<Lost>,
    clock: Clock,
    /// Of what servers and backups say to each other, this many copies go to other processes.
    copies: u8,
}

/// A frame and when it came to where it is taken from.
struct Arrived {
    at: Duration,
    bytes: Vec<u8>,
}

/// Where those are who do not listen in this process.
struct Far {
    mesh: Arc<Mesh>,
    routes: BTreeMap<Address, ProcessName>,
}

/// Frames that did not arrive, by reason.
#[derive(Default)]
struct Lost {
    full: AtomicU64,
    unknown: AtomicU64,
    malformed: AtomicU64,
}

/// Where one server or gateway takes its frames from.
pub struct LinkEnd {
    frames: Receiver<Arrived>,
    early: Vec<Frame>,
    lost: Arc<Lost>,
    clock: Clock,
}

impl Default for Links {
    /// Links between nobody.
    fn default() -> Links {
        Links { ends: Arc::default(), far: Arc::default(), lost: Arc::default(), clock: Clock::start(), copies: 1 }
    }
}

impl Links {
    /// Links between some regions, in order of id, and one gateway; and the ends in that order, the gateway's last.
    pub fn new(regions: &[RegionId], gateway: GatewayId) -> (Links, Vec<LinkEnd>) {
        let links = Links::default();
        let addresses = regions.iter().map(|region| Address::Region(*region)).chain([Address::Gateway(gateway)]);
        let ends = addresses.map(|address| links.open(address)).collect();
        (links, ends)
    }

    /// The same with so many copies of what servers and backups say to each other, where frames get lost between processes. They
    /// go in pieces. What has to arrive in order goes on the ordered stream as well, where it waits for what is before it to be
    /// sent again. One copy is that frame alone.
    pub fn with_copies(self, copies: u8) -> Links {
        Links { copies, ..self }
    }

    /// Lets somebody listen at an address; whoever listened there before hears nothing more.
    pub fn open(&self, address: Address) -> LinkEnd {
        let (sender, frames) = sync_channel(LINK_FRAMES_MAX);
        self.ends.write().unwrap_or_else(PoisonError::into_inner).insert(address, sender);
        LinkEnd { frames, early: Vec::new(), lost: self.lost.clone(), clock: self.clock }
    }

    /// Lets one listen at several addresses.
    pub fn open_all(&self, addresses: impl IntoIterator<Item = Address>) -> LinkEnd {
        let (sender, frames) = sync_channel(LINK_FRAMES_MAX);
        let ends = addresses.into_iter().map(|address| (address, sender.clone()));
        self.ends.write().unwrap_or_else(PoisonError::into_inner).extend(ends);
        LinkEnd { frames, early: Vec::new(), lost: self.lost.clone(), clock: self.clock }
    }

    /// Nobody listens at an address any more.
    pub fn close(&self, address: Address) {
        self.ends.write().unwrap_or_else(PoisonError::into_inner).remove(&address);
    }

    /// Sends a frame to where it is addressed.
    pub fn send(&self, frame: &Frame) {
        if !self.deliver(frame.to, || frame.encode()) {
            let far = self.far.read().unwrap_or_else(PoisonError::into_inner);
            match far.as_ref().and_then(|far| Some((&far.mesh, far.routes.get(&frame.to)?))) {
                // The mesh counts what it drops.
                Some((mesh, process)) => {
                    let (bytes, kind) = (Bytes::from(frame.encode()), Delivery::of(&frame.content));
                    let copies = self.copies_of(frame);
                    if copies > 1 {
                        mesh.send(process, bytes.clone(), Delivery::Copies(copies));
                    }
                    if copies <= 1 || kind == Delivery::Ordered {
                        mesh.send(process, bytes, kind);
                    }
                }
                None => count(&self.lost.unknown),
            }
        }
    }

    /// How often a frame goes to another process. What gateways hear is not worth a copy.
    fn copies_of(&self, frame: &Frame) -> u8 {
        let is_of_gateway = [frame.from, frame.to].iter().any(|end| matches!(end, Address::Gateway(_)));
        if is_of_gateway { 1 } else { self.copies }
    }

    /// Hands a frame to whoever listens at an address in this process; false when nobody does.
    pub fn deliver(&self, to: Address, bytes: impl FnOnce() -> Vec<u8>) -> bool {
        let ends = self.ends.read().unwrap_or_else(PoisonError::into_inner);
        let Some(end) = ends.get(&to) else { return false };
        if end.try_send(Arrived { at: self.clock.now(), bytes: bytes() }).is_err() {
            count(&self.lost.full);
        }
        true
    }

    /// Says in which processes those are who do not listen here.
    pub fn route(&self, mesh: &Arc<Mesh>, routes: BTreeMap<Address, ProcessName>) {
        let far = Far { mesh: mesh.clone(), routes };
        *self.far.write().unwrap_or_else(PoisonError::into_inner) = Some(far);
    }

    /// Frames dropped because the receiver's link was full or closed.
    pub fn dropped(&self) -> u64 {
        self.lost.full.load(Ordering::Relaxed)
    }

    /// Frames for addresses that nobody has, and frames that did not parse.
    pub fn void(&self) -> u64 {
        self.lost.unknown.load(Ordering::Relaxed) + self.lost.malformed.load(Ordering::Relaxed)
    }
}

impl LinkEnd {
    /// Waits for a frame, but no longer than this, and hands over what has arrived.
    pub fn wait(&mut self, longest: Duration, mut take: impl FnMut(Frame)) {
        match self.frames.recv_timeout(longest).map(|arrived| Frame::decode(&arrived.bytes)) {
            Ok(Ok(frame)) => take(frame),
            Ok(Err(_)) => count(&self.lost.malformed),
            Err(_) => return,
        }
        self.drain(take);
    }

    /// Hands over what has arrived, at most a full link, so that a fast sender cannot keep the receiver here.
    pub fn drain(&mut self, mut take: impl FnMut(Frame)) {
        self.drain_timed(|frame, _| take(frame));
    }

    /// The same, and says for how long each frame has waited here.
    pub fn drain_timed(&mut self, mut take: impl FnMut(Frame, Duration)) {
        for _ in 0..LINK_FRAMES_MAX {
            let Ok(Arrived { at, bytes }) = self.frames.try_recv() else { return };
            match Frame::decode(&bytes) {
                Ok(frame) => take(frame, self.clock.now().saturating_sub(at)),
                Err(_) => count(&self.lost.malformed),
            }
        }
    }

    /// The same for what was said before a tick; the rest is kept for later. In lock step this makes what a receiver
    /// knows at a tick independent of who ran first.
    pub fn drain_before(&mut self, tick: Tick, mut take: impl FnMut(Frame)) {
        for frame in std::mem::take(&mut self.early) {
            if frame.tick < tick { take(frame) } else { self.early.push(frame) }
        }
        for _ in 0..LINK_FRAMES_MAX {
            match self.frames.try_recv() {
                Ok(arrived) => match Frame::decode(&arrived.bytes) {
                    Ok(frame) if frame.tick < tick => take(frame),
                    Ok(frame) => self.early.push(frame),
                    Err(_) => count(&self.lost.malformed),
                },
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return,
            }
        }
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_wire::{Content, LaneFrame};

    fn frame(to: Address) -> Frame {
        let content = Content::Lane(LaneFrame::default());
        Frame { from: Address::Region(RegionId(0)), to, era: 1, epoch: 1, tick: Tick(3), content }
    }

    #[test]
    fn frames_arrive_in_order_where_they_are_addressed() {
        let (links, mut ends) = Links::new(&[RegionId(0), RegionId(1)], GatewayId(0));
        for tick in 0..5 {
            links.send(&Frame { tick: Tick(tick), ..frame(Address::Region(RegionId(1))) });
        }
        links.send(&frame(Address::Gateway(GatewayId(0))));
        let mut got = Vec::new();
        ends[1].drain(|frame| got.push(frame.tick.0));
        assert_eq!(got, [0, 1, 2, 3, 4]);
        let mut at_gateway = 0;
        ends[2].drain(|_| at_gateway += 1);
        assert_eq!(at_gateway, 1);
        ends[0].drain(|_| panic!("nothing was sent here"));
    }

    #[test]
    fn what_was_said_too_early_waits() {
        let (links, mut ends) = Links::new(&[RegionId(0)], GatewayId(0));
        for tick in [4, 5, 5, 6] {
            links.send(&Frame { tick: Tick(tick), ..frame(Address::Region(RegionId(0))) });
        }
        for (before, expected) in [(5, vec![4]), (6, vec![5, 5]), (6, vec![]), (9, vec![6])] {
            let mut got = Vec::new();
            ends[0].drain_before(Tick(before), |frame| got.push(frame.tick.0));
            assert_eq!(got, expected);
        }
    }

    #[test]
    fn who_comes_later_is_heard_and_who_is_gone_is_not() {
        let (links, _ends) = Links::new(&[RegionId(0)], GatewayId(0));
        let late = Address::Backup(RegionId(0));
        links.send(&frame(late));
        let mut first = links.open(late);
        links.send(&frame(late));
        let mut second = links.open(late);
        links.send(&frame(late));
        links.send(&frame(late));
        links.close(late);
        links.send(&frame(late));
        let mut got = [0, 0];
        first.drain(|_| got[0] += 1);
        second.drain(|_| got[1] += 1);
        assert_eq!((got, links.void()), ([1, 2], 2));
    }

    #[test]
    fn a_frame_that_waits_is_not_taken_for_one_that_was_long_on_its_way() {
        let (links, mut ends) = Links::new(&[RegionId(0)], GatewayId(0));
        links.send(&frame(Address::Region(RegionId(0))));
        let clock = Clock::start();
        while clock.now() < Duration::from_millis(20) {}
        let mut waits = Vec::new();
        ends[0].drain_timed(|_, waited| waits.push(waited));
        assert!(waits.len() == 1 && waits[0] >= Duration::from_millis(20), "{waits:?}");
        assert!(waits[0] <= clock.now() + Duration::from_millis(500), "{waits:?}");
    }

    #[test]
    fn only_what_servers_and_backups_say_to_each_other_is_copied() {
        let links = Links::default().with_copies(3);
        let copies = |to| links.copies_of(&frame(to));
        assert_eq!([copies(Address::Region(RegionId(1))), copies(Address::Backup(RegionId(0)))], [3, 3]);
        assert_eq!(copies(Address::Gateway(GatewayId(0))), 1);
    }

    #[test]
    fn a_full_link_drops_and_counts() {
        let (links, mut ends) = Links::new(&[RegionId(0)], GatewayId(0));
        for _ in 0..LINK_FRAMES_MAX + 7 {
            links.send(&frame(Address::Region(RegionId(0))));
        }
        links.send(&frame(Address::Region(RegionId(9))));
        assert_eq!((links.dropped(), links.void()), (7, 1));
        let mut got = 0;
        ends[0].drain(|_| got += 1);
        assert_eq!(got, LINK_FRAMES_MAX);
    }
}
