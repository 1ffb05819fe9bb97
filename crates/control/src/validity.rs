//! What every roster that exists obeys. One that arrives from outside is checked while it is read.

use nimbus_model::RegionId;
use nimbus_space::REGIONS_MAX;
use std::collections::BTreeSet;

use crate::change::{CHANGES_MAX, Change};
use crate::roster::{Birth, Incarnation, Region, Roster};

/// Members and former members that one roster may hold.
pub const PROCESSES_MAX: usize = 4096;
/// Members that a cluster may have.
pub const MEMBERS_MAX: usize = 512;
/// Highest revision and term, so that adding one never goes wrong.
pub const COUNT_MAX: u64 = 1 << 62;
/// Bytes of a name.
pub const NAME_BYTES_MAX: usize = 64;
/// Bytes of an address.
pub const ADDRESS_BYTES_MAX: usize = 256;

/// What is wrong with a roster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// A name is empty, long or not printable.
    #[error("`{0}` is not a name: 1 to {NAME_BYTES_MAX} letters, digits, `-`, `_` or `.`")]
    Name(String),
    /// An address cannot be one.
    #[error("`{0}` is not an address: write host:port, at most {ADDRESS_BYTES_MAX} bytes")]
    Address(String),
    /// Too many of something.
    #[error("{count} {what} are too many")]
    TooMany {
        /// How many.
        count: usize,
        /// Of what.
        what: &'static str,
    },
    /// A number was used that was never issued.
    #[error("number {0} was never issued")]
    NeverIssued(u16),
    /// Two members have one name.
    #[error("two members are called `{0}`")]
    NameTwice(String),
    /// A region names a process that does not exist.
    #[error("{region} names process {process}, which the roster does not have")]
    Stranger {
        /// The region.
        region: RegionId,
        /// The process.
        process: Incarnation,
    },
    /// A region's entry contradicts itself.
    #[error("{region}: {what}")]
    Region {
        /// The region.
        region: RegionId,
        /// What is wrong.
        what: &'static str,
    },
    /// The partition has regions that nobody serves.
    #[error("not all regions of the partition are placed")]
    OtherRegions,
    /// Changes are out of order, or are for other regions.
    #[error("the changes to come are not in order, or not for these regions")]
    Changes,
    /// The timeline is missing or cannot be computed with.
    #[error("the timeline does not make sense")]
    Timeline,
    /// Revisions and terms start at 1, and nobody gets as far as [`COUNT_MAX`] by counting.
    #[error("revision or term is out of range")]
    Count,
}

/// Refuses what is no name.
pub(crate) fn check_name(name: &str) -> Result<(), Invalid> {
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let fits = (1..=NAME_BYTES_MAX).contains(&name.len()) && name.chars().all(letter);
    // A long one is cut, so that the complaint is not longer than what it complains about.
    if fits { Ok(()) } else { Err(Invalid::Name(name.chars().take(NAME_BYTES_MAX).collect())) }
}

/// Refuses what cannot be `host:port`. Whether anybody is there, only a shell can find out.
pub(crate) fn check_address(address: &str) -> Result<(), Invalid> {
    let parts = address.rsplit_once(':');
    let sound = parts.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0));
    let fits = address.len() <= ADDRESS_BYTES_MAX && address.bytes().all(|b| b.is_ascii_graphic());
    if sound && fits { Ok(()) } else { Err(Invalid::Address(address.chars().take(ADDRESS_BYTES_MAX).collect())) }
}

impl Roster {
    /// Checks everything. A coordinator never writes a roster that fails this, and none is read that does.
    pub fn validate(&self) -> Result<(), Invalid> {
        check_name(&self.cluster)?;
        check_name(&self.leader)?;
        check_name(&self.world)?;
        if ![self.revision, self.term].iter().all(|count| (1..=COUNT_MAX).contains(count)) {
            return Err(Invalid::Count);
        }
        self.validate_processes()?;
        self.validate_changes()?;
        if self.timeline.as_ref().is_some_and(|timeline| !timeline.is_valid()) {
            return Err(Invalid::Timeline);
        }
        if self.regions.is_empty() {
            return Ok(());
        }
        if self.timeline.is_none() {
            return Err(Invalid::Timeline);
        }
        let count = self.regions.len();
        if count > REGIONS_MAX {
            return Err(Invalid::TooMany { count, what: "regions" });
        }
        if !self.map.regions().iter().all(|region| self.regions.contains_key(region)) {
            return Err(Invalid::OtherRegions);
        }
        self.regions.iter().try_for_each(|(id, region)| self.validate_region(*id, region))
    }

    fn validate_processes(&self) -> Result<(), Invalid> {
        let count = self.processes.len();
        if count > PROCESSES_MAX {
            return Err(Invalid::TooMany { count, what: "processes" });
        }
        let mut names = BTreeSet::new();
        for (id, process) in &self.processes {
            check_name(&process.name)?;
            check_address(&process.address)?;
            if id.0 == 0 || id.0 > self.issued {
                return Err(Invalid::NeverIssued(id.0));
            }
            if process.is_member() && !names.insert(&process.name) {
                return Err(Invalid::NameTwice(process.name.clone()));
            }
        }
        Ok(())
    }

    fn validate_changes(&self) -> Result<(), Invalid> {
        let count = self.changes.len();
        if count > CHANGES_MAX {
            return Err(Invalid::TooMany { count, what: "changes" });
        }
        if self.placed.problem().is_some() {
            return Err(Invalid::Changes);
        }
        let mut at = self.map.effective().max(self.loaded_at);
        let (mut era, mut revision) = (self.era, self.placed.revision);
        for change in &self.changes {
            match change {
                Change::Load { era: next, world, .. } => {
                    check_name(world)?;
                    if era.checked_add(1) != Some(*next) {
                        return Err(Invalid::Changes);
                    }
                    (era, revision) = (*next, 0);
                }
                Change::Statics { era: its, placed, .. } => {
                    if *its != era || placed.revision != revision + 1 || placed.problem().is_some() {
                        return Err(Invalid::Changes);
                    }
                    revision = placed.revision;
                }
                Change::Map(_) => {}
            }
            let served = |region: &RegionId| self.regions.contains_key(region);
            if change.at() < at || !change.map().is_none_or(|map| map.regions().iter().all(served)) {
                return Err(Invalid::Changes);
            }
            at = change.at();
        }
        Ok(())
    }

    fn validate_region(&self, id: RegionId, region: &Region) -> Result<(), Invalid> {
        let wrong = |what| Err(Invalid::Region { region: id, what });
        if region.origin.0 == 0 || region.origin.0 > self.issued {
            return Err(Invalid::NeverIssued(region.origin.0));
        }
        if region.epoch == 0 {
            return wrong("the epoch is zero");
        }
        if region.lost.is_some() {
            let idle = region.backup.is_none() && !region.protected && region.moving.is_none();
            return if idle { Ok(()) } else { wrong("it is lost, and yet somebody keeps it or is to have it") };
        }
        if !self.processes.contains_key(&region.server) {
            return Err(Invalid::Stranger { region: id, process: region.server });
        }
        match region.backup {
            Some(seat) if !self.processes.contains_key(&seat.process) => {
                return Err(Invalid::Stranger { region: id, process: seat.process });
            }
            Some(seat) if seat.process == region.server => return wrong("a process keeps what it serves itself"),
            Some(seat) if seat.life == 0 || seat.life != region.lives => return wrong("the backup is not the newest"),
            None if region.protected => return wrong("nobody keeps it, and yet it is protected"),
            _ => {}
        }
        match region.birth {
            Birth::Promoted { life } if life == 0 || life > region.lives => wrong("a backup that never was took over"),
            Birth::Promoted { .. } | Birth::Empty { .. } if region.epoch == 1 => wrong("its first epoch follows none"),
            _ => Ok(()),
        }
    }
}
