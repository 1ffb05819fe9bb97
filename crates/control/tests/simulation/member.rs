//! A process as a model: it takes the newest roster it is told and does what that asks, and nothing else.

use nimbus_control::{
    Birth, FromCoordinator, Heartbeat, Incarnation, Join, RegionReport, Role, Roster, Service, ToCoordinator,
};
use nimbus_model::{RegionId, Tick};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::checkers::Truth;
use crate::made::Made;

/// A server as a model.
pub(crate) struct Server {
    pub(crate) epoch: u32,
    /// The life of the backup that it knows to be seeded.
    pub(crate) seeded: Option<u32>,
    /// The last tick that it has run, and the last that it knows its backup to have.
    pub(crate) tick: Tick,
    pub(crate) kept: Tick,
    pub(crate) made: Made,
    pub(crate) stop_after: Option<Tick>,
    pub(crate) failed: bool,
}

/// A backup as a model.
pub(crate) struct Backup {
    pub(crate) life: u32,
    pub(crate) epoch: u32,
    pub(crate) seeded: bool,
    /// What the server had made by the last tick that the backup has.
    pub(crate) made: Option<Made>,
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
    /// The newest world that it makes or has made, and when that is done, microseconds.
    making: (u16, u64),
}

/// Some processes take longer to make a world than a load is announced ahead.
const SLOW_US: u64 = 1_000_000;

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
            making: (0, 0),
        }
    }

    /// Its servers run the ticks that are due.
    pub(crate) fn run(&mut self, now_us: u64, truth: &mut Truth) {
        let tick = self.tick(now_us);
        let Some(roster) = &self.roster else { return };
        let (making, slow) = (&mut self.making, self.token.is_multiple_of(2));
        let mut has = |era: u16| {
            if making.0 < era {
                *making = (era, now_us + if slow { SLOW_US } else { 0 });
            }
            now_us >= making.1
        };
        for (region, server) in self.serving.iter_mut().filter(|(_, server)| !server.failed) {
            server.tick = server.tick.max(server.stop_after.map_or(tick, |stop| tick.min(stop)));
            server.made.follow(roster, server.tick, &mut has);
            truth.note_load(*region, server.made);
        }
    }

    /// What it says now and then.
    pub(crate) fn speak(&self, now_us: u64) -> Vec<ToCoordinator> {
        let Some(process) = self.incarnation else {
            let (name, address) = (self.name.clone(), "host:7000".to_owned());
            return vec![ToCoordinator::Join(Join { name, role: Role::Node, address, token: self.token })];
        };
        let tick = self.tick(now_us);
        let regions = self.serving.iter().map(|(region, server)| Member::report(*region, server)).collect();
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
            let mut made = Made::in_force(&roster);
            if let Birth::Promoted { life } = duty.birth {
                let backup = self.keeping.remove(&duty.region).filter(|backup| backup.life == life);
                let kept = backup.and_then(|backup| backup.made.filter(|_| backup.seeded));
                truth.note_promotion(duty.region, duty.epoch, life, kept.is_some());
                made = kept.unwrap_or(made);
                truth.note_succession(duty.region, made.versions, &roster);
                failed = self.clumsy;
            }
            truth.note_service(duty.region, duty.epoch, own);
            let (epoch, stop_after, tick, kept) = (duty.epoch, duty.stop_after, made.at, Tick(0));
            let server = Server { epoch, seeded: None, tick, kept, made, stop_after, failed };
            self.serving.insert(duty.region, server);
        }
        self.serving.retain(|region, _| duties.serve.iter().any(|duty| duty.region == *region));
        self.keeping
            .retain(|region, backup| duties.keep.iter().any(|duty| duty.region == *region && duty.life == backup.life));
        for duty in &duties.keep {
            let empty = || Backup { life: duty.life, epoch: duty.epoch, seeded: false, made: None };
            self.keeping.entry(duty.region).or_insert_with(empty);
        }
        self.roster = Some(roster);
    }

    fn report(region: RegionId, server: &Server) -> RegionReport {
        let kept = server.seeded.map(|_| server.kept);
        let stopped =
            server.stop_after.is_some_and(|stop| server.tick >= stop && kept.is_some_and(|kept| kept >= stop));
        let service = match () {
            () if server.failed => Service::Failed,
            () if stopped => Service::Stopped,
            () => Service::Running,
        };
        RegionReport {
            region,
            epoch: server.epoch,
            service,
            bodies: 1,
            tick_us: 1,
            behind: 0,
            life: server.seeded.unwrap_or(0),
            kept,
            applied: server.made.versions,
            applied_at: server.made.at,
        }
    }

    fn tick(&self, now_us: u64) -> Tick {
        let timeline = self.roster.as_ref().and_then(|roster| roster.timeline.as_ref());
        timeline.and_then(|timeline| timeline.tick_at(now_us)).unwrap_or_default()
    }
}
