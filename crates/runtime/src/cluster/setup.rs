//! What every process of a cluster is told at its start: who there is, and where.

use nimbus_model::{RegionId, World};
use nimbus_node::AuraConfig;
use nimbus_space::PartitionMap;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::checkpoints::Restored;
use crate::embedded::Scenes;
use crate::etcd::{EtcdConfig, EtcdError};
use crate::http::BindError;
use crate::memory;
use crate::mesh::{
    ClusterName, Hello, Identity, IdentityError, Mesh, MeshConfig, MeshError, NameError, PeerConfig, ProcessName, Role,
};
use crate::play::{Play, slowest_permille};
use crate::servers::StartError;

/// One process: what it is for and where it listens for the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What it is for.
    pub role: Role,
    /// Where it listens.
    pub address: SocketAddr,
    /// Where others are to think that it listens: the relay in front of it.
    pub relayed: Option<SocketAddr>,
}

impl Place {
    /// Where others dial.
    pub fn dialled(&self) -> SocketAddr {
        self.relayed.unwrap_or(self.address)
    }
}

/// A whole cluster, as its file describes it.
#[derive(Clone)]
pub struct ClusterSetup {
    /// The cluster's name.
    pub name: ClusterName,
    /// Where the certificates are.
    pub certs: PathBuf,
    /// Every process.
    pub places: BTreeMap<ProcessName, Place>,
    /// Where processes answer operators; those that are not here do not.
    pub operators: BTreeMap<ProcessName, SocketAddr>,
    /// Whether boundaries follow the load.
    pub balance: bool,
    /// What a tick of a region may cost, microseconds, before a spare region shares its place.
    pub budget_us: Option<u32>,
    /// Whether regions have backups, where there is more than one node to keep them.
    pub durable: bool,
    /// How the aura policy judges, and what is promised of computing, clocks and backups.
    pub aura: AuraConfig,
    /// Least share of the ordered pace to which the world slows down when a server cannot keep up, thousandths; 1000 forbids
    /// time dilation.
    pub slowest_permille: u32,
    /// Whether operators may order what only experiments need.
    pub experiments: bool,
    /// The world it begins with.
    pub world: Arc<World>,
    /// Its first partition.
    pub map: PartitionMap,
    /// Regions without a place in it, idle until the load needs them.
    pub spare: Vec<RegionId>,
    /// The worlds that it can change to, made for as many regions as that has.
    pub scenes: Scenes,
    /// Where coordinators keep the roster.
    pub store: StoreSetup,
    /// Where checkpoints go, if anywhere.
    pub checkpoints: Option<CheckpointPlan>,
    /// What it goes on from, if not from the start of the world.
    pub restored: Option<Arc<Restored>>,
    /// Most bodies that the server of a region hosts; by the memory of the node's machine unless told.
    pub bodies_per_region: Option<u32>,
    /// The game that nodes play; every node must have the same.
    pub play: Option<Play>,
}

/// Where checkpoints go, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointPlan {
    /// A directory that every node and coordinator can reach, or an address that `object_store` knows.
    pub place: String,
    /// One is made whenever so much time has passed; none for only when ordered.
    pub every: Option<Duration>,
}

/// Where coordinators keep the roster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreSetup {
    /// In a file, for one coordinator.
    File(PathBuf),
    /// In etcd, where several coordinators find it.
    Etcd(EtcdConfig),
}

/// Why a process of a cluster cannot start or go on.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// A name that is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The process is not in the file.
    #[error("the cluster's file has no {role} called `{name}`; add it, or choose another with --name")]
    NoPlace {
        /// The role.
        role: Role,
        /// The name.
        name: ProcessName,
    },
    /// Its certificate cannot be used.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The network cannot be used.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// The endpoint for operators cannot be had.
    #[error("operators cannot be answered: {0}")]
    Operator(#[from] BindError),
    /// The world cannot be run.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The world that runs is not known here.
    #[error("the world `{0}` that this cluster runs cannot be made here: {1}; give every process the same file")]
    World(String, String),
    /// The coordinator cannot work.
    #[error("the coordinator cannot start: {0}")]
    Coordinator(String),
    /// The coordinator will not have this process.
    #[error("the coordinator refuses this process: {0}")]
    Refused(String),
    /// Others have taken over what this process did.
    #[error("this process is no member any more: {0}")]
    Fenced(String),
    /// A second coordinator where only one can be.
    #[error("`{0}` cannot stand by while the roster is in a file: add [etcd] to the cluster's file, or say --etcd")]
    NeedsEtcd(ProcessName),
    /// The directory for the roster's file is not there.
    #[error(
        "there is no directory {} for the roster: make it, mount it, or name another `store` in the cluster's file",
        .0.display()
    )]
    NoStore(PathBuf),
    /// etcd cannot be used.
    #[error(transparent)]
    Etcd(#[from] EtcdError),
    /// A thread without which the process is of no use.
    #[error("its thread `{0}` has ended; what it said last tells why")]
    Ended(&'static str),
    /// A file or thread.
    #[error("{0}: {1}")]
    Io(String, std::io::Error),
}

impl ClusterSetup {
    /// Joins the network as one of the processes, with the coordinators as its first peers; a coordinator knows everybody.
    pub(super) fn connect(&self, name: &ProcessName, role: Role) -> Result<Arc<Mesh>, ClusterError> {
        let place = self.places.get(name).filter(|place| place.role == role);
        let place = place.ok_or_else(|| ClusterError::NoPlace { role, name: name.clone() })?;
        let identity = Identity::load(&self.certs, name)?;
        let hello = Hello::new(self.name.clone(), &identity, 0);
        let mesh = Mesh::start(MeshConfig { listen: place.address, identity, hello })?;
        mesh.set_peers(self.peers(|peer| role == Role::Coordinator || peer == Role::Coordinator));
        Ok(Arc::new(mesh))
    }

    /// The share of the ordered pace to which the world may slow down, thousandths.
    pub(super) fn slowest(&self) -> u32 {
        slowest_permille(self.slowest_permille, self.play.as_ref())
    }

    /// Processes of some roles, as the mesh wants to know them.
    pub(super) fn peers(&self, of: impl Fn(Role) -> bool) -> BTreeMap<ProcessName, PeerConfig> {
        let places = self.places.iter().filter(|(_, place)| of(place.role));
        places
            .map(|(name, place)| (name.clone(), PeerConfig { role: place.role, address: Some(place.dialled()) }))
            .collect()
    }

    /// Every region, spare ones included, in order.
    pub(super) fn regions(&self) -> Vec<RegionId> {
        let mut regions: Vec<RegionId> = self.map.regions().iter().chain(&self.spare).copied().collect();
        regions.sort_unstable();
        regions.dedup();
        regions
    }

    /// Whether regions have backups here.
    pub(super) fn is_durable(&self) -> bool {
        self.durable && self.count(Role::Node) > 1
    }

    /// How the aura policy judges in this cluster.
    pub(super) fn aura(&self) -> AuraConfig {
        self.aura.with_commits(self.is_durable())
    }

    /// Most bodies that a server of this process hosts. A node has its share of the regions, and more when others fail.
    pub(super) fn bodies_max(&self) -> usize {
        let share = self.regions().len().div_ceil(self.count(Role::Node).max(1));
        self.bodies_per_region.map_or_else(|| memory::bodies_max(share), |most| most as usize)
    }

    /// How many processes of a role there are.
    pub(super) fn count(&self, role: Role) -> usize {
        self.named(role).count()
    }

    /// The processes of a role, by name.
    pub fn named(&self, role: Role) -> impl Iterator<Item = &ProcessName> {
        self.places.iter().filter(move |(_, place)| place.role == role).map(|(name, _)| name)
    }
}
