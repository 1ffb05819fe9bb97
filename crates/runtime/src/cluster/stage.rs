//! A cluster for tests of one of its processes: certificates and a store in a directory of their own, on this machine.

use nimbus_control::Roster;
use nimbus_model::{Tick, World};
use nimbus_node::AuraConfig;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use super::setup::{ClusterSetup, Place, StoreSetup};
use crate::certs::{CertsRequest, make_certs};
use crate::embedded::Scenes;
use crate::mesh::{ClusterName, ProcessName, Role};

/// See the description of this file. What it wrote goes with it.
pub(super) struct Stage {
    pub(super) setup: ClusterSetup,
    directory: PathBuf,
}

impl Stage {
    /// A coordinator `c` and a node `n`, listening wherever there is room.
    pub(super) fn new(test: &str) -> Stage {
        let directory = std::env::temp_dir().join(format!("nimbus-{test}-{}", std::process::id()));
        let cast = [("c", Role::Coordinator), ("n", Role::Node)].map(|(name, role)| (name.parse().unwrap(), role));
        let request = CertsRequest { processes: cast.to_vec(), hosts: vec!["127.0.0.1".to_owned()] };
        make_certs(&directory, &request).unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let place = |(name, role): (ProcessName, Role)| (name, Place { role, address, relayed: None });
        let world = Arc::new(World::new("test"));
        let (map, _) = crate::first_map(&world, 1).unwrap();
        let setup = ClusterSetup {
            name: ClusterName::new("test").unwrap(),
            certs: directory.clone(),
            places: cast.into_iter().map(place).collect(),
            operators: BTreeMap::new(),
            balance: false,
            budget_us: None,
            durable: true,
            aura: AuraConfig::PROCESSES,
            slowest_permille: 50,
            experiments: false,
            world,
            map,
            spare: Vec::new(),
            scenes: Scenes::default(),
            store: StoreSetup::File(directory.join("roster")),
            checkpoints: None,
            restored: None,
            bodies_per_region: None,
            play: None,
        };
        Stage { setup, directory }
    }
}

/// The first roster of a cluster of one region that nobody has joined.
pub(super) fn roster() -> Roster {
    let (map, _) = crate::first_map(&World::new("test"), 1).unwrap();
    Roster {
        cluster: "test".to_owned(),
        revision: 1,
        term: 1,
        leader: "c".to_owned(),
        leader_token: 7,
        issued: 0,
        processes: BTreeMap::new(),
        regions: BTreeMap::new(),
        world: "test".to_owned(),
        era: 1,
        loaded_at: Tick(0),
        map: Arc::new(map),
        changes: Vec::new(),
        timeline: None,
        placed: Arc::default(),
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What is left of it is the system's to clean up.
        _ = std::fs::remove_dir_all(&self.directory);
    }
}
