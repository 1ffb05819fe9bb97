//! The example game on four servers in one process, with the viewer in the browser and the score in the terminal.
//!
//!     cargo run --release -p nimbus --example harvest [-- --port 7777]
//!
//! With `-- cluster FILE` and the other commands of `nimbus` it is `nimbus` with this game.

use nimbus::harvest::{Harvest, SCORED, field};
use nimbus::node::Rules;
use nimbus::runtime::access::Access;
use nimbus::runtime::{EmbeddedCluster, EmbeddedConfig, Play, Signals, Web};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::sync::mpsc::sync_channel;

/// A round lasts until the process ends.
const ROUND_TICKS: u64 = u64::MAX;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let port = match arguments.next().as_deref() {
        None => Some(7777),
        Some("--port") => arguments.next().and_then(|port| port.parse().ok()),
        Some(_) => return nimbus::command_line(Some(Play::new(Harvest { round_ticks: ROUND_TICKS }))),
    };
    let Some(port) = port else {
        eprintln!("harvest: write --port and a number");
        return ExitCode::from(2);
    };
    match serve(port) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("harvest: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(port: u16) -> Result<(), Box<dyn std::error::Error>> {
    let (sender, events) = sync_channel(10_000);
    let play = Play { rules: Rules::new(Harvest { round_ticks: ROUND_TICKS }), events: Some(sender) };
    let listening = Web::listen(Ipv4Addr::LOCALHOST.into(), port)?;
    let mut signals = Signals::listen()?;
    let config = EmbeddedConfig { play: Some(play), durable: true, ..EmbeddedConfig::new(field(4, 1)) };
    let cluster = EmbeddedCluster::start(config)?;
    let web = listening.serve(cluster.handle(), Access::Open);
    println!("harvest on {} servers: open http://{}/ (Ctrl-C ends it)", cluster.servers(), web.address());
    let mut scores: BTreeMap<_, i64> = BTreeMap::new();
    while !signals.wait_for(std::time::Duration::from_secs(5)) {
        for event in events.try_iter().flat_map(|(_, tick)| tick.events).filter(|event| event.kind == SCORED) {
            *scores.entry(event.nid).or_default() += event.value;
        }
        let mut best: Vec<_> = scores.iter().map(|(nid, score)| (*score, *nid)).collect();
        best.sort_unstable_by(|one, two| two.cmp(one));
        let best: Vec<String> = best.iter().take(5).map(|(score, nid)| format!("{nid}: {score}")).collect();
        println!("{} coins; {}", scores.values().sum::<i64>(), best.join(", "));
    }
    let end = cluster.stop();
    web.stop();
    end?;
    Ok(())
}
