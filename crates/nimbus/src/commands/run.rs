//! `nimbus run`: a user's own world in one process, with the viewer in the browser.

use clap::Args;
use nimbus::runtime::access::{Access, Secret};
use nimbus::runtime::{EmbeddedCluster, EmbeddedConfig, Play, QuicConfig, QuicDoor, QuicPort, Web};
use nimbus::wire::client::ClientRole;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use crate::concerns;
use crate::ending::Ending;
use crate::exit::Verdict;
use crate::logging::say;
use crate::tolerances_table::parse_slowest;
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
    /// UDP port of native clients over QUIC, or `off`; the number of the viewer's port unless said
    #[arg(long, value_name = "PORT")]
    quic: Option<QuicPort>,
    /// Let boundaries follow the load
    #[arg(long)]
    balance: bool,
    /// Begin on one server, and share the world with the others while a tick costs more than this many milliseconds
    #[arg(long, value_name = "MS", num_args = 0..=1, default_missing_value = "4", value_parser = budget)]
    pub(crate) burst: Option<u32>,
    /// Least share of real time to which the world slows down when a server cannot keep up; 1 forbids it, and such a server
    /// skips ticks
    #[arg(long, value_name = "SHARE", default_value = "0.05", value_parser = slowest)]
    slowest: u32,
    /// Let in only who has a token made with this secret (see `nimbus token`)
    #[arg(long, value_name = "FILE")]
    secret: Option<PathBuf>,
    /// Let those in who have no token, as viewer, player, builder or admin
    #[arg(long, value_name = "ROLE", requires = "secret")]
    anonymous: Option<ClientRole>,
    /// Most bodies that one server hosts; more are not born, and a breach says so. By the machine's memory unless told
    #[arg(long, value_name = "BODIES", value_parser = clap::value_parser!(u32).range(1..))]
    bodies_per_region: Option<u32>,
    /// Record the run to this file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

impl Run {
    pub(crate) fn run(self, play: Option<Play>) -> anyhow::Result<Verdict> {
        let mut world = worlds::file(&self.world)?;
        let mut servers = 1;
        if self.serving.burst.is_some() {
            servers = self.servers.unwrap_or(BURST_SERVERS);
            world = worlds::cut_for(world, 1)?;
        } else if let Some(servers) = self.servers {
            world = worlds::cut_for(world, servers)?;
        }
        let config = EmbeddedConfig { servers, scenes: worlds::only(&world), play, ..EmbeddedConfig::new(world) };
        serve(config, &self.serving)
    }
}

/// Servers that share a world in a burst, unless told.
const BURST_SERVERS: u16 = 4;

/// A share of real time as it is written on the command line, in thousandths.
fn slowest(text: &str) -> Result<u32, String> {
    let share = text.parse().map_err(|_| "write a share of real time, for example 0.25".to_owned())?;
    parse_slowest(share).map_err(|error| error.to_string())
}

/// A budget as it is written on the command line.
fn budget(text: &str) -> Result<u32, String> {
    budget_us(text.parse().map_err(|_| "write milliseconds, for example 4 or 2.5".to_owned())?)
}

/// What a tick may cost, in microseconds.
pub(crate) fn budget_us(ms: f32) -> Result<u32, String> {
    let sound = (0.1..=1_000.0).contains(&ms);
    if sound { Ok((ms * 1e3) as u32) } else { Err("a budget lies between 0.1 and 1000 milliseconds".to_owned()) }
}

/// Who is let in: everybody where there is no secret.
pub(crate) fn access(secret: Option<&Path>, anonymous: Option<ClientRole>) -> anyhow::Result<Access> {
    Ok(match secret {
        Some(path) => Access::guarded(Secret::read(path)?, anonymous),
        None => Access::Open,
    })
}

/// What a program needs to know to come in over QUIC.
pub(crate) fn for_programs(QuicDoor { address, sha256 }: &QuicDoor) -> String {
    format!("programs: quic://{address} with the certificate sha256:{sha256}")
}

/// Runs a world until the process is asked to end.
pub(crate) fn serve(config: EmbeddedConfig, serving: &Serving) -> anyhow::Result<Verdict> {
    concerns::warn_of_promises(&config.world);
    let access = access(serving.secret.as_deref(), serving.anonymous)?;
    let quic = QuicConfig { port: serving.quic.unwrap_or_default(), certificate: None };
    let listening = Web::listen_with(serving.host, serving.port, quic)?;
    let ending = Ending::listen(serving.record.is_some())?;
    let name = config.world.name.clone();
    let (record, budget_us, slowest_permille) = (serving.record.clone(), serving.burst, serving.slowest);
    let (balance, bodies_per_region) = (serving.balance || budget_us.is_some(), serving.bodies_per_region);
    let config = EmbeddedConfig { record, balance, budget_us, slowest_permille, bodies_per_region, ..config };
    let cluster = EmbeddedCluster::start(config)?;
    let servers = cluster.servers();
    let web = listening.serve(cluster.handle(), access);
    let plural = if servers == 1 { "" } else { "s" };
    say(&format!("`{name}` on {servers} server{plural}: open http://{}/ (Ctrl-C ends it)", web.address()));
    if let Some(door) = web.quic() {
        say(&for_programs(door));
    }
    if let Some(path) = &serving.record {
        say(&format!("recording to {}", path.display()));
    }
    ending.wait();
    let end = cluster.stop();
    web.stop();
    let end = end?;
    if let (Some(path), Some(written)) = (&serving.record, end.written) {
        say(&format!("recorded {} ticks in {} ({} KiB)", written.last, path.display(), written.bytes >> 10));
    }
    for region in &end.died {
        eprintln!("nimbus: the server of {region} failed");
    }
    Ok(if end.died.is_empty() { Verdict::Good } else { Verdict::NotMet })
}
