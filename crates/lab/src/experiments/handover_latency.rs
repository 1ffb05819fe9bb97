//! How long bodies are on their way between two servers: real processes over real sockets, and the simulator beside them.

use nimbus_node::Policy;
use nimbus_universe::{Universe, UniverseConfig};
use std::time::Duration;

use super::link_throughput::{BODIES_PER_S_MIN, Carried, carry};
use crate::cluster_run::{ClusterPlan, ClusterRun, RegionFacts, pause};
use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::plot::{Plot, Series};
use crate::report::{Report, Row, Summary};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "handover-latency",
    about: "Ticks from the decision to hand a body over to its first step, over QUIC between processes; body-ticks missed.",
    run,
};

/// Ticks from decision to first step that 99 of 100 bodies must not exceed.
const P99_MAX_TICKS: usize = 2;
/// Share of body-ticks that nobody may have stepped, over real sockets.
const MISSED_MAX: f64 = 0.001;
const SCENE: &str = "shower";

/// What a run counted.
#[derive(Clone, Copy, Default)]
pub(super) struct Counted {
    delays: [u64; 8],
    missed: u64,
    pub(super) body_ticks: u64,
    skipped_ticks: u64,
}

impl Counted {
    fn hand_overs(&self) -> u64 {
        self.delays.iter().sum()
    }

    /// The delay that a share of hand-overs did not exceed.
    pub(super) fn quantile(&self, share: f64) -> usize {
        let wanted = (self.hand_overs() as f64 * share).ceil() as u64;
        let mut sum = 0;
        self.delays
            .iter()
            .position(|count| {
                sum += count;
                sum >= wanted
            })
            .unwrap_or(0)
    }

    fn missed_share(&self) -> f64 {
        self.missed as f64 / self.body_ticks.max(1) as f64
    }

    pub(super) fn less(&self, other: &Counted) -> Counted {
        let mut delays = self.delays;
        delays.iter_mut().zip(other.delays).for_each(|(mine, its)| *mine -= its.min(*mine));
        Counted {
            delays,
            missed: self.missed.saturating_sub(other.missed),
            body_ticks: self.body_ticks.saturating_sub(other.body_ticks),
            skipped_ticks: self.skipped_ticks.saturating_sub(other.skipped_ticks),
        }
    }

    pub(super) fn row(&self, place: &str) -> Row {
        Row::new()
            .with("place", place)
            .with("hand_overs", self.hand_overs())
            .with("p50_ticks", self.quantile(0.5))
            .with("p99_ticks", self.quantile(0.99))
            .with("worst_ticks", self.quantile(1.0))
            .with("body_ticks", self.body_ticks)
            .with("body_ticks_missed", self.missed)
            .with("missed_share", self.missed_share())
            .with("ticks_skipped", self.skipped_ticks)
    }
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    let (warm_up_s, measure_s, scale, carry_s) = if options.quick { (6, 10, 0.3, 5) } else { (25, 60, 1.0, 30) };
    let mut rows = Vec::new();
    let mut series = Vec::new();
    let mut passed = true;
    let real = real_processes(warm_up_s, measure_s, scale, progress)?;
    let simulated = in_the_simulator(if options.quick { 600 } else { 2_400 }, scale)?;
    for (place, counted) in [("processes over QUIC, with backups", real), ("simulator", simulated)] {
        rows.push(counted.row(place));
        let all = counted.hand_overs().max(1) as f64;
        let share = |(ticks, count): (usize, &u64)| [ticks as f64, 100.0 * *count as f64 / all];
        series.push(Series::new(place, counted.delays.iter().enumerate().map(share).collect()));
    }
    passed &= real.hand_overs() > 0 && simulated.hand_overs() > 0;
    passed &= real.quantile(0.99) <= P99_MAX_TICKS && real.missed_share() <= MISSED_MAX && simulated.missed == 0;
    // Without backups only where it takes longer with them.
    let mut carried = vec![carry(true, carry_s, |share| progress(0.6 + 0.2 * share))?];
    if !options.quick || carried[0].per_second() < BODIES_PER_S_MIN {
        carried.push(carry(false, carry_s, |share| progress(0.8 + 0.2 * share))?);
    }
    rows.extend(carried.iter().map(Carried::row));
    passed &= carried[0].per_second() >= BODIES_PER_S_MIN && carried.iter().all(|carried| carried.astray() == 0);
    let sentences: Vec<String> = carried.iter().map(Carried::sentence).collect();
    let mut plot = Plot::lines("delays", "From the decision to the first step", "ticks", "share of bodies, %");
    for one in series {
        plot = plot.with(one);
    }
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new()
            .with("scene", SCENE)
            .with("scale", scale)
            .with("seconds", measure_s)
            .with("link_seconds", carry_s),
        rows,
        plots: vec![plot],
        summary: Summary {
            passed,
            sentence: format!(
                "{} hand-overs between processes: p99 {} ticks from decision to first step (bar {P99_MAX_TICKS}), {:.4} % of \
                 body-ticks missed (bar {} %); in the simulator {} missed (bar 0). {}",
                real.hand_overs(),
                real.quantile(0.99),
                100.0 * real.missed_share(),
                100.0 * MISSED_MAX,
                simulated.missed,
                sentences.join(" "),
            ),
        },
    })
}

fn real_processes(
    warm_up_s: u64,
    measure_s: u64,
    scale: f32,
    progress: &mut Progress<'_>,
) -> Result<Counted, LabError> {
    let plan = ClusterPlan { scene: SCENE, scale, regions: 2, nodes: 2, more: String::new() };
    let cluster = ClusterRun::start(&plan)?;
    cluster.until_protected(2)?;
    let mut wait = |seconds: u64, from: f32, to: f32| {
        for second in 0..seconds {
            pause(Duration::from_secs(1));
            progress(from + (to - from) * (second + 1) as f32 / seconds as f32);
        }
    };
    wait(warm_up_s, 0.0, 0.2);
    let before = counted(&cluster.regions());
    wait(measure_s, 0.2, 0.6);
    let after = counted(&cluster.regions());
    Ok(after.less(&before))
}

pub(super) fn counted(regions: &[RegionFacts]) -> Counted {
    let mut sum = Counted::default();
    for region in regions {
        sum.delays.iter_mut().zip(region.arrival_ticks).for_each(|(sum, count)| *sum += count);
        sum.missed += region.ticks_in_transit;
        sum.body_ticks += region.body_ticks;
        sum.skipped_ticks += region.lost_ticks;
    }
    sum
}

fn in_the_simulator(ticks: u64, scale: f32) -> Result<Counted, LabError> {
    let failed = |error: &dyn std::fmt::Display| LabError::Failed(error.to_string());
    let config =
        UniverseConfig { policy: Policy::Aura, scale, checked: false, ..UniverseConfig::new(SCENE, 2, 1, ticks) };
    let mut universe = Universe::new(config).map_err(|error| failed(&error))?;
    while universe.tick().0 < ticks {
        universe.advance();
    }
    let mut sum = Counted::default();
    for counters in universe.nodes().iter().map(|node| node.counters()) {
        sum.delays.iter_mut().zip(counters.arrival_ticks).for_each(|(sum, count)| *sum += count);
        sum.missed += counters.ticks_in_transit;
        sum.body_ticks += counters.body_ticks;
        sum.skipped_ticks += counters.ticks_lost;
    }
    Ok(sum)
}
