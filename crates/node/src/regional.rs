//! The naive scheme and schemes 1 and 1.b: a group changes server when its middle has left its owner's volume, or when
//! nothing of it is left there.

use nimbus_model::{Nid, RegionId, Tick, Vec3};
use std::collections::BTreeSet;

use crate::config::Policy;
use crate::node::Node;

/// How long a group stays put after a neighbour gave it back.
const REST_AFTER_RETURN_TICKS: u64 = 30;

impl Node {
    /// Finds the groups that should change server now and gives them away.
    pub(crate) fn apply_regional(&mut self) {
        let mut outside = std::mem::take(&mut self.outside);
        let suspects = std::mem::take(&mut self.suspects);
        outside.extend(suspects.iter().filter(|nid| self.is_outside(**nid)));
        outside.sort_unstable();
        outside.dedup();

        let mut settled: BTreeSet<Nid> = BTreeSet::new();
        let mut granted = 0;
        for nid in outside {
            if !settled.contains(&nid) {
                let linkage = self.physics.linkage(nid);
                settled.extend(&linkage);
                if let Some(to) = self.destination(&linkage) {
                    if granted < self.config.grants_max && self.may_grant(to, &linkage) {
                        granted += linkage.len();
                        self.grant(&linkage, to);
                    } else {
                        self.put_off(&linkage);
                        self.suspects.extend(linkage);
                    }
                }
            }
        }
    }

    /// Notes bodies that must be looked at although they may be asleep.
    pub(crate) fn suspect_everyone(&mut self) {
        self.suspects.extend(self.hosted.iter().map(|(nid, _)| nid));
    }

    /// Has a sleeper looked at that lies outside this region's volume: only who moves is looked at anyway.
    pub(crate) fn suspect_outside(&mut self, nid: Nid) {
        if self.is_outside(nid) {
            self.suspects.insert(nid);
        }
    }

    /// Where a group belongs, if not here: nothing of it may be left in this region's volume, except that the naive scheme
    /// looks at its middle alone.
    fn destination(&self, linkage: &[Nid]) -> Option<RegionId> {
        let mut sum = Vec3::ZERO;
        for &nid in linkage {
            let body = self.physics.view(nid)?;
            if self.config.policy != Policy::Naive && self.map.meets(self.config.region, &body.aabb()) {
                return None;
            }
            sum += body.pose.position;
        }
        let to = self.map.region_at(sum / linkage.len() as f32);
        (to != self.config.region).then_some(to)
    }

    /// True when a group may be given to a region now.
    pub(crate) fn may_grant(&self, to: RegionId, linkage: &[Nid]) -> bool {
        !self.rests_after_return(linkage)
            && !self.backup_is_silent()
            && self.outbox.is_open(to, self.now, self.config.silence_ticks, self.forgets())
            && self.fits_a_frame(linkage)
    }

    /// True when one of a group came back a moment ago, or was found to be too much.
    pub(crate) fn rests_after_return(&self, linkage: &[Nid]) -> bool {
        let rests = |returned: &Tick| self.now.since(*returned) < REST_AFTER_RETURN_TICKS;
        linkage.iter().any(|nid| self.returned.get(nid).is_some_and(rests))
    }

    pub(crate) fn is_outside(&self, nid: Nid) -> bool {
        self.physics.view(nid).is_some_and(|body| match self.config.policy {
            Policy::Naive => !self.map.holds(self.config.region, body.pose.position),
            _ => !self.map.meets(self.config.region, &body.aabb()),
        })
    }
}
