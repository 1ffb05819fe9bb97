//! A process as a model: it takes the newest roster it is told and does what that asks, and nothing else.

use nimbus_control::{
    Birth, FromCoordinator, Heartbeat, Incarnation, Join, RegionReport, Role, Roster, Service, ToCoordinator,
};
use nimbus_model::{RegionId, Tick};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::checkers::Truth;

/// A server as a model.
pub(crate) struct Server {
    pub(crate) epoch: u32,
    /// The life of the backup that it knows to be seeded.
    pub(crate) seeded: Option<u32>,
    pub(crate) stop_after: Option<Tick>,
    pub(crate) failed: bool,
}

/// A backup as a model.
pub(crate) struct Backup {
    pub(crate) life: u32,
    pub(crate) epoch: u32,
    pub(crate) seeded: bool,
}

pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) token: u64,
    pub(crate) incarnation: Option<Incarnation>,
    pub(crate) roster: Option<Arc<Roster>>,
    pub(crate) serving: BTreeMap<RegionId, Server>,
    pub(crate) keeping: BTreeMap<RegionId, Backup>,
    /// It was told that it is no member; it ends, and may start again.
    pub(crate) fenced: bool,
    pub(crate) drains: bool,
    /// What backups hold turns out to be damaged.
    pub(crate) clumsy: bool,
    pub(crate) stalled_until: u64,
}

impl Member {
    pub(crate) fn new(name: &str, token: u64) -> Member {
        Member {
            name: name.to_owned(),
            token,
            incarnation: None,
            roster: None,
            serving: BTreeMap::new(),
            keeping: BTreeMap::new(),
            fenced: false,
            drains: false,
            clumsy: false,
            stalled_until: 0,
        }
    }

    /// What it says now and then.
    pub(crate) fn speak(&self, now_us: u64) -> Vec<ToCoordinator> {
        let Some(process) = self.incarnation else {
            let (name, address) = (self.name.clone(), "host:7000".to_owned());
            return vec![ToCoordinator::Join(Join { name, role: Role::Node, address, token: self.token })];
        };
        let tick = self.tick(now_us);
        let regions = self.serving.iter().map(|(region, server)| self.report(*region, server, tick)).collect();
        let revision = self.roster.as_ref().map_or(0, |roster| roster.revision);
        let mut said = vec![ToCoordinator::Heartbeat(Heartbeat { process, revision, tick, regions })];
        said.extend(self.drains.then_some(ToCoordinator::Drain(process)));
        said
    }

    /// What it makes of what it is told.
    pub(crate) fn hear(&mut self, message: FromCoordinator, truth: &mut Truth) {
        match message {
            FromCoordinator::Welcome { token, process, roster } if token == self.token => {
                assert!(self.incarnation.is_none_or(|known| known == process), "one start, one number");
                if self.incarnation.is_none() {
                    truth.note_incarnation(process, self.token);
                }
                self.incarnation = Some(process);
                self.take(roster, truth);
            }
            FromCoordinator::Roster(roster) => self.take(roster, truth),
            FromCoordinator::Fenced { process, revision, .. } if self.incarnation.is_none_or(|own| own == process) => {
                let known = self.roster.as_ref().map_or(0, |roster| roster.revision);
                if revision >= known {
                    truth.note_fenced(process, revision);
                    self.fenced = true;
                }
            }
            _ => {}
        }
    }

    fn take(&mut self, roster: Arc<Roster>, truth: &mut Truth) {
        let Some(own) = self.incarnation else { return };
        if self.roster.as_ref().is_some_and(|known| known.revision >= roster.revision) {
            return;
        }
        truth.note_taken(&roster);
        let duties = roster.duties(own);
        for duty in &duties.serve {
            let running = self.serving.get_mut(&duty.region).filter(|server| server.epoch == duty.epoch);
            if let Some(server) = running {
                server.stop_after = duty.stop_after;
                continue;
            }
            let mut failed = false;
            if let Birth::Promoted { life } = duty.birth {
                let backup = self.keeping.remove(&duty.region).filter(|backup| backup.life == life);
                truth.note_promotion(duty.region, duty.epoch, life, backup.is_some_and(|backup| backup.seeded));
                failed = self.clumsy;
            }
            truth.note_service(duty.region, duty.epoch, own);
            let server = Server { epoch: duty.epoch, seeded: None, stop_after: duty.stop_after, failed };
            self.serving.insert(duty.region, server);
        }
        self.serving.retain(|region, _| duties.serve.iter().any(|duty| duty.region == *region));
        self.keeping
            .retain(|region, backup| duties.keep.iter().any(|duty| duty.region == *region && duty.life == backup.life));
        for duty in &duties.keep {
            let empty = || Backup { life: duty.life, epoch: duty.epoch, seeded: false };
            self.keeping.entry(duty.region).or_insert_with(empty);
        }
        self.roster = Some(roster);
    }

    fn report(&self, region: RegionId, server: &Server, tick: Tick) -> RegionReport {
        let stopped = server.stop_after.is_some_and(|stop| stop <= tick);
        let service = match () {
            () if server.failed => Service::Failed,
            () if stopped => Service::Stopped,
            () => Service::Running,
        };
        let life = server.seeded.unwrap_or(0);
        let kept = server.seeded.map(|_| tick);
        RegionReport { region, epoch: server.epoch, service, bodies: 1, step_us: 1, life, kept }
    }

    fn tick(&self, now_us: u64) -> Tick {
        let timeline = self.roster.as_ref().and_then(|roster| roster.timeline.as_ref());
        timeline.and_then(|timeline| timeline.tick_at(now_us)).unwrap_or_default()
    }
}
