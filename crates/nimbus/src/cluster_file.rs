//! The file that describes a cluster.

use anyhow::{Context, anyhow, bail};
use nimbus::gateway::Serves;
use nimbus::model::{BUDGET_BODIES_MAX, RegionId, Vec3, World};
use nimbus::node::Horizon;
use nimbus::runtime::checkpoints::{Checkpoints, Restored};
use nimbus::runtime::cluster::{CheckpointPlan, ClusterSetup, Place, StoreSetup};
use nimbus::runtime::etcd::{Endpoint, EtcdConfig, EtcdLogin, EtcdTls};
use nimbus::runtime::memory::crowded_start;
use nimbus::runtime::mesh::{ClusterName, ProcessName, Role};
use nimbus::runtime::relay::RelayConfig;
use nimbus::runtime::{QuicPort, Scenes, first_map_under};
use nimbus::space::PartitionMap;
use nimbus::wire::client::ClientRole;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::commands::run::budget_us;

use crate::relay_table::{self, RelayEntry};
use crate::tolerances_table::TolerancesEntry;
use crate::worlds;

/// The file as people write it. See `examples/cluster.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClusterFile {
    name: String,
    scene: Option<String>,
    world: Option<PathBuf>,
    #[serde(default = "default_seed")]
    seed: u64,
    #[serde(default = "default_scale")]
    scale: f32,
    regions: Option<u16>,
    #[serde(default)]
    balance: bool,
    #[serde(default)]
    spare: u16,
    budget_ms: Option<f32>,
    checkpoints: Option<String>,
    checkpoint_every_s: Option<u32>,
    #[serde(default = "default_durable")]
    durable: bool,
    #[serde(default)]
    experiments: bool,
    #[serde(default = "default_certs")]
    certs: PathBuf,
    store: Option<PathBuf>,
    etcd: Option<EtcdEntry>,
    relay: Option<RelayEntry>,
    #[serde(default)]
    tolerances: TolerancesEntry,
    #[serde(default)]
    budget: BudgetEntry,
    access: Option<AccessEntry>,
    coordinator: Vec<ProcessEntry>,
    node: Vec<ProcessEntry>,
    #[serde(default)]
    gateway: Vec<GatewayEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProcessEntry {
    name: String,
    address: SocketAddr,
    relayed: Option<SocketAddr>,
    operator: Option<SocketAddr>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GatewayEntry {
    name: String,
    address: SocketAddr,
    relayed: Option<SocketAddr>,
    http: SocketAddr,
    quic: Option<QuicEntry>,
    operator: Option<SocketAddr>,
    #[serde(default)]
    serves: ServesEntry,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ServesEntry {
    #[default]
    Everybody,
    Questions,
}

impl From<ServesEntry> for Serves {
    fn from(entry: ServesEntry) -> Serves {
        match entry {
            ServesEntry::Everybody => Serves::Everybody,
            ServesEntry::Questions => Serves::Questions,
        }
    }
}

/// A port, or `"off"`.
#[derive(Deserialize)]
#[serde(untagged)]
enum QuicEntry {
    Port(u16),
    Word(String),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct BudgetEntry {
    bodies_per_region: Option<u32>,
}

impl BudgetEntry {
    /// Most bodies that the server of a region hosts, if the file says so.
    fn bodies_per_region(&self) -> anyhow::Result<Option<u32>> {
        match self.bodies_per_region {
            Some(bodies) if !(1..=BUDGET_BODIES_MAX).contains(&bodies) => {
                bail!("`bodies_per_region` is {bodies}; it must be from 1 to {BUDGET_BODIES_MAX}")
            }
            said => Ok(said),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AccessEntry {
    secret: PathBuf,
    anonymous: Option<ClientRole>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EtcdEntry {
    #[serde(default = "default_endpoints")]
    endpoints: Vec<String>,
    #[serde(default = "default_lease_s")]
    lease_s: u32,
    user: Option<String>,
    password_file: Option<PathBuf>,
    ca: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    data: Option<PathBuf>,
}

fn default_endpoints() -> Vec<String> {
    vec!["http://127.0.0.1:2379".to_owned()]
}

fn default_lease_s() -> u32 {
    2
}

fn default_certs() -> PathBuf {
    PathBuf::from("certs")
}

fn default_durable() -> bool {
    true
}

fn default_seed() -> u64 {
    1
}

fn default_scale() -> f32 {
    1.0
}

fn default_store() -> PathBuf {
    PathBuf::from("roster")
}

/// Spare regions that a cluster may have.
const SPARE_MAX: u16 = 256;
/// What a tick of a region may cost, microseconds, unless told.
const BUDGET_US: u32 = 6_000;

/// Where clients come in at a gateway.
pub(crate) struct Door {
    /// Browsers.
    pub(crate) http: SocketAddr,
    /// Programs.
    pub(crate) quic: QuicPort,
    /// Whom it serves.
    pub(crate) serves: Serves,
}

impl Door {
    /// The mesh is on UDP, too. Where one of its ports has the number of the viewer's, programs come in at another.
    fn make_way(&mut self, mut mesh: impl Iterator<Item = SocketAddr>) {
        let http = self.http;
        let is_same = |place: SocketAddr| {
            let everywhere = place.ip().is_unspecified() || http.ip().is_unspecified();
            place.port() == http.port() && (everywhere || place.ip() == http.ip())
        };
        if self.quic == QuicPort::Beside && mesh.any(is_same) {
            self.quic = QuicPort::At(0);
        }
    }
}

/// A cluster, where clients find its gateways, where an etcd of its own keeps its data, and the relay between processes.
pub(crate) struct Described {
    pub(crate) setup: ClusterSetup,
    pub(crate) doors: BTreeMap<ProcessName, Door>,
    /// What tokens of clients are signed with, where gateways ask for them.
    pub(crate) secret: Option<PathBuf>,
    /// What clients without a token may do there.
    pub(crate) anonymous: Option<ClientRole>,
    pub(crate) etcd_data: PathBuf,
    pub(crate) relay: Option<RelayConfig>,
}

/// Where the roster is kept, whatever the file says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// As the file says.
    AsWritten,
    /// In etcd: at the endpoints of the file, or at the default one.
    InEtcd,
}

/// Reads a cluster's file, and the checkpoint that it is to go on from. Paths in it are relative to the file.
pub(crate) fn read(path: &Path, keep: Keep, restore: Option<&str>) -> anyhow::Result<Described> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let file: ClusterFile = toml::from_str(&text).with_context(|| format!("{} is no cluster file", path.display()))?;
    let beside = |relative: &Path| path.parent().unwrap_or(Path::new("")).join(relative);
    let (mut places, mut doors) = (BTreeMap::new(), BTreeMap::new());
    let mut operators = BTreeMap::new();
    let mut add = |name: &str, place: Place, operator: Option<SocketAddr>| {
        let name = ProcessName::new(name)?;
        operators.extend(operator.map(|operator| (name.clone(), operator)));
        if places.insert(name.clone(), place).is_some() {
            bail!("{}: two processes are called `{name}`; give each its own name", path.display());
        }
        Ok(name)
    };
    for (role, entries) in [(Role::Coordinator, &file.coordinator), (Role::Node, &file.node)] {
        for &ProcessEntry { ref name, address, relayed, operator } in entries {
            add(name, Place { role, address, relayed }, operator)?;
        }
    }
    for &GatewayEntry { ref name, address, relayed, http, ref quic, operator, serves } in &file.gateway {
        let quic = quic_port(quic.as_ref()).with_context(|| format!("{}: `quic` of {name}", path.display()))?;
        let name = add(name, Place { role: Role::Gateway, address, relayed }, operator)?;
        doors.insert(name, Door { http, quic, serves: serves.into() });
    }
    for door in doors.values_mut() {
        door.make_way(places.values().flat_map(|place| [Some(place.address), place.relayed]).flatten());
    }
    if file.coordinator.is_empty() || file.node.is_empty() {
        let wanted = "list at least one [[coordinator]] and at least one [[node]]";
        bail!("{}: {wanted}", path.display());
    }
    let roster = file.store.clone().unwrap_or_else(default_store);
    let data = file.etcd.as_ref().and_then(|etcd| etcd.data.clone()).unwrap_or_else(|| roster.with_extension("etcd"));
    let store = match (file.store, file.etcd) {
        (Some(_), Some(_)) => bail!("{}: say either `store`, a file, or [etcd]", path.display()),
        (_, None) if keep == Keep::AsWritten => StoreSetup::File(beside(&roster)),
        (_, entry) => {
            let config = etcd(entry.unwrap_or_default(), &beside);
            StoreSetup::Etcd(config.with_context(|| format!("{}: [etcd]", path.display()))?)
        }
    };
    let regions = file.regions.unwrap_or((file.node.len() as u16).saturating_sub(file.spare).max(1));
    let budget_us = budget(file.balance, file.spare, file.budget_ms).with_context(|| path.display().to_string())?;
    let checkpoints = checkpoint_plan(file.checkpoints, file.checkpoint_every_s, &beside)
        .with_context(|| path.display().to_string())?;
    let (world, scenes): (World, Scenes) = match (&file.scene, &file.world) {
        (Some(scene), None) => {
            (worlds::scene(scene, regions, file.seed, file.scale)?, worlds::choice(file.seed, file.scale))
        }
        (None, Some(world)) => {
            let world = worlds::file(&beside(world))?;
            let scenes = worlds::only(&world);
            (world, scenes)
        }
        _ => bail!("{}: say either `scene` or `world`", path.display()),
    };
    let aura = file.tolerances.aura().with_context(|| format!("{}: [tolerances]", path.display()))?;
    let slowest_permille =
        file.tolerances.slowest_permille().with_context(|| format!("{}: [tolerances]", path.display()))?;
    let bodies_per_region = file.budget.bodies_per_region().with_context(|| format!("{}: [budget]", path.display()))?;
    let checked = aura.with_commits(file.durable && file.node.len() > 1);
    let restored = restore.map(|name| restored(name, checkpoints.as_ref())).transpose()?;
    let (world, map) = match &restored {
        None => {
            let (map, _) = first_map_under(&world, 1, &checked)?;
            if let Some(problem) = bodies_per_region.and_then(|most| crowded_start(&world, &map, most as usize)) {
                bail!("{}: [budget]: {problem}", path.display());
            }
            (Arc::new(world), map)
        }
        Some(restored) => {
            let world = restored.checkpoint.world.clone();
            let places: Vec<Vec3> = restored.checkpoint.members().iter().map(|m| m.motion.pose.position).collect();
            let width_min = Horizon::planned_width_min(&world, &checked);
            (world, PartitionMap::even(&places, regions, width_min)?)
        }
    };
    let beyond = map.regions().last().map_or(0, |last| last.0.saturating_add(1));
    let spare = (0..file.spare).map(|i| RegionId(beyond.saturating_add(i))).collect();
    let relay = relay_table::relay(file.relay, &places).with_context(|| path.display().to_string())?;
    let setup = ClusterSetup {
        name: ClusterName::new(&file.name)?,
        certs: beside(&file.certs),
        store,
        places,
        operators,
        balance: file.balance,
        budget_us,
        durable: file.durable,
        aura,
        slowest_permille,
        experiments: file.experiments,
        world,
        map,
        spare,
        checkpoints,
        restored,
        scenes,
        bodies_per_region,
        play: None,
    };
    let secret = file.access.as_ref().map(|access| beside(&access.secret));
    let anonymous = file.access.as_ref().and_then(|access| access.anonymous);
    Ok(Described { setup, doors, secret, anonymous, etcd_data: beside(&data), relay })
}

fn quic_port(entry: Option<&QuicEntry>) -> anyhow::Result<QuicPort> {
    Ok(match entry {
        None => QuicPort::default(),
        Some(QuicEntry::Port(port)) => QuicPort::At(*port),
        Some(QuicEntry::Word(word)) => word.parse().map_err(|why: String| anyhow!(why))?,
    })
}

/// What a tick of a region may cost, microseconds, if there are spare ones to help.
fn budget(balance: bool, spare: u16, budget_ms: Option<f32>) -> anyhow::Result<Option<u32>> {
    if spare > SPARE_MAX {
        bail!("{spare} spare regions are too many; at most {SPARE_MAX}");
    }
    match budget_ms {
        _ if spare > 0 && !balance => {
            bail!("`spare` regions need `balance = true`: otherwise nobody gives them a place")
        }
        None if spare == 0 => Ok(None),
        Some(_) if spare == 0 => bail!("`budget_ms` needs `spare`, the number of regions that may help"),
        None => Ok(Some(BUDGET_US)),
        Some(ms) => budget_us(ms).map(Some).map_err(|why| anyhow!("`budget_ms` is {ms}: {why}")),
    }
}

impl Default for EtcdEntry {
    fn default() -> EtcdEntry {
        EtcdEntry {
            endpoints: default_endpoints(),
            lease_s: default_lease_s(),
            user: None,
            password_file: None,
            ca: None,
            certificate: None,
            key: None,
            data: None,
        }
    }
}

fn etcd(entry: EtcdEntry, beside: &impl Fn(&Path) -> PathBuf) -> anyhow::Result<EtcdConfig> {
    let endpoints: Result<Vec<Endpoint>, _> = entry.endpoints.iter().map(|endpoint| endpoint.parse()).collect();
    let login = match (entry.user, entry.password_file) {
        (None, None) => None,
        (Some(user), Some(file)) => Some(EtcdLogin { user, password_file: beside(&file) }),
        _ => bail!("`user` and `password_file` go together; write both or neither"),
    };
    let identity = match (entry.certificate, entry.key) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some((beside(&certificate), beside(&key))),
        _ => bail!("`certificate` and `key` go together; write both or neither"),
    };
    let tls = match (entry.ca, identity) {
        (Some(ca), identity) => Some(EtcdTls { ca: beside(&ca), identity }),
        (None, Some(_)) => bail!("`certificate` needs `ca`, the file of the CA that made etcd's own certificate"),
        (None, None) => None,
    };
    Ok(EtcdConfig::new(endpoints?, entry.lease_s, login, tls)?)
}

fn checkpoint_plan(
    place: Option<String>,
    every_s: Option<u32>,
    beside: &impl Fn(&Path) -> PathBuf,
) -> anyhow::Result<Option<CheckpointPlan>> {
    let every = every_s.map(|seconds| Duration::from_secs(u64::from(seconds.max(1))));
    match place {
        None if every.is_some() => bail!("`checkpoint_every_s` needs `checkpoints`, where they go"),
        None => Ok(None),
        Some(address) if address.contains("://") => Ok(Some(CheckpointPlan { place: address, every })),
        Some(directory) => {
            let place = beside(Path::new(&directory)).to_string_lossy().into_owned();
            Ok(Some(CheckpointPlan { place, every }))
        }
    }
}

/// Reads a checkpoint by name, or the latest, from where this cluster keeps them; a name with a slash says where it is.
fn restored(name: &str, plan: Option<&CheckpointPlan>) -> anyhow::Result<Arc<Restored>> {
    let (place, name) = match name.rsplit_once('/') {
        Some((place, name)) => (place, name),
        None => {
            let plan = plan.context("the cluster's file does not say where checkpoints are: add `checkpoints`")?;
            (plan.place.as_str(), name)
        }
    };
    Ok(Arc::new(Checkpoints::open(place)?.read(name)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(entry: &str) -> anyhow::Result<QuicPort> {
        #[derive(Deserialize)]
        struct Entry {
            quic: Option<QuicEntry>,
        }
        quic_port(toml::from_str::<Entry>(entry)?.quic.as_ref())
    }

    #[test]
    fn programs_come_in_beside_browsers_unless_the_file_says_otherwise() {
        assert_eq!(door("").unwrap(), QuicPort::Beside);
        assert_eq!(door("quic = 7778").unwrap(), QuicPort::At(7778));
        assert_eq!(door("quic = \"off\"").unwrap(), QuicPort::Off);
        for bad in ["quic = \"on\"", "quic = 70000", "quic = true"] {
            assert!(door(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_budget_of_a_region_is_a_number_of_bodies() {
        let read = |text: &str| toml::from_str::<BudgetEntry>(text).map_err(anyhow::Error::from)?.bodies_per_region();
        assert_eq!((read("").unwrap(), read("bodies_per_region = 9").unwrap()), (None, Some(9)));
        for bad in ["bodies_per_region = 0", "bodies_per_region = 10000001"] {
            let error = read(bad).unwrap_err().to_string();
            assert!(error.contains("from 1 to 10000000"), "{error}");
        }
        assert!(read("bodies = 9").is_err(), "that is the world's to say");
    }

    #[test]
    fn programs_make_way_for_the_mesh() {
        let beside = |http: &str, mesh: &str| {
            let mut door = Door { http: http.parse().unwrap(), quic: QuicPort::Beside, serves: Serves::Everybody };
            door.make_way([mesh.parse().unwrap()].into_iter());
            door.quic
        };
        assert_eq!(beside("127.0.0.1:7777", "127.0.0.1:7820"), QuicPort::Beside);
        assert_eq!(beside("127.0.0.1:7777", "127.0.0.2:7777"), QuicPort::Beside, "another machine");
        assert_eq!(beside("127.0.0.1:7777", "127.0.0.1:7777"), QuicPort::At(0));
        assert_eq!(beside("0.0.0.0:7777", "10.0.0.1:7777"), QuicPort::At(0));
    }
}
