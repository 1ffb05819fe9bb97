//! The example game, on four servers in one process, with the viewer in the browser and the score in the terminal:
//!
//!     cargo run --release -p nimbus --example harvest
//!
//! With a command of `nimbus` it is `nimbus` with this game. To play on processes of their own, have it write the field down as a
//! world file, name that in the cluster's file (`world = "harvest.toml"`), and
//!
//!     harvest field > harvest.toml
//!     harvest cluster cluster.toml

use nimbus::harvest::{Harvest, SCORED, field};
use nimbus::model::{RegionId, Tick, world_file};
use nimbus::node::{GameTick, Rules};
use nimbus::runtime::access::Access;
use nimbus::runtime::{EmbeddedCluster, EmbeddedConfig, Play, Signals, Web};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

const SERVERS: u16 = 4;
const PORT: u16 = 7777;
/// A round lasts until the process ends.
const ROUND_TICKS: u64 = u64::MAX;
/// How often the score is told.
const TELL_EVERY: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        None => match serve() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("harvest: {error}");
                ExitCode::FAILURE
            }
        },
        Some("field") => {
            print!("{}", world_file::write(&field(SERVERS, 1)));
            ExitCode::SUCCESS
        }
        Some(_) => nimbus::command_line(Some(play())),
    }
}

fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let listening = Web::listen(Ipv4Addr::LOCALHOST.into(), PORT)?;
    let mut signals = Signals::listen()?;
    let config = EmbeddedConfig { play: Some(play()), durable: true, ..EmbeddedConfig::new(field(SERVERS, 1)) };
    let cluster = EmbeddedCluster::start(config)?;
    let web = listening.serve(cluster.handle(), Access::Open);
    println!("harvest on {SERVERS} servers: open http://{}/ (Ctrl-C ends it)", web.address());
    signals.wait();
    let end = cluster.stop();
    web.stop();
    end?;
    Ok(())
}

/// The game, and a thread that tells how it stands as far as the servers of this process know.
#[allow(clippy::disallowed_methods, reason = "a program, not a core")]
fn play() -> Play {
    let (sender, events) = sync_channel::<(RegionId, GameTick)>(10_000);
    std::thread::spawn(move || {
        let mut scores: BTreeMap<_, i64> = BTreeMap::new();
        let mut heard: BTreeMap<RegionId, Tick> = BTreeMap::new();
        let mut told = 0;
        loop {
            std::thread::sleep(TELL_EVERY);
            // A backup that takes over may begin with what its predecessor has just told.
            let news = events.try_iter().filter(|(region, said)| {
                let before = heard.insert(*region, said.tick);
                before.is_none_or(|before| said.tick > before)
            });
            for event in news.flat_map(|(_, said)| said.events).filter(|event| event.kind == SCORED) {
                *scores.entry(event.nid).or_default() += event.value;
            }
            let total = scores.values().sum();
            let best = scores.iter().max_by_key(|(_, score)| **score);
            if let Some((nid, score)) = best.filter(|_| total != told) {
                println!("{total} coins; bot {nid} has {score} of them");
                told = total;
            }
        }
    });
    Play { rules: Rules::new(Harvest { round_ticks: ROUND_TICKS }), events: Some(sender) }
}
