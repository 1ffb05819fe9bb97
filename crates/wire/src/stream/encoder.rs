//! The sending end of a stream.

use super::body::{self, Known};
use super::history::{History, SNAPSHOTS_KEPT, Snapshot};
use super::model::Model;
use super::odds::Coder;
use super::plain_bits::BitWriter;
use super::prediction::Sample;
use super::range_coder::RangeWriter;
use super::scale::Scale;
use super::{BodyState, STREAM_BODIES_MAX, StreamConfig};
use crate::client::SLOT_LIMIT;

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
}

impl StreamEncoder {
    /// A stream of which nothing was sent.
    pub fn new(config: StreamConfig) -> StreamEncoder {
        StreamEncoder { scale: Scale::new(config), sent: History::new(), newest: None, acknowledged: None, spare: None }
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
        let base = self.acknowledged.filter(|acknowledged| sequence - acknowledged < SNAPSHOTS_KEPT);
        let base = base.and_then(|acknowledged| self.sent.get(acknowledged));
        let ticks = base.map_or(0, |base| sequence - base.sequence);
        now.model.clone_from(base.map_or(&Model::FRESH, |base| &base.model));
        out.extend_from_slice(&sequence.to_le_bytes());
        out.push(ticks as u8);
        let before = base.map_or(&[][..], |base| &base.samples);
        if self.scale.config.techniques.entropy {
            let mut writer = RangeWriter::new(out);
            write(&self.scale, &mut now, &mut writer, before, ticks, bodies)?;
            writer.finish();
        } else {
            let mut writer = BitWriter::new(out);
            write(&self.scale, &mut now, &mut writer, before, ticks, bodies)?;
            writer.finish();
        }
        self.newest = Some(sequence);
        self.spare = self.sent.keep(now);
        Ok(())
    }

    /// The client has the snapshot of this number. Numbers of snapshots that were never sent, or long ago, are ignored.
    pub fn acknowledge(&mut self, sequence: u32) {
        if self.sent.get(sequence).is_some() {
            self.acknowledged = self.acknowledged.max(Some(sequence));
        }
    }
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
