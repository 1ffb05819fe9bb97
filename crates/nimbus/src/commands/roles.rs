//! `nimbus coordinator`, `nimbus node`, `nimbus gateway`: one process of a cluster.

use anyhow::Context;
use clap::Args;
use nimbus::runtime::cluster::{GatewayProcess, run_coordinator, run_node};
use nimbus::runtime::mesh::{ProcessName, Role};
use nimbus::runtime::{Clock, GatewayAt, Play, QuicCertificate, QuicConfig, Signals, Web};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cluster_file::{self, Door, Keep};
use crate::commands::run;
use crate::concerns;
use crate::exit::Verdict;
use crate::logging;

/// Which process of which cluster.
#[derive(Args)]
pub(crate) struct RoleArgs {
    /// The file that describes the cluster
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Which of its processes this is; may be left out when the file has only one of the role
    #[arg(long)]
    name: Option<String>,
    /// Go on from a checkpoint if the cluster begins: `latest`, its name, or a directory and its name
    #[arg(long, value_name = "CHECKPOINT")]
    restore: Option<String>,
}

/// Which coordinator of which cluster.
#[derive(Args)]
pub(crate) struct CoordinatorArgs {
    #[command(flatten)]
    role: RoleArgs,
    /// Keep the roster in etcd also when the file does not say so, at http://127.0.0.1:2379
    #[arg(long)]
    etcd: bool,
}

impl CoordinatorArgs {
    pub(crate) fn run(self) -> anyhow::Result<Verdict> {
        self.role.run_with(Role::Coordinator, if self.etcd { Keep::InEtcd } else { Keep::AsWritten }, None)
    }
}

impl RoleArgs {
    pub(crate) fn run(self, role: Role, play: Option<Play>) -> anyhow::Result<Verdict> {
        self.run_with(role, Keep::AsWritten, play)
    }

    fn run_with(self, role: Role, keep: Keep, play: Option<Play>) -> anyhow::Result<Verdict> {
        let mut described = cluster_file::read(&self.config, keep, self.restore.as_deref())?;
        described.setup.play = play;
        if role == Role::Coordinator {
            concerns::warn_of_promises(&described.setup.world);
        }
        let name = match &self.name {
            Some(name) => ProcessName::new(name)?,
            None => {
                let mut named = described.setup.places.iter().filter(|(_, place)| place.role == role);
                let (first, second) = (named.next(), named.next());
                let (name, _) = first.filter(|_| second.is_none()).with_context(|| {
                    format!("say with --name which {} of {} this is", role.as_str(), self.config.display())
                })?;
                name.clone()
            }
        };
        logging::name(name.as_str());
        let ended = Arc::new(AtomicBool::new(false));
        let mut signals = Signals::listen()?;
        let flag = ended.clone();
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            signals.wait();
            flag.store(true, Ordering::Relaxed);
        })?;
        let ends = || ended.load(Ordering::Relaxed);
        let token = Clock::unix_us().wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(std::process::id());
        // For people to read as it comes, and for those who put it beside what else happened.
        let tell = |what: String| {
            logging::say(&format!("{name}: {what}"));
            tracing::info!(target: "nimbus::process", "{what}");
        };
        tell("started".to_owned());
        match role {
            Role::Coordinator => {
                run_coordinator(&described.setup, &name, token, ends, tell)?;
            }
            Role::Node => run_node(&described.setup, &name, token, ends, tell)?,
            Role::Gateway => {
                let door = described.doors.get(&name).context("a gateway needs an `http` address")?;
                let access = run::access(described.secret.as_deref(), described.anonymous)?;
                let certificate = Some(QuicCertificate::load(&described.setup.certs, &name)?);
                let quic = QuicConfig { port: door.quic, certificate };
                let listening = Web::listen_with(door.http.ip(), door.http.port(), quic)?;
                let gateway = GatewayProcess::start(&described.setup, &name, token)?.serving(door.serves);
                // Whoever loses its gateway goes on with one of the same kind.
                let alike = described.doors.values().filter(|other| other.serves == door.serves);
                let place = |door: &Door| GatewayAt { http: door.http, quic: door.quic.beside(door.http) };
                let gateways = alike.map(place).collect();
                let web = listening.serve_among(gateway.handle(), access, gateways);
                tell(format!("open http://{}/", web.address()));
                if let Some(door) = web.quic() {
                    tell(run::for_programs(door));
                }
                let outcome = gateway.run(ends);
                web.stop();
                outcome?;
            }
        }
        Ok(Verdict::Good)
    }
}
