//! Streams of body states: several packets, each built on what the ones before it left.

use nimbus_model::Rng;
use nimbus_wire::stream::{BodyState, Fidelity, StreamConfig, StreamDecoder, StreamEncoder, Techniques};

use super::parts::pose;
use crate::Verdict;

/// Packets of one input; together with [`STREAM`](super::STREAM) the most that a decoder keeps of them.
const PACKETS: u32 = 4;
/// Their numbers. When the first two are acknowledged and no others, two seem to be lost, and the last one has the one before
/// it once more.
const SEQUENCES: [u32; PACKETS as usize] = [10, 13, 14, 15];
const ACKNOWLEDGED: u32 = 13;

/// An input is a byte of techniques, then packets, each behind its length (two bytes). Accepted if every packet is.
pub(super) fn decode(bytes: &[u8]) -> Verdict {
    let Some((first, mut rest)) = bytes.split_first() else { return Verdict::Refused };
    let mut decoder = StreamDecoder::new(config(*first));
    for _ in 0..PACKETS {
        let Some((length, after)) = rest.split_first_chunk() else { break };
        let length = usize::from(u16::from_le_bytes(*length)).min(after.len());
        let (packet, after) = after.split_at(length);
        match decoder.decode(packet) {
            Ok(decoded) => assert!(decoded.bodies().all(|body| body.pose.is_valid()), "a pose that no body has"),
            Err(_) => return Verdict::Refused,
        }
        rest = after;
    }
    Verdict::of(rest.is_empty())
}

pub(super) fn make(rng: &mut Rng) -> Vec<u8> {
    // Everything on in half of them, as it is used.
    let techniques = if rng.chance(0.5) { 0xff } else { rng.below(256) as u8 };
    let mut encoder = StreamEncoder::new(config(techniques));
    let mut bodies: Vec<BodyState> =
        (0..rng.below(40) as u32).map(|slot| BodyState { slot: slot * 2, pose: pose(rng), at_rest: true }).collect();
    let mut out = vec![techniques];
    for sequence in SEQUENCES {
        let mut packet = Vec::new();
        if encoder.encode(sequence, &bodies, &mut packet).is_ok() {
            out.extend_from_slice(&(packet.len() as u16).to_le_bytes());
            out.extend_from_slice(&packet);
        }
        if sequence <= ACKNOWLEDGED {
            encoder.acknowledge(sequence);
        }
        for body in &mut bodies {
            if rng.chance(0.3) {
                body.pose.position.x += rng.unit();
                body.at_rest = rng.chance(0.5);
            }
        }
    }
    out
}

fn config(bits: u8) -> StreamConfig {
    let on = |bit: u8| bits & (1 << bit) != 0;
    let techniques = Techniques {
        quantised: on(0),
        smallest_three: on(1),
        at_rest: on(2),
        delta: on(3),
        prediction: on(4),
        entropy: on(5),
        repeats: on(6),
    };
    StreamConfig { techniques, fidelity: Fidelity::default() }
}
