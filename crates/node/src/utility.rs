//! Scheme 2.b: who of several servers should have a join.
//!
//! Whoever has it keeps it, unless another one whose cells it occupies would even with it have clearly less to do. Nobody
//! gets what is deep inside another region, even if that cuts a join in two.

use nimbus_model::RegionId;
use std::collections::BTreeSet;

use crate::config::Policy;
use crate::joins::{CELL_M, Linkage};
use crate::node::Node;

/// A cell that is held weighs as much as so many bodies awake: it may fill up soon.
const CELL_WEIGHT: u32 = 2;
/// Another server must have this much less to do, so that a join is not tossed about: one part in so many,
const LESS_BY_PART: u32 = 4;
/// and so many bodies.
const LESS_BY: u32 = 8;
/// Nobody has what is further than this from its own region, metres.
const DEPTH_MAX_M: f32 = 3.0 * CELL_M;

impl Node {
    /// What this server has to do: its bodies awake, and the cells in which it has any.
    pub(crate) fn burden(&self, own: &[Linkage]) -> u32 {
        let cells: BTreeSet<[i32; 3]> = own.iter().map(|linkage| linkage.cells.first()).collect();
        self.physics.awake_len() as u32 + CELL_WEIGHT.saturating_mul(cells.len() as u32)
    }

    /// Who of the regions whose cells a join occupies should have it. So many of its bodies are here and awake.
    pub(crate) fn most_useful_owner(&self, homes: &[RegionId], bodies: u32) -> RegionId {
        let here = self.config.region;
        let load = |region: RegionId| {
            if region == here { Some(self.seam.load) } else { self.seam.foreign.get(&region).map(|known| known.load) }
        };
        let known = homes.iter().filter_map(|region| Some((load(*region)?, *region)));
        let Some((least, best)) = known.min() else { return homes.first().copied().unwrap_or(here) };
        let then = least.saturating_add(bodies);
        let clearly_less =
            then.saturating_add(then / LESS_BY_PART).saturating_add(LESS_BY) < self.seam.load.saturating_sub(bodies);
        if homes.contains(&here) && !clearly_less { here } else { best }
    }

    /// Takes note of bodies on their way to a server, until it says itself what it has to do.
    pub(crate) fn shift_load(&mut self, to: RegionId, bodies: u32) {
        self.seam.load = self.seam.load.saturating_sub(bodies);
        if let Some(known) = self.seam.foreign.get_mut(&to) {
            known.load = known.load.saturating_add(bodies);
        }
    }

    /// Who should have one linkage of a join that has an owner.
    pub(crate) fn owner_of_part(&self, linkage: &Linkage, owner: RegionId) -> RegionId {
        let middle = linkage.bounds.centre();
        let too_deep = || self.map.distance(owner, middle) > DEPTH_MAX_M;
        if self.config.policy == Policy::Utility && too_deep() { self.map.region_at(middle) } else { owner }
    }
}
