//! `nimbus relay`: a bad network between the processes of a cluster.

use anyhow::bail;
use clap::Args;
use nimbus::runtime::Signals;
use nimbus::runtime::relay::{Order, Relay};
use std::io::{BufRead, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::cluster_file::{self, Keep};
use crate::exit::Verdict;

/// How often it looks whether it was told to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A longer line is no order.
const LINE_BYTES_MAX: u64 = 256;

/// Make the network between the processes of a cluster a bad one
///
/// Processes that have `relayed` in the cluster's file are dialled there, and [relay] says what the network is like.
/// It takes orders on standard input, a line each: `cut NAME MILLISECONDS` cuts a process off from the others, `heal` ends
/// every cut, `counts` tells what became of packets, `end` ends it.
#[derive(Args)]
pub(crate) struct RelayArgs {
    /// The file that describes the cluster
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

impl RelayArgs {
    pub(crate) fn run(self) -> anyhow::Result<Verdict> {
        let described = cluster_file::read(&self.config, Keep::AsWritten, None)?;
        let Some(config) = described.relay else {
            bail!("{} has no [relay]; docs/cluster.md says what to write", self.config.display());
        };
        let direct = described.setup.places.iter().filter(|(_, place)| place.relayed.is_none());
        let direct: Vec<&str> = direct.map(|(name, _)| name.as_str()).collect();
        let mut signals = Signals::listen()?;
        let count = config.fronts.len();
        let relay = Arc::new(Relay::start(config)?);
        println!("relay: in front of {count} processes");
        if !direct.is_empty() {
            println!("relay: dialled directly, whatever is cut: {}", direct.join(", "));
        }
        let ends = Arc::new(AtomicBool::new(false));
        let (ordered, told) = (relay.clone(), ends.clone());
        std::thread::Builder::new().name("orders".to_owned()).spawn(move || obey(&ordered, &told))?;
        while !ends.load(Ordering::Relaxed) && !signals.wait_for(LOOK_EVERY) {}
        println!("relay: {}", relay.counts());
        Ok(Verdict::Good)
    }
}

/// Does what standard input says, until it ends or says so.
fn obey(relay: &Relay, ends: &AtomicBool) {
    let mut input = std::io::stdin().lock();
    let mut line = Vec::new();
    while !ends.load(Ordering::Relaxed) {
        line.clear();
        match input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        if text.trim().is_empty() {
            continue;
        }
        match text.parse() {
            Ok(Order::Cut(name, time)) => match relay.cut(name.clone(), time) {
                Ok(()) => println!("relay: {name} is cut off for {} ms", time.as_millis()),
                Err(error) => println!("relay: {error}"),
            },
            Ok(Order::Heal) => {
                relay.heal();
                println!("relay: nobody is cut off");
            }
            Ok(Order::Counts) => println!("relay: {}", relay.counts()),
            Ok(Order::End) => ends.store(true, Ordering::Relaxed),
            Err(error) => println!("relay: {error}"),
        }
    }
}
