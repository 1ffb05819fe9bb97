//! How many bodies a second one link carries: two processes give each other bodies on order, as fast as they are asked.
//!
//! The bodies lie in a row along the boundary, each across it and none near another, so neither server has a reason of
//! its own to give any away: every hand-over is one that was ordered.

use nimbus_model::{BodyDesc, Layout, Pose, RegionId, Shape, Vec3, Velocity, World};
use std::sync::Arc;
use std::time::Duration;

use super::handover_latency::{Counted, counted};
use crate::cluster_run::{ClusterRun, pause};
use crate::cluster_watch::TickTimes;
use crate::experiment::LabError;
use crate::report::Row;

/// Bodies a second that the slower direction of the link must carry.
pub(super) const BODIES_PER_S_MIN: f64 = 10_000.0;
/// Bodies at each server: 1,000 that stay and more than are under way at any time.
const RESIDENT: u16 = 1_200;
/// Bodies that each server is asked to give away at a tick: 10,500 a second, so that a tick that comes late is made up
/// for.
const PER_TICK: u16 = 175;
/// Distance between neighbours in the row, metres. All of them fit into the 8 km that a world may be wide.
const APART_M: f32 = 3.2;
/// Distance of a cube's middle from the boundary, metres: it decides who has it at first.
const BESIDE_M: f32 = 0.1;

/// What a link carried.
pub(super) struct Carried {
    /// Whether regions had backups.
    durable: bool,
    /// Seconds by the ticks that were run.
    seconds: f64,
    /// Bodies that arrived, at each server.
    arrived: [u64; 2],
    counted: Counted,
    /// Ticks of both servers.
    region_ticks: u64,
    times: TickTimes,
    awake_min: u64,
    deferred: u64,
    bytes_per_s: f64,
    lost: usize,
    doubled: usize,
}

impl Carried {
    /// Bodies a second in the slower direction.
    pub(super) fn per_second(&self) -> f64 {
        self.arrived.iter().map(|arrived| *arrived as f64 / self.seconds).fold(f64::INFINITY, f64::min)
    }

    /// Bodies that nobody has, or that two have.
    pub(super) fn astray(&self) -> usize {
        self.lost + self.doubled
    }

    pub(super) fn row(&self) -> Row {
        let place = if self.durable { "one link, with backups" } else { "one link, without backups" };
        let [there, back] = self.arrived.map(|arrived| arrived as f64 / self.seconds);
        self.counted
            .row(place)
            .with("bodies_per_s_there", there)
            .with("bodies_per_s_back", back)
            .with("seconds", self.seconds)
            .with("stepped_mean", self.counted.body_ticks as f64 / self.region_ticks.max(1) as f64)
            .with("awake_min", self.awake_min)
            .with("deferred", self.deferred)
            .with("step_ms_p50", self.times.quantile_ms(0.5))
            .with("step_ms_p99", self.times.quantile_ms(0.99))
            .with("mb_per_s_sent", self.bytes_per_s / 1e6)
            .with("lost", self.lost)
            .with("doubled", self.doubled)
    }

    pub(super) fn sentence(&self) -> String {
        format!(
            "Over one link {} backups {:.0} bodies a second in the slower direction (bar {BODIES_PER_S_MIN}), p99 {} ticks \
             and {:.1} ms a step; {} lost, {} doubled.",
            if self.durable { "with" } else { "without" },
            self.per_second(),
            self.counted.quantile(0.99),
            self.times.quantile_ms(0.99),
            self.lost,
            self.doubled,
        )
    }
}

/// Runs two nodes and has them give each other bodies for some seconds.
pub(super) fn carry(durable: bool, seconds: u64, passed: impl FnMut(f32)) -> Result<Carried, LabError> {
    let more = format!("experiments = true\ndurable = {durable}");
    let cluster = ClusterRun::start_nodes(row_of_cubes(), 2, &more)?;
    cluster.until_running(2)?;
    if durable {
        cluster.until_protected(2)?;
    }
    let served: Vec<(String, RegionId)> = cluster
        .nodes()
        .filter_map(|name| Some((name.to_owned(), cluster.node(name)?)))
        .flat_map(|(name, node)| node.regions.into_iter().map(move |region| (name.clone(), region.region)))
        .collect();
    let order = |bodies: u16| -> Result<(), LabError> {
        served.iter().try_for_each(|(node, region)| cluster.ferry(node, region.0, 1 - region.0, bodies))
    };
    order(PER_TICK)?;
    pause(Duration::from_secs(2));
    let before = Facts::of(&cluster);
    let times = cluster.watch_ticks(seconds, passed);
    let after = Facts::of(&cluster);
    order(0)?;
    pause(Duration::from_secs(1));
    let count = cluster.until_counted()?;
    let tick_s = f64::from(cluster.world.tick_s());
    let seconds = after.ticks.saturating_sub(before.ticks) as f64 * tick_s;
    Ok(Carried {
        durable,
        seconds,
        arrived: [0, 1].map(|i| after.arrived[i].saturating_sub(before.arrived[i])),
        counted: after.counted.less(&before.counted),
        region_ticks: after.region_ticks.saturating_sub(before.region_ticks),
        times,
        awake_min: before.awake_min.min(after.awake_min),
        deferred: (after.deferred - before.deferred) as u64,
        bytes_per_s: (after.bytes - before.bytes) / seconds,
        lost: cluster.born(count.tick).difference(&count.present).count(),
        doubled: count.doubled.len(),
    })
}

/// What both nodes have counted.
struct Facts {
    ticks: u64,
    region_ticks: u64,
    arrived: [u64; 2],
    counted: Counted,
    awake_min: u64,
    deferred: f64,
    bytes: f64,
}

impl Facts {
    fn of(cluster: &ClusterRun) -> Facts {
        let regions = cluster.regions();
        let arrived = |id: u16| regions.iter().find(|one| one.region == RegionId(id)).map_or(0, |one| one.arrived);
        let sum = |metric: &str, labels: &str| cluster.nodes().map(|node| cluster.metric(node, metric, labels)).sum();
        Facts {
            ticks: regions.iter().map(|region| region.tick.0).min().unwrap_or(0),
            region_ticks: regions.iter().map(|region| region.tick.0).sum(),
            arrived: [arrived(1), arrived(0)],
            counted: counted(&regions),
            awake_min: regions.iter().map(|region| region.awake).min().unwrap_or(0),
            deferred: sum("nimbus_node_deferred_grants_total", ""),
            bytes: sum("nimbus_mesh_sent_bytes_total", "peer=\"node"),
        }
    }
}

/// Cubes that never sleep, on the ground and across the boundary of two regions.
fn row_of_cubes() -> World {
    let mut world = World::new("row-of-cubes");
    let count = 2 * RESIDENT;
    let half_m = f32::from(count) * APART_M / 2.0;
    world.layout = Layout::columns(2, 200.0);
    world.add_ground(200.0, half_m + 10.0);
    world.radius_max = 1.0;
    let desc = Arc::new(BodyDesc { can_sleep: false, ..BodyDesc::dynamic(Shape::cuboid(0.25, 0.25, 0.25)) });
    for i in 0..count {
        let side = if i % 2 == 0 { BESIDE_M } else { -BESIDE_M };
        let pose = Pose::at(Vec3::new(side, 0.25, (f32::from(i) + 0.5) * APART_M - half_m));
        world.add_shared(&desc, pose, Velocity::ZERO);
    }
    world
}
