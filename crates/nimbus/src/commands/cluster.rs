//! `nimbus cluster`: all processes of a cluster on this host.

use anyhow::Context;
use clap::Args;
use nimbus::runtime::Signals;
use nimbus::runtime::certs::{CertsRequest, make_certs};
use nimbus::runtime::mesh::{ProcessName, Role};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use crate::cluster_file;
use crate::exit::Verdict;

/// How often it looks whether a process has died. Each start takes a number that is never given again, so one that dies
/// over and over is not started too often.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Run all processes of a cluster on this host
#[derive(Args)]
pub(crate) struct Cluster {
    /// The file that describes the cluster
    config: PathBuf,
}

impl Cluster {
    pub(crate) fn run(self) -> anyhow::Result<Verdict> {
        let described = cluster_file::read(&self.config)?;
        let setup = &described.setup;
        let named = |role: Role| {
            let places = setup.places.iter().filter(move |(_, place)| place.role == role);
            places.map(|(name, _)| name.clone()).collect::<Vec<ProcessName>>()
        };
        let hosts = setup.places.values().map(|place| place.address.ip().to_string());
        let mut hosts: Vec<String> = hosts.chain(["localhost".to_owned()]).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let request = CertsRequest {
            processes: Role::ALL.into_iter().flat_map(|role| named(role).into_iter().map(move |n| (n, role))).collect(),
            hosts,
        };
        make_certs(&setup.certs, &request)?;
        // A roster of a former run speaks of processes that are gone.
        match std::fs::remove_file(&setup.store) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", setup.store.display()));
            }
            _ => {}
        }
        let mut signals = Signals::listen()?;
        let mut children: BTreeMap<ProcessName, (Role, Child)> = BTreeMap::new();
        for (name, place) in &setup.places {
            children.insert(name.clone(), (place.role, spawn(&self.config, name, place.role)?));
        }
        for address in described.http.values() {
            println!(
                "`{}` on {} nodes: open http://{address}/ (Ctrl-C ends it)",
                setup.world.name,
                named(Role::Node).len()
            );
        }
        while !signals.wait_for(LOOK_EVERY) {
            for (name, (role, child)) in &mut children {
                if let Some(status) = child.try_wait()? {
                    eprintln!("nimbus: {name} ended ({status}) and is started again");
                    *child = spawn(&self.config, name, *role)?;
                }
            }
        }
        println!("ending");
        for (_, child) in children.values_mut() {
            // One that has ended by itself needs no more.
            _ = child.kill();
            _ = child.wait();
        }
        Ok(Verdict::Good)
    }
}

fn spawn(config: &Path, name: &ProcessName, role: Role) -> anyhow::Result<Child> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.arg(role.as_str()).arg("--config").arg(config).arg("--name").arg(name.as_str());
    command.spawn().with_context(|| format!("cannot start {name}"))
}
