//! A client at the end of a link that loses packets: what it shows, and how far that is from what happened.

use cpu_time::ThreadTime;
use nimbus_client::curve;
use nimbus_model::{Pose, Rng};
use nimbus_wire::stream::{Decoded, StreamConfig, StreamDecoder, StreamEncoder};
use std::collections::VecDeque;

use super::HZ;
use super::trace::{Trace, between};
use crate::experiment::LabError;

/// Snapshots that a client waits for before it shows one, so that the next is there to draw towards.
const BUFFERED: u32 = 2;
/// Furthest back that a client looks for a snapshot to draw from, ticks.
const LOOK_BACK: u32 = 16;

/// What a link is like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// Share of packets that are lost, of snapshots and of acknowledgements alike.
    pub(super) loss: f32,
    /// Ticks from sending a snapshot to having its acknowledgement.
    pub(super) round_trip: u32,
}

/// What came of a stream.
#[derive(Default)]
pub(super) struct Viewing {
    /// Bytes of every packet.
    pub(super) packets: Vec<usize>,
    pub(super) encode_us: f64,
    pub(super) decode_us: f64,
    /// How far off the picture is, at ticks and halfway between them, of all bodies and of those that move.
    pub(super) at_ticks: Errors,
    pub(super) halfway: Errors,
    pub(super) at_ticks_moving: Errors,
    pub(super) halfway_moving: Errors,
}

/// Millimetres and degrees.
#[derive(Default)]
pub(super) struct Errors {
    pub(super) position_mm: Vec<f32>,
    pub(super) rotation_deg: Vec<f32>,
}

impl Errors {
    fn add(&mut self, error: Error) {
        self.position_mm.push(error.position_mm);
        self.rotation_deg.push(error.rotation_deg);
    }
}

#[derive(Clone, Copy)]
struct Error {
    position_mm: f32,
    rotation_deg: f32,
}

impl Error {
    fn between(shown: &Pose, truth: &Pose) -> Error {
        let way = (shown.rotation * truth.rotation.inverse()).to_array().map(f64::from);
        let sine = (way[0] * way[0] + way[1] * way[1] + way[2] * way[2]).sqrt();
        Error {
            position_mm: (shown.position - truth.position).length() * 1e3,
            rotation_deg: (2.0 * sine.atan2(way[3].abs())).to_degrees() as f32,
        }
    }
}

/// Sends a run to a client.
pub(super) fn watch(trace: &Trace, config: StreamConfig, link: Link) -> Result<Viewing, LabError> {
    let mut rng = Rng::stream(17, 0xc0de);
    let mut viewing = Viewing::default();
    let (mut encoder, mut decoder) = (StreamEncoder::new(config), StreamDecoder::new(config));
    let mut acknowledgements = VecDeque::new();
    let (mut encode_ns, mut decode_ns, mut decoded) = (0u128, 0u128, 0u32);
    let mut packet = Vec::new();
    for (sequence, states) in (0u32..).zip(&trace.ticks) {
        while let Some((_, acknowledged)) = acknowledgements.pop_front_if(|(due, _)| *due <= sequence) {
            encoder.acknowledge(acknowledged);
        }
        packet.clear();
        let start = ThreadTime::now();
        let encoded = encoder.encode(sequence, states, &mut packet);
        encode_ns += start.elapsed().as_nanos();
        encoded.map_err(|error| LabError::Failed(error.to_string()))?;
        viewing.packets.push(packet.len());
        let (lost, answer_lost) = (rng.chance(link.loss), rng.chance(link.loss));
        if !lost {
            let start = ThreadTime::now();
            let result = decoder.decode(&packet).map(|decoded| decoded.sequence);
            decode_ns += start.elapsed().as_nanos();
            decoded += 1;
            let got = result.map_err(|error| LabError::Failed(format!("tick {sequence}: {error}")))?;
            if !answer_lost {
                acknowledgements.push_back((sequence + link.round_trip, got));
            }
        }
        if sequence >= BUFFERED {
            look(trace, &decoder, sequence - BUFFERED, &mut viewing);
        }
    }
    viewing.encode_us = encode_ns as f64 / 1e3 / trace.ticks.len().max(1) as f64;
    viewing.decode_us = decode_ns as f64 / 1e3 / f64::from(decoded.max(1));
    Ok(viewing)
}

/// Compares what the client shows at a tick and half a tick later with what happened then.
fn look(trace: &Trace, decoder: &StreamDecoder, tick: u32, viewing: &mut Viewing) {
    let at = |tick: u32| decoder.snapshot(tick);
    let Some(from) = (tick.saturating_sub(LOOK_BACK)..=tick).rev().find_map(at) else { return };
    let to = (tick + 1..=tick + BUFFERED).find_map(at);
    // Where a snapshot is missing, the one before says how the way to the next is bent.
    let gap = to.as_ref().map_or(0, |to| to.sequence - from.sequence);
    let earlier = from.sequence.checked_sub(1).filter(|_| gap > 1).and_then(at);
    let (now, next) = (&trace.ticks[tick as usize], &trace.ticks[tick as usize + 1]);
    let moves = &trace.moving[tick as usize];
    let mut later = to.as_ref().map(Decoded::bodies);
    let mut before = earlier.as_ref().map(Decoded::bodies);
    let seconds = |ticks: f32| ticks / HZ as f32;
    for (i, (body, moves)) in from.bodies().zip(moves).enumerate() {
        let (towards, was) = (later.as_mut().and_then(Iterator::next), before.as_mut().and_then(Iterator::next));
        let show = |past: f32| match towards {
            Some(towards) => {
                let earlier = was.map(|was| (seconds(-1.0), was.pose));
                let at = seconds((tick - from.sequence) as f32 + past);
                curve::between(earlier, (0.0, body.pose), (seconds(gap as f32), towards.pose), at)
            }
            None => body.pose,
        };
        let at_tick = Error::between(&show(0.0), &now[i].pose);
        let halfway = Error::between(&show(0.5), &between(&now[i].pose, &next[i].pose, 0.5));
        viewing.at_ticks.add(at_tick);
        viewing.halfway.add(halfway);
        if *moves {
            viewing.at_ticks_moving.add(at_tick);
            viewing.halfway_moving.add(halfway);
        }
    }
}
