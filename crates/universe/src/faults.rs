//! What may go wrong, and how often it did.

use nimbus_model::Rng;
use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use crate::network::{LinkModel, MS};

/// One way in which the world is made hard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Frames are lost.
    Loss,
    /// Frames arrive twice.
    Duplication,
    /// Frames overtake each other.
    Reordering,
    /// Latency varies.
    Jitter,
    /// Links are narrow.
    Bandwidth,
    /// A server is cut off for a while.
    Partition,
    /// A server does not wake for a while.
    Stall,
    /// Boundaries move, and ranks change with some of them.
    Map,
    /// The world is loaded anew.
    Reset,
    /// A server refuses bodies because it is full.
    Full,
    /// A server's process dies and its backup takes over.
    Crash,
    /// A backup takes over although the server's process lives on for a while.
    Suspicion,
    /// A backup dies and is replaced by an empty one.
    BackupLoss,
}

impl Fault {
    /// All of them, with their names.
    pub const ALL: [(&'static str, Fault); 13] = [
        ("loss", Fault::Loss),
        ("duplication", Fault::Duplication),
        ("reordering", Fault::Reordering),
        ("jitter", Fault::Jitter),
        ("bandwidth", Fault::Bandwidth),
        ("partition", Fault::Partition),
        ("stall", Fault::Stall),
        ("map", Fault::Map),
        ("reset", Fault::Reset),
        ("full", Fault::Full),
        ("crash", Fault::Crash),
        ("suspicion", Fault::Suspicion),
        ("backup-loss", Fault::BackupLoss),
    ];
}

/// The faults that are switched on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Everything that can go wrong.
    pub fn all() -> Faults {
        Faults(Fault::ALL.iter().map(|(_, fault)| *fault).collect())
    }

    /// True when this fault is switched on.
    pub fn has(&self, fault: Fault) -> bool {
        self.0.contains(&fault)
    }

    /// True when servers need backups.
    pub fn need_backups(&self) -> bool {
        [Fault::Crash, Fault::Suspicion, Fault::BackupLoss].iter().any(|fault| self.has(*fault))
    }

    /// How links behave in a universe of this seed.
    pub fn link_model(&self, seed: u64) -> LinkModel {
        let mut rng = Rng::stream(seed, 2);
        let mut model = LinkModel { latency_ns: MS / 2 + rng.below(4 * MS), ..LinkModel::default() };
        if self.has(Fault::Loss) {
            model.loss = rng.between(0.005, 0.25);
        }
        if self.has(Fault::Duplication) {
            model.duplication = rng.between(0.01, 0.25);
        }
        if self.has(Fault::Reordering) {
            model.reordering = rng.between(0.01, 0.2);
        }
        if self.has(Fault::Jitter) {
            model.jitter_ns = MS + rng.below(25 * MS);
        }
        if self.has(Fault::Bandwidth) {
            model.bandwidth = NonZeroU64::new(500_000 + rng.below(2_000_000));
        }
        model
    }
}

impl FromStr for Faults {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "all" => return Ok(Faults::all()),
            "none" => return Ok(Faults::default()),
            _ => {}
        }
        let known = || Fault::ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let find = |name: &str| Fault::ALL.iter().find(|(known, _)| *known == name).map(|(_, fault)| *fault);
        let mut faults = text
            .split(',')
            .map(|name| {
                find(name).ok_or_else(|| format!("no fault `{name}`; write all, none, or some of: {}", known()))
            })
            .collect::<Result<Vec<_>, _>>()?;
        faults.sort_unstable();
        faults.dedup();
        Ok(Faults(faults))
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        if *self == Faults::all() {
            return f.write_str("all");
        }
        let names: Vec<_> = Fault::ALL.iter().filter(|(_, fault)| self.has(*fault)).map(|(name, _)| *name).collect();
        f.write_str(&names.join(","))
    }
}

/// How often each fault struck.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Frames lost.
    pub loss: u64,
    /// Frames that came twice.
    pub duplication: u64,
    /// Frames overtaken.
    pub reordering: u64,
    /// Frames delayed by chance.
    pub jitter: u64,
    /// Frames delayed or dropped by a narrow link.
    pub bandwidth: u64,
    /// Frames lost to a cut.
    pub partition: u64,
    /// Wake-ups put off.
    pub stall: u64,
    /// Boundaries moved.
    pub map: u64,
    /// Worlds loaded anew.
    pub reset: u64,
    /// Transfers refused.
    pub full: u64,
    /// Processes that died.
    pub crash: u64,
    /// Processes given up while they ran.
    pub suspicion: u64,
    /// Backups lost.
    pub backup_loss: u64,
}

impl FaultCounts {
    /// How often a fault struck.
    pub fn of(&self, fault: Fault) -> u64 {
        match fault {
            Fault::Loss => self.loss,
            Fault::Duplication => self.duplication,
            Fault::Reordering => self.reordering,
            Fault::Jitter => self.jitter,
            Fault::Bandwidth => self.bandwidth,
            Fault::Partition => self.partition,
            Fault::Stall => self.stall,
            Fault::Map => self.map,
            Fault::Reset => self.reset,
            Fault::Full => self.full,
            Fault::Crash => self.crash,
            Fault::Suspicion => self.suspicion,
            Fault::BackupLoss => self.backup_loss,
        }
    }

    /// The faults that were switched on and never struck.
    pub fn missing(&self, faults: &Faults) -> Vec<&'static str> {
        let silent = |fault: Fault| faults.has(fault) && self.of(fault) == 0;
        Fault::ALL.iter().filter(|(_, fault)| silent(*fault)).map(|(name, _)| *name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_named_and_unknown_ones_explained() {
        assert_eq!("all".parse(), Ok(Faults::all()));
        assert_eq!("loss,map".parse::<Faults>().unwrap().to_string(), "loss,map");
        assert!("los".parse::<Faults>().unwrap_err().contains("duplication"));
    }

    #[test]
    fn a_fault_that_never_struck_is_missing() {
        let counts = FaultCounts { loss: 3, ..FaultCounts::default() };
        assert_eq!(counts.missing(&"loss,stall".parse().unwrap()), vec!["stall"]);
    }
}
