//! Who serves what when the cluster starts.

use nimbus_model::RegionId;
use std::collections::BTreeSet;

use super::Plan;
use crate::roster::{Birth, Incarnation, Region};
use crate::timeline::Timeline;

impl Plan<'_> {
    /// Places all regions evenly once enough nodes are there, and sets the time at which ticks begin. Neighbouring ids go to one
    /// process where one has several, because they tend to be neighbours in space.
    pub(super) fn place_first(&mut self) {
        let config = self.facts.config;
        let nodes: Vec<Incarnation> = self.roster.members().map(|(id, _)| id).filter(|id| self.is_ready(*id)).collect();
        let waited = self.facts.journal.nodes_wait_ms(self.facts.now_ms) >= config.grace_ms;
        let enough = nodes.len() >= config.nodes_wanted.max(1) || (waited && !nodes.is_empty());
        if !self.roster.regions.is_empty() || !enough {
            return;
        }
        let regions = self.roster.map.regions().iter().chain(&config.genesis.spare);
        let ids: Vec<RegionId> = regions.copied().collect::<BTreeSet<_>>().into_iter().collect();
        let count = ids.len();
        // Backups go a fixed number of places further on, which is as even as the servers are; with nodes to spare, so
        // far on that no node has both.
        let further = if count < nodes.len() { count.min(nodes.len() - 1) } else { 1 };
        for (i, id) in ids.into_iter().enumerate() {
            // Reads as: the first `1/n` of the regions go to the first of `n` nodes, and so on.
            let place = i * nodes.len() / count.max(nodes.len()).max(1);
            let Some(origin) = self.issue_origin() else { return };
            let server = nodes[place];
            *self.loads.entry(server).or_default() += 1;
            let region = Region {
                server,
                epoch: 1,
                origin,
                birth: Birth::World,
                backup: None,
                lives: 0,
                protected: false,
                moving: None,
                lost: None,
            };
            self.roster.regions.insert(id, region);
            let next = nodes[(place + further) % nodes.len()];
            self.seat(id, Some(next).filter(|next| *next != server));
        }
        let lead_us = config.start_lead_ms.saturating_mul(1000);
        let start_us = self.now_us().saturating_add(lead_us);
        self.roster.timeline = Some(Timeline::after(config.genesis.standing.tick, start_us, config.genesis.tick_hz));
    }
}
