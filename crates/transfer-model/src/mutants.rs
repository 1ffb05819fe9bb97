//! The protocol with one rule dropped. A check that cannot find a planted mistake proves nothing, so every rule has
//! its mutant and every mutant must be caught.

use std::fmt;

/// One rule that is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// The receiver lets an item take effect although no backup of the sender has recorded it.
    AdoptWithoutCommit,
    /// A sealed backup goes on keeping and committing what the zombie of the old epoch sends.
    NoEpochCheck,
    /// The receiver does not compare an item with its mark.
    NoDedup,
    /// The receiver acknowledges what its own backup does not have yet.
    AckBeforeReplicate,
    /// The source forgets what nobody has acknowledged.
    ForgetEarly,
    /// A commit of one region epoch vouches for an item of another.
    CommitWithoutEpoch,
    /// The backup takes records in any order and commits up to the highest.
    BackupReorders,
    /// A promoted backup goes on under the epoch of the writer it replaces.
    SameEpochRestart,
    /// A replacement backup is seeded with an older state than the one it replaces had committed.
    StaleSeed,
    /// A grant that nobody acknowledged is addressed to another region.
    ReaddressedGrant,
    /// A refusal is not logged, so that the mark can stay behind the return that was sent.
    ///
    /// Not one of the ten: it shows that the refusal needs its record.
    RefusalNotLogged,
    /// A backup is promoted before it was seeded.
    ///
    /// Not one of the ten: it shows that seeding must come before promotion.
    PromoteUnseeded,
}

impl Mutant {
    /// All of them, in the order of the design's list; the last two are additions for refusal and seeding.
    pub const ALL: [Mutant; 12] = [
        Mutant::AdoptWithoutCommit,
        Mutant::NoEpochCheck,
        Mutant::NoDedup,
        Mutant::AckBeforeReplicate,
        Mutant::ForgetEarly,
        Mutant::CommitWithoutEpoch,
        Mutant::BackupReorders,
        Mutant::SameEpochRestart,
        Mutant::StaleSeed,
        Mutant::ReaddressedGrant,
        Mutant::RefusalNotLogged,
        Mutant::PromoteUnseeded,
    ];

    /// A few words for tables.
    pub fn name(self) -> &'static str {
        match self {
            Mutant::AdoptWithoutCommit => "adopt without Commit",
            Mutant::NoEpochCheck => "no epoch check",
            Mutant::NoDedup => "no dedup",
            Mutant::AckBeforeReplicate => "ack before replicate",
            Mutant::ForgetEarly => "forget early",
            Mutant::CommitWithoutEpoch => "Commit matched without epoch",
            Mutant::BackupReorders => "backup reorders",
            Mutant::SameEpochRestart => "restart in the same epoch",
            Mutant::StaleSeed => "stale seed",
            Mutant::ReaddressedGrant => "re-addressed grant",
            Mutant::RefusalNotLogged => "refusal not logged",
            Mutant::PromoteUnseeded => "promotion before the seed",
        }
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
