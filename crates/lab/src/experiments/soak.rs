//! A cluster of processes to which something happens all the time: nothing may be lost, and nothing may pile up.

#![allow(clippy::disallowed_methods, reason = "real processes take real time")]

use nimbus_model::Rng;
use std::time::{Duration, Instant};

use crate::cluster_run::{ClusterPlan, ClusterRun, is_possible, pause};
use crate::cluster_watch::{Footprint, load_average};
use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::plot::{Plot, Series};
use crate::report::{Report, Row, Summary};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "soak",
    about: "Processes are killed, stopped, drained and cut off at random for minutes: bodies, memory and open files.",
    run,
};

const NODES: usize = 4;
const SEED: u64 = 11;
/// Memory of all processes together for each body that is born, kilobytes: the engine, our tables, the copy that the
/// backup keeps twice while a new one comes in, the gateway's replica. Measured at about half of this.
const BODY_KB: f64 = 32.0;
/// Memory at two calm moments differs by this share, because it depends on who was started last and what its allocator
/// has kept.
const SWING: f64 = 0.10;
/// Files that may be open at one moment and not at another: connections of this experiment.
const FILES_SWING: u64 = 8;
/// Fewer calm moments than this say nothing about growth.
const MOMENTS_MIN: usize = 24;

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mishap {
    Kill,
    Stall(Duration),
    Drain,
    Cut(Duration),
}

impl Mishap {
    fn draw(rng: &mut Rng) -> Mishap {
        let time = Duration::from_millis(100 + rng.below(2_900));
        match rng.below(10) {
            0..4 => Mishap::Kill,
            4..6 => Mishap::Stall(time),
            6..8 => Mishap::Drain,
            _ => Mishap::Cut(time),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Mishap::Kill => "kill",
            Mishap::Stall(_) => "stall",
            Mishap::Drain => "drain",
            Mishap::Cut(_) => "cut",
        }
    }

    fn time(self) -> Duration {
        match self {
            Mishap::Kill | Mishap::Drain => Duration::ZERO,
            Mishap::Stall(time) | Mishap::Cut(time) => time,
        }
    }
}

/// Everything at a calm moment, and what came before it.
struct Moment {
    at_s: f64,
    what: &'static str,
    time: Duration,
    process: String,
    calm_after_s: f64,
    bodies: usize,
    lost: usize,
    doubled: usize,
    /// By process, in order of name.
    footprints: Vec<(String, Footprint)>,
}

impl Moment {
    fn resident_mb(&self) -> f64 {
        self.footprints.iter().map(|(_, one)| one.resident_kb as f64 / 1024.0).sum()
    }

    fn files_max(&self) -> u64 {
        self.footprints.iter().map(|(_, one)| one.files).max().unwrap_or(0)
    }

    fn row(&self) -> Row {
        Row::new()
            .with("at_s", self.at_s)
            .with("what", self.what)
            .with("ms", self.time.as_millis() as u64)
            .with("process", self.process.as_str())
            .with("calm_after_s", self.calm_after_s)
            .with("bodies", self.bodies)
            .with("lost", self.lost)
            .with("doubled", self.doubled)
            .with("resident_mb", self.resident_mb())
            .with("files_max", self.files_max())
    }
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    if !is_possible() {
        return Err(LabError::Failed("this experiment needs /proc to find its processes".to_owned()));
    }
    let (seconds, scale) = match (options.minutes, options.quick) {
        (Some(minutes), _) => (60.0 * f64::from(minutes), 0.5),
        (None, true) => (40.0, 0.1),
        (None, false) => (600.0, 0.5),
    };
    let before = load_average();
    let plan = ClusterPlan { scene: "shower", scale, regions: NODES as u16, nodes: NODES, more: String::new() };
    let mut cluster = ClusterRun::start_relayed(&plan)?;
    cluster.until_protected(NODES)?;
    // The first twenty seconds bring most of the bodies.
    pause(Duration::from_secs_f64(f64::min(seconds * 0.2, 22.0)));
    let (mut rng, began) = (Rng::new(SEED), Instant::now());
    let mut moments = Vec::new();
    while began.elapsed().as_secs_f64() < seconds {
        moments.push(disturb(&mut cluster, &mut rng, began)?);
        progress((began.elapsed().as_secs_f64() / seconds) as f32);
    }
    let (lost, doubled) = moments.iter().fold((0, 0), |(l, d), one| (l + one.lost, d + one.doubled));
    let growth = Growth::of(&moments);
    let unjudged = growth.is_none();
    let passed = lost == 0 && doubled == 0 && growth.as_ref().is_none_or(Growth::passes);
    let grown = growth.map_or("Too short to judge memory and files.".to_owned(), |growth| growth.sentence());
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new()
            .with("scene", plan.scene)
            .with("scale", scale)
            .with("seconds", seconds)
            .with("seed", SEED)
            .with("body_kb", BODY_KB)
            .with("swing", SWING)
            .with("load_average_before", before)
            .not_judging("memory and files", unjudged),
        plots: plots(&moments),
        summary: Summary {
            passed,
            sentence: format!(
                "{} mishaps in {seconds:.0} s with {} bodies at the end: {lost} lost, {doubled} doubled. {grown}",
                moments.len(),
                moments.last().map_or(0, |one| one.bodies),
            ),
        },
        rows: moments.iter().map(Moment::row).collect(),
    })
}

/// Lets something happen to a node, waits until all is calm, and looks at everything.
fn disturb(cluster: &mut ClusterRun, rng: &mut Rng, began: Instant) -> Result<Moment, LabError> {
    let before = cluster.until_protected(NODES)?;
    let process = format!("node-{}", rng.below(NODES as u64));
    let mishap = Mishap::draw(rng);
    match mishap {
        Mishap::Kill => _ = cluster.signal(&process, "KILL")?,
        Mishap::Drain => _ = cluster.signal(&process, "TERM")?,
        Mishap::Cut(time) => {
            cluster.cut(&process, time)?;
            pause(time);
        }
        Mishap::Stall(time) => {
            cluster.signal(&process, "STOP")?;
            pause(time);
            cluster.signal(&process, "CONT")?;
        }
    }
    let over = Instant::now();
    if matches!(mishap, Mishap::Kill | Mishap::Drain) {
        cluster.until("the process to be back", || {
            let roster = cluster.roster()?;
            let mut members = roster.members();
            members.any(|(number, one)| one.name == process && before.member(number).is_none()).then_some(())
        })?;
    } else {
        // Long enough for a failure to be noticed, so that calm is not what was before it.
        pause(Duration::from_millis(1_200));
    }
    cluster.until_protected(NODES)?;
    let calm_after_s = over.elapsed().as_secs_f64();
    let count = cluster.until_counted()?;
    let names = cluster.nodes().map(str::to_owned).chain(["coordinator-0".to_owned(), "gateway-0".to_owned()]);
    let footprints = names.filter_map(|name| Some((name.clone(), cluster.footprint(&name)?))).collect();
    Ok(Moment {
        at_s: began.elapsed().as_secs_f64(),
        what: mishap.name(),
        time: mishap.time(),
        process,
        calm_after_s,
        bodies: count.present.len(),
        lost: cluster.born(count.tick).difference(&count.present).count(),
        doubled: count.doubled.len(),
        footprints,
    })
}

/// What became more in the second half.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Growth {
    /// By the line that fits memory of all processes best, megabytes over the second half.
    resident_mb: f64,
    resident_max_mb: f64,
    /// Most files of any process, in each half.
    files: [u64; 2],
}

impl Growth {
    fn of(moments: &[Moment]) -> Option<Growth> {
        let (first, second) = moments.split_at(moments.len() / 2);
        let (Some(one), Some(two)) = (second.first(), second.last()) else { return None };
        let points: Vec<[f64; 2]> = second.iter().map(|moment| [moment.at_s, moment.resident_mb()]).collect();
        let mean = points.iter().map(|[_, mb]| mb).sum::<f64>() / points.len() as f64;
        let born = two.bodies.saturating_sub(one.bodies) as f64;
        let files = |half: &[Moment]| half.iter().map(Moment::files_max).max().unwrap_or(0);
        (moments.len() >= MOMENTS_MIN).then(|| Growth {
            resident_mb: slope(&points) * (two.at_s - one.at_s),
            resident_max_mb: born * BODY_KB / 1024.0 + SWING * mean,
            files: [files(first), files(second)],
        })
    }

    fn passes(&self) -> bool {
        self.resident_mb <= self.resident_max_mb && self.files[1] <= self.files[0] + FILES_SWING
    }

    fn sentence(&self) -> String {
        format!(
            "In the second half memory of all processes grew by {:.1} MB (bar {:.1} MB); at most {} files open in one \
             process, {} in the first half.",
            self.resident_mb, self.resident_max_mb, self.files[1], self.files[0],
        )
    }
}

/// The slope of the line that fits points best; zero for fewer than two.
fn slope(points: &[[f64; 2]]) -> f64 {
    let count = points.len().max(1) as f64;
    let mean = |axis: usize| points.iter().map(|point| point[axis]).sum::<f64>() / count;
    let (x, y) = (mean(0), mean(1));
    let spread: f64 = points.iter().map(|point| (point[0] - x).powi(2)).sum();
    let along: f64 = points.iter().map(|point| (point[0] - x) * (point[1] - y)).sum();
    if spread > 0.0 { along / spread } else { 0.0 }
}

fn plots(moments: &[Moment]) -> Vec<Plot> {
    let mut memory = Plot::lines("memory", "Memory at calm moments", "seconds", "MB");
    let mut files = Plot::lines("files", "Open files at calm moments", "seconds", "files");
    let names: Vec<&str> =
        moments.first().map_or(Vec::new(), |one| one.footprints.iter().map(|(name, _)| name.as_str()).collect());
    for name in names {
        let of = |value: fn(&Footprint) -> f64| -> Vec<[f64; 2]> {
            let found = moments.iter().filter_map(|moment| {
                let (_, one) = moment.footprints.iter().find(|(other, _)| other == name)?;
                Some([moment.at_s, value(one)])
            });
            found.collect()
        };
        memory = memory.with(Series::new(name, of(|one| one.resident_kb as f64 / 1024.0)));
        files = files.with(Series::new(name, of(|one| one.files as f64)));
    }
    let calm = moments.iter().map(|moment| [moment.at_s, moment.calm_after_s]).collect();
    let calm = Plot::lines("calm", "From the end of a mishap until all is protected", "seconds", "seconds")
        .with(Series::new("all regions", calm));
    vec![memory, files, calm]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(resident_kb: impl Fn(u64) -> u64, files: impl Fn(u64) -> u64) -> Vec<Moment> {
        let moment = |i: u64| Moment {
            at_s: i as f64 * 5.0,
            what: "kill",
            time: Duration::ZERO,
            process: "node-0".to_owned(),
            calm_after_s: 1.0,
            bodies: 1_000 + 10 * i as usize,
            lost: 0,
            doubled: 0,
            footprints: vec![(
                "node-0".to_owned(),
                Footprint { resident_kb: resident_kb(i), files: files(i), cpu: Duration::ZERO },
            )],
        };
        (0..40).map(moment).collect()
    }

    #[test]
    fn what_piles_up_is_noticed() {
        let judge = |moments: &[Moment]| Growth::of(moments).is_some_and(|growth| growth.passes());
        assert!(judge(&moments(|i| 100_000 + 3_000 * (i % 3), |i| 20 + i % 5)));
        assert!(!judge(&moments(|i| 100_000 + 3_000 * i, |_| 20)), "memory");
        assert!(!judge(&moments(|_| 100_000, |i| 20 + i)), "files");
        assert_eq!(Growth::of(&moments(|_| 1, |_| 1)[..MOMENTS_MIN - 1]), None, "too short");
    }

    #[test]
    fn all_mishaps_come_up() {
        let mut rng = Rng::new(SEED);
        let drawn: Vec<&str> = (0..40).map(|_| Mishap::draw(&mut rng).name()).collect();
        assert!(["kill", "stall", "drain", "cut"].iter().all(|name| drawn.contains(name)));
    }
}
