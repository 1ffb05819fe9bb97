//! One other process: where it is, the connection to it if there is one, and what became of the frames.

use bytes::Bytes;
use quinn::Connection;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::farewell::{Farewell, bid};
use super::names::{ProcessName, Role};
use super::outgoing::{Delivery, Outgoing};

/// What is known of a peer in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerConfig {
    /// The role that its certificate must have.
    pub role: Role,
    /// Where it listens. Without an address this process waits for the peer to connect.
    pub address: Option<SocketAddr>,
}

/// How it goes with one peer. Counts are since the peer became known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerStats {
    /// The peer.
    pub name: ProcessName,
    /// What it is for.
    pub role: Role,
    /// Whether both sides have accepted each other's hello on a connection that lasts.
    pub connected: bool,
    /// Which life of the peer is connected.
    pub incarnation: Option<u16>,
    /// Time there and back on the connection.
    pub rtt: Option<Duration>,
    /// How many connections there have been.
    pub connections: u64,
    /// Frames handed to a connection.
    pub sent: u64,
    /// Bytes of them.
    pub sent_bytes: u64,
    /// Frames that arrived and were put in the inbox.
    pub received: u64,
    /// Bytes of them.
    pub received_bytes: u64,
    /// Frames that were never handed to a connection: none was there, the queue was full, or the frame too long.
    pub dropped: u64,
    /// Frames that were taken but whose connection ended, or which were out of date, before they could be sent.
    pub lost: u64,
    /// Frames that arrived and found the inbox full.
    pub unread: u64,
    /// Packets of this connection that the network lost.
    pub packets_lost: u64,
    /// Why the latest connection ended or none came about.
    pub last_error: Option<String>,
}

/// One other process.
pub(crate) struct Peer {
    pub(crate) name: ProcessName,
    pub(crate) role: Role,
    pub(crate) counts: Counts,
    /// Says that there is a reason to dial again at once.
    pub(crate) redial: Notify,
    state: Mutex<State>,
}

#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) connections: AtomicU64,
    pub(crate) sent: AtomicU64,
    pub(crate) sent_bytes: AtomicU64,
    pub(crate) received: AtomicU64,
    pub(crate) received_bytes: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) lost: AtomicU64,
    pub(crate) unread: AtomicU64,
}

#[derive(Default)]
struct State {
    address: Option<SocketAddr>,
    link: Option<Arc<Link>>,
    last_error: Option<String>,
    dialer: Option<AbortHandle>,
    gone: bool,
}

/// A connection on which both sides have accepted each other's hello.
pub(crate) struct Link {
    pub(crate) connection: Connection,
    pub(crate) incarnation: u16,
    pub(crate) outgoing: Outgoing,
}

/// A link for as long as it is the peer's.
pub(crate) struct Attached {
    pub(crate) peer: Arc<Peer>,
    pub(crate) link: Arc<Link>,
}

impl Peer {
    pub(crate) fn new(name: ProcessName, config: PeerConfig) -> Peer {
        let state = State { address: config.address, ..State::default() };
        let counts = Counts::default();
        Peer { name, role: config.role, counts, redial: Notify::new(), state: Mutex::new(state) }
    }

    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.lock().address
    }

    /// Where it is from now on. A connection that lasts is left alone.
    pub(crate) fn set_address(&self, address: Option<SocketAddr>) {
        if std::mem::replace(&mut self.lock().address, address) != address {
            self.redial.notify_one();
        }
    }

    /// Remembers who dials, to end it with the peer.
    pub(crate) fn set_dialer(&self, dialer: AbortHandle) {
        self.lock().dialer = Some(dialer);
    }

    /// Ends dialling and the connection.
    pub(crate) fn dismiss(&self, why: Farewell, reason: &str) {
        let mut state = self.lock();
        state.gone = true;
        // The farewell comes first: a dialler that ends would end the connection without a reason.
        if let Some(link) = &state.link {
            bid(&link.connection, why, reason);
        }
        if let Some(dialer) = state.dialer.take() {
            dialer.abort();
        }
    }

    pub(crate) fn note_error(&self, why: String) {
        self.lock().last_error = Some(why);
    }

    /// Says whether a connection with this life of the peer would be taken now.
    pub(crate) fn check(&self, incarnation: u16) -> Result<(), String> {
        self.welcomes(&self.lock(), incarnation)
    }

    fn welcomes(&self, state: &State, incarnation: u16) -> Result<(), String> {
        if state.gone {
            return Err(format!("{} is no longer expected here", self.name));
        }
        match &state.link {
            Some(link) if link.incarnation > incarnation => {
                let (name, present) = (&self.name, link.incarnation);
                Err(format!("incarnation {present} of {name} is connected here, this is {incarnation}"))
            }
            _ => Ok(()),
        }
    }

    /// Makes a connection the peer's. One that is there already gives way, unless it is with a later life of the peer.
    pub(crate) fn attach(self: &Arc<Peer>, connection: &Connection, incarnation: u16) -> Result<Attached, String> {
        let mut state = self.lock();
        self.welcomes(&state, incarnation)?;
        let link = Arc::new(Link { connection: connection.clone(), incarnation, outgoing: Outgoing::new() });
        if let Some(former) = state.link.replace(link.clone()) {
            add(&self.counts.lost, former.outgoing.close());
            bid(&former.connection, Farewell::Superseded, "there is a newer connection with the same process");
        }
        add(&self.counts.connections, 1);
        Ok(Attached { peer: self.clone(), link })
    }

    /// Queues a frame; false when it is dropped.
    pub(crate) fn send(&self, kind: Delivery, bytes: Bytes, now: Duration) -> bool {
        let link = self.lock().link.clone();
        let Some(link) = link else {
            add(&self.counts.dropped, 1);
            return false;
        };
        let pushed = link.outgoing.push(kind, bytes, now);
        add(&self.counts.dropped, pushed.dropped);
        pushed.taken
    }

    pub(crate) fn stats(&self) -> PeerStats {
        let state = self.lock();
        let link = state.link.as_deref();
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        PeerStats {
            name: self.name.clone(),
            role: self.role,
            connected: link.is_some(),
            incarnation: link.map(|link| link.incarnation),
            rtt: link.map(|link| link.connection.rtt()),
            connections: read(&self.counts.connections),
            sent: read(&self.counts.sent),
            sent_bytes: read(&self.counts.sent_bytes),
            received: read(&self.counts.received),
            received_bytes: read(&self.counts.received_bytes),
            dropped: read(&self.counts.dropped),
            lost: read(&self.counts.lost),
            unread: read(&self.counts.unread),
            packets_lost: link.map_or(0, |link| link.connection.stats().path.lost_packets),
            last_error: state.last_error.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        add(&self.peer.counts.lost, self.link.outgoing.close());
        let mut state = self.peer.lock();
        // A newer connection may have taken the place.
        if state.link.as_ref().is_some_and(|link| Arc::ptr_eq(link, &self.link)) {
            state.link = None;
        }
    }
}

/// Counts.
pub(crate) fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}
