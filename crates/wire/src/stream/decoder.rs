//! The receiving end of a stream.

use super::body::{self, Known};
use super::history::{History, SNAPSHOTS_KEPT, Snapshot};
use super::model::Model;
use super::odds::Coder;
use super::plain_bits::BitReader;
use super::prediction::Sample;
use super::range_coder::RangeReader;
use super::scale::Scale;
use super::{BodyState, REPEATS, STREAM_BODIES_MAX, StreamConfig};
use crate::client::SLOT_LIMIT;

/// Sequence number and age of the snapshot that a packet goes on from.
const HEAD_BYTES: usize = 5;

/// Why a packet was not decoded. The stream goes on with the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamDecodeError {
    /// It is not as long as what is in it.
    #[error("the packet is longer or shorter than what is in it")]
    Length,
    /// A snapshot that was decoded before, or is too old to be remembered.
    #[error("the snapshot is not new")]
    Late,
    /// It goes on from a snapshot that is not known here.
    #[error("the packet goes on from a snapshot that is not known")]
    Base,
    /// Too many bodies, a slot beyond the limit, or a pose that no body can have.
    #[error("the packet has a number, a slot or a pose that cannot be")]
    Value,
}

/// One snapshot as the client has it.
#[derive(Clone, Copy, Debug)]
pub struct Decoded<'a> {
    /// Its number; to be acknowledged.
    pub sequence: u32,
    scale: &'a Scale,
    samples: &'a [Sample],
}

impl<'a> Decoded<'a> {
    /// All bodies there are, in order of slot.
    pub fn bodies(&self) -> impl ExactSizeIterator<Item = BodyState> + 'a {
        let scale = self.scale;
        self.samples.iter().map(move |sample| scale.body(sample))
    }
}

/// Decodes one stream.
#[derive(Clone, Debug)]
pub struct StreamDecoder {
    scale: Scale,
    known: History,
    /// Snapshots whose own packets did not arrive, as the packets after them have them.
    repeated: History,
    spare: Option<Box<Snapshot>>,
}

impl StreamDecoder {
    /// A stream of which nothing has arrived. The config must be the encoder's.
    pub fn new(config: StreamConfig) -> StreamDecoder {
        StreamDecoder { scale: Scale::new(config), known: History::new(), repeated: History::new(), spare: None }
    }

    /// Decodes a packet. Whatever the bytes are, it takes no more memory than a snapshot of [`STREAM_BODIES_MAX`] bodies
    /// does, and an error leaves everything as it was.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<Decoded<'_>, StreamDecodeError> {
        let (head, rest) = bytes.split_at_checked(HEAD_BYTES).ok_or(StreamDecodeError::Length)?;
        let sequence = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        let (ticks, repeats) = (u32::from(head[4] & !REPEATS), head[4] & REPEATS != 0);
        if self.known.is_late(sequence) {
            return Err(StreamDecodeError::Late);
        }
        let base = match ticks {
            0 if !repeats => None,
            1 if repeats => return Err(StreamDecodeError::Base),
            1..SNAPSHOTS_KEPT => {
                let base = sequence.checked_sub(ticks).and_then(|base| self.known.get(base));
                Some(base.ok_or(StreamDecodeError::Base)?)
            }
            _ => return Err(StreamDecodeError::Base),
        };
        let mut now = self.spare.take().unwrap_or_else(|| Box::new(Snapshot::empty()));
        now.sequence = sequence;
        now.samples.clear();
        now.model.clone_from(base.map_or(&Model::FRESH, |base| &base.model));
        let before = base.map_or(&[][..], |base| &base.samples);
        let mut again = repeats.then(|| Box::new(Snapshot { sequence: sequence - 1, ..Snapshot::empty() }));
        let repeated = again.as_deref_mut();
        let read = if self.scale.config.techniques.entropy {
            let mut reader = RangeReader::new(rest);
            let overrun = RangeReader::overrun;
            let read = read_packet(&self.scale, &mut now, &mut reader, (before, ticks), repeated, overrun);
            read.and(if reader.complete() { Ok(()) } else { Err(StreamDecodeError::Length) })
        } else {
            let mut reader = BitReader::new(rest);
            let overrun = BitReader::overrun;
            let read = read_packet(&self.scale, &mut now, &mut reader, (before, ticks), repeated, overrun);
            read.and(if reader.complete() { Ok(()) } else { Err(StreamDecodeError::Length) })
        };
        if let Err(error) = read {
            self.spare = Some(now);
            return Err(error);
        }
        self.spare = self.known.keep(now);
        if let Some(again) = again
            && self.known.get(again.sequence).is_none()
        {
            self.spare = self.repeated.keep(again).or(self.spare.take());
        }
        let now = self.known.get(sequence).ok_or(StreamDecodeError::Late)?;
        Ok(Decoded { sequence, scale: &self.scale, samples: &now.samples })
    }

    /// A snapshot that arrived earlier, by itself or with the one after it, as long as it is remembered.
    pub fn snapshot(&self, sequence: u32) -> Option<Decoded<'_>> {
        let known = self.known.get(sequence).or_else(|| self.repeated.get(sequence))?;
        Some(Decoded { sequence, scale: &self.scale, samples: &known.samples })
    }
}

/// A snapshot, and ahead of it the one before where that is repeated.
fn read_packet<C: Coder>(
    scale: &Scale,
    now: &mut Snapshot,
    coder: &mut C,
    (before, ticks): (&[Sample], u32),
    repeated: Option<&mut Snapshot>,
    overrun: fn(&C) -> bool,
) -> Result<(), StreamDecodeError> {
    let Some(again) = repeated else { return read(scale, now, coder, before, ticks, overrun) };
    again.model.clone_from(&now.model);
    read(scale, again, coder, before, ticks - 1, overrun)?;
    now.model.clone_from(&again.model);
    read(scale, now, coder, &again.samples, 1, overrun)
}

fn read<C: Coder>(
    scale: &Scale,
    now: &mut Snapshot,
    coder: &mut C,
    before: &[Sample],
    ticks: u32,
    overrun: fn(&C) -> bool,
) -> Result<(), StreamDecodeError> {
    let Snapshot { samples, model, .. } = now;
    let count = before.len() as i64 + i64::from(model.count.code(coder, 0, 0));
    let count = usize::try_from(count).ok().filter(|count| *count <= STREAM_BODIES_MAX);
    let count = count.ok_or(StreamDecodeError::Value)?;
    let mut rest = before;
    let (mut neighbour, mut neighbour_stays, mut next_slot) = (Sample::ORIGIN, false, 0u32);
    for _ in 0..count {
        let slot = if scale.config.techniques.quantised {
            let gap = u32::try_from(model.gap.code(coder, 0, 0)).map_err(|_| StreamDecodeError::Value)?;
            next_slot.checked_add(gap)
        } else {
            Some(coder.plain(32, 0)).filter(|slot| *slot >= next_slot)
        };
        let slot = slot.filter(|slot| *slot < SLOT_LIMIT).ok_or(StreamDecodeError::Value)?;
        next_slot = slot + 1;
        let earlier = rest.iter().take_while(|sample| sample.slot < slot).count();
        rest = &rest[earlier..];
        let base = rest.first().filter(|sample| sample.slot == slot);
        let known = Known { before: base.map(|sample| (sample, ticks)), neighbour: &neighbour, neighbour_stays };
        let (sample, stays) =
            body::code(scale, model, coder, known, None).map_err(|body::Nonsense| StreamDecodeError::Value)?;
        if overrun(coder) {
            return Err(StreamDecodeError::Length);
        }
        (neighbour, neighbour_stays) = (Sample { slot, ..sample }, stays);
        samples.push(neighbour);
    }
    Ok(())
}
