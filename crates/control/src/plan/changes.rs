//! Changes of the whole world become what is in force, once every server and every backup has made them.

use std::sync::Arc;

use super::Plan;
use crate::change::Change;
use crate::config::Planted;

impl Plan<'_> {
    /// A server that takes over begins at the last tick that its backup has, and must be told every change that it has not
    /// made by then. So a change stays announced until every server, and every backup that might be promoted, has made
    /// it. That the change's own tick has passed is not enough: a server that hears of a change late makes it late, and
    /// its backup has the change's tick long before it has the tick at which it was made. A backup that is still being
    /// given everything has made nothing: what it is given may be from before the change.
    pub(super) fn settle_changes(&mut self) {
        let Some(first) = self.roster.changes.first() else { return };
        if self.tick() < first.at() || !self.is_applied(first) {
            return;
        }
        match self.roster.changes.remove(0) {
            Change::Load { at, era, world, map } => {
                self.roster.era = era;
                self.roster.loaded_at = at;
                self.roster.world = world;
                self.roster.map = map;
                self.roster.placed = Arc::default();
            }
            Change::Map(map) => self.roster.map = map,
            Change::Statics { placed, .. } => self.roster.placed = placed,
        }
    }

    /// True when every server has made the first of the changes announced, and so has every backup that may be promoted.
    fn is_applied(&self, first: &Change) -> bool {
        self.roster.held().all(|(id, region)| {
            let Some(report) = self.facts.heard.report(region.server, id, region.epoch) else { return false };
            let past_its_tick = || {
                let tick = self.facts.heard.voice(region.server).and_then(|voice| voice.tick);
                tick.is_some_and(|tick| tick >= first.at())
            };
            let careless = self.has(Planted::DropUnapplied);
            let made = if careless { past_its_tick() } else { report.applied.includes(first, self.roster.era) };
            let made_at = if careless { first.at() } else { report.applied_at };
            let writes_to_it = region.backup.is_some_and(|seat| seat.life == report.life);
            made && if writes_to_it { report.kept.is_some_and(|kept| kept >= made_at) } else { !region.protected }
        })
    }
}
