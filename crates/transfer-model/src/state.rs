//! What the model remembers: the log of every writer there ever was, and how far its backup followed.
//!
//! The network is not stored. A message is a consequence of a log, so "was sent once" can be read off the logs, and
//! whatever was sent once may arrive now, later, again, or never. That is loss, duplication, and reordering in full.

use std::sync::Arc;

/// A region, counted from 0.
pub type RegionId = u8;
/// A body, counted from 0.
pub type BodyId = u8;

/// Most regions a model may have; views keep arrays of this size.
pub const REGIONS_MAX: usize = 3;
/// Most bodies a model may have; views keep arrays of this size.
pub const BODIES_MAX: usize = 2;

/// The whole world of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// Where each body is at the start, before any log record.
    pub homes: [RegionId; BODIES_MAX],
    /// Shared, because one step changes one region and copies must be cheap.
    pub regions: Vec<Arc<Region>>,
}

/// A region: the writers it has had, oldest first. The last one is current, all others are zombies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    /// Never empty.
    pub writers: Vec<Writer>,
}

/// One process that writes the log of a region, together with the backup that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Writer {
    /// The region epoch it puts on everything it sends.
    pub epoch: u8,
    /// Everything since the beginning of the world, as this writer sees it. The record at index `i` has number `i + 1`.
    pub log: Vec<Record>,
    /// How many records at the front of the log came from the sealed backup of the writer before.
    pub inherited: u8,
    /// What would be restored if this writer were given up now.
    pub backup: Backup,
}

/// The backup of one writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Backup {
    /// How many backups this writer has had; 0 means that the first one is not seeded yet and nothing can commit.
    pub generation: u8,
    /// Records up to this number are kept.
    pub kept: u8,
    /// Records below `kept` that are not there, one bit each. Only a broken backup has holes.
    pub holes: u32,
    /// The highest record number ever announced in a `Commit` and a `Kept`. Nobody can take an announcement back.
    pub told: u8,
}

/// One entry of a log: the state of a writer is a function of its records alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Record {
    /// The writer stopped owning a body and put it on a lane.
    Granted(Item),
    /// An item took effect: the mark of that lane moved and the body is owned here.
    Took {
        /// The region that sent the item.
        from: RegionId,
        /// The item.
        item: Item,
    },
    /// An item was not taken: the mark moved all the same, and the body goes back.
    Refused {
        /// The region that sent the item.
        from: RegionId,
        /// The sequence number of the refused item.
        seq: u8,
        /// The return, on the lane in the other direction.
        back: Item,
    },
    /// The receiver acknowledged a lane, so its items need not be sent again.
    Forgot {
        /// The region that acknowledged.
        to: RegionId,
        /// The acknowledged mark.
        upto: u8,
    },
}

/// A numbered item on the lane from the writer's region to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Item {
    /// The receiving region.
    pub to: RegionId,
    /// Its place on the lane, from 1.
    pub seq: u8,
    /// The body that moves.
    pub body: BodyId,
    /// The body's epoch once it has arrived.
    pub body_epoch: u8,
    /// A return cannot be refused, or it would have nowhere to go.
    pub is_return: bool,
}

impl Record {
    /// The item that this record makes the writer send, if any.
    pub fn sends(&self) -> Option<Item> {
        match *self {
            Record::Granted(item) | Record::Refused { back: item, .. } => Some(item),
            Record::Took { .. } | Record::Forgot { .. } => None,
        }
    }
}

impl Backup {
    /// A backup that holds records up to `upto` and has said so.
    pub fn seeded(upto: u8) -> Backup {
        Backup { generation: 1, kept: upto, holes: 0, told: upto }
    }

    /// No backup yet.
    pub fn missing() -> Backup {
        Backup { generation: 0, kept: 0, holes: 0, told: 0 }
    }

    /// Whether it holds everything it needs to stand in for its writer.
    pub fn is_seeded(&self) -> bool {
        self.generation > 0
    }

    /// Whether it holds the record of this number.
    pub fn holds(&self, number: u8) -> bool {
        self.is_seeded() && number <= self.kept && self.holes & (1 << number) == 0
    }
}

impl Writer {
    /// The first writer of a region, with an empty log and a backup that knows as much.
    pub fn first() -> Writer {
        Writer { epoch: 0, log: Vec::new(), inherited: 0, backup: Backup::seeded(0) }
    }

    /// The number of its latest record.
    pub fn last_number(&self) -> u8 {
        self.log.len() as u8
    }

    /// The records its backup holds, in order: what a successor starts from.
    pub fn held(&self) -> impl Iterator<Item = &Record> {
        self.log.iter().zip(1..).filter(|(_, number)| self.backup.holds(*number)).map(|(record, _)| record)
    }

    /// Every item this writer ever sent, with the number of the record that covers it. What its predecessor had
    /// already forgotten was never sent under this epoch.
    pub fn sent(&self) -> impl Iterator<Item = (u8, Item)> {
        let settled = |item: &Item| {
            self.log[..usize::from(self.inherited)]
                .iter()
                .any(|record| matches!(record, Record::Forgot { to, upto } if *to == item.to && item.seq <= *upto))
        };
        let items = self.log.iter().zip(1..).filter_map(|(record, number)| Some((number, record.sends()?)));
        items.filter(move |(number, item)| *number > self.inherited || !settled(item))
    }

    /// Records that this writer added itself.
    pub fn own_records(&self) -> &[Record] {
        &self.log[usize::from(self.inherited)..]
    }
}

impl Region {
    /// The writer that counts.
    pub fn current(&self) -> &Writer {
        self.writers.last().expect("a region starts with a writer and never loses one")
    }

    /// The position of the writer that counts.
    pub fn current_index(&self) -> u8 {
        self.writers.len() as u8 - 1
    }
}

impl State {
    /// The world before anything happened.
    pub fn start(regions: u8, homes: [RegionId; BODIES_MAX]) -> State {
        let region = Arc::new(Region { writers: vec![Writer::first()] });
        State { homes, regions: vec![region; usize::from(regions)] }
    }

    /// All regions with their numbers.
    pub fn numbered(&self) -> impl Iterator<Item = (RegionId, &Region)> {
        (0..).zip(self.regions.iter().map(Arc::as_ref))
    }

    /// One region.
    pub fn region(&self, region: RegionId) -> &Region {
        &self.regions[usize::from(region)]
    }

    /// One writer.
    pub fn writer(&self, region: RegionId, writer: u8) -> &Writer {
        &self.region(region).writers[usize::from(writer)]
    }

    /// How often something was logged in the whole history, by zombies too. Bounds are counted with it, so that a
    /// bound needs no counter in the state.
    pub fn count_records(&self, wanted: impl Fn(&Record) -> bool) -> usize {
        let writers = self.regions.iter().flat_map(|region| &region.writers);
        writers.flat_map(Writer::own_records).filter(|record| wanted(record)).count()
    }
}
