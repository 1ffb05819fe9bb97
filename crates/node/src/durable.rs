//! A server whose word outlives its process: it writes every tick down for its backup, and lets nothing from a
//! neighbour take effect, and acknowledges nothing, before the backups concerned have it.

use nimbus_model::{Nid, Origin, Tick, coding};
use nimbus_wire::{Address, Content, Frame, Records};

use crate::breach::Factor;
use crate::config::Planted;
use crate::inbox::{Gate, Input};
use crate::node::Node;
use crate::record_stream::RecordStream;

/// How well a server's word is kept, for metrics and for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Durability {
    /// Ticks written down by this process.
    pub records: u64,
    /// How often a backup was given everything.
    pub seeds: u64,
    /// Bytes sent to the backup, repetitions included.
    pub bytes_sent: u64,
    /// The life of the backup that is written to; zero for none.
    pub life: u32,
    /// The last tick that it has. None until it has been given everything: then the region is protected.
    pub kept: Option<Tick>,
    /// By how many ticks the backup is behind.
    pub lag_ticks: u64,
    /// Items from neighbours that wait until it is certain that they will stand.
    pub commits_waiting: usize,
    /// How often a backup has taken over this region.
    pub promotions: u32,
}

impl Node {
    /// How well its word is kept.
    pub fn durability(&self) -> Durability {
        Durability {
            records: self.stream.records,
            seeds: self.stream.seeds,
            bytes_sent: self.stream.bytes_sent,
            life: self.stream.life(),
            kept: self.stream.kept_by_backup(),
            lag_ticks: if self.config.durable { self.now.since(self.stream.kept()) } else { 0 },
            commits_waiting: self.inbox.uncertain(self.gate()),
            promotions: self.epoch - 1,
        }
    }

    /// Takes what backups say; any other frame is handed back.
    pub(crate) fn hear_backup(&mut self, frame: Frame) -> Option<Frame> {
        let for_me = frame.to == Address::Region(self.config.region);
        let heard = match (frame.from, &frame.content) {
            (Address::Backup(region), Content::Kept(kept)) => {
                let mine = for_me && region == self.config.region && kept.epoch == self.epoch;
                let heard = mine && self.stream.hear(frame.epoch, kept.upto);
                let took = self.stream.take_commit_us(self.clock_us);
                took.into_iter().for_each(|us| self.time_commit(us));
                heard
            }
            (Address::Backup(region), Content::Commit(commit)) if for_me && region == commit.region => {
                self.inbox.note_commit(*commit);
                true
            }
            (_, Content::Kept(_) | Content::Commit(_)) => false,
            _ => return Some(frame),
        };
        self.counters.frames_void += u64::from(!heard);
        None
    }

    /// What must be known about an item before it may take effect.
    pub(crate) fn gate(&self) -> Gate {
        match self.config.planted {
            _ if !self.config.durable => Gate::Open,
            Some(Planted::AdoptWithoutCommit) => Gate::Open,
            Some(Planted::CommitWithoutEpoch) => Gate::CommittedInAnyLife,
            _ => Gate::Committed,
        }
    }

    /// How far the backup has come, when that is news. It enters as an input, since it decides about grants.
    pub(crate) fn kept_input(&self) -> Option<Input> {
        let upto = self.stream.kept();
        (self.config.durable && upto > self.kept).then_some(Input::Kept { upto })
    }

    /// True when the backup is so far behind that what is given away now would wait for it.
    pub(crate) fn backup_is_silent(&self) -> bool {
        self.config.durable && self.now.since(self.kept) > self.config.silence_ticks
    }

    /// Writes a tick down.
    pub(crate) fn record(&mut self, tick: Tick, inputs: &[Input]) {
        if !self.config.durable {
            return;
        }
        self.stream.note_marks(self.era, tick, self.inbox.marks());
        let bytes = coding::write(&(tick, inputs));
        self.stream.write(tick, &bytes);
        if self.stream.snapshot_due(tick, self.config.snapshot_ticks) {
            let bytes = self.snapshot();
            self.stream.snapshot(tick, &bytes);
        }
    }

    /// How far the lane from a peer may be acknowledged, and whether the peer should be told.
    pub(crate) fn owed_ack(&mut self, peer: Address) -> (u64, bool) {
        let (mark, owed) = self.inbox.owed_ack(peer);
        if !self.config.durable || self.config.planted == Some(Planted::AckBeforeKept) {
            return (mark, owed);
        }
        let (ackable, news) = self.stream.owed_ack(peer);
        (ackable, owed || news)
    }

    /// Sends the backup what it does not have yet.
    pub(crate) fn emit_records(&mut self, out: &mut Vec<Frame>) {
        if !self.config.durable {
            return;
        }
        if self.stream.take_wants_seed() {
            let stale = self.former_seed.take().filter(|_| self.config.planted == Some(Planted::StaleSeed));
            let bytes = stale.unwrap_or_else(|| self.snapshot());
            self.stream.seed(self.now, &bytes);
            if self.config.planted == Some(Planted::StaleSeed) {
                self.former_seed = Some(bytes);
            }
        }
        let overdue = self.stream.overdue_us(self.clock_us);
        let (first, pieces) = self.stream.poll(self.now);
        if self.clock_us > 0 {
            self.stream.note_sent(self.clock_us);
            overdue.into_iter().for_each(|us| self.measure(Factor::Commit, us));
        }
        let awaiting = self.outbox.lengths().filter(|(_, length, _)| *length > 0).map(|(peer, ..)| peer).collect();
        let records = Records { life: self.stream.life(), first, pieces, awaiting };
        let frame = self.frame(Address::Backup(self.config.region), Content::Records(records));
        // A backup answers each of them, so commits go out as often.
        out.extend(std::iter::repeat_n(frame, usize::from(self.config.aura.copies.max(1))));
    }

    /// Turns the copy that a backup of this life kept into a server of the next epoch. It names what it makes by a
    /// new origin, and waits to be told which changes of the whole world are still to come.
    pub(crate) fn take_over(&mut self, epoch: u32, origin: Origin, life: u32) {
        self.epoch = epoch;
        self.config.origin = origin;
        self.changes.clear();
        self.take_events();
        self.take_breaches();
        self.take_log();
        // What was certain by then, the former process has handed out.
        self.take_contacts();
        self.take_game_events();
        self.moved.clear();
        self.outbox.resume();
        self.stream = RecordStream::after(life);
        self.stream.note_marks(self.era, self.now, self.inbox.marks());
        // Gateways may have seen motion that is now undone. What is awake will say where it is; what sleeps must, too.
        let asleep: Vec<Nid> = self.hosted.iter().map(|(nid, _)| nid).filter(|nid| self.sleeps(*nid)).collect();
        self.tell_rested(&asleep);
    }

    pub(crate) fn sleeps(&self, nid: Nid) -> bool {
        self.physics.motion(nid).is_some_and(|motion| motion.sleeping)
    }
}
