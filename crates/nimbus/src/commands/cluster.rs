//! `nimbus cluster`: all processes of a cluster on this host.

use anyhow::Context;
use clap::Args;
use nimbus::runtime::Signals;
use nimbus::runtime::certs::{CertsRequest, make_certs};
use nimbus::runtime::cluster::{StoreSetup, forget_roster};
use nimbus::runtime::mesh::{ProcessName, Role};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

use crate::cluster_file::{self, Door, Keep};
use crate::exit::Verdict;
use crate::logging::say;
use crate::own_etcd::OwnEtcd;
use crate::own_relay::OwnRelay;

/// How often it looks whether a process has died. Each start takes a number that is never given again, so one that dies
/// over and over is not started too often.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Run all processes of a cluster on this host
#[derive(Args)]
pub(crate) struct Cluster {
    /// The file that describes the cluster
    config: PathBuf,
    /// Start an etcd of its own and keep the roster there, so that several coordinators can stand by
    ///
    /// Its clients come in at the first endpoint of [etcd] in the file, http://127.0.0.1:2379 unless it says another.
    #[arg(long)]
    etcd: bool,
    /// Go on from a checkpoint: `latest`, its name, or a directory and its name
    #[arg(long, value_name = "CHECKPOINT")]
    restore: Option<String>,
}

impl Cluster {
    /// Runs them until it is told to end, and has each say what the filter lets through.
    pub(crate) fn run(self, log: Option<&str>) -> anyhow::Result<Verdict> {
        let keep = if self.etcd { Keep::InEtcd } else { Keep::AsWritten };
        let described = cluster_file::read(&self.config, keep, self.restore.as_deref())?;
        let setup = &described.setup;
        let restored = setup.restored.as_ref().map(|restored| {
            let place = self.restore.as_deref().and_then(|restore| restore.rsplit_once('/')).map(|(place, _)| place);
            place.map_or_else(String::new, |place| format!("{place}/")) + &restored.manifest.name
        });
        let restored = restored.as_deref();
        let named = |role: Role| {
            let places = setup.places.iter().filter(move |(_, place)| place.role == role);
            places.map(|(name, _)| name.clone()).collect::<Vec<ProcessName>>()
        };
        // Programs come to gateways where browsers do, and look at the same certificates.
        let doors = described.doors.values().map(|door| door.http.ip());
        let hosts = setup.places.values().map(|place| place.address.ip()).chain(doors).map(|ip| ip.to_string());
        let mut hosts: Vec<String> = hosts.chain(["localhost".to_owned()]).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let request = CertsRequest {
            processes: Role::ALL.into_iter().flat_map(|role| named(role).into_iter().map(move |n| (n, role))).collect(),
            hosts,
        };
        make_certs(&setup.certs, &request)?;
        let mut signals = Signals::listen()?;
        let mut own_etcd = None;
        let mut standing_by = usize::MAX;
        // A roster of a former run speaks of processes that are gone.
        match &setup.store {
            StoreSetup::Etcd(config) => {
                if self.etcd {
                    own_etcd = Some(OwnEtcd::start(config, &described.etcd_data)?);
                }
                forget_roster(config, setup.name.as_str())?;
            }
            StoreSetup::File(path) => {
                match std::fs::remove_file(path) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        return Err(error).with_context(|| format!("cannot remove {}", path.display()));
                    }
                    _ => {}
                }
                if let Some(directory) = path.parent() {
                    let context = || format!("cannot make {}", directory.display());
                    std::fs::create_dir_all(directory).with_context(context)?;
                }
                let coordinators = named(Role::Coordinator);
                if coordinators.len() > 1 {
                    say(&format!("only {} runs: others can stand by with --etcd", coordinators[0]));
                }
                standing_by = 1;
            }
        }
        let mut own_relay = described.relay.as_ref().map(|_| OwnRelay::start(&self.config)).transpose()?;
        let mut children: BTreeMap<ProcessName, (Role, Child)> = BTreeMap::new();
        let idle: Vec<ProcessName> = named(Role::Coordinator).into_iter().skip(standing_by).collect();
        for (name, place) in setup.places.iter().filter(|(name, _)| !idle.contains(name)) {
            children.insert(name.clone(), (place.role, self.spawn(name, place.role, restored, log)?));
        }
        for Door { http: address, .. } in described.doors.values() {
            let nodes = named(Role::Node).len();
            say(&format!("`{}` on {nodes} nodes: open http://{address}/ (Ctrl-C ends it)", setup.world.name));
        }
        while !signals.wait_for(LOOK_EVERY) {
            if let Some(etcd) = &mut own_etcd {
                etcd.look_after()?;
            }
            if let Some(relay) = &mut own_relay {
                relay.look_after()?;
            }
            for (name, (role, child)) in &mut children {
                if let Some(status) = child.try_wait()? {
                    eprintln!("nimbus: {name} ended ({status}) and is started again");
                    *child = self.spawn(name, *role, restored, log)?;
                }
            }
        }
        say("ending");
        if let Some(relay) = own_relay {
            relay.end(&mut signals);
        }
        for (_, child) in children.values_mut() {
            // One that has ended by itself needs no more.
            _ = child.kill();
            _ = child.wait();
        }
        Ok(Verdict::Good)
    }

    fn spawn(
        &self,
        name: &ProcessName,
        role: Role,
        restored: Option<&str>,
        log: Option<&str>,
    ) -> anyhow::Result<Child> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(program);
        command.arg(role.as_str());
        if let Some(restored) = restored {
            // By name: what is the latest may change while they start, and later.
            command.arg("--restore").arg(restored);
        }
        command.arg("--config").arg(&self.config).arg("--name").arg(name.as_str());
        if let Some(filter) = log {
            command.arg("--log").arg(filter);
        }
        if role == Role::Coordinator && self.etcd {
            command.arg("--etcd");
        }
        command.spawn().with_context(|| format!("cannot start {name}"))
    }
}
