//! When things happened, in the leader's own time. Not kept anywhere: times of one coordinator mean nothing to another,
//! and a new leader rather waits a little longer.

use nimbus_model::RegionId;
use std::collections::BTreeMap;

use crate::roster::{Role, Roster};

/// See the description of this file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Journal {
    /// When each region last changed its server.
    served: BTreeMap<RegionId, u64>,
    /// Since when there have been nodes and no regions placed.
    nodes_since: Option<u64>,
}

impl Journal {
    /// A new leader finds this roster.
    pub(crate) fn restart(&mut self, roster: &Roster, now_ms: u64) {
        *self = Journal::default();
        self.served.extend(roster.regions.iter().filter(|(_, region)| region.epoch > 1).map(|(id, _)| (*id, now_ms)));
        self.note(roster, roster, now_ms);
    }

    /// One roster followed another in the store.
    pub(crate) fn note(&mut self, before: &Roster, after: &Roster, now_ms: u64) {
        for (id, region) in &after.regions {
            if before.regions.get(id).is_some_and(|former| former.epoch != region.epoch) {
                self.served.insert(*id, now_ms);
            }
        }
        let nodes = after.regions.is_empty() && after.members().any(|(_, process)| process.role == Role::Node);
        self.nodes_since = nodes.then(|| self.nodes_since.unwrap_or(now_ms));
    }

    /// How long ago a region changed its server, if it has.
    pub(crate) fn served_for_ms(&self, region: RegionId, now_ms: u64) -> Option<u64> {
        self.served.get(&region).map(|since| now_ms.saturating_sub(*since))
    }

    /// For how long there have been nodes and no regions placed.
    pub(crate) fn nodes_wait_ms(&self, now_ms: u64) -> u64 {
        self.nodes_since.map_or(0, |since| now_ms.saturating_sub(since))
    }
}
