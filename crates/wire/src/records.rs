//! What a region and its backup say to each other, and what a backup says to everybody else.
//!
//! A region writes down every tick as a record, cut into numbered pieces that fit a frame. Its backup takes them in
//! sequence, says how far it has come, and tells peers up to which tick the region's word is certain.

use nimbus_model::{RegionId, Tick};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::frame::{Address, DecodeError};

/// Bytes of one piece at the most.
pub const PIECE_BYTES_MAX: usize = 64 << 10;
/// Pieces of one frame at the most.
pub const PIECES_MAX: usize = 1024;
/// Peers that one frame may name.
pub const AWAITING_MAX: usize = 4096;

/// What a record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PieceKind {
    /// The whole region, for a backup that has nothing. It needs nothing before it, so it may follow a gap.
    Seed,
    /// The whole region again, so that older ticks can be forgotten. Comes slowly, between ticks.
    Snapshot,
    /// What took effect at one tick.
    Tick,
}

/// A part of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// What the record holds.
    pub kind: PieceKind,
    /// The tick that the record completes.
    pub tick: Tick,
    /// The first part of its record.
    pub begins: bool,
    /// The last part of its record.
    pub ends: bool,
    /// The part itself.
    #[serde(with = "serde_bytes")]
    pub bytes: Vec<u8>,
}

/// Region to backup: pieces in sequence. Every such frame is answered, also one without pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Records {
    /// The life of the backup they are for; another one has no use for them.
    pub life: u32,
    /// Number of the first piece.
    pub first: u64,
    /// The pieces.
    pub pieces: Vec<Piece>,
    /// Peers that may wait for a [`Commit`]; named in every frame, so that the backup has nothing to remember.
    pub awaiting: Vec<Address>,
}

impl Records {
    pub(crate) fn check(&self) -> Result<(), DecodeError> {
        let fits = self.pieces.len() <= PIECES_MAX
            && self.awaiting.len() <= AWAITING_MAX
            && self.pieces.iter().all(|piece| piece.bytes.len() <= PIECE_BYTES_MAX)
            && self.first.checked_add(self.pieces.len() as u64).is_some();
        if fits { Ok(()) } else { Err(DecodeError::Malformed) }
    }
}

/// Backup to region: everything up to this piece is kept. The frame's epoch is the life of the backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The life of the region whose pieces they are.
    pub epoch: u32,
    /// Up to which piece.
    pub upto: u64,
}

/// Backup to peers: whatever the region said on lanes in this life at ticks up to this one will outlive its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Whose word it is.
    pub region: RegionId,
    /// In which life it was said.
    pub epoch: u32,
    /// Up to which tick.
    pub tick: Tick,
}

/// How far the word of each region is certain, as its backup said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commits(BTreeMap<RegionId, (u32, Tick)>);

impl Commits {
    /// Takes note of a commit. Older ones change nothing.
    pub fn note(&mut self, commit: Commit) {
        let known = self.0.entry(commit.region).or_default();
        *known = (*known).max((commit.epoch, commit.tick));
    }

    /// True when what a region said at a tick of one of its lives is certain. What it said in another life than the
    /// one its backup speaks of is not: the new life will say it again, if it ever happened.
    pub fn covers(&self, region: RegionId, epoch: u32, said: Tick) -> bool {
        self.0.get(&region).is_some_and(|(life, upto)| *life == epoch && said <= *upto)
    }

    /// The same without asking in which life it was said: the mistake that [`Commits::covers`] avoids, for tests.
    pub fn covers_any_life(&self, region: RegionId, said: Tick) -> bool {
        self.0.get(&region).is_some_and(|(_, upto)| said <= *upto)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const R: RegionId = RegionId(3);

    #[test]
    fn a_commit_covers_only_the_life_it_speaks_of() {
        let mut commits = Commits::default();
        assert!(!commits.covers(R, 1, Tick(0)));
        commits.note(Commit { region: R, epoch: 1, tick: Tick(10) });
        commits.note(Commit { region: R, epoch: 1, tick: Tick(7) });
        assert!(commits.covers(R, 1, Tick(10)) && !commits.covers(R, 1, Tick(11)));
        assert!(!commits.covers(R, 2, Tick(5)) && commits.covers_any_life(R, Tick(5)));
        commits.note(Commit { region: R, epoch: 2, tick: Tick(8) });
        commits.note(Commit { region: R, epoch: 1, tick: Tick(90) });
        assert!(commits.covers(R, 2, Tick(8)) && !commits.covers(R, 2, Tick(9)));
        assert!(!commits.covers(R, 1, Tick(5)), "what life 1 said comes again from life 2");
    }

    #[test]
    fn records_beyond_their_limits_are_malformed() {
        let piece =
            |length| Piece { kind: PieceKind::Tick, tick: Tick(1), begins: true, ends: true, bytes: vec![0; length] };
        let records = |first, pieces| Records { life: 1, first, pieces, awaiting: Vec::new() };
        assert_eq!(records(1, vec![piece(PIECE_BYTES_MAX)]).check(), Ok(()));
        for bad in [
            records(1, vec![piece(PIECE_BYTES_MAX + 1)]),
            records(1, vec![piece(0); PIECES_MAX + 1]),
            records(u64::MAX, vec![piece(0)]),
            Records { awaiting: vec![Address::Region(R); AWAITING_MAX + 1], ..records(1, Vec::new()) },
        ] {
            assert_eq!(bad.check(), Err(DecodeError::Malformed));
        }
    }
}
