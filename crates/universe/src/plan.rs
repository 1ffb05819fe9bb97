//! Faults that strike at chosen ticks, drawn before the run begins so that each strikes at least once.

use nimbus_model::Rng;

use crate::faults::{Fault, Faults};
use crate::network::{MS, Nanos};

/// A fault that strikes one server for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blow {
    pub(crate) tick: u64,
    pub(crate) server: u16,
    pub(crate) lasts: Nanos,
}

/// When what strikes whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) partitions: Vec<Blow>,
    pub(crate) stalls: Vec<Blow>,
    pub(crate) maps: Vec<u64>,
    pub(crate) resets: Vec<u64>,
    /// Blows to processes and backups, with the time until somebody does something about it.
    pub(crate) losses: Vec<(Fault, Blow)>,
}

impl Plan {
    pub(crate) fn new(faults: &Faults, seed: u64, servers: u16, ticks: u64) -> Plan {
        let mut rng = Rng::stream(seed, 3);
        let mut plan = Plan::default();
        let ticks_of = |rng: &mut Rng, fault: Fault, count: u64| -> Vec<u64> {
            if !faults.has(fault) {
                return Vec::new();
            }
            let mut ticks: Vec<u64> = (0..count).map(|_| 10 + rng.below((ticks * 9 / 10).max(1))).collect();
            ticks.sort_unstable();
            ticks
        };
        let blows = |rng: &mut Rng, ticks: Vec<u64>, least: Nanos, most: Nanos| -> Vec<Blow> {
            ticks
                .into_iter()
                .map(|tick| Blow {
                    tick,
                    server: rng.below(u64::from(servers)) as u16,
                    lasts: least + rng.below(most - least),
                })
                .collect()
        };
        let often = 1 + ticks / 300;
        let times = ticks_of(&mut rng, Fault::Partition, often);
        plan.partitions = blows(&mut rng, times, 100 * MS, 1_500 * MS);
        let times = ticks_of(&mut rng, Fault::Stall, 2 * often);
        plan.stalls = blows(&mut rng, times, 30 * MS, 500 * MS);
        plan.maps = ticks_of(&mut rng, Fault::Map, often);
        plan.resets = ticks_of(&mut rng, Fault::Reset, 1);
        plan.resets.iter_mut().for_each(|tick| *tick /= 3);
        for fault in [Fault::BackupLoss, Fault::Crash, Fault::Suspicion] {
            let times = ticks_of(&mut rng, fault, often);
            // A server noticed to be gone within a third of a second to a second; a process given up lives as long.
            let drawn = blows(&mut rng, times, 333 * MS, 1_000 * MS);
            // Blows to a region that was struck before are the ones that find out what was not restored.
            let before = plan.losses.last().map(|(_, blow)| blow.server);
            let again = before.filter(|_| rng.chance(0.5));
            plan.losses.extend(drawn.into_iter().map(|blow| {
                let server = again.unwrap_or(blow.server);
                (fault, Blow { tick: blow.tick.min(ticks * 4 / 5), server, ..blow })
            }));
        }
        plan
    }

    /// When the coordinator of a cluster stops, and for how long. Drawn apart, so that nothing else depends on it.
    pub(crate) fn coordinator_stops(faults: &Faults, seed: u64, ticks: u64) -> Vec<Blow> {
        let mut rng = Rng::stream(seed, 6);
        let count = if faults.has(Fault::Crash) { 1 + ticks / 600 } else { 0 };
        let mut stop =
            || Blow { tick: 10 + rng.below((ticks * 4 / 5).max(1)), server: 0, lasts: 50 * MS + rng.below(1_500 * MS) };
        (0..count).map(|_| stop()).collect()
    }
}
