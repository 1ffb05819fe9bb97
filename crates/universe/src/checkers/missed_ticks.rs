//! Under the aura policy every body lives through every tick: what it missed on its way it is caught up by, or the server
//! says that time was lost.

use nimbus_model::RegionId;
use nimbus_node::Factor;
use std::collections::BTreeMap;

use super::{Broken, Scene};

const RULE: &str = "no missed ticks";

#[derive(Default)]
pub(super) struct MissedTicks {
    /// By region: which life of it was seen, ticks that arrivals missed, and how often the server said that time was lost.
    seen: BTreeMap<RegionId, (u32, u64, u64)>,
}

impl MissedTicks {
    pub(super) fn inspect(&mut self, scene: &Scene<'_>, broken: &mut Vec<Broken>) {
        for node in &scene.nodes {
            let counters = node.counters();
            let (missed, excused) = (counters.ticks_in_transit, counters.breaches[Factor::TimeLost as usize]);
            let now = (node.epoch(), missed, excused);
            let (epoch, missed_before, excused_before) = self.seen.insert(node.region(), now).unwrap_or((1, 0, 0));
            // A backup that took over knows less than the server before it, so its counts begin anew.
            if epoch == node.epoch() && missed > missed_before && excused <= excused_before {
                let what = format!("bodies that came to {} missed {} ticks", node.region(), missed - missed_before);
                broken.push(Broken(RULE, what));
            }
        }
    }
}
