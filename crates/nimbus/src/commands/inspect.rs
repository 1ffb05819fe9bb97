//! `nimbus inspect`: who owned which body when.

use clap::Args;
use nimbus::model::Nid;
use nimbus::runtime::inspect::{HandOver, Inspection, Reign, inspect, life_of};
use std::path::PathBuf;

use crate::exit::Verdict;

/// Say who owned which body when in a recording
#[derive(Args)]
pub(crate) struct Inspect {
    /// The recording
    file: PathBuf,
    /// The life of one body, for example 0.42
    #[arg(long, value_name = "ID", conflicts_with = "hand_overs")]
    body: Option<Nid>,
    /// List every hand-over
    #[arg(long)]
    hand_overs: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Inspect {
    pub(crate) fn run(self) -> anyhow::Result<Verdict> {
        if let Some(body) = self.body {
            let life = life_of(&self.file, body)?;
            if life.is_empty() {
                anyhow::bail!(
                    "body {body} is not in this recording; `nimbus inspect --hand-overs` lists some that are"
                );
            }
            if self.json {
                println!("{}", serde_json::to_string_pretty(&life)?);
            } else {
                print_life(body, &life);
            }
            return Ok(Verdict::Good);
        }
        let found = inspect(&self.file, self.hand_overs)?;
        if self.json {
            println!("{}", serde_json::to_string_pretty(&found)?);
        } else if self.hand_overs {
            print_hand_overs(&found.hand_overs);
        } else {
            print_summary(&found);
        }
        Ok(Verdict::Good)
    }
}

fn print_summary(found: &Inspection) {
    println!("world       {}", found.world);
    println!("servers     {}", found.servers);
    println!("ticks       {} to {} ({:.1} s at {} Hz)", found.first, found.last, found.seconds(), found.tick_hz);
    println!("loads       {}", found.loads);
    println!("born        {}", found.born);
    println!("died        {}", found.died_count());
    for (cause, count) in &found.died {
        println!("  {count:>8}  {cause}");
    }
    println!("refused     {}", found.refused);
    println!("hand-overs  {}", found.hand_over_count());
    for pair in &found.pairs {
        println!("  {:>8}  {} to {}", pair.count, pair.from, pair.to);
    }
}

fn print_hand_overs(hand_overs: &[HandOver]) {
    println!("{:>10}  {:>16}  {:>5}  {:>5}  {:>5}", "tick", "body", "from", "to", "epoch");
    for hand_over in hand_overs {
        let HandOver { tick, body, from, to, body_epoch } = hand_over;
        let (body, from, to) = (body.to_string(), from.to_string(), to.to_string());
        println!("{:>10}  {body:>16}  {from:>5}  {to:>5}  {body_epoch:>5}", tick.0);
    }
}

fn print_life(body: Nid, life: &[Reign]) {
    println!("body {body}");
    println!("{:>10}  {:>10}  {:>6}  {:>5}  {:<12}  ended", "since", "until", "owner", "epoch", "began");
    for reign in life {
        let until = reign.until.map_or("-".to_owned(), |tick| tick.to_string());
        let ended = reign.ended.as_deref().unwrap_or("-");
        let owner = reign.region.to_string();
        println!(
            "{:>10}  {until:>10}  {owner:>6}  {:>5}  {:<12}  {ended}",
            reign.since.0, reign.body_epoch, reign.began
        );
    }
}
