//! A coordinator whose roster cannot be written: people are told, once, and it goes on when it can.

#![allow(clippy::disallowed_methods, reason = "a coordinator takes real time")]

use super::*;
use crate::certs::{CertsRequest, make_certs};
use crate::cluster::{Place, run_coordinator};
use crate::embedded::Scenes;
use crate::mesh::ClusterName;
use nimbus_model::World;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A machine with much else to do takes its time.
const PATIENCE: Duration = Duration::from_secs(30);

/// A directory that ends with the value.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let dir = std::env::temp_dir().join(format!("nimbus-store-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Dir(dir)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A cluster of one coordinator and one node that never comes.
fn setup(dir: &Path, store: PathBuf) -> (ClusterSetup, ProcessName) {
    let name = ProcessName::new("coordinator-0").unwrap();
    let world = World::new("test");
    let (map, _) = crate::first_map(&world, 1).unwrap();
    let place = |role| Place { role, address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), relayed: None };
    let node = ProcessName::new("node-0").unwrap();
    let setup = ClusterSetup {
        name: ClusterName::new("test").unwrap(),
        certs: dir.join("certs"),
        places: BTreeMap::from([(name.clone(), place(Role::Coordinator)), (node, place(Role::Node))]),
        operators: BTreeMap::new(),
        balance: false,
        budget_us: None,
        durable: true,
        aura: nimbus_node::AuraConfig::PROCESSES,
        slowest_permille: 50,
        experiments: false,
        world: Arc::new(world),
        map,
        spare: Vec::new(),
        scenes: Scenes::default(),
        store: StoreSetup::File(store),
        checkpoints: None,
        restored: None,
        bodies_per_region: None,
        play: None,
    };
    (setup, name)
}

#[test]
fn a_directory_that_is_missing_is_told_at_the_start() {
    let dir = Dir::new("missing");
    let (setup, name) = setup(&dir.0, dir.0.join("volume/roster"));
    let refused = run_coordinator(&setup, &name, 7, || true, |_| {}).unwrap_err().to_string();
    assert!(refused.contains(dir.0.join("volume").to_str().unwrap()) && refused.contains("make it"), "{refused}");
}

#[test]
fn a_roster_that_cannot_be_written_is_told_once_and_written_when_it_can() {
    let dir = Dir::new("unwritable");
    let path = dir.0.join("roster");
    let (setup, name) = setup(&dir.0, path.clone());
    let request =
        CertsRequest { processes: vec![(name.clone(), Role::Coordinator)], hosts: vec!["127.0.0.1".to_owned()] };
    make_certs(&setup.certs, &request).unwrap();
    // In the way of the new file; not even root can write over it.
    let obstacle = path.with_extension("new");
    std::fs::create_dir(&obstacle).unwrap();
    let said = RefCell::new(Vec::<String>::new());
    let begun = Instant::now();
    let mut told_at = None;
    let ends = || {
        assert!(begun.elapsed() < PATIENCE, "heard {:?}", said.borrow());
        if told_at.is_none() && said.borrow().iter().any(|line| names(line, &path)) {
            told_at = Some(Instant::now());
        }
        // The core asks every second meanwhile.
        if told_at.is_some_and(|at| at.elapsed() > Duration::from_millis(2_200)) && obstacle.exists() {
            std::fs::remove_dir(&obstacle).unwrap();
        }
        path.exists()
    };
    run_coordinator(&setup, &name, 7, ends, |line| said.borrow_mut().push(line)).unwrap();
    let said = said.into_inner();
    assert_eq!(said.iter().filter(|line| names(line, &path)).count(), 1, "{said:?}");
    assert_eq!(said.iter().filter(|line| line.contains("again")).count(), 1, "that it can is told as well: {said:?}");
}

/// True when a line says that a file cannot be written.
fn names(line: &str, path: &Path) -> bool {
    line.contains(&format!("{} cannot be written", path.display()))
}
