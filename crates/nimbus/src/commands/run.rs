//! `nimbus run`: a user's own world in one process, with the viewer in the browser.

use clap::Args;
use nimbus::runtime::{EmbeddedCluster, EmbeddedConfig, Signals, Web};
use std::net::IpAddr;
use std::path::PathBuf;

use crate::exit::Verdict;
use crate::worlds;

/// Run your own world the same way
#[derive(Args)]
pub(crate) struct Run {
    /// The world file
    world: PathBuf,
    /// Cut the world for this many servers instead of as many as its layout says
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=64))]
    servers: Option<u16>,
    #[command(flatten)]
    serving: Serving,
}

/// How a world is shown.
#[derive(Args)]
pub(crate) struct Serving {
    /// Port of the viewer; 0 picks a free one
    #[arg(long, default_value_t = 7777)]
    port: u16,
    /// Address to listen on; 0.0.0.0 lets other machines in
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    /// Let boundaries follow the load
    #[arg(long)]
    balance: bool,
    /// Record the run to this file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

impl Run {
    pub(crate) fn run(self) -> anyhow::Result<Verdict> {
        let mut world = worlds::file(&self.world)?;
        if let Some(servers) = self.servers {
            world = worlds::cut_for(world, servers)?;
        }
        let config = EmbeddedConfig { scenes: worlds::only(&world), ..EmbeddedConfig::new(world) };
        serve(config, &self.serving)
    }
}

/// Runs a world until the process is asked to end.
pub(crate) fn serve(config: EmbeddedConfig, serving: &Serving) -> anyhow::Result<Verdict> {
    let listening = Web::listen(serving.host, serving.port)?;
    let mut signals = Signals::listen()?;
    let name = config.world.name.clone();
    let cluster =
        EmbeddedCluster::start(EmbeddedConfig { record: serving.record.clone(), balance: serving.balance, ..config })?;
    let servers = cluster.servers();
    let web = listening.serve(cluster.handle());
    let plural = if servers == 1 { "" } else { "s" };
    println!("`{name}` on {servers} server{plural}: open http://{}/ (Ctrl-C ends it)", web.address());
    if let Some(path) = &serving.record {
        println!("recording to {}", path.display());
    }
    signals.wait();
    println!("ending");
    let end = cluster.stop();
    web.stop();
    let end = end?;
    if let (Some(path), Some(written)) = (&serving.record, end.written) {
        println!("recorded {} ticks in {} ({} KiB)", written.last, path.display(), written.bytes >> 10);
    }
    for region in &end.died {
        eprintln!("nimbus: the server of {region} failed");
    }
    Ok(if end.died.is_empty() { Verdict::Good } else { Verdict::NotMet })
}
