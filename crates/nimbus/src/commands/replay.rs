//! `nimbus replay`: a recording run again, every recorded state compared.

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use nimbus::runtime::Play;
use nimbus::runtime::replay::replay_with;
use std::path::PathBuf;

use crate::exit::Verdict;

/// Run a recording again and compare every recorded state
#[derive(Args)]
pub(crate) struct Replay {
    /// The recording
    file: PathBuf,
}

impl Replay {
    pub(crate) fn run(self, play: Option<Play>) -> anyhow::Result<Verdict> {
        let bar = ProgressBar::new(1000);
        if let Ok(style) = ProgressStyle::with_template("replaying {bar:40} {percent} % {eta}") {
            bar.set_style(style);
        }
        let rules = play.as_ref().map(|play| &play.rules);
        let replayed = replay_with(&self.file, rules, |share| bar.set_position((share * 1000.0) as u64));
        bar.finish_and_clear();
        let replayed = replayed?;
        for node in &replayed.nodes {
            println!(
                "{}: {} ticks up to {}, {} states compared, hash {:016x}",
                node.region, node.ticks, node.last, node.compared, node.hash
            );
        }
        println!("all: hash {:016x}", replayed.combined_hash());
        match replayed.divergence {
            None => {
                println!("the replay equals the recording");
                Ok(Verdict::Good)
            }
            Some(difference) => {
                let since = difference.last_equal.map_or("the start".to_owned(), |tick| format!("tick {tick}"));
                println!(
                    "the replay differs at {}: equal up to {since}, different at tick {} (recorded {:016x}, now {:016x})",
                    difference.region, difference.tick, difference.recorded, difference.replayed
                );
                Ok(Verdict::NotMet)
            }
        }
    }
}
