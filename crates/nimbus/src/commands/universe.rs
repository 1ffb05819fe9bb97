//! `nimbus universe`: a whole cluster under virtual time, from one seed; or a swarm of them.

use anyhow::{anyhow, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use nimbus::model::Tolerances;
use nimbus::node::{Planted, Policy};
use nimbus::runtime::Play;
use nimbus::space::PartitionMap;
use nimbus::universe::{
    BalanceConfig, ControlConfig, Faults, LinkModel, Mismanage, Misplan, Outcome, Swarm, Universe as Cluster,
    UniverseConfig, against_one, vary,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::available_parallelism;

use crate::commands::seam_words;
use crate::concerns;
use crate::exit::Verdict;
use crate::server_counts::ServerCounts;
use crate::worlds;

/// Longest latency and frame time that can be asked for, milliseconds.
const MS_MAX: f64 = 1_000.0;
/// Latency of links where nothing else is said and promises are to hold, milliseconds.
const QUIET_LATENCY_MS: f64 = 0.5;
/// Shortest time between two wake-ups that can be asked for, milliseconds.
const FRAME_MS_MIN: f64 = 0.5;

/// Run a whole cluster under virtual time, from one seed
#[derive(Args)]
pub(crate) struct Universe {
    /// The scene; `rain` for a single run, `crossing` for a swarm
    #[arg(long)]
    scene: Option<String>,
    /// Run the world of this file instead of a scene
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scene", "scale"])]
    world: Option<PathBuf>,
    /// How many servers; a range such as 2..25 for a swarm, which tries 2 to 6 unless told. A range also has a swarm run a
    /// third of its seeds with latency and frame time at the world's tolerances, and a third with regions hardly wider than
    /// these demand. A world file says it itself unless its layout is columns
    #[arg(long, value_name = "COUNT")]
    servers: Option<ServerCounts>,
    /// Decides everything that chance decides; the first seed of a swarm
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many ticks
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    ticks: u64,
    /// Size of the scene; 1 is full size, and a swarm takes 0.4 unless told
    #[arg(long)]
    scale: Option<f32>,
    /// Who should own what: aura, or a reference that aura is compared with: naive (by the middle of a body), forgetful
    /// (scheme 1, loses bodies), exclusive (1.b, collisions at boundaries come late), cells (2, by cells of a grid that
    /// bodies share), utility (2.b, cells and loads)
    #[arg(long, default_value = "aura", value_parser = policy)]
    policy: Policy,
    /// One-way latency of every link, milliseconds; drawn from the seed unless told, and 0.5 against one server
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    latency_ms: Option<f64>,
    /// Time between two wake-ups of a server, milliseconds; one tick unless told
    #[arg(long, value_name = "MS", value_parser = frame_milliseconds)]
    frame_ms: Option<f64>,
    /// Latency and frame time are exactly what the world tolerates
    #[arg(long, conflicts_with_all = ["latency_ms", "frame_ms"])]
    at_tolerance: bool,
    /// Every region has a backup
    #[arg(long)]
    durable: bool,
    /// Regions are hardly wider than the world's tolerances demand
    #[arg(long)]
    narrow: bool,
    /// Move the world by up to half a metre, turn it half round, slow it down by up to 15 %, and draw latency and frame time
    /// within the world's tolerances, as the seed decides; a third of the seeds is at the tolerances
    #[arg(long, conflicts_with = "swarm")]
    vary: bool,
    /// A cluster of more bodies stays where it is, with a breach
    #[arg(long, value_name = "BODIES")]
    cluster_max: Option<usize>,
    /// Most bodies that one server hosts; 100000 unless told
    #[arg(long, value_name = "BODIES", value_parser = clap::value_parser!(u32).range(1..))]
    bodies_per_region: Option<u32>,
    /// Run the same world on one server, too, and compare the first contacts of every pair; ends with 1 when one came late
    /// or never and no breach said so before
    #[arg(long, conflicts_with_all = ["swarm", "commands", "measured"])]
    against_one: bool,
    /// What goes wrong: all, none, or a list such as loss,stall,map
    #[arg(long, default_value = "none")]
    faults: Faults,
    /// Clients spawn, push and remove bodies; a swarm always does
    #[arg(long)]
    commands: bool,
    /// Note what begins and ceases to touch, and check that it is told once
    #[arg(long)]
    contacts: bool,
    /// Boundaries follow the load
    #[arg(long)]
    balance: bool,
    /// Servers beyond those that the world begins with; with `--balance` they share the work when it is too much for the
    /// others, and with the fault `map` they come and go at random
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=64))]
    spare: u16,
    /// What a tick of one server may cost before a spare one is given a part of its region, microseconds
    #[arg(long, value_name = "MICROSECONDS", requires = "balance")]
    budget: Option<u32>,
    /// Let the planner of boundaries make a known mistake, to see that it is noticed
    #[arg(long, value_parser = misplan, requires = "balance")]
    misplan: Option<Misplan>,
    /// A coordinator decides which process serves and keeps what; without it, backups take over by decree
    #[arg(long)]
    control: bool,
    /// Let the coordinator make a known mistake, to see that it is noticed
    #[arg(long, value_parser = mismanage, requires = "control")]
    mismanage: Option<Mismanage>,
    /// Build in a known mistake, to see that it is noticed
    #[arg(long, value_parser = planted)]
    plant: Option<Planted>,
    /// Try this many seeds on all cores and show the first that breaks a rule
    #[arg(long, value_name = "SEEDS")]
    swarm: Option<u64>,
    /// Measure each server's own CPU time
    #[arg(long)]
    measured: bool,
}

impl Universe {
    pub(crate) fn run(self, play: Option<Play>) -> anyhow::Result<Verdict> {
        let config = UniverseConfig { game: play.map(|play| play.rules), ..self.config()? };
        if let Ok(world) = config.world() {
            concerns::warn_of_promises(&world);
        }
        match self.swarm {
            Some(seeds) => self.run_swarm(config, seeds),
            None if self.against_one => self.run_against_one(&config),
            None => self.run_one(config),
        }
    }

    fn config(&self) -> anyhow::Result<UniverseConfig> {
        let usual = if self.swarm.is_some() { "crossing" } else { "rain" };
        let scene = self.scene.as_deref().unwrap_or(usual);
        let servers = self.servers.and_then(ServerCounts::only);
        if servers.is_none() && self.servers.is_some() && self.swarm.is_none() {
            bail!("a range of servers is for a swarm; write one number, or add --swarm");
        }
        let mut config = UniverseConfig::new(scene, servers.unwrap_or(4), self.seed, self.ticks);
        config.scale = self.scale.unwrap_or(if self.swarm.is_some() { 0.4 } else { 1.0 });
        config.policy = self.policy;
        config.faults = self.faults.clone();
        config.commands = self.commands || self.swarm.is_some();
        config.contacts = self.contacts;
        config.planted = self.plant;
        config.spare = self.spare;
        let (budget_us, planted, measured) = (self.budget, self.misplan, self.measured);
        let balance = BalanceConfig { planner: None, budget_us, planted, measured };
        config.balance = self.balance.then_some(balance);
        config.control = self.control.then_some(ControlConfig { planted: self.mismanage });
        config.measured = self.measured;
        config.durable = self.durable;
        config.narrow = self.narrow;
        config.aura.cluster_max = self.cluster_max.unwrap_or(config.aura.cluster_max);
        config.bodies_per_region = self.bodies_per_region;
        if let Some(path) = &self.world {
            let world = worlds::file(path)?;
            let world = servers.map_or(Ok(world.clone()), |servers| worlds::cut_for(world, servers))?;
            config.servers = PartitionMap::from_layout(&world.layout)?.regions().len() as u16;
            config.world = Some(Arc::new(world));
        }
        let (mut latency_ms, mut frame_ms) = (self.latency_ms, self.frame_ms);
        if self.vary {
            let varied = vary(&config.world()?, self.seed);
            config.world = Some(Arc::new(varied.world));
            latency_ms = latency_ms.or(Some(varied.latency_ms));
            frame_ms = frame_ms.or(Some(varied.frame_ms));
        }
        if self.at_tolerance {
            let Tolerances { latency_ms: latency, frame_ms: frame, .. } = config.world()?.tolerances;
            (latency_ms, frame_ms) = (Some(f64::from(latency)), Some(f64::from(frame)));
        }
        // Links that are drawn may be slower than the world tolerates, and then nothing is promised.
        if let Some(ms) = latency_ms.or(self.against_one.then_some(QUIET_LATENCY_MS)) {
            config.link = Some(LinkModel { latency_ns: nanos(ms), ..config.faults.link_model(self.seed) });
        }
        config.frame_ns = frame_ms.map(nanos);
        Ok(config)
    }

    fn run_against_one(&self, config: &UniverseConfig) -> anyhow::Result<Verdict> {
        let bar = progress_bar(self.ticks, "ticks");
        let comparison = against_one(config, &config.world()?, |tick| bar.set_position(tick.0.min(self.ticks)))?;
        bar.finish_and_clear();
        tell(&comparison.outcome);
        seam_words::tell(&comparison);
        let good = comparison.outcome.violations.is_empty() && comparison.silent().next().is_none();
        Ok(if good { Verdict::Good } else { Verdict::NotMet })
    }

    fn run_one(&self, config: UniverseConfig) -> anyhow::Result<Verdict> {
        let bar = progress_bar(self.ticks, "ticks");
        let outcome = Cluster::new(config)?.run(|tick| bar.set_position(tick.0.min(self.ticks)));
        bar.finish_and_clear();
        tell(&outcome);
        Ok(if outcome.violations.is_empty() { Verdict::Good } else { Verdict::NotMet })
    }

    fn run_swarm(&self, base: UniverseConfig, seeds: u64) -> anyhow::Result<Verdict> {
        let servers = match self.servers {
            Some(counts) => counts.only().is_none().then_some(counts.least..=counts.most),
            None => Some(2..=6),
        };
        let at_limits = self.servers.is_some_and(|counts| counts.only().is_none());
        let swarm = Swarm { base, first_seed: self.seed, seeds, servers, at_limits, stop_at_first: true };
        let threads = available_parallelism().map_or(1, usize::from);
        let bar = progress_bar(seeds, "seeds");
        let report = swarm.run(threads, |counted| bar.set_position(counted))?;
        bar.finish_and_clear();
        println!(
            "{} seeds counted, {} proved too little to count, {} hand-overs, {} partitions planned, {} statics changed, {} \
             times regions drawn",
            report.counted, report.thin, report.hand_overs, report.plans, report.statics, report.redraws
        );
        if let Some(failure) = report.failure {
            println!("seed {} breaks a rule; to see it again:", failure.config.seed);
            println!("  {}", command_line(&failure.config, self.world.as_deref()));
            tell(&failure.outcome);
            return Ok(Verdict::NotMet);
        }
        if report.counted < seeds {
            return Err(anyhow!(
                "too few seeds proved anything (the last: {}); use more ticks or a livelier scene",
                report.thin_reason
            ));
        }
        println!("no violation");
        Ok(Verdict::Good)
    }
}

fn tell(outcome: &Outcome) {
    println!("hash {:016x}", outcome.hash);
    println!(
        "bodies {} at most; at the end {:?} hosted, {:?} lying in each region",
        outcome.bodies_max, outcome.hosted, outcome.resident
    );
    println!(
        "hand-overs {}, {:.2} ticks in transit each, {} refused, {} ticks lost",
        outcome.hand_overs, outcome.transit_ticks_mean, outcome.refused, outcome.ticks_lost
    );
    println!("frames {}, {} bytes, {} commands", outcome.frames, outcome.bytes, outcome.commands);
    if outcome.births_refused > 0 {
        println!("births refused {}, for want of budget", outcome.births_refused);
    }
    if outcome.statics + outcome.redraws > 0 {
        println!("statics changed {} times, regions drawn {} times", outcome.statics, outcome.redraws);
    }
    if outcome.plans > 0 {
        println!("partitions planned {}", outcome.plans);
    }
    if !outcome.game_events.is_empty() {
        println!("game events {}", outcome.game_events.len());
    }
    if !outcome.contacts.is_empty() {
        println!("contacts {} began or ended", outcome.contacts.len());
    }
    if outcome.record_bytes > 0 {
        println!(
            "backups {:.2} ticks behind, {} bytes of records, {} promotions",
            outcome.kept_lag_ticks_mean, outcome.record_bytes, outcome.promotions
        );
    }
    let control = outcome.control;
    if control.revisions > 0 {
        println!(
            "rosters {}, coordinator stopped {}, {} processes fenced, {} regions moved, {} frames of former servers, \
             {} changes heard late",
            control.revisions, control.stops, control.fenced, control.moves, control.misplaced, control.late_changes
        );
    }
    let faults = nimbus::universe::Fault::ALL.iter().filter(|(_, fault)| outcome.faults.of(*fault) > 0);
    let faults: Vec<String> = faults.map(|(name, fault)| format!("{name} {}", outcome.faults.of(*fault))).collect();
    println!("faults {}", if faults.is_empty() { "none".to_owned() } else { faults.join(", ") });
    for (i, cost) in outcome.costs.iter().enumerate().filter(|(_, cost)| !cost.tick_ns.is_empty()) {
        let mut sorted = cost.tick_ns.clone();
        sorted.sort_unstable();
        let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize] as f64 / 1e6;
        println!(
            "r{i}: tick p50 {:.3} ms, p99 {:.3} ms, max {:.3} ms; frames {:.3} ms a tick",
            at(0.5),
            at(0.99),
            at(1.0),
            cost.between_ns.iter().sum::<u64>() as f64 / 1e6 / sorted.len() as f64
        );
    }
    println!("violations {}", outcome.violations.len());
    for violation in &outcome.violations {
        println!("  {violation}");
    }
}

/// The command that shows the run of a configuration again.
fn command_line(config: &UniverseConfig, world: Option<&Path>) -> String {
    let UniverseConfig { scene, scale, servers, seed, ticks, faults, .. } = config;
    let what = match world {
        Some(path) => format!("--world {}", path.display()),
        None => format!("--scene {scene} --scale {scale} --servers {servers}"),
    };
    let mut line = format!("nimbus universe {what} --seed {seed} --ticks {ticks} --faults {faults}");
    if let Some(link) = config.link {
        line += &format!(" --latency-ms {}", link.latency_ns as f64 / 1e6);
    }
    if let Some(frame_ns) = config.frame_ns {
        line += &format!(" --frame-ms {}", frame_ns as f64 / 1e6);
    }
    for (set, flag) in [(config.durable, "--durable"), (config.narrow, "--narrow")] {
        line += &if set { format!(" {flag}") } else { String::new() };
    }
    line += &config.bodies_per_region.map_or(String::new(), |most| format!(" --bodies-per-region {most}"));
    if config.policy != Policy::default() {
        line += &format!(" --policy {}", config.policy.name());
    }
    if config.commands {
        line += " --commands";
    }
    if config.contacts {
        line += " --contacts";
    }
    if config.spare > 0 {
        line += &format!(" --spare {}", config.spare);
    }
    if let Some(balance) = config.balance {
        line += " --balance";
        line += &balance.budget_us.map_or(String::new(), |budget| format!(" --budget {budget}"));
        let planted = Misplan::ALL.iter().find(|(_, planted)| Some(*planted) == balance.planted);
        line += &planted.map_or(String::new(), |(name, _)| format!(" --misplan {name}"));
    }
    if let Some(control) = config.control {
        line += " --control";
        let planted = Mismanage::ALL.iter().find(|(_, planted)| Some(*planted) == control.planted);
        line += &planted.map_or(String::new(), |(name, _)| format!(" --mismanage {name}"));
    }
    if let Some((name, _)) = Planted::ALL.iter().find(|(_, planted)| Some(*planted) == config.planted) {
        line += &format!(" --plant {name}");
    }
    line
}

fn nanos(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

fn milliseconds(text: &str) -> Result<f64, String> {
    milliseconds_from(0.0, text)
}

fn frame_milliseconds(text: &str) -> Result<f64, String> {
    milliseconds_from(FRAME_MS_MIN, text)
}

fn milliseconds_from(least: f64, text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|ms| (least..=MS_MAX).contains(ms));
    number.ok_or_else(|| format!("write a number of milliseconds from {least} to {MS_MAX}"))
}

fn progress_bar(length: u64, unit: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    let template = format!("{{bar:40}} {{pos}}/{{len}} {unit} {{eta}}");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar
}

/// The policy of this name.
pub(crate) fn policy(name: &str) -> Result<Policy, String> {
    let known = || Policy::ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let found = Policy::ALL.iter().find(|(known, _)| *known == name);
    found.map(|(_, policy)| *policy).ok_or_else(|| format!("write one of: {}", known()))
}

fn planted(name: &str) -> Result<Planted, String> {
    let known = || Planted::ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let found = Planted::ALL.iter().find(|(known, _)| *known == name);
    found.map(|(_, planted)| *planted).ok_or_else(|| format!("write one of: {}", known()))
}

fn mismanage(name: &str) -> Result<Mismanage, String> {
    let known = || Mismanage::ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let found = Mismanage::ALL.iter().find(|(known, _)| *known == name);
    found.map(|(_, planted)| *planted).ok_or_else(|| format!("write one of: {}", known()))
}

fn misplan(name: &str) -> Result<Misplan, String> {
    let known = || Misplan::ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let found = Misplan::ALL.iter().find(|(known, _)| *known == name);
    found.map(|(_, planted)| *planted).ok_or_else(|| format!("write one of: {}", known()))
}
