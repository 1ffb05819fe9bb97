//! Changes of the whole world become what is in force, once nobody can need to be told of them any more.

use std::sync::Arc;

use super::Plan;
use crate::change::Change;

impl Plan<'_> {
    /// A server that takes over begins at the last tick that its backup has, and must be told every change after that.
    /// So a change stays announced until every server, and every backup that might be promoted, has its tick. That is
    /// also one that is still being given everything: what it is given may be from before the change.
    pub(super) fn settle_changes(&mut self) {
        let Some(first) = self.roster.changes.first() else { return };
        let reached = self.roster.held().all(|(id, region)| {
            // One that has not heard of the change has its tick without having made it.
            let voice = self.facts.heard.voice(region.server).filter(|voice| voice.revision >= self.roster.revision);
            let tick = voice.and_then(|voice| voice.tick);
            let report = self.facts.heard.report(region.server, id, region.epoch);
            let kept = report.filter(|report| region.backup.is_some_and(|seat| seat.life == report.life));
            let has = |tick| tick >= first.at();
            tick.is_some_and(has)
                && report.is_some()
                && kept.map_or(!region.protected, |report| report.kept.is_some_and(has))
        });
        if !reached || self.tick() < first.at() {
            return;
        }
        match self.roster.changes.remove(0) {
            Change::Load { era, world, map, .. } => {
                self.roster.era = era;
                self.roster.world = world;
                self.roster.map = map;
                self.roster.placed = Arc::default();
            }
            Change::Map(map) => self.roster.map = map,
            Change::Statics { placed, .. } => self.roster.placed = placed,
        }
    }
}
