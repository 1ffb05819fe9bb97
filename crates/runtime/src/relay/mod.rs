//! A bad network between real processes, made on purpose and from a seed.
//!
//! The relay listens in front of processes and passes on what others send to them, and what they answer: late, twice, in
//! another order, or not at all. [`Conditions`] decides what becomes of each packet; what is here only carries it out.
//! It sees packets of QUIC from outside, and can neither read nor change them.

mod conditions;
mod front;
mod orders;
#[cfg(test)]
mod relay_tests;
mod under_way;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::Notify;

use crate::clock::Clock;
use crate::mesh::ProcessName;
use front::Front;
use under_way::UnderWay;

pub use conditions::{CUTS_MAX, Conditions, Cut, Fate, HELD_BACK, Impairment, TooManyCuts, Way};
pub use front::CLIENTS_MAX;
pub use orders::{CUT_MAX, Order, OrderError};
pub use under_way::{BYTES_MAX, PACKETS_MAX};

/// What a relay does.
#[derive(Clone, Debug)]
pub struct RelayConfig {
    /// The processes it is in front of.
    pub fronts: Vec<FrontConfig>,
    /// From where processes send, so that it is known whose packets they are.
    pub known: BTreeMap<SocketAddr, ProcessName>,
    /// What the network is like.
    pub conditions: Conditions,
}

/// A process behind the relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontConfig {
    /// The process.
    pub name: ProcessName,
    /// Where others think that it listens.
    pub listen: SocketAddr,
    /// Where it does listen.
    pub process: SocketAddr,
}

/// Why a relay cannot start.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// An address cannot be had.
    #[error("the relay cannot listen at {0}: {1}; end what listens there, or give the process another `relayed`")]
    Listen(SocketAddr, io::Error),
    /// A thread.
    #[error("the relay cannot start: {0}")]
    Start(#[from] io::Error),
}

/// What became of packets so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayCounts {
    /// Packets that were passed on, each once.
    pub passed: u64,
    /// Lost on purpose.
    pub lost: u64,
    /// Passed on once more.
    pub duplicated: u64,
    /// Held back, so that others overtook them.
    pub reordered: u64,
    /// From or to a process that was cut off.
    pub cut: u64,
    /// Dropped for want of room.
    pub overflowed: u64,
}

/// A relay that runs until it is dropped.
pub struct Relay {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    listens: BTreeMap<ProcessName, SocketAddr>,
}

/// What the threads of a relay share.
struct Shared {
    clock: Clock,
    conditions: Mutex<Conditions>,
    under_way: Mutex<UnderWay>,
    /// Something is due sooner than it was.
    sooner: Condvar,
    ends: AtomicBool,
    /// Ends the thread that receives.
    ended: Notify,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    passed: AtomicU64,
    lost: AtomicU64,
    duplicated: AtomicU64,
    reordered: AtomicU64,
    cut: AtomicU64,
    overflowed: AtomicU64,
}

impl Relay {
    /// Listens in front of every process. Its time, by which cuts are planned, begins now.
    pub fn start(config: RelayConfig) -> Result<Relay, RelayError> {
        let shared = Arc::new(Shared {
            clock: Clock::start(),
            conditions: Mutex::new(config.conditions),
            under_way: Mutex::default(),
            sooner: Condvar::new(),
            ends: AtomicBool::new(false),
            ended: Notify::new(),
            counts: Counts::default(),
        });
        let known = Arc::new(config.known);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let inside = runtime.enter();
        let (mut fronts, mut listens) = (Vec::new(), BTreeMap::new());
        for front in config.fronts {
            let (name, listen) = (front.name.clone(), front.listen);
            let opened = Front::open(front, known.clone(), shared.clone());
            let (front, address) = opened.map_err(|error| RelayError::Listen(listen, error))?;
            listens.insert(name, address);
            fronts.push(front);
        }
        drop(inside);
        // From here on the relay is dropped, and its threads end, when something fails.
        let mut relay = Relay { shared: shared.clone(), threads: Vec::new(), listens };
        let delivering = shared.clone();
        relay
            .threads
            .push(std::thread::Builder::new().name("relay delivers".to_owned()).spawn(move || delivering.deliver())?);
        relay.threads.push(std::thread::Builder::new().name("relay receives".to_owned()).spawn(move || {
            runtime.block_on(async {
                for front in fronts {
                    tokio::spawn(front.run());
                }
                shared.ended.notified().await;
            });
        })?);
        Ok(relay)
    }

    /// Where it listens in front of each process; of use when the configuration left the port to the system.
    pub fn listens(&self) -> &BTreeMap<ProcessName, SocketAddr> {
        &self.listens
    }

    /// Cuts a process off from all others, from now on and for this long.
    pub fn cut(&self, process: ProcessName, time: Duration) -> Result<(), TooManyCuts> {
        self.shared.conditions().cut(process, self.shared.clock.now(), time)
    }

    /// Ends every cut that holds now.
    pub fn heal(&self) {
        self.shared.conditions().heal(self.shared.clock.now());
    }

    /// Who is cut off now.
    pub fn cut_off(&self) -> Vec<ProcessName> {
        self.shared.conditions().cut_off(self.shared.clock.now()).into_iter().collect()
    }

    /// What became of packets so far.
    pub fn counts(&self) -> RelayCounts {
        let Counts { passed, lost, duplicated, reordered, cut, overflowed } = &self.shared.counts;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        RelayCounts {
            passed: read(passed),
            lost: read(lost),
            duplicated: read(duplicated),
            reordered: read(reordered),
            cut: read(cut),
            overflowed: read(overflowed),
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        self.shared.ended.notify_one();
        // Taken, so that the thread either sees the flag or waits and hears the call.
        drop(self.shared.under_way());
        self.shared.sooner.notify_all();
        for thread in self.threads.drain(..) {
            // One that panicked has said so on its way.
            _ = thread.join();
        }
    }
}

impl Shared {
    fn conditions(&self) -> MutexGuard<'_, Conditions> {
        self.conditions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn under_way(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends every packet on when it is due.
    fn deliver(&self) {
        let mut under_way = self.under_way();
        while !self.ends.load(Ordering::Relaxed) {
            let now = self.clock.now();
            if let Some(packet) = under_way.pop(now) {
                drop(under_way);
                let sent = match packet.to {
                    Some(to) => packet.socket.send_to(&packet.bytes, to),
                    None => packet.socket.send(&packet.bytes),
                };
                // Who is not there does not hear it; a full socket is a full router.
                if sent.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
                    count(&self.counts.overflowed);
                }
                under_way = self.under_way();
                continue;
            }
            under_way = match under_way.next_due() {
                Some(due) => {
                    let waited = self.sooner.wait_timeout(under_way, due.saturating_sub(now));
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.sooner.wait(under_way).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

fn count(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

impl fmt::Display for RelayCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RelayCounts { passed, lost, duplicated, reordered, cut, overflowed } = self;
        write!(
            f,
            "passed {passed}, lost {lost}, duplicated {duplicated}, reordered {reordered}, cut {cut}, \
             overflowed {overflowed}"
        )
    }
}
