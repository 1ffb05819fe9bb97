//! What a roster asks of one process. The same roster always asks the same, so a process needs to hear only the newest
//! one, as often as it likes.

use nimbus_model::{Origin, RegionId, Tick};

use crate::roster::{Birth, Incarnation, Roster, Seat};

/// A region to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serve {
    /// The region.
    pub region: RegionId,
    /// Under this epoch. A server of the same epoch just goes on.
    pub epoch: u32,
    /// Names what it makes.
    pub origin: Origin,
    /// Where its content comes from, if it does not run yet.
    pub birth: Birth,
    /// Who keeps what it writes down.
    pub backup: Option<Seat>,
    /// It must stop after this tick; a server that has stopped goes on when this is taken back.
    pub stop_after: Option<Tick>,
}

/// A backup to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// The region.
    pub region: RegionId,
    /// The life of the backup. One of another life is dropped for an empty one, unless it was promoted.
    pub life: u32,
    /// The epoch whose server it hears.
    pub epoch: u32,
    /// Who serves the region.
    pub server: Incarnation,
}

/// Everything that a process has to do. What it does beyond this it has to cease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Duties {
    /// By region.
    pub serve: Vec<Serve>,
    /// By region.
    pub keep: Vec<Keep>,
}

impl Roster {
    /// What the roster asks of a process: nothing of one that is no member.
    pub fn duties(&self, process: Incarnation) -> Duties {
        let mut duties = Duties::default();
        if self.member(process).is_none() {
            return duties;
        }
        for (id, region) in self.held() {
            if region.server == process {
                duties.serve.push(Serve {
                    region: id,
                    epoch: region.epoch,
                    origin: region.origin,
                    birth: region.birth,
                    backup: region.backup,
                    stop_after: region.moving.and_then(|moving| moving.stop_after),
                });
            }
            if let Some(seat) = region.backup.filter(|seat| seat.process == process) {
                let (epoch, server) = (region.epoch, region.server);
                duties.keep.push(Keep { region: id, life: seat.life, epoch, server });
            }
        }
        duties
    }
}
