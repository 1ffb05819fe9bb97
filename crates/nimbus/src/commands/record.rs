//! `nimbus record`: a run without a viewer, written to a file.

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use nimbus::model::{Tick, World};
use nimbus::runtime::pace::{LockStep, Pace, RealTime};
use nimbus::runtime::{Play, RunEnd, SLOWEST_PERMILLE, Servers, ServersConfig, Signals};
use std::path::PathBuf;
use std::time::Duration;

use crate::exit::Verdict;
use crate::worlds;

/// How often the progress is shown.
const GLANCE: Duration = Duration::from_millis(100);

/// Run a world without a viewer and record it
#[derive(Args)]
pub(crate) struct Record {
    /// Record this scene
    #[arg(long, conflicts_with = "world", required_unless_present = "world")]
    scene: Option<String>,
    /// Record the world of this file
    #[arg(long, value_name = "FILE")]
    world: Option<PathBuf>,
    /// How many servers share the world; a world file says it itself unless its layout is columns
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=64))]
    servers: Option<u16>,
    /// How many ticks to run
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    ticks: u64,
    /// Decides every random choice of a scene
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Size of a scene; 1 is full size
    #[arg(long, default_value_t = 1.0)]
    scale: f32,
    /// Run in real time instead of in lock step as fast as possible
    #[arg(long)]
    real_time: bool,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl Record {
    pub(crate) fn run(self, play: Option<Play>) -> anyhow::Result<Verdict> {
        let world = self.build()?;
        let hz = world.tick_hz;
        let end_tick = Tick(self.ticks);
        let mut signals = Signals::listen()?;
        let servers = self.servers.unwrap_or(1);
        let config = ServersConfig { record: Some(self.out.clone()), servers, play, ..ServersConfig::new(world) };
        let (running, ..) = Servers::start(config, |count| {
            if self.real_time {
                Pace::RealTime(RealTime::start(Tick(0), hz, SLOWEST_PERMILLE))
            } else {
                Pace::LockStep(LockStep::new(count, Tick(0), end_tick))
            }
        })?;
        let bar = ProgressBar::new(self.ticks);
        if let Ok(style) = ProgressStyle::with_template("recording {bar:40} {pos}/{len} ticks {eta}") {
            bar.set_style(style);
        }
        let mut asked_to_end = false;
        loop {
            let reached = running.readings().iter().map(|reading| reading.tick).min().unwrap_or(end_tick);
            bar.set_position(reached.0.min(self.ticks));
            let failed = running.readings().iter().any(|reading| !reading.alive && reading.tick < end_tick);
            if reached >= end_tick || asked_to_end || failed {
                break;
            }
            asked_to_end = signals.wait_for(GLANCE);
        }
        let end = if self.real_time || asked_to_end { running.stop()? } else { running.join()? };
        bar.finish_and_clear();
        self.tell(&end);
        Ok(if end.died.is_empty() && !asked_to_end { Verdict::Good } else { Verdict::NotMet })
    }

    fn build(&self) -> anyhow::Result<World> {
        match (&self.scene, &self.world) {
            (Some(name), _) => worlds::scene(name, self.servers.unwrap_or(4), self.seed, self.scale),
            (None, Some(path)) => match self.servers {
                Some(servers) => worlds::cut_for(worlds::file(path)?, servers),
                None => worlds::file(path),
            },
            (None, None) => anyhow::bail!("name a scene with --scene or a world file with --world"),
        }
    }

    fn tell(&self, end: &RunEnd) {
        for node in &end.nodes {
            println!(
                "{}: tick {}, {} bodies, {} arrived, {} ticks lost, hash {:016x}",
                node.region, node.tick, node.bodies, node.arrived, node.ticks_lost, node.hash
            );
        }
        for region in &end.died {
            println!("{region}: failed");
        }
        println!("all: hash {:016x}", end.combined_hash());
        if let Some(written) = end.written {
            println!("recorded {} ticks in {} ({} KiB)", written.last, self.out.display(), written.bytes >> 10);
        }
    }
}
