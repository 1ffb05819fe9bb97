//! Planned changes of server: the next one keeps the backup first, the present one stops after a named tick, and only
//! when it has is the backup promoted. Nothing is undone. While the next one is given everything, nobody else has it, so a
//! backup is replaced only for a server that has heard of the plan: one that died before the plan was made, and is not
//! missed yet, still has the backup that it had.

use nimbus_model::RegionId;

use super::Plan;
use crate::messages::Service;
use crate::roster::{Incarnation, Move, Region, Standing};
use crate::timeline::Timeline;

impl Plan<'_> {
    /// Takes every move one step further, and begins those that draining needs.
    pub(super) fn move_on(&mut self) {
        let moving: Vec<(RegionId, Move)> =
            self.roster.held().filter_map(|(id, region)| Some((id, region.moving?))).collect();
        for (id, moving) in moving {
            self.step(id, moving);
        }
        let draining: Vec<Incarnation> = self
            .roster
            .members()
            .filter(|(id, member)| member.standing == Standing::Draining && !self.is_silent(*id))
            .map(|(id, _)| id)
            .collect();
        if draining.is_empty() {
            self.even_out();
        }
        for process in draining {
            self.unload(process);
            self.unseat(process);
        }
    }

    /// Gives the node that serves least a region of the one that serves most, one at a time and only while all is calm:
    /// so a node that joins, or comes back, gets its share.
    fn even_out(&mut self) {
        let calm = |(id, region): (RegionId, &Region)| {
            region.protected && region.moving.is_none() && self.is_served(id) && self.is_settled(id)
        };
        if !self.roster.held().all(calm) {
            return;
        }
        let serves = |process: &Incarnation| self.roster.load(*process).0;
        let ready: Vec<Incarnation> = self.roster.members().map(|(id, _)| id).filter(|id| self.is_ready(*id)).collect();
        let (Some(least), Some(most)) =
            (ready.iter().min_by_key(|id| serves(id)), ready.iter().max_by_key(|id| serves(id)))
        else {
            return;
        };
        if serves(most) < serves(least) + 2 {
            return;
        }
        // Whoever keeps a region already needs no copy of it.
        let keeps = |region: &Region| region.backup.is_some_and(|seat| seat.process == *least);
        let its = self.roster.held().filter(|(_, region)| region.server == *most);
        if let Some((id, _)) = its.max_by_key(|(id, region)| (keeps(region), std::cmp::Reverse(*id))) {
            self.begin_move(id, *least);
        }
    }

    /// True when a region may be moved: it was not moved a moment ago.
    pub(super) fn is_settled(&self, id: RegionId) -> bool {
        let served_ms = self.facts.journal.served_for_ms(id, self.facts.now_ms);
        served_ms.is_none_or(|served_ms| served_ms >= self.facts.config.settle_ms)
    }

    /// A region is to be served by another process.
    pub(super) fn begin_move(&mut self, id: RegionId, to: Incarnation) {
        if let Some(region) = self.roster.regions.get_mut(&id) {
            region.moving = Some(Move { to, stop_after: None });
        }
    }

    /// The server of a region has heard of everything that is planned, so it was alive when that was in the store.
    fn is_informed(&self, id: RegionId) -> bool {
        let server = self.roster.regions.get(&id).map(|region| region.server);
        let voice = server.and_then(|server| self.facts.heard.voice(server));
        !self.news && voice.is_some_and(|voice| voice.revision >= self.roster.revision)
    }

    fn step(&mut self, id: RegionId, moving: Move) {
        let stop_at = self.tick() + self.facts.config.handover_ticks;
        // While time stands still, or is about to, no later tick than that will come.
        let horizon = self.roster.timeline.as_ref().and_then(Timeline::horizon);
        let stop_at = horizon.map_or(stop_at, |last| stop_at.min(last));
        let ready = self.is_ready(moving.to);
        let served = self.is_served(id);
        let informed = self.is_informed(id);
        let Some(region) = self.roster.regions.get_mut(&id) else { return };
        if !ready || !served || region.server == moving.to {
            // Somebody fell silent, or the target wants to leave itself. The server goes on as if nothing had been.
            region.moving = None;
            return;
        }
        let Some(seat) = region.backup.filter(|seat| seat.process == moving.to) else {
            if informed {
                self.seat(id, Some(moving.to));
            }
            return;
        };
        if !region.protected {
            return;
        }
        let Some(stop_after) = moving.stop_after else {
            region.moving = Some(Move { stop_after: Some(stop_at), ..moving });
            return;
        };
        if let Some(last) = horizon.filter(|last| *last < stop_after) {
            region.moving = Some(Move { stop_after: Some(last), ..moving });
            return;
        }
        let report = self.facts.heard.report(region.server, id, region.epoch);
        let stopped = report.is_some_and(|report| {
            report.service == Service::Stopped
                && report.life == seat.life
                && report.kept.is_some_and(|kept| kept >= stop_after)
        });
        let due_us = self.roster.timeline.as_ref().map_or(Some(0), |timeline| timeline.due_us(stop_after));
        let patience_us = self.facts.config.handover_ms.saturating_mul(1000);
        let overdue = due_us.is_some_and(|due_us| self.now_us() >= due_us.saturating_add(patience_us));
        if stopped && self.was_heard_of_late(moving.to) {
            self.promote(id);
        } else if overdue && let Some(region) = self.roster.regions.get_mut(&id) {
            // The server is there and has everything. Whoever was to be next may be dead and not missed yet.
            region.moving = None;
        }
    }

    /// This leader has heard a process not long ago. One that leads anew does not know yet who has died.
    fn was_heard_of_late(&self, process: Incarnation) -> bool {
        let voice = self.facts.heard.voice(process).filter(|voice| voice.tick.is_some());
        voice.is_some_and(|voice| self.facts.now_ms.saturating_sub(voice.at_ms) < self.facts.config.suspect_ms / 2)
    }

    /// Begins to move one region of a process that wants to leave, unless one moves already. Whoever keeps a region is
    /// the best to serve it next: no copy has to be made.
    fn unload(&mut self, process: Incarnation) {
        if self.roster.held().any(|(_, region)| region.server == process && region.moving.is_some()) {
            return;
        }
        let movable = self.roster.held().find(|(id, region)| region.server == process && self.is_settled(*id));
        let Some((id, region)) = movable else { return };
        let keeper = region.backup.map(|seat| seat.process).filter(|keeper| self.is_ready(*keeper));
        if let Some(to) = keeper.or_else(|| self.idlest(Some(process))) {
            self.begin_move(id, to);
        }
    }

    /// Moves one backup away from a process that wants to leave. Only when every other backup has everything: a region
    /// is without protection until its new one is seeded, and that should not happen to many at once.
    fn unseat(&mut self, process: Incarnation) {
        let keeps = |id: &Incarnation| *id == process;
        let here = self.roster.held().find(|(id, region)| {
            region.backup.is_some_and(|seat| keeps(&seat.process)) && region.moving.is_none() && self.is_served(*id)
        });
        let Some((id, region)) = here else { return };
        let unprotected = self.roster.held().any(|(other, region)| {
            let elsewhere = region.backup.is_some_and(|seat| !keeps(&seat.process));
            other != id && elsewhere && !region.protected && self.is_served(other)
        });
        if unprotected || !self.is_informed(id) {
            return;
        }
        match self.idlest(Some(region.server)) {
            Some(next) => self.seat(id, Some(next)),
            // Nobody else is left. Let it go once it serves nothing itself.
            None if self.roster.load(process).0 == 0 => self.seat(id, None),
            None => {}
        }
    }
}
