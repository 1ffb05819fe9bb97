//! Where everything that runs in this process can be looked up: the source of `/api/world` and `/metrics`.

use nimbus_control::{LoadReport, Strain};
use nimbus_gateway::{Counters, NodeStats, WorldStats};
use nimbus_model::{RegionId, Tick};
use nimbus_wire::SeamTotals;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::links::Links;
use crate::reading::{Gauge, Reading, skews};

/// What the gateway shows of itself, as of its last wake-up.
#[derive(Clone, Debug, Default)]
pub struct GatewayReading {
    /// False once its thread has ended.
    pub alive: bool,
    /// The tick it has reached.
    pub tick: Tick,
    /// The world it shows.
    pub scene: String,
    /// How often a world was loaded.
    pub era: u16,
    /// Bodies it knows.
    pub bodies: usize,
    /// Clients it serves.
    pub clients: usize,
    /// Those of them that came over QUIC.
    pub quic_clients: usize,
    /// How many different views they watch, and how many bodies those show in all.
    pub views: (usize, usize),
    /// Whether the timeline stands still.
    pub paused: bool,
    /// How fast the timeline was asked to run.
    pub speed: f32,
    /// The share of that at which it does.
    pub dilation: f32,
    /// What it counted.
    pub counters: Counters,
    /// Bytes it queued for clients.
    pub bytes_sent: u64,
    /// Clients let go because they did not keep up.
    pub clients_too_slow: u64,
    /// What regions reported of their seams last.
    pub seams: BTreeMap<RegionId, SeamTotals>,
}

/// Everything that can be looked up.
pub struct Board {
    gauges: Vec<Gauge>,
    links: Links,
    gateway: Mutex<GatewayReading>,
}

impl Board {
    /// A board for some servers and their gateway.
    pub fn new(gauges: Vec<Gauge>, links: Links, gateway: GatewayReading) -> Board {
        Board { gauges, links, gateway: Mutex::new(gateway) }
    }

    /// The servers, in order of region.
    pub fn readings(&self) -> Vec<Reading> {
        self.gauges.iter().map(Gauge::read).collect()
    }

    /// Which servers live, in which epoch, in order of region.
    pub fn lives(&self) -> Vec<(bool, u32)> {
        let life = |gauge: &Gauge| gauge.look(|reading| (reading.alive, reading.epoch));
        self.gauges.iter().map(life).collect()
    }

    /// The latest loads that servers reported in an era, in order of region.
    pub fn loads(&self, era: u16) -> Vec<LoadReport> {
        self.gauges.iter().filter_map(|gauge| gauge.load(era)).collect()
    }

    /// How hard each server finds it to keep up, those that live and have a place.
    pub fn strains(&self) -> Vec<Strain> {
        let strain = |reading: &Reading| (reading.alive && reading.has_place).then_some(reading.strain);
        self.gauges.iter().filter_map(|gauge| gauge.look(strain)).collect()
    }

    /// The gateway.
    pub fn gateway(&self) -> GatewayReading {
        self.lock().clone()
    }

    /// The links between them.
    pub fn links(&self) -> &Links {
        &self.links
    }

    /// The gateway shows itself anew.
    pub fn write_gateway(&self, change: impl FnOnce(&mut GatewayReading)) {
        change(&mut self.lock());
    }

    /// True while every thread is there.
    pub fn all_alive(&self) -> bool {
        self.lock().alive && self.gauges.iter().all(|gauge| gauge.read().alive)
    }

    /// The figures that clients and monitoring get.
    pub fn world_stats(&self) -> WorldStats {
        let readings = self.readings();
        let gateway = self.gateway();
        let nodes = readings.iter().zip(skews(&readings)).map(|(reading, skew)| {
            node_stats(reading, skew, gateway.seams.get(&reading.region).copied().unwrap_or_default())
        });
        let nodes = nodes.collect();
        WorldStats {
            tick: gateway.tick,
            bodies: gateway.bodies as u64,
            clients: gateway.clients as u64,
            scene: gateway.scene,
            era: gateway.era,
            paused: gateway.paused,
            speed: gateway.speed,
            dilation: gateway.dilation,
            nodes,
        }
    }

    fn lock(&self) -> MutexGuard<'_, GatewayReading> {
        self.gateway.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn node_stats(reading: &Reading, skew: Duration, seams: SeamTotals) -> NodeStats {
    NodeStats {
        id: reading.region.0,
        region: reading.has_place.then_some(reading.region),
        bodies: reading.bodies as u64,
        awake: reading.awake as u64,
        step_ms_p50: milliseconds(reading.step_quantile(0.5)),
        step_ms_p99: milliseconds(reading.step_quantile(0.99)),
        migrations: reading.counters.arrived,
        epoch: reading.epoch,
        tick: reading.tick,
        late_ticks: reading.late_ticks,
        skew_ms: milliseconds(skew),
        auras: seams.auras,
        ghosts: seams.ghosts,
        breaches: seams.breaches_in_all(),
        alive: reading.alive,
        killable: reading.is_killable(),
    }
}

/// Milliseconds to a thousandth, which is as exact as anybody reads them.
fn milliseconds(duration: Duration) -> f32 {
    (duration.as_secs_f64() * 1e6).round() as f32 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::GATEWAY;

    #[test]
    fn figures_of_the_seams_are_those_of_the_reports() {
        let regions = [RegionId(0), RegionId(1)];
        let board =
            Board::new(regions.map(Gauge::new).to_vec(), Links::new(&regions, GATEWAY).0, GatewayReading::default());
        let told = SeamTotals { auras: 7, ghosts: 3, in_transit: 1, breaches: [2, 0, 0, 1, 0, 0, 0, 0, 0, 0] };
        board.write_gateway(|reading| _ = reading.seams.insert(RegionId(1), told));
        let nodes = board.world_stats().nodes;
        assert_eq!((nodes[1].auras, nodes[1].ghosts, nodes[1].breaches), (7, 3, 3));
        assert_eq!((nodes[0].auras, nodes[0].ghosts, nodes[0].breaches), (0, 0, 0));
    }
}
