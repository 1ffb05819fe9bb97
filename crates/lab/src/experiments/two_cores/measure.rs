//! One try: so much rain, and how long the ticks of its last part took.

use nimbus_model::{Tick, World};
use nimbus_scenes::rain_with;
use std::time::Duration;

use crate::cluster_run::{ClusterRun, pause};
use crate::experiment::LabError;

/// A tick's time, milliseconds.
pub(super) const TICK_MS: f64 = 1000.0 / 60.0;
/// When the rain is over, ticks.
const RAIN_TICKS: u64 = 3_600;

/// How fast the rain falls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rain {
    /// All of it comes in this part of its minute.
    pub(super) hurry: u16,
}

impl Rain {
    /// The rain of two columns, cut into regions.
    pub(super) fn world(self, regions: u16, scale: f32) -> World {
        let mut world = rain_with(2, regions, 1, scale);
        world.injections.iter_mut().for_each(|injection| injection.per_second *= f32::from(self.hurry));
        world
    }

    /// The second half of the rain is what is measured: its last ticks have the most bodies.
    pub(super) fn ticks(self) -> (Tick, Tick) {
        let last = RAIN_TICKS / u64::from(self.hurry);
        (Tick(last / 2), Tick(last))
    }

    pub(super) fn measured_s(self) -> u64 {
        let (first, last) = self.ticks();
        last.since(first) / 60
    }
}

/// What a try came to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tried {
    /// Bodies at the end.
    pub(super) bodies: u64,
    /// Time of a tick of the slowest server that half of them, and 99 of 100, did not exceed.
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    /// Ticks that were run and ticks that were skipped.
    pub(super) ticks: u64,
    pub(super) ticks_lost: u64,
}

impl Tried {
    /// Whether 99 of 100 ticks fitted into their time.
    pub(super) fn fits(&self) -> bool {
        self.ticks > 0 && self.ticks_lost == 0 && self.p99_ms <= TICK_MS
    }
}

/// Lets it rain on processes, one region to each.
pub(super) fn in_processes(rain: Rain, scale: f32, nodes: u16, durable: bool) -> Result<Tried, LabError> {
    let more = format!("durable = {durable}");
    let cluster = ClusterRun::start_nodes(rain.world(nodes, scale), usize::from(nodes), &more)?;
    let (first, last) = rain.ticks();
    let lost = |cluster: &ClusterRun| cluster.regions().iter().map(|region| region.lost_ticks).sum::<u64>();
    let reached = |cluster: &ClusterRun, tick: Tick| {
        let regions = cluster.regions();
        regions.len() == usize::from(nodes) && regions.iter().all(|region| region.tick >= tick)
    };
    cluster.until_running(usize::from(nodes))?;
    // The time until the window is known; asking all the while would disturb.
    let now = cluster.regions().iter().map(|region| region.tick).min().unwrap_or(Tick(0));
    pause(Duration::from_secs_f64(first.since(now) as f64 / 60.0));
    cluster.until("the second half of the rain", || reached(&cluster, first).then_some(()))?;
    let lost_before = lost(&cluster);
    let times = cluster.watch_ticks(last.since(first).div_ceil(60), |_| {});
    Ok(Tried {
        bodies: cluster.regions().iter().map(|region| region.bodies).sum(),
        p50_ms: times.quantile_ms(0.5),
        p99_ms: times.quantile_ms(0.99),
        ticks: times.ticks() as u64,
        ticks_lost: lost(&cluster).saturating_sub(lost_before),
    })
}
