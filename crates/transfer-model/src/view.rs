//! What a log says: a node's state is nothing but its records, folded in order.

use crate::state::{BODIES_MAX, BodyId, REGIONS_MAX, Record, RegionId, State, Writer};

/// The protocol state of a region according to some sequence of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Where each body is, as far as this log can tell.
    pub holdings: [Holding; BODIES_MAX],
    /// The highest epoch of each body that this log names.
    pub body_epochs: [u8; BODIES_MAX],
    /// Per sending region: the last item that was dealt with.
    pub marks: [u8; REGIONS_MAX],
    /// Per receiving region: the last number used.
    pub sent: [u8; REGIONS_MAX],
    /// Per receiving region: the last number acknowledged.
    pub forgotten: [u8; REGIONS_MAX],
    /// A record dealt with an item for the second time.
    pub repeats: bool,
    /// A body arrived with an epoch that was not above the one known here.
    pub goes_back: bool,
}

/// How a region stands to a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// Nothing of it is here.
    Absent,
    /// It is owned here.
    Owned,
    /// It was given away and the receiver has not acknowledged: the outbox still has it.
    Sent {
        /// The receiving region.
        to: RegionId,
        /// Its number on that lane.
        seq: u8,
    },
}

impl View {
    /// Folds records in order. `homes` says who owned what before the first record.
    pub fn of<'a>(
        region: RegionId,
        homes: &[RegionId; BODIES_MAX],
        records: impl IntoIterator<Item = &'a Record>,
    ) -> View {
        let mut view = View {
            holdings: homes.map(|home| if home == region { Holding::Owned } else { Holding::Absent }),
            body_epochs: [0; BODIES_MAX],
            marks: [0; REGIONS_MAX],
            sent: [0; REGIONS_MAX],
            forgotten: [0; REGIONS_MAX],
            repeats: false,
            goes_back: false,
        };
        for record in records {
            view.apply(record);
        }
        view
    }

    /// What a writer believes, kept or not.
    pub fn live(state: &State, region: RegionId, writer: u8) -> View {
        View::of(region, &state.homes, &state.writer(region, writer).log)
    }

    /// What would be left of a region if its current writer stopped now. A writer whose first backup is not seeded is
    /// the only copy, and its loss would be a second fault at once, which no protocol with one backup survives.
    pub fn durable(state: &State, region: RegionId) -> View {
        let current = state.region(region).current();
        if current.backup.is_seeded() {
            View::of(region, &state.homes, current.held())
        } else {
            View::of(region, &state.homes, &current.log)
        }
    }

    /// What a writer has been told is safe: only this may be acknowledged.
    pub fn told(state: &State, region: RegionId, writer: &Writer) -> View {
        View::of(region, &state.homes, &writer.log[..usize::from(writer.backup.told)])
    }

    /// Whether the body is owned.
    pub fn owns(&self, body: BodyId) -> bool {
        self.holdings[usize::from(body)] == Holding::Owned
    }

    fn apply(&mut self, record: &Record) {
        match *record {
            Record::Granted(_) => {}
            Record::Took { from, item } => {
                self.pass(from, item.seq);
                self.goes_back |= item.body_epoch <= self.body_epochs[usize::from(item.body)];
                self.body_epochs[usize::from(item.body)] = item.body_epoch;
                self.holdings[usize::from(item.body)] = Holding::Owned;
            }
            Record::Refused { from, seq, .. } => self.pass(from, seq),
            Record::Forgot { to, upto } => {
                self.forgotten[usize::from(to)] = upto;
                for holding in &mut self.holdings {
                    if matches!(holding, Holding::Sent { to: other, seq } if *other == to && *seq <= upto) {
                        *holding = Holding::Absent;
                    }
                }
            }
        }
        if let Some(item) = record.sends() {
            self.sent[usize::from(item.to)] = item.seq;
            self.body_epochs[usize::from(item.body)] = item.body_epoch;
            self.holdings[usize::from(item.body)] = Holding::Sent { to: item.to, seq: item.seq };
        }
    }

    fn pass(&mut self, from: RegionId, seq: u8) {
        let mark = &mut self.marks[usize::from(from)];
        self.repeats |= seq <= *mark;
        *mark = seq.max(*mark);
    }
}
