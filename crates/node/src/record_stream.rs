//! What a server has written down for its backup and does not yet know to be kept.
//!
//! This is transport, not state: it is no part of a snapshot, and a server that is restored begins a new one. The
//! stream is a numbered sequence of pieces. It begins with a seed, the whole server; then come the ticks, and between
//! them, slowly, a fresh snapshot now and then, so that the backup can forget older ticks.

use nimbus_model::Tick;
use nimbus_wire::{Address, PIECE_BYTES_MAX, PIECES_MAX, Piece, PieceKind};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Pieces not known to be kept are sent again after this many ticks at the soonest, or frames while time stands still.
const PATIENCE_TICKS_MIN: u64 = 4;
/// And at the latest after this many.
const PATIENCE_TICKS_MAX: u64 = 32;
/// As long as all that is not known to be kept is no more than this, every frame has all of it.
const REPEATED_BYTES: usize = 2 << 10;
/// Bytes of pieces in one frame, unless a single piece is larger.
const FRAME_BYTES: usize = 256 << 10;
/// Bytes that may be under way.
const WINDOW_BYTES: usize = 1 << 20;
/// Most frames whose time is taken at once.
const TIMES_MAX: usize = 64;
/// Bytes of a snapshot that go with each tick, at the least.
const TRICKLE_BYTES: usize = 8 << 10;
/// A snapshot is spread over this many ticks at the most, as far as the size of pieces allows.
const TRICKLE_TICKS: usize = 120;
/// With more ticks or bytes than this, the seed not counted, the backup is taken for gone, and nothing is written until
/// one answers.
const BACKLOG_TICKS_MAX: usize = 1200;
const BACKLOG_BYTES_MAX: usize = 64 << 20;

/// See the description of this file.
#[derive(Debug, Default)]
pub(crate) struct RecordStream {
    /// The life of the backup that is written to; what older ones say is void.
    life: u32,
    /// A backup of that life answers; without one nothing is written.
    writing: bool,
    wants_seed: bool,
    /// The life of the backup that was last given everything.
    seeded: u32,
    /// Number of the newest piece in `queue`.
    last: u64,
    queue: VecDeque<Piece>,
    queue_bytes: usize,
    /// How much of `queue` is a seed, in pieces and bytes. However large a server is, its seed is no sign that nobody
    /// listens.
    seed_pieces: usize,
    seed_bytes: usize,
    /// Parts of a snapshot that wait to go between ticks.
    trickle: VecDeque<Piece>,
    snapshot_at: Tick,
    /// Up to this piece everything was sent at least once.
    sent: u64,
    /// The piece to send next. A backup takes pieces in sequence only, so when one is lost this goes back to it.
    next: u64,
    /// When the oldest were last sent, or at the earliest could have been.
    sent_at: Tick,
    /// The tick of the last frame, and how many more there were since then without another tick.
    polled: Tick,
    still: u64,
    patience: u64,
    /// Until which piece, and when, something was sent for the first time that is not known to be kept: microseconds of the
    /// shell's clock.
    times: VecDeque<(u64, u64)>,
    /// The last tick that is kept.
    kept: Tick,
    era: u16,
    /// Marks of lanes, with the tick at which each was reached, that may not be acknowledged yet.
    marks: BTreeMap<Address, VecDeque<(Tick, u64)>>,
    ackable: BTreeMap<Address, u64>,
    owed: BTreeSet<Address>,
    pub(crate) records: u64,
    pub(crate) seeds: u64,
    pub(crate) bytes_sent: u64,
}

impl RecordStream {
    /// The stream of a server that was restored from a backup of this life, which is no more.
    pub(crate) fn after(life: u32) -> RecordStream {
        RecordStream { life, ..RecordStream::default() }
    }

    /// A backup has answered. False when it is one that was replaced, or speaks of what was never sent.
    pub(crate) fn hear(&mut self, life: u32, upto: u64) -> bool {
        if life < self.life || upto > self.sent {
            return false;
        }
        if life > self.life || !self.writing {
            // A backup that has just taken over has nothing.
            (self.life, self.writing, self.wants_seed) = (life, true, true);
            return true;
        }
        let mut progress = false;
        while self.last - (self.queue.len() as u64) < upto
            && let Some(piece) = self.queue.pop_front()
        {
            progress = true;
            self.queue_bytes -= piece.bytes.len();
            if piece.kind == PieceKind::Seed {
                self.seed_pieces -= 1;
                self.seed_bytes -= piece.bytes.len();
            }
            if piece.ends && piece.kind != PieceKind::Snapshot {
                self.kept = self.kept.max(piece.tick);
            }
            if piece.ends && piece.kind == PieceKind::Seed {
                self.seeded = self.life;
            }
        }
        if progress {
            self.patience = (self.patience / 2).max(PATIENCE_TICKS_MIN);
            // What is the oldest now was written after that tick, so its turn to be sent again comes later.
            self.sent_at = self.sent_at.max(self.kept);
            self.still = 0;
            self.release_marks();
        }
        true
    }

    /// What was just polled is sent now, by the shell's clock.
    pub(crate) fn note_sent(&mut self, now_us: u64) {
        let timed = self.times.back().map_or(0, |(piece, _)| *piece);
        if self.sent > timed && !self.queue.is_empty() && self.times.len() < TIMES_MAX {
            self.times.push_back((self.sent, now_us));
        }
    }

    /// How long that took of which the backup has just said that it has it, microseconds.
    pub(crate) fn take_commit_us(&mut self, now_us: u64) -> Option<u64> {
        let kept_upto = self.last - self.queue.len() as u64;
        let mut longest = None;
        while let Some((_, sent_us)) = self.times.pop_front_if(|(piece, _)| *piece <= kept_upto) {
            longest = longest.max(Some(now_us.saturating_sub(sent_us)));
        }
        longest
    }

    /// For how long the oldest has been on its way that the backup is not known to have, microseconds.
    pub(crate) fn overdue_us(&self, now_us: u64) -> Option<u64> {
        self.times.front().map(|(_, sent_us)| now_us.saturating_sub(*sent_us))
    }

    /// True once when the backup needs everything.
    pub(crate) fn take_wants_seed(&mut self) -> bool {
        std::mem::take(&mut self.wants_seed)
    }

    /// Begins anew with the whole server.
    pub(crate) fn seed(&mut self, tick: Tick, bytes: &[u8]) {
        // Numbers go on, so that no piece of before can be mistaken for one of these.
        self.drop_queue();
        (self.sent_at, self.still, self.patience) = (tick, 0, PATIENCE_TICKS_MIN);
        self.snapshot_at = tick;
        self.seeds += 1;
        for piece in cut(PieceKind::Seed, tick, bytes, PIECE_BYTES_MAX / 2) {
            self.push(piece);
        }
        (self.seed_pieces, self.seed_bytes) = (self.queue.len(), self.queue_bytes);
    }

    /// True when it is time for a fresh snapshot.
    pub(crate) fn snapshot_due(&self, tick: Tick, every: u64) -> bool {
        self.writing && !self.wants_seed && self.trickle.is_empty() && tick.since(self.snapshot_at) >= every
    }

    /// A fresh snapshot, to go slowly between ticks.
    pub(crate) fn snapshot(&mut self, tick: Tick, bytes: &[u8]) {
        self.snapshot_at = tick;
        let size = (bytes.len() / TRICKLE_TICKS).clamp(TRICKLE_BYTES, PIECE_BYTES_MAX);
        self.trickle.extend(cut(PieceKind::Snapshot, tick, bytes, size));
    }

    /// Writes down a tick, unless no backup listens or it waits for a seed, which will have the tick in it.
    pub(crate) fn write(&mut self, tick: Tick, bytes: &[u8]) {
        if !self.writing || self.wants_seed {
            return;
        }
        self.records += 1;
        for piece in cut(PieceKind::Tick, tick, bytes, PIECE_BYTES_MAX) {
            self.push(piece);
        }
        if let Some(part) = self.trickle.pop_front() {
            self.push(part);
        }
        let (pieces, bytes) = (self.queue.len() - self.seed_pieces, self.queue_bytes - self.seed_bytes);
        if pieces > BACKLOG_TICKS_MAX + PIECES_MAX || bytes > BACKLOG_BYTES_MAX {
            self.writing = false;
            self.drop_queue();
        }
    }

    /// What to send now: the number of the first piece, and the pieces.
    pub(crate) fn poll(&mut self, now: Tick) -> (u64, Vec<Piece>) {
        let oldest = self.last - self.queue.len() as u64 + 1;
        let next = self.next.max(oldest);
        let under_way: usize = self.queue.iter().take((next - oldest) as usize).map(|piece| piece.bytes.len()).sum();
        self.still = if now == self.polled { self.still + 1 } else { 0 };
        self.polled = now;
        let first = if self.queue_bytes <= REPEATED_BYTES {
            (self.sent_at, self.still) = (now, 0);
            oldest
        } else if now.since(self.sent_at) + self.still >= self.patience {
            self.patience = (self.patience * 2).clamp(PATIENCE_TICKS_MIN, PATIENCE_TICKS_MAX);
            (self.sent_at, self.still) = (now, 0);
            oldest
        } else if under_way < WINDOW_BYTES {
            next
        } else {
            return (next, Vec::new());
        };
        let mut pieces: Vec<Piece> = Vec::new();
        let mut bytes = 0;
        for piece in self.queue.iter().skip((first - oldest) as usize).take(PIECES_MAX) {
            bytes += piece.bytes.len();
            if bytes > FRAME_BYTES && !pieces.is_empty() {
                break;
            }
            pieces.push(piece.clone());
        }
        self.bytes_sent += pieces.iter().map(|piece| piece.bytes.len() as u64).sum::<u64>();
        self.next = first + pieces.len() as u64;
        self.sent = self.sent.max(self.next - 1);
        (first, pieces)
    }

    /// The life of the backup that is written to.
    pub(crate) fn life(&self) -> u32 {
        self.life
    }

    /// The last tick that the present backup has; none until it has been given everything.
    pub(crate) fn kept_by_backup(&self) -> Option<Tick> {
        (self.writing && self.life > 0 && self.seeded == self.life).then_some(self.kept)
    }

    /// The last tick that is kept.
    pub(crate) fn kept(&self) -> Tick {
        self.kept
    }

    /// Notes how far each lane had taken effect after a tick.
    pub(crate) fn note_marks(&mut self, era: u16, tick: Tick, marks: impl Iterator<Item = (Address, u64)>) {
        if era != self.era {
            // Lanes begin anew with every world.
            self.era = era;
            self.marks.clear();
            self.ackable.clear();
            self.owed.clear();
        }
        for (peer, mark) in marks {
            let noted = self.marks.entry(peer).or_default();
            let known = noted.back().map(|(_, mark)| *mark).or(self.ackable.get(&peer).copied()).unwrap_or(0);
            if mark > known {
                noted.push_back((tick, mark));
            }
        }
        self.release_marks();
    }

    /// How far the lane from a peer may be acknowledged, and whether that is news to it.
    pub(crate) fn owed_ack(&mut self, peer: Address) -> (u64, bool) {
        (self.ackable.get(&peer).copied().unwrap_or(0), self.owed.remove(&peer))
    }

    fn release_marks(&mut self) {
        for (&peer, noted) in &mut self.marks {
            while let Some((_, mark)) = noted.pop_front_if(|(tick, _)| *tick <= self.kept) {
                self.ackable.insert(peer, mark);
                self.owed.insert(peer);
            }
        }
    }

    /// Forgets all that was written. What was not sent never will be.
    fn drop_queue(&mut self) {
        self.trickle.clear();
        self.queue.clear();
        self.times.clear();
        (self.queue_bytes, self.seed_pieces, self.seed_bytes) = (0, 0, 0);
        self.sent = self.last;
        self.next = self.last + 1;
    }

    fn push(&mut self, piece: Piece) {
        self.last += 1;
        self.queue_bytes += piece.bytes.len();
        self.queue.push_back(piece);
    }
}

/// A record as pieces of a size.
fn cut(kind: PieceKind, tick: Tick, bytes: &[u8], size: usize) -> impl Iterator<Item = Piece> {
    let count = bytes.len().div_ceil(size).max(1);
    (0..count).map(move |i| Piece {
        kind,
        tick,
        begins: i == 0,
        ends: i + 1 == count,
        bytes: bytes[(i * size).min(bytes.len())..((i + 1) * size).min(bytes.len())].to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listening() -> RecordStream {
        let mut stream = RecordStream::default();
        assert!(stream.hear(1, 0) && stream.take_wants_seed());
        stream.seed(Tick(0), &[1; 10]);
        stream
    }

    #[test]
    fn what_is_small_is_repeated_until_it_is_kept() {
        let mut stream = listening();
        stream.write(Tick(1), &[2; 10]);
        let (first, pieces) = stream.poll(Tick(1));
        assert_eq!((first, pieces.len()), (1, 2));
        stream.write(Tick(2), &[3; 10]);
        assert_eq!(stream.poll(Tick(2)).1.len(), 3);
        assert!(stream.hear(1, 2));
        assert_eq!((stream.kept(), stream.poll(Tick(2)).0), (Tick(1), 3));
    }

    #[test]
    fn what_is_large_is_sent_once_and_again_with_growing_patience() {
        let mut stream = listening();
        stream.write(Tick(1), &[2; 3 * PIECE_BYTES_MAX]);
        let sent: Vec<(u64, usize)> = (1..40).map(|t| stream.poll(Tick(t))).map(|(f, p)| (f, p.len())).collect();
        let again = sent.iter().filter(|(first, pieces)| *first == 1 && *pieces > 0).count();
        assert!((2..=5).contains(&again), "{sent:?}");
        assert_eq!(stream.last, 4);
        assert!(stream.hear(1, 4) && stream.kept() == Tick(1));
    }

    #[test]
    fn what_is_lost_comes_again_while_time_stands_still() {
        let mut stream = listening();
        stream.write(Tick(1), &[2; 8 * PIECE_BYTES_MAX]);
        let (first, lost) = stream.poll(Tick(1));
        assert!(first == 1 && !lost.is_empty());
        let mut upto = 0;
        for _ in 0..100 {
            let (first, pieces) = stream.poll(Tick(1));
            // The backup takes pieces in sequence only.
            if first <= upto + 1 {
                upto = upto.max(first + pieces.len() as u64 - 1);
            }
            assert!(stream.hear(1, upto));
        }
        assert_eq!((stream.kept(), stream.queue.len()), (Tick(1), 0));
    }

    #[test]
    fn what_is_kept_in_time_is_sent_once() {
        let mut stream = listening();
        let mut sent = 0;
        for t in 1..100 {
            stream.write(Tick(t), &[2; 4 * REPEATED_BYTES]);
            sent += stream.poll(Tick(t)).1.len();
            // Each answer takes two ticks; the seed was the first piece.
            stream.hear(1, t.saturating_sub(1));
        }
        assert_eq!(sent, 100);
    }

    #[test]
    fn answers_that_cannot_be_are_void_and_a_new_backup_is_seeded() {
        let mut stream = listening();
        stream.poll(Tick(1));
        assert!(!stream.hear(1, 2), "never sent");
        assert!(stream.hear(3, 0) && stream.take_wants_seed());
        assert!(!stream.hear(1, 1), "replaced");
        stream.seed(Tick(5), &[7; 3]);
        let (first, pieces) = stream.poll(Tick(5));
        assert_eq!((first, pieces.len(), pieces[0].tick), (2, 1, Tick(5)));
    }

    #[test]
    fn a_snapshot_goes_between_ticks_and_does_not_hold_them_up() {
        let mut stream = listening();
        assert!(!stream.snapshot_due(Tick(9), 10) && stream.snapshot_due(Tick(10), 10));
        stream.snapshot(Tick(10), &[1; 20_000]);
        for t in 11..14 {
            stream.write(Tick(t), &[2; 5]);
        }
        let kinds: Vec<PieceKind> = stream.queue.iter().map(|piece| piece.kind).collect();
        use PieceKind::{Seed, Snapshot, Tick as Of};
        assert_eq!(kinds, [Seed, Of, Snapshot, Of, Snapshot, Of, Snapshot]);
        assert!(stream.queue[6].ends && !stream.queue[4].ends);
    }

    #[test]
    fn marks_are_acknowledged_when_their_tick_is_kept() {
        let mut stream = listening();
        let peer = Address::Region(nimbus_model::RegionId(1));
        stream.write(Tick(1), &[0]);
        stream.note_marks(1, Tick(1), [(peer, 5)].into_iter());
        stream.poll(Tick(1));
        assert_eq!(stream.owed_ack(peer), (0, false));
        stream.hear(1, 2);
        assert_eq!(stream.owed_ack(peer), (5, true));
        assert_eq!(stream.owed_ack(peer), (5, false));
        stream.note_marks(2, Tick(2), [].into_iter());
        assert_eq!(stream.owed_ack(peer), (0, false), "another world, other lanes");
    }

    #[test]
    fn a_backup_that_is_gone_is_not_written_to_for_ever() {
        let mut stream = listening();
        for t in 1..10_000 {
            stream.write(Tick(t), &[0; 10]);
            stream.poll(Tick(t));
            assert!(stream.queue.len() <= BACKLOG_TICKS_MAX + PIECES_MAX + 1);
        }
        assert!(!stream.writing);
        assert!(stream.hear(1, 1) && stream.take_wants_seed(), "and is seeded again when it answers");
    }

    #[test]
    fn a_server_of_any_size_can_seed_a_backup() {
        let mut stream = RecordStream::default();
        assert!(stream.hear(1, 0) && stream.take_wants_seed());
        let many = (BACKLOG_TICKS_MAX + PIECES_MAX) * PIECE_BYTES_MAX / 2;
        stream.seed(Tick(0), &vec![1; many.max(BACKLOG_BYTES_MAX) + (1 << 20)]);
        stream.write(Tick(1), &[2; 10]);
        assert!(stream.writing && stream.kept_by_backup().is_none());
        for _ in 0..1_000 {
            let (first, pieces) = stream.poll(Tick(1));
            assert!(stream.hear(1, first + pieces.len() as u64 - 1));
            if stream.queue.is_empty() {
                break;
            }
        }
        assert_eq!((stream.kept_by_backup(), stream.seeds), (Some(Tick(1)), 1));
        assert_eq!((stream.seed_pieces, stream.seed_bytes), (0, 0));
    }

    #[test]
    fn nobody_waits_for_ever_for_a_seed_to_be_kept() {
        let mut stream = RecordStream::default();
        assert!(stream.hear(1, 0) && stream.take_wants_seed());
        stream.seed(Tick(0), &vec![1; BACKLOG_BYTES_MAX + 1]);
        let ticks = (BACKLOG_TICKS_MAX + PIECES_MAX) as u64 + 1;
        (1..=ticks).for_each(|t| stream.write(Tick(t), &[0; 10]));
        assert!(!stream.writing && stream.queue.is_empty());
    }
}
