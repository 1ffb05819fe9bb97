//! Packets with what they mean, for decoders in other languages: `sdk/typescript/test/fixtures/packed.bin`.
//!
//! `NIMBUS_MAKE_FIXTURE=1 cargo test -p nimbus-wire --test packed_fixture` makes the file anew; the layout is what [`Fixture`]
//! writes. Without that, the test fails when our own decoder no longer reads the file as it says.

mod moving_bodies;

use moving_bodies::Bodies;
use nimbus_model::Rng;
use nimbus_wire::stream::{BodyState, Decoded, StreamConfig, StreamDecoder, StreamEncoder};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// Frames of each stream, and bodies.
const FRAMES: u32 = 200;
const BODIES: u32 = 24;
/// Every so many frames the values themselves are written, not only their sum.
const IN_FULL_EVERY: u32 = 10;
/// Stands where there is no snapshot.
const NONE: u32 = u32::MAX;

/// Whole numbers of 32 bits, least significant byte first.
#[derive(Default)]
struct Fixture {
    bytes: Vec<u8>,
    at: usize,
}

impl Fixture {
    fn put(&mut self, word: u32) {
        self.bytes.extend_from_slice(&word.to_le_bytes());
    }

    /// A packet: its length, then its bytes, filled up with zeros to a whole word.
    fn put_packet(&mut self, packet: &[u8]) {
        self.put(packet.len() as u32);
        self.bytes.extend_from_slice(packet);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// A snapshot: how many bodies, the sum of their words, whether these follow, and if so they do.
    fn put_snapshot(&mut self, snapshot: Option<Decoded<'_>>, in_full: bool) {
        let words = snapshot.map(|snapshot| snapshot.bodies().map(words).collect::<Vec<_>>());
        self.put(words.as_ref().map_or(NONE, |words| words.len() as u32));
        self.put(sum(words.iter().flatten().flatten()));
        self.put(u32::from(in_full));
        if in_full {
            words.iter().flatten().flatten().for_each(|word| self.put(*word));
        }
    }

    fn take(&mut self) -> u32 {
        let word = &self.bytes[self.at..self.at + 4];
        self.at += 4;
        u32::from_le_bytes([word[0], word[1], word[2], word[3]])
    }

    fn take_packet(&mut self) -> Vec<u8> {
        let length = self.take() as usize;
        let packet = self.bytes[self.at..self.at + length].to_vec();
        self.at += length.next_multiple_of(4);
        packet
    }

    fn check_snapshot(&mut self, snapshot: Option<Decoded<'_>>, frame: &str) {
        let words = snapshot.map(|snapshot| snapshot.bodies().map(words).collect::<Vec<_>>());
        assert_eq!(self.take(), words.as_ref().map_or(NONE, |words| words.len() as u32), "bodies of {frame}");
        assert_eq!(self.take(), sum(words.iter().flatten().flatten()), "sum of {frame}");
        if self.take() == 1 {
            for (place, word) in words.iter().flatten().flatten().enumerate() {
                assert_eq!(self.take(), *word, "word {place} of {frame}");
            }
        }
    }
}

/// A body as words: its slot, whether it is at rest, and the bits of its position and rotation.
fn words(body: BodyState) -> [u32; 9] {
    let (p, q) = (body.pose.position, body.pose.rotation);
    let [x, y, z, qx, qy, qz, qw] = [p.x, p.y, p.z, q.x, q.y, q.z, q.w].map(f32::to_bits);
    [body.slot, u32::from(body.at_rest), x, y, z, qx, qy, qz, qw]
}

/// FNV-1a over words.
fn sum<'a>(words: impl Iterator<Item = &'a u32>) -> u32 {
    words.fold(0x811c_9dc5, |sum, word| (sum ^ word).wrapping_mul(0x0100_0193))
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/typescript/test/fixtures/packed.bin")
}

/// A stream as a gateway sends it, beginning anew now and then; one with a delay; and one that loses packets both ways.
fn make() -> Result<Fixture, Box<dyn std::error::Error>> {
    let mut fixture = Fixture::default();
    fixture.put(3);
    for (seed, reliable, loss, delay) in [(1, true, 0.0, 0), (2, false, 0.0, 6), (3, false, 0.25, 9)] {
        let config = StreamConfig::default();
        let mut encoder = if reliable { StreamEncoder::reliable(config) } else { StreamEncoder::new(config) };
        let (mut decoder, mut bodies) = (StreamDecoder::new(config), Bodies::new(seed, BODIES));
        let mut rng = Rng::stream(seed, 1);
        let mut answers = VecDeque::from(vec![None; delay]);
        fixture.put(FRAMES);
        for frame in 0..FRAMES {
            bodies.step();
            if reliable && frame % 70 == 69 {
                encoder.restart();
            }
            let mut packet = Vec::new();
            encoder.encode(frame, &bodies.seen(frame), &mut packet)?;
            let (arrives, answered) = (!rng.chance(loss), !rng.chance(loss));
            fixture.put(u32::from(arrives));
            fixture.put_packet(&packet);
            if arrives {
                decoder.decode(&packet)?;
                let in_full = frame % IN_FULL_EVERY == 0;
                fixture.put_snapshot(decoder.snapshot(frame), in_full);
                fixture.put_snapshot(frame.checked_sub(1).and_then(|before| decoder.snapshot(before)), false);
            }
            answers.push_back((arrives && answered).then_some(frame));
            if let Some(Some(sequence)) = answers.pop_front() {
                encoder.acknowledge(sequence);
            }
        }
    }
    Ok(fixture)
}

#[test]
fn the_fixture_is_what_our_decoder_makes_of_it() {
    if std::env::var_os("NIMBUS_MAKE_FIXTURE").is_some() {
        std::fs::write(path(), make().unwrap().bytes).unwrap();
    }
    let mut fixture = Fixture { bytes: std::fs::read(path()).unwrap(), at: 0 };
    let (mut repeated, mut streams) = (0, 0);
    for stream in 0..fixture.take() {
        streams += 1;
        let mut decoder = StreamDecoder::new(StreamConfig::default());
        for frame in 0..fixture.take() {
            let (arrives, packet) = (fixture.take() == 1, fixture.take_packet());
            if !arrives {
                continue;
            }
            let name = format!("frame {frame} of stream {stream}");
            repeated += u32::from(packet[4] & 0x80 != 0);
            let sequence = decoder.decode(&packet).map(|decoded| decoded.sequence);
            assert_eq!(sequence, Ok(frame), "{name}; make it anew if the format has changed");
            fixture.check_snapshot(decoder.snapshot(frame), &name);
            let before = frame.checked_sub(1).and_then(|before| decoder.snapshot(before));
            fixture.check_snapshot(before, &format!("what is before {name}"));
        }
    }
    assert_eq!(fixture.at, fixture.bytes.len(), "all of it was read");
    assert!(streams == 3 && repeated > 20, "{streams} streams, {repeated} packets with the snapshot before");
}
