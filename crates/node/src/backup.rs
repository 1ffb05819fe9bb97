//! Whoever keeps what a server wrote down, and can become that server.
//!
//! A server is a function of a snapshot and the logs of the ticks after it, so that is all a backup holds. It takes
//! pieces in sequence and from one life of the region only, answers every frame, and tells whoever waits for it how far
//! the region's word is certain. It remembers nothing about whom it told: the region names them again in every frame.

use nimbus_model::{Origin, RegionId, Tick};
use nimbus_wire::{Address, Commit, Content, Frame, Kept, Piece, PieceKind, Records};

use crate::config::Planted;
use crate::game::Rules;
use crate::log::TickLog;
use crate::node::Node;

/// Bytes that a backup holds at the most; beyond that it keeps nothing more until a snapshot makes room.
const BYTES_MAX: usize = 1 << 30;

/// Why a backup cannot become the server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromoteError {
    /// It has no whole copy yet.
    #[error("the backup of {0} has not been given everything yet")]
    NotSeeded(RegionId),
    /// What it holds does not make a server.
    #[error("the backup of {0} holds records that do not fit: {1}")]
    Unusable(RegionId, String),
}

/// What a backup counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackupCounters {
    /// Frames that were not from the life of the region that is kept, or not for this backup.
    pub frames_void: u64,
    /// Pieces kept.
    pub pieces_kept: u64,
    /// Pieces that came again, or too early.
    pub pieces_dropped: u64,
    /// Commits sent.
    pub commits: u64,
}

/// The keeper of one life of one region, sans-IO. Every frame that arrives is handled at once.
#[derive(Clone, Debug)]
pub struct Backup {
    region: RegionId,
    life: u32,
    epoch: u32,
    planted: Option<Planted>,
    rules: Option<Rules>,
    /// Everything up to this piece is kept.
    upto: u64,
    snapshot: Option<(Tick, Vec<u8>)>,
    /// Ticks after the snapshot, as they came.
    ticks: Vec<(Tick, Vec<u8>)>,
    /// Records that have begun: a whole server, and a tick.
    whole: Vec<u8>,
    tick: Vec<u8>,
    bytes: usize,
    counters: BackupCounters,
}

impl Backup {
    /// An empty keeper for this life of a region. `life` is the keeper's own: higher than that of any before it.
    pub fn new(region: RegionId, life: u32, epoch: u32, planted: Option<Planted>) -> Backup {
        Backup {
            region,
            life,
            epoch,
            planted,
            rules: None,
            upto: 0,
            snapshot: None,
            ticks: Vec::new(),
            whole: Vec::new(),
            tick: Vec::new(),
            bytes: 0,
            counters: BackupCounters::default(),
        }
    }

    /// The same for a region where a game is played: its records mean something only by the rules.
    pub fn with_rules(self, rules: Option<Rules>) -> Backup {
        Backup { rules, ..self }
    }

    /// Takes a frame and answers it. Frames of any other life of the region are void: that is what silences a process
    /// that was given up and still runs.
    pub fn handle(&mut self, frame: Frame, out: &mut Vec<Frame>) {
        let from_region = frame.from == Address::Region(self.region) && frame.to == Address::Backup(self.region);
        let Content::Records(records) = frame.content else {
            self.counters.frames_void += 1;
            return;
        };
        if !from_region || frame.epoch != self.epoch {
            self.counters.frames_void += 1;
            return;
        }
        let Records { life, first, pieces, awaiting } = records;
        if life == self.life {
            for (number, piece) in (first..).zip(pieces) {
                self.keep(number, piece);
            }
        }
        let kept = Kept { epoch: self.epoch, upto: self.upto };
        out.push(self.frame(frame.from, frame.era, Content::Kept(kept)));
        if let Some(tick) = self.kept() {
            let commit = Commit { region: self.region, epoch: self.epoch, tick };
            self.counters.commits += awaiting.len() as u64;
            let told = awaiting.into_iter().map(|peer| self.frame(peer, frame.era, Content::Commit(commit)));
            out.extend(told);
        }
    }

    /// The last tick that is kept; none before it has been given everything.
    pub fn kept(&self) -> Option<Tick> {
        let (seeded, _) = self.snapshot.as_ref()?;
        Some(self.ticks.last().map_or(*seeded, |(tick, _)| *tick))
    }

    /// Which life of the backup it is.
    pub fn life(&self) -> u32 {
        self.life
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What it counted.
    pub fn counters(&self) -> &BackupCounters {
        &self.counters
    }

    /// The server as it was at the last tick kept.
    pub fn copy(&self) -> Result<Node, PromoteError> {
        let (_, snapshot) = self.snapshot.as_ref().ok_or(PromoteError::NotSeeded(self.region))?;
        let unusable = |what: String| PromoteError::Unusable(self.region, what);
        let mut node = Node::restore(snapshot).map_err(|error| unusable(error.to_string()))?;
        node.play(self.rules.clone());
        for (tick, bytes) in &self.ticks {
            let entry = TickLog::decode(bytes).filter(|entry| entry.tick == *tick);
            node.replay(&entry.ok_or_else(|| unusable(format!("the record of tick {tick} is damaged")))?);
        }
        Ok(node)
    }

    /// Becomes the server, in the next epoch and under a new name for what it makes. The backup is no more then, so
    /// nothing that a former process still sends can be kept: give the server a new one.
    pub fn promote(self, epoch: u32, origin: Origin) -> Result<Node, PromoteError> {
        let mut node = self.copy()?;
        let same = self.planted == Some(Planted::SameEpochRestart);
        node.take_over(if same { self.epoch } else { epoch }, origin, self.life);
        Ok(node)
    }

    fn keep(&mut self, number: u64, piece: Piece) {
        let begins_anew = piece.kind == PieceKind::Seed && piece.begins;
        let in_sequence = number == self.upto + 1
            || (number > self.upto && (begins_anew || self.planted == Some(Planted::BackupReorders)));
        if !in_sequence || self.bytes + piece.bytes.len() > BYTES_MAX {
            self.counters.pieces_dropped += 1;
            return;
        }
        self.counters.pieces_kept += 1;
        self.upto = number;
        let record = if piece.kind == PieceKind::Tick { &mut self.tick } else { &mut self.whole };
        if piece.begins {
            record.clear();
        }
        record.extend_from_slice(&piece.bytes);
        if piece.ends {
            let record = std::mem::take(record);
            match piece.kind {
                PieceKind::Tick => self.ticks.push((piece.tick, record)),
                PieceKind::Seed => {
                    self.ticks.clear();
                    self.snapshot = Some((piece.tick, record));
                }
                PieceKind::Snapshot => {
                    self.ticks.retain(|(tick, _)| *tick > piece.tick);
                    self.snapshot = Some((piece.tick, record));
                }
            }
        }
        let whole = self.snapshot.as_ref().map_or(0, |(_, bytes)| bytes.len());
        self.bytes = whole + self.whole.len() + self.tick.len();
        self.bytes += self.ticks.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
    }

    fn frame(&self, to: Address, era: u16, content: Content) -> Frame {
        let tick = self.kept().unwrap_or_default();
        Frame { from: Address::Backup(self.region), to, era, epoch: self.life, tick, content }
    }
}
