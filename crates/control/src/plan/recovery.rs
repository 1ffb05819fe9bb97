//! Who takes over from whom, and what is lost.

use nimbus_model::RegionId;

use super::Plan;
use crate::config::Planted;
use crate::messages::Service;
use crate::roster::{Birth, Loss};

impl Plan<'_> {
    /// Takes note of backups that have been given everything. A backup of one life never loses that again.
    pub(super) fn note_protection(&mut self) {
        for (id, region) in &mut self.roster.regions {
            let Some(seat) = region.backup else { continue };
            let report = self.facts.heard.report(region.server, *id, region.epoch);
            region.protected |= report.is_some_and(|report| report.life == seat.life && report.kept.is_some());
        }
    }

    /// Regions without a server are taken over by their backup if it has everything and is there. While it may still
    /// come back, or the server may, there is nothing better to do than to wait. Otherwise the region is lost.
    pub(super) fn recover(&mut self) {
        let unserved: Vec<RegionId> = self.roster.held().map(|(id, _)| id).filter(|id| !self.is_served(*id)).collect();
        for id in unserved {
            let Some(region) = self.roster.regions.get(&id) else { continue };
            let usable = region.protected || self.has(Planted::PromoteUnprotected);
            let keeper = region.backup.map(|seat| seat.process).filter(|_| usable);
            let server_may_return = self.roster.member(region.server).is_some() && !self.has_failed(id);
            match keeper {
                Some(keeper) if !self.is_silent(keeper) => self.promote(id),
                Some(keeper) if self.roster.member(keeper).is_some() => {}
                _ if server_may_return => {}
                _ => self.lose(id),
            }
        }
    }

    /// The backup becomes the server, under the next epoch and a new name for what it makes, and gets an empty backup.
    /// The former server's word is void from here on, whether it still runs or not.
    pub(super) fn promote(&mut self, id: RegionId) {
        let Some(seat) = self.roster.regions.get(&id).and_then(|region| region.backup) else { return };
        let Some(origin) = self.issue_origin() else { return };
        let reuse = self.has(Planted::ReuseEpoch);
        let Some(region) = self.roster.regions.get_mut(&id) else { return };
        let Some(next) = region.epoch.checked_add(1) else { return };
        let former = region.server;
        region.server = seat.process;
        region.epoch = if reuse && region.epoch > 1 { region.epoch } else { next };
        region.origin = origin;
        region.birth = Birth::Promoted { life: seat.life };
        region.moving = None;
        if let Some(load) = self.loads.get_mut(&former) {
            *load = load.saturating_sub(1);
        }
        self.seat(id, None);
        *self.loads.entry(seat.process).or_default() += 1;
        self.seat(id, self.idlest(Some(seat.process)));
    }

    /// Regions that are served and that nobody keeps get an empty backup. One that is silent is replaced: the server has
    /// everything that it had.
    pub(super) fn give_seats(&mut self) {
        let ids: Vec<RegionId> = self.roster.held().map(|(id, _)| id).filter(|id| self.is_served(*id)).collect();
        for id in ids {
            let Some(region) = self.roster.regions.get(&id) else { continue };
            let gone = region.backup.is_some_and(|seat| self.roster.member(seat.process).is_none());
            if region.backup.is_none_or(|seat| self.is_silent(seat.process)) {
                let next = self.idlest(Some(region.server));
                // Better a backup that may come back than none.
                if next.is_some() || gone {
                    self.seat(id, next);
                }
            }
        }
    }

    /// The server said that it could not come into being.
    pub(super) fn has_failed(&self, id: RegionId) -> bool {
        let Some(region) = self.roster.regions.get(&id) else { return false };
        let report = self.facts.heard.report(region.server, id, region.epoch);
        report.is_some_and(|report| report.service == Service::Failed)
    }

    fn lose(&mut self, id: RegionId) {
        let Some(region) = self.roster.regions.get(&id) else { return };
        let server = self.roster.name_of(region.server);
        let backup = region.backup.map(|seat| self.roster.name_of(seat.process));
        self.seat(id, None);
        if let Some(region) = self.roster.regions.get_mut(&id) {
            region.moving = None;
            region.lost = Some(Loss { server, backup });
        }
    }
}
