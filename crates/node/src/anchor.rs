//! Clusters too large to change server. Bodies that may touch one go to its host, whatever the ranks: it cannot come to
//! them. That they have to is known two legs before the contact, so that their server hears of it and they arrive.

use nimbus_model::Nid;
use std::collections::BTreeSet;

use crate::breach::Factor;
use crate::config::Planted;
use crate::node::Node;
use crate::scene::Scene;

/// What is too large to move is looked for every so many ticks, and when bodies have come from a lower rank.
const ANCHOR_TICKS: u64 = 8;

impl Node {
    /// Finds the own bodies near other regions whose cluster is too large to move. One server then has more of the world
    /// than may change server at once, which is said.
    pub(crate) fn find_anchored(&mut self, scene: &mut Scene) {
        let limit = self.config.aura.cluster_max;
        if self.hosted.len() <= limit || self.config.planted == Some(Planted::NoAnchors) {
            self.seam.anchored.clear();
            return;
        }
        if self.now.since(self.seam.anchored_at) < ANCHOR_TICKS {
            return;
        }
        self.seam.anchored_at = self.now;
        let mut anchored: BTreeSet<Nid> = BTreeSet::new();
        let mut largest: Vec<u32> = Vec::new();
        let mut done: BTreeSet<u32> = BTreeSet::new();
        let (ticks, far) = (self.horizon.look_ahead() + 2 * self.horizon.legs, self.announced_from());
        let near: Vec<Nid> = scene.rows[..scene.own].iter().filter(|row| row.edge <= far).map(|row| row.nid).collect();
        for nid in near {
            let Some(mut row) = scene.row_of(nid).filter(|row| !done.contains(row)) else { continue };
            let mut found = self.cluster(scene, row, ticks);
            if found.is_none() {
                // Rows are numbered anew; what was done is done again, once.
                scene.survey(self, true);
                done.clear();
                row = scene.row_of(nid).unwrap_or(row);
                found = self.cluster(scene, row, ticks);
            }
            let Some(cluster) = found else { continue };
            done.extend(&cluster);
            if cluster.len() > limit {
                let members = cluster.iter().map(|row| &scene.rows[*row as usize]);
                anchored.extend(members.filter(|row| row.edge <= far).map(|row| row.nid));
                if cluster.len() > largest.len() {
                    largest = cluster;
                }
            }
        }
        if !largest.is_empty() {
            let bodies = largest.iter().take(4).map(|row| scene.rows[*row as usize].nid).collect();
            self.breach(Factor::ClusterSize, largest.len() as f32, limit as f32, bodies);
        }
        self.seam.anchored = anchored;
    }
}
