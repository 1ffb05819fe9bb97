//! The sending end of a stream.

use super::body::{self, Known};
use super::history::{History, SNAPSHOTS_KEPT, Snapshot};
use super::loss::Loss;
use super::model::Model;
use super::odds::Coder;
use super::plain_bits::BitWriter;
use super::prediction::Sample;
use super::range_coder::RangeWriter;
use super::scale::Scale;
use super::{BodyState, REPEATS, STREAM_BODIES_MAX, StreamConfig};
use crate::client::SLOT_LIMIT;

/// Snapshots that an encoder remembers whose transport loses nothing: the last, and the one in the making.
const RELIABLE_KEPT: u32 = 2;

/// Why a snapshot was not encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamEncodeError {
    /// More bodies than a snapshot holds.
    #[error("a snapshot holds at most {STREAM_BODIES_MAX} bodies")]
    Bodies,
    /// Slots beyond the limit, twice, or not in order.
    #[error("bodies must come in order of slot, each once")]
    Slots,
    /// A pose that no body can have.
    #[error("a body has a pose that is not finite, or no rotation")]
    Pose,
    /// A sequence number that is not above the one before.
    #[error("sequence numbers must rise")]
    Sequence,
}

/// Encodes one stream: what one client is sent.
#[derive(Clone, Debug)]
pub struct StreamEncoder {
    scale: Scale,
    sent: History,
    newest: Option<u32>,
    acknowledged: Option<u32>,
    spare: Option<Box<Snapshot>>,
    loss: Loss,
    /// What the last packet was about, where it may be repeated, and room for coding that again.
    last: Vec<BodyState>,
    again: Box<Snapshot>,
}

impl StreamEncoder {
    /// A stream of which nothing was sent.
    pub fn new(config: StreamConfig) -> StreamEncoder {
        StreamEncoder {
            scale: Scale::new(config),
            sent: History::new(),
            newest: None,
            acknowledged: None,
            spare: None,
            loss: Loss::default(),
            last: Vec::new(),
            again: Box::new(Snapshot::empty()),
        }
    }

    /// A stream over a transport that loses nothing: every packet goes on from the one before, and nothing has to be
    /// acknowledged. Takes little memory. Sequence numbers must not leave any out.
    pub fn reliable(config: StreamConfig) -> StreamEncoder {
        StreamEncoder { sent: History::of(RELIABLE_KEPT), ..StreamEncoder::new(config) }
    }

    /// The next packet goes on from nothing, so that somebody who has none of those before it can begin there.
    pub fn restart(&mut self) {
        self.acknowledged = None;
    }

    /// Appends the snapshot of a tick as one packet. `sequence` counts ticks: bodies are taken to move steadily in it.
    /// Bodies come in order of slot; those that are not among them are gone.
    pub fn encode(&mut self, sequence: u32, bodies: &[BodyState], out: &mut Vec<u8>) -> Result<(), StreamEncodeError> {
        if bodies.len() > STREAM_BODIES_MAX {
            return Err(StreamEncodeError::Bodies);
        }
        let in_order = bodies.windows(2).all(|pair| pair[0].slot < pair[1].slot);
        if !in_order || bodies.last().is_some_and(|body| body.slot >= SLOT_LIMIT) {
            return Err(StreamEncodeError::Slots);
        }
        if !bodies.iter().all(|body| body.pose.is_valid()) {
            return Err(StreamEncodeError::Pose);
        }
        if self.newest.is_some_and(|newest| newest >= sequence) {
            return Err(StreamEncodeError::Sequence);
        }
        let mut now = self.spare.take().unwrap_or_else(|| Box::new(Snapshot::empty()));
        now.sequence = sequence;
        now.samples.clear();
        let base =
            self.acknowledged.filter(|acknowledged| sequence - acknowledged < SNAPSHOTS_KEPT.min(self.sent.kept()));
        let base = base.and_then(|acknowledged| self.sent.get(acknowledged));
        let ticks = base.map_or(0, |base| sequence - base.sequence);
        now.model.clone_from(base.map_or(&Model::FRESH, |base| &base.model));
        let follows = sequence > 0 && self.newest == Some(sequence - 1);
        let repeats = self.scale.config.techniques.repeats && self.loss.is_felt() && follows && ticks > 1;
        out.extend_from_slice(&sequence.to_le_bytes());
        out.push(ticks as u8 | if repeats { REPEATS } else { 0 });
        let before = base.map_or(&[][..], |base| &base.samples);
        let repeated = repeats.then_some((&mut *self.again, &self.last[..]));
        if self.scale.config.techniques.entropy {
            let mut writer = RangeWriter::new(out);
            write_packet(&self.scale, &mut now, &mut writer, (before, ticks), bodies, repeated)?;
            writer.finish();
        } else {
            let mut writer = BitWriter::new(out);
            write_packet(&self.scale, &mut now, &mut writer, (before, ticks), bodies, repeated)?;
            writer.finish();
        }
        self.newest = Some(sequence);
        if self.sent.kept() == RELIABLE_KEPT {
            self.acknowledged = Some(sequence);
        } else if self.scale.config.techniques.repeats {
            self.last.clear();
            self.last.extend_from_slice(bodies);
        }
        self.spare = self.sent.keep(now);
        Ok(())
    }

    /// Appends a snapshot with the number after the last one, as [`StreamEncoder::encode`] does.
    pub fn encode_next(&mut self, bodies: &[BodyState], out: &mut Vec<u8>) -> Result<(), StreamEncodeError> {
        self.encode(self.newest.map_or(0, |newest| newest.wrapping_add(1)), bodies, out)
    }

    /// The client has the snapshot of this number. Numbers of snapshots that were never sent, or long ago, are ignored.
    pub fn acknowledge(&mut self, sequence: u32) {
        if self.sent.get(sequence).is_some() {
            self.acknowledged = self.acknowledged.max(Some(sequence));
            self.loss.acknowledged(sequence);
        }
    }
}

/// A snapshot, and ahead of it the one before where that is repeated: then the snapshot goes on from there.
fn write_packet(
    scale: &Scale,
    now: &mut Snapshot,
    coder: &mut impl Coder,
    (before, ticks): (&[Sample], u32),
    bodies: &[BodyState],
    repeated: Option<(&mut Snapshot, &[BodyState])>,
) -> Result<(), StreamEncodeError> {
    let Some((again, last)) = repeated else { return write(scale, now, coder, before, ticks, bodies) };
    again.samples.clear();
    again.model.clone_from(&now.model);
    write(scale, again, coder, before, ticks - 1, last)?;
    now.model.clone_from(&again.model);
    write(scale, now, coder, &again.samples, 1, bodies)
}

fn write(
    scale: &Scale,
    now: &mut Snapshot,
    coder: &mut impl Coder,
    before: &[Sample],
    ticks: u32,
    bodies: &[BodyState],
) -> Result<(), StreamEncodeError> {
    let Snapshot { samples, model, .. } = now;
    model.count.code(coder, bodies.len() as i32 - before.len() as i32, 0);
    let mut rest = before;
    let (mut neighbour, mut neighbour_stays, mut next_slot) = (Sample::ORIGIN, false, 0);
    for body in bodies {
        if scale.config.techniques.quantised {
            model.gap.code(coder, (body.slot - next_slot) as i32, 0);
        } else {
            coder.plain(32, body.slot);
        }
        next_slot = body.slot + 1;
        let earlier = rest.iter().take_while(|sample| sample.slot < body.slot).count();
        rest = &rest[earlier..];
        let base = rest.first().filter(|sample| sample.slot == body.slot);
        let known = Known { before: base.map(|sample| (sample, ticks)), neighbour: &neighbour, neighbour_stays };
        let truth = scale.sample(body);
        let coded = body::code(scale, model, coder, known, Some(&truth));
        let (sample, stays) = coded.map_err(|body::Nonsense| StreamEncodeError::Pose)?;
        (neighbour, neighbour_stays) = (Sample { slot: body.slot, ..sample }, stays);
        samples.push(neighbour);
    }
    Ok(())
}
