//! What regions cost, as far as it was reported.

use nimbus_model::{RegionId, Tick};
use nimbus_space::{PartitionMap, Spread};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a server says of its load. The shell measures the cost, as CPU time or by a model; the server knows the rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadReport {
    /// The region.
    pub region: RegionId,
    /// Its last tick.
    pub tick: Tick,
    /// The partition in force there. What is said under another one is void.
    pub map_epoch: u32,
    /// What a tick costs, microseconds, on average since the last report.
    pub cost_us: u32,
    /// Bodies it owns.
    pub bodies: u32,
    /// Where they lie along x, y and z, and what they weigh.
    pub spread: [Spread; 3],
}

/// What is known of one region since the partition took effect.
#[derive(Clone, Debug)]
pub(super) struct Gauge {
    /// Sum of what was reported, and how often.
    sum_us: u64,
    count: u32,
    pub(super) last: LoadReport,
}

impl Gauge {
    /// What a tick costs, microseconds.
    pub(super) fn cost_us(&self) -> f64 {
        self.sum_us as f64 / f64::from(self.count.max(1))
    }
}

/// The average of a region forgets: the latest report counts for at least one in so many.
const MEMORY: u32 = 6;

/// The gauges of all regions of a partition.
#[derive(Clone, Debug, Default)]
pub(super) struct Gauges(BTreeMap<RegionId, Gauge>);

impl Gauges {
    /// Takes a report. The caller has seen to it that the region exists, so there are never more than regions.
    pub(super) fn take(&mut self, report: LoadReport) {
        let cost_us = u64::from(report.cost_us);
        match self.0.get_mut(&report.region) {
            Some(gauge) if gauge.last.tick >= report.tick => {}
            Some(gauge) => {
                if gauge.count == MEMORY {
                    gauge.sum_us -= gauge.sum_us / u64::from(MEMORY);
                    gauge.count -= 1;
                }
                gauge.sum_us += cost_us;
                gauge.count += 1;
                gauge.last = report;
            }
            None => {
                self.0.insert(report.region, Gauge { sum_us: cost_us, count: 1, last: report });
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn get(&self, region: RegionId) -> Option<&Gauge> {
        self.0.get(&region)
    }

    /// The tick that the newest report is about.
    pub(super) fn heard(&self) -> Tick {
        self.0.values().map(|gauge| gauge.last.tick).max().unwrap_or(Tick(0))
    }

    /// True when every region was heard often enough, and lately.
    pub(super) fn are_complete(&self, map: &PartitionMap, reports_min: u32, since: Tick) -> bool {
        map.regions().iter().all(|region| {
            self.0.get(region).is_some_and(|gauge| gauge.count >= reports_min.min(MEMORY) && gauge.last.tick >= since)
        })
    }
}
