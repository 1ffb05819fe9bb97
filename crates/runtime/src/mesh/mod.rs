//! The mesh: frames between the processes of a cluster, over QUIC, where both ends show a certificate of the private CA.
//!
//! The mesh carries bytes and promises little: what is queued or under way when a connection breaks is lost. Lanes and
//! record streams, which must lose nothing, number what they send and send it again. The mesh runs on a thread of its
//! own; those who send and receive never wait for it, nor it for them.

mod dialer;
mod farewell;
mod greeting;
mod hello;
mod identity;
mod inbox;
mod link;
mod listener;
mod names;
mod outgoing;
mod peer;
mod pieces;
mod transport;
mod window_floor;

use bytes::Bytes;
use quinn::{Endpoint, TokioRuntime, VarInt};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::runtime::Runtime;

pub use dialer::{PAUSE_MAX, PAUSE_MIN};
pub use greeting::HELLO_TIMEOUT;
pub use hello::{HELLO_BYTES, Hello, HelloError};
pub use identity::{Identity, IdentityError};
pub(crate) use identity::{certified, read_certificate, vouch};
pub use inbox::{INBOX_BYTES_MAX, INBOX_FRAMES_MAX, Received};
pub use names::{ClusterName, NAME_BYTES_MAX, NameError, ProcessName, Role};
pub use outgoing::{Delivery, LATEST_AGE_MAX, LATEST_BYTES_MAX, LATEST_FRAMES_MAX, ORDERED_FRAMES_MAX};
pub use peer::{PeerConfig, PeerStats};
pub(crate) use transport::bind;
pub use transport::{IDLE_MS_MAX, KEEP_ALIVE};

use crate::clock::Clock;
use farewell::Farewell;
use inbox::Inbox;
use peer::Peer;

/// How long a process that stops waits for its farewells to be heard.
const FAREWELL: Duration = Duration::from_millis(200);

/// What a mesh is started with.
#[derive(Clone, Debug)]
pub struct MeshConfig {
    /// Where to listen; port 0 takes any.
    pub listen: SocketAddr,
    /// Who this process is, with its certificate.
    pub identity: Identity,
    /// What it says of itself.
    pub hello: Hello,
}

/// Why a mesh cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum MeshError {
    /// The address is taken or not of this machine.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// The hello is not that of the certificate; every peer would refuse it.
    #[error("the certificate is for the {certified_role} `{certified}`, not for the {role} `{name}`")]
    NotCertified {
        /// The role in the hello.
        role: Role,
        /// The name in the hello.
        name: ProcessName,
        /// The role in the certificate.
        certified_role: Role,
        /// The name in the certificate.
        certified: ProcessName,
    },
    /// The machine gives no thread.
    #[error("cannot start the network's thread: {0}")]
    Thread(std::io::Error),
}

/// How it goes with the mesh.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeshStats {
    /// Every peer, in order of name.
    pub peers: Vec<PeerStats>,
    /// Connections that this process did not accept: no certificate of the CA, another version or cluster, a role or name
    /// that is not certified or not expected.
    pub refusals: u64,
    /// Why, the last time.
    pub last_refusal: Option<String>,
    /// Frames for processes that are no peers.
    pub unaddressed: u64,
}

/// Connections to the other processes of the cluster.
pub struct Mesh {
    shared: Arc<Shared>,
    endpoint: Endpoint,
    address: SocketAddr,
    runtime: Option<Runtime>,
}

/// What the tasks of a mesh and its owner share.
struct Shared {
    own: Hello,
    clock: Clock,
    inbox: Inbox,
    refusals: Refusals,
    unaddressed: AtomicU64,
    peers: RwLock<BTreeMap<ProcessName, Arc<Peer>>>,
}

#[derive(Default)]
struct Refusals {
    count: AtomicU64,
    last: Mutex<Option<String>>,
}

impl Mesh {
    /// Listens, without any peers yet.
    pub fn start(config: MeshConfig) -> Result<Mesh, MeshError> {
        let MeshConfig { listen, identity, hello } = config;
        if (&hello.name, hello.role) != (identity.name(), identity.role()) {
            return Err(MeshError::NotCertified {
                role: hello.role,
                name: hello.name,
                certified_role: identity.role(),
                certified: identity.name().clone(),
            });
        }
        let bind = |source| MeshError::Bind { address: listen, source };
        let (socket, window) = transport::bind(listen).map_err(bind)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("mesh")
            .enable_all()
            .build()
            .map_err(MeshError::Thread)?;
        let inside = runtime.enter();
        let server = transport::server_config(&identity, window);
        let settings = transport::endpoint_config(&identity);
        let mut endpoint = Endpoint::new(settings, Some(server), socket, Arc::new(TokioRuntime)).map_err(bind)?;
        endpoint.set_default_client_config(transport::client_config(&identity, window));
        let address = endpoint.local_addr().map_err(bind)?;
        drop(inside);
        let shared = Arc::new(Shared {
            own: hello,
            clock: Clock::start(),
            inbox: Inbox::default(),
            refusals: Refusals::default(),
            unaddressed: AtomicU64::new(0),
            peers: RwLock::default(),
        });
        runtime.spawn(listener::listen(shared.clone(), endpoint.clone()));
        Ok(Mesh { shared, endpoint, address, runtime: Some(runtime) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Says who there is to talk to. Of two processes, the one whose name sorts lower makes the connection. Peers that are
    /// not named any more are let go; connections with the others are left alone. The own name is passed over.
    pub fn set_peers(&self, wanted: BTreeMap<ProcessName, PeerConfig>) {
        let Some(runtime) = &self.runtime else { return };
        let mut peers = self.shared.peers.write().unwrap_or_else(PoisonError::into_inner);
        peers.retain(|name, peer| {
            let stays = wanted.get(name).is_some_and(|config| config.role == peer.role);
            if !stays {
                let reason = format!("{} has no more to do with {name}", self.shared.own.name);
                peer.dismiss(Farewell::Dismissed, &reason);
            }
            stays
        });
        for (name, config) in wanted {
            if name == self.shared.own.name {
                continue;
            }
            if let Some(peer) = peers.get(&name) {
                peer.set_address(config.address);
                continue;
            }
            let peer = Arc::new(Peer::new(name.clone(), config));
            if self.shared.own.name < name {
                let dialing = dialer::dial(self.shared.clone(), self.endpoint.clone(), peer.clone());
                peer.set_dialer(runtime.spawn(dialing).abort_handle());
            }
            peers.insert(name, peer);
        }
    }

    /// Queues a frame for a peer and returns at once. False when it is dropped: no connection, a full queue, too long.
    pub fn send(&self, to: &ProcessName, bytes: impl Into<Bytes>, kind: Delivery) -> bool {
        match self.shared.peer(to) {
            Some(peer) => peer.send(kind, bytes.into(), self.shared.clock.now()),
            None => {
                peer::add(&self.shared.unaddressed, 1);
                false
            }
        }
    }

    /// The next frame that has arrived, if there is one.
    pub fn try_recv(&self) -> Option<Received> {
        self.shared.inbox.pop()
    }

    /// Hands over what has arrived until now; what comes meanwhile waits for the next time.
    pub fn drain(&self, take: impl FnMut(Received)) {
        self.shared.inbox.take().into_iter().for_each(take);
    }

    /// Waits until a frame has arrived, but no longer than this; true when there is one. For threads that have nothing
    /// else to do.
    pub fn wait(&self, longest: Duration) -> bool {
        self.shared.inbox.wait(longest)
    }

    /// How it goes.
    pub fn stats(&self) -> MeshStats {
        let peers = self.shared.peers.read().unwrap_or_else(PoisonError::into_inner);
        MeshStats {
            peers: peers.values().map(|peer| peer.stats()).collect(),
            refusals: self.shared.refusals.count.load(Ordering::Relaxed),
            last_refusal: self.shared.refusals.last.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            unaddressed: self.shared.unaddressed.load(Ordering::Relaxed),
        }
    }

    /// Tells the peers that this process leaves, and ends. Takes a fifth of a second at most.
    pub fn stop(mut self) {
        self.leave();
        if let Some(runtime) = self.runtime.take() {
            runtime.block_on(async {
                // Peers that are not reached notice by themselves.
                let _ = tokio::time::timeout(FAREWELL, self.endpoint.wait_idle()).await;
            });
            runtime.shutdown_background();
        }
    }

    fn leave(&self) {
        let reason = format!("{} stops", self.shared.own.name);
        let peers = self.shared.peers.read().unwrap_or_else(PoisonError::into_inner);
        peers.values().for_each(|peer| peer.dismiss(Farewell::Leaving, &reason));
        self.endpoint.close(VarInt::from_u32(Farewell::Leaving as u32), reason.as_bytes());
    }
}

impl Drop for Mesh {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            self.leave();
            runtime.shutdown_background();
        }
    }
}

impl Shared {
    fn peer(&self, name: &ProcessName) -> Option<Arc<Peer>> {
        self.peers.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }
}

impl Refusals {
    fn note(&self, why: String) {
        self.count.fetch_add(1, Ordering::Relaxed);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }
}
