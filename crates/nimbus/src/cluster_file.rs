//! The file that describes a cluster.

use anyhow::{Context, bail};
use nimbus::model::World;
use nimbus::runtime::cluster::{ClusterSetup, Place};
use nimbus::runtime::first_map;
use nimbus::runtime::mesh::{ClusterName, ProcessName, Role};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    #[serde(default = "default_certs")]
    certs: PathBuf,
    #[serde(default = "default_store")]
    store: PathBuf,
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
    operator: Option<SocketAddr>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GatewayEntry {
    name: String,
    address: SocketAddr,
    http: SocketAddr,
    operator: Option<SocketAddr>,
}

fn default_certs() -> PathBuf {
    PathBuf::from("certs")
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

/// A cluster, and where browsers find its gateways.
pub(crate) struct Described {
    pub(crate) setup: ClusterSetup,
    pub(crate) http: BTreeMap<ProcessName, SocketAddr>,
}

/// Reads a cluster's file. Paths in it are relative to the file.
pub(crate) fn read(path: &Path) -> anyhow::Result<Described> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let file: ClusterFile = toml::from_str(&text).with_context(|| format!("{} is no cluster file", path.display()))?;
    let beside = |relative: &Path| path.parent().unwrap_or(Path::new("")).join(relative);
    let (mut places, mut http) = (BTreeMap::new(), BTreeMap::new());
    let mut operators = BTreeMap::new();
    let mut add = |name: &str, role: Role, address: SocketAddr, operator: Option<SocketAddr>| {
        let name = ProcessName::new(name)?;
        operators.extend(operator.map(|operator| (name.clone(), operator)));
        if places.insert(name.clone(), Place { role, address }).is_some() {
            bail!("{}: two processes are called `{name}`; give each its own name", path.display());
        }
        Ok(name)
    };
    for ProcessEntry { name, address, operator } in &file.coordinator {
        add(name, Role::Coordinator, *address, *operator)?;
    }
    for ProcessEntry { name, address, operator } in &file.node {
        add(name, Role::Node, *address, *operator)?;
    }
    for GatewayEntry { name, address, http: web, operator } in &file.gateway {
        http.insert(add(name, Role::Gateway, *address, *operator)?, *web);
    }
    if file.coordinator.len() != 1 || file.node.is_empty() {
        bail!("{}: list one [[coordinator]] and at least one [[node]]", path.display());
    }
    let regions = file.regions.unwrap_or(file.node.len() as u16);
    let world: World = match (&file.scene, &file.world) {
        (Some(scene), None) => worlds::scene(scene, regions, file.seed, file.scale)?,
        (None, Some(world)) => worlds::file(&beside(world))?,
        _ => bail!("{}: say either `scene` or `world`", path.display()),
    };
    let (map, _) = first_map(&world, 1)?;
    let setup = ClusterSetup {
        name: ClusterName::new(&file.name)?,
        certs: beside(&file.certs),
        store: beside(&file.store),
        places,
        operators,
        world: Arc::new(world),
        map,
    };
    Ok(Described { setup, http })
}
