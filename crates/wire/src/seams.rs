//! What a server tells gateways of its seams with other servers, for people to see. Only the latest report counts, and
//! nothing in the simulation depends on it.

use nimbus_model::{Nid, RegionId};
use serde::{Deserialize, Serialize};

use crate::breach::{Breach, Factor};

/// Most auras in a report.
pub const AURAS_MAX: usize = 2_048;
/// Most clusters in a report.
pub const CLUSTERS_MAX: usize = 512;
/// Most members of all clusters of a report together.
pub const MEMBERS_MAX: usize = 4_096;
/// Most bodies in transit in a report.
pub const TRANSITS_MAX: usize = 2_048;
/// Most breaches in a report.
pub const BREACHES_MAX: usize = 32;
/// Most bodies that a breach names in a report.
pub const BREACH_BODIES_MAX: usize = 8;

/// The aura of one body.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuraSize {
    /// Whose.
    pub nid: Nid,
    /// How far it reaches beyond the body's own radius, metres.
    pub reach: f32,
}

/// A body on its way to another region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transit {
    /// Which body.
    pub nid: Nid,
    /// Where to.
    pub to: RegionId,
}

/// The figures of a report, complete where its lists are cut short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeamTotals {
    /// Auras that the server projects now.
    pub auras: u64,
    /// Auras of other servers' bodies that it knows now.
    pub ghosts: u64,
    /// Bodies it gave away whose arrival is not acknowledged yet.
    pub in_transit: u64,
    /// Breaches since the server started, by the number of their factor in [`Factor::ALL`].
    pub breaches: [u64; Factor::ALL.len()],
}

impl SeamTotals {
    /// Breaches of all factors.
    pub fn breaches_in_all(&self) -> u64 {
        self.breaches.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }
}

/// What a server tells of its seams. Lists are in a defined order and bounded by the limits of this module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeamReport {
    /// Auras that it projects.
    pub auras: Vec<AuraSize>,
    /// Clusters of two or more bodies near a seam.
    pub clusters: Vec<Vec<Nid>>,
    /// Bodies on their way to other regions, now or at some time since the last report.
    pub in_transit: Vec<Transit>,
    /// Breaches in force or recent, the latest last.
    pub breaches: Vec<Breach>,
    /// The figures.
    pub totals: SeamTotals,
}

impl SeamReport {
    /// The report cut to what a frame may carry: of breaches the latest stay, of everything else the first.
    #[must_use]
    pub fn bounded(mut self) -> SeamReport {
        self.auras.truncate(AURAS_MAX);
        self.in_transit.truncate(TRANSITS_MAX);
        let mut room = MEMBERS_MAX;
        self.clusters.retain(|cluster| {
            let fits = cluster.len() <= room;
            room -= if fits { cluster.len() } else { 0 };
            fits
        });
        self.clusters.truncate(CLUSTERS_MAX);
        self.breaches.drain(..self.breaches.len().saturating_sub(BREACHES_MAX));
        self.breaches.iter_mut().for_each(|breach| breach.bodies.truncate(BREACH_BODIES_MAX));
        self
    }

    /// True when every list is within its limit.
    pub(crate) fn is_bounded(&self) -> bool {
        self.auras.len() <= AURAS_MAX
            && self.in_transit.len() <= TRANSITS_MAX
            && self.clusters.len() <= CLUSTERS_MAX
            && self.clusters.iter().map(Vec::len).sum::<usize>() <= MEMBERS_MAX
            && self.breaches.len() <= BREACHES_MAX
            && self.breaches.iter().all(|breach| breach.bodies.len() <= BREACH_BODIES_MAX)
    }

    /// True when every number is one that can be: finite, and no reach below zero.
    pub(crate) fn is_sound(&self) -> bool {
        self.auras.iter().all(|aura| aura.reach.is_finite() && aura.reach >= 0.0)
            && self.breaches.iter().all(|breach| breach.value.is_finite() && breach.limit.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::Tick;

    #[test]
    fn a_report_is_cut_to_its_limits() {
        let nids = |count: usize| (0..count as u64).map(Nid);
        let breach = |tick| Breach {
            tick: Tick(tick),
            region: RegionId(0),
            factor: Factor::Speed,
            value: 40.0,
            limit: 32.0,
            bodies: nids(50).collect(),
        };
        let long = SeamReport {
            auras: nids(5_000).map(|nid| AuraSize { nid, reach: 1.0 }).collect(),
            clusters: vec![nids(3_000).collect(), nids(3_000).collect(), nids(1_000).collect()],
            in_transit: nids(5_000).map(|nid| Transit { nid, to: RegionId(1) }).collect(),
            breaches: (0..100).map(breach).collect(),
            totals: SeamTotals { auras: 5_000, ..SeamTotals::default() },
        };
        assert!(!long.is_bounded());
        let cut = long.bounded();
        assert!(cut.is_bounded());
        let sizes: Vec<usize> = cut.clusters.iter().map(Vec::len).collect();
        assert_eq!(sizes, [3_000, 1_000], "a cluster is told whole or not at all");
        assert_eq!(cut.breaches.last().unwrap().tick, Tick(99), "the latest breaches are told");
        assert_eq!((cut.auras.len(), cut.totals.auras), (AURAS_MAX, 5_000));
    }
}
