//! Damages and forges bytes: flips, cuts, splices, wrong lengths, numbers at the edges, words of other messages.

use nimbus_model::Rng;

/// Longest input that is tried; few are nearly so long.
pub const INPUT_BYTES_MAX: usize = 256 << 10;

/// Inputs grow beyond this only when one is swollen on purpose.
const USUAL_BYTES_MAX: usize = 4 << 10;

/// Numbers at which decoders go wrong.
const EDGES: [u64; 20] = [
    0,
    1,
    2,
    7,
    63,
    64,
    127,
    128,
    254,
    255,
    256,
    4_095,
    4_096,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
];

/// Numbers that are none, and others that arithmetic trips over.
const FLOATS: [f32; 8] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN_POSITIVE, -0.0, 1e-45, -1e30];

/// Changes a message in one to eight ways. Parts of `others` may find their way into it.
pub fn mutate(rng: &mut Rng, input: &mut Vec<u8>, others: &[Vec<u8>]) {
    let usual = input.len().clamp(USUAL_BYTES_MAX, INPUT_BYTES_MAX);
    for _ in 0..=rng.below(8) {
        step(rng, input, others);
        if rng.chance(0.3) {
            break;
        }
    }
    if rng.below(512) == 0 {
        swell(rng, input);
    } else {
        input.truncate(usual);
    }
}

fn step(rng: &mut Rng, input: &mut Vec<u8>, others: &[Vec<u8>]) {
    let at = place(rng, input.len());
    match rng.below(12) {
        0 | 1 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << rng.below(8);
            }
        }
        2 => {
            if let Some(byte) = input.get_mut(at) {
                *byte = rng.next_u64() as u8;
            }
        }
        3 => overwrite(input, at, &edge(rng)),
        4 => overwrite(input, at, &FLOATS[rng.below(FLOATS.len() as u64) as usize].to_le_bytes()),
        5 => tamper_length(rng, input, at),
        6 => input.truncate(at),
        7 => {
            let end = at + rng.below(16).min((input.len() - at) as u64) as usize;
            input.drain(at..end);
        }
        8 => {
            let noise: Vec<u8> = (0..=rng.below(16)).map(|_| rng.next_u64() as u8).collect();
            insert(input, at, &noise);
        }
        9 => {
            let word = varint(EDGES[rng.below(EDGES.len() as u64) as usize]);
            insert(input, at, &word);
        }
        10 => {
            let end = at + rng.below(64).min((input.len() - at) as u64) as usize;
            let copy = input[at..end].repeat(1 + rng.below(8) as usize);
            insert(input, at, &copy);
        }
        _ => splice(rng, input, at, others),
    }
}

/// Repeats a part until the input is long: many small entries are what becomes large in memory.
fn swell(rng: &mut Rng, input: &mut Vec<u8>) {
    let at = place(rng, input.len());
    let end = at + (1 + rng.below(64)).min((input.len() - at) as u64) as usize;
    let part = input[at..end].to_vec();
    if part.is_empty() {
        return;
    }
    let room = 1 + rng.below((INPUT_BYTES_MAX.saturating_sub(input.len()) as u64).max(1)) as usize;
    insert(input, at, &part.repeat(room / part.len()));
}

/// Puts a part of another message, or all that follows in it, here.
fn splice(rng: &mut Rng, input: &mut Vec<u8>, at: usize, others: &[Vec<u8>]) {
    let Some(other) = others.get(place(rng, others.len())) else { return };
    let from = place(rng, other.len());
    if rng.chance(0.5) {
        input.truncate(at);
        input.extend_from_slice(&other[from..]);
    } else {
        let to = from + rng.below(32).min((other.len() - from) as u64) as usize;
        overwrite(input, at, &other[from..to]);
    }
}

/// Takes what is here for a length and makes it a little or a lot wrong.
fn tamper_length(rng: &mut Rng, input: &mut [u8], at: usize) {
    let width = [1, 2, 4][rng.below(3) as usize];
    let Some(field) = input.get_mut(at..at + width) else { return };
    let mut bytes = [0; 8];
    bytes[..width].copy_from_slice(field);
    let was = u64::from_le_bytes(bytes);
    let wrong = match rng.below(5) {
        0 => was.wrapping_add(1),
        1 => was.wrapping_sub(1),
        2 => was.wrapping_mul(2),
        3 => was.wrapping_mul(1 + rng.below(1 << 20)),
        _ => u64::MAX,
    };
    field.copy_from_slice(&wrong.to_le_bytes()[..width]);
}

fn edge(rng: &mut Rng) -> Vec<u8> {
    let number = EDGES[rng.below(EDGES.len() as u64) as usize];
    let width = 1 << rng.below(4);
    match rng.below(3) {
        0 => number.to_be_bytes()[8 - width..].to_vec(),
        1 => varint(number),
        _ => number.to_le_bytes()[..width].to_vec(),
    }
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A place in something of this length; the end of nothing is its beginning. Most of what matters stands at the front.
fn place(rng: &mut Rng, length: usize) -> usize {
    let reach = if rng.chance(0.25) { length.min(48) } else { length };
    if reach == 0 { 0 } else { rng.below(reach as u64) as usize }
}

fn overwrite(input: &mut [u8], at: usize, bytes: &[u8]) {
    let room = input.get_mut(at..).unwrap_or_default();
    let length = bytes.len().min(room.len());
    room[..length].copy_from_slice(&bytes[..length]);
}

fn insert(input: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let at = at.min(input.len());
    input.splice(at..at, bytes.iter().copied());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_damages_in_the_same_way_and_never_too_much() {
        let others = vec![vec![7; 100], vec![], b"{\"type\":\"spawn\"}".to_vec()];
        let run = |seed| {
            let mut rng = Rng::new(seed);
            let mut inputs = Vec::new();
            for round in 0..2_000 {
                let mut input = others[round % 3].clone();
                mutate(&mut rng, &mut input, &others);
                assert!(input.len() <= INPUT_BYTES_MAX, "{}", input.len());
                inputs.push(input);
            }
            inputs
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        assert!(run(3).iter().any(|input| input.len() > USUAL_BYTES_MAX), "some are long");
        assert!(run(3).iter().filter(|input| **input != others[0]).count() > 1_500, "most are damaged");
    }
}
