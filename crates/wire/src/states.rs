//! Latest-wins updates of bodies, packed by hand because there are thousands of them every tick.
//!
//! Layout: count (u32), then per body, in order of id: the id as a difference to the one before, the epoch (both as
//! variable-length integers), and 13 floats.

use nimbus_model::{Nid, Pose, Quat, StateUpdate, Vec3, Velocity};

use crate::frame::DecodeError;

/// How many updates one frame carries at the most; a sender with more cuts them into several frames.
pub const STATES_PER_FRAME: usize = 4096;

const FLOATS: usize = 13;
const BYTES_MIN: usize = 2 + FLOATS * 4;
const BYTES_MAX: usize = 10 + 5 + FLOATS * 4;

pub(crate) fn encode(updates: &[StateUpdate], bytes: &mut Vec<u8>) {
    debug_assert!(updates.windows(2).all(|w| w[0].nid < w[1].nid), "updates go out in order of id");
    bytes.reserve(4 + updates.len() * (FLOATS * 4 + 6));
    bytes.extend_from_slice(&(updates.len() as u32).to_le_bytes());
    let mut before = 0;
    for update in updates {
        // Each body is put together apart and appended at once: one check of the buffer's room instead of many.
        let mut packed = [0u8; BYTES_MAX];
        let mut length = put_varint(update.nid.0.wrapping_sub(before), &mut packed, 0);
        before = update.nid.0;
        length = put_varint(u64::from(update.body_epoch), &mut packed, length);
        for (slot, value) in packed[length..].as_chunks_mut().0.iter_mut().zip(floats(update)) {
            *slot = value.to_le_bytes();
        }
        bytes.extend_from_slice(&packed[..length + FLOATS * 4]);
    }
}

pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<StateUpdate>, DecodeError> {
    let (head, mut rest) = bytes.split_at_checked(4).ok_or(DecodeError::Malformed)?;
    let count = u32::from_le_bytes(head.try_into().map_err(|_| DecodeError::Malformed)?) as usize;
    if count > rest.len() / BYTES_MIN {
        return Err(DecodeError::Malformed);
    }
    let mut updates = Vec::with_capacity(count);
    let mut before: Option<u64> = None;
    for _ in 0..count {
        let step = take_varint(&mut rest)?;
        let nid = before.unwrap_or(0).checked_add(step).ok_or(DecodeError::Malformed)?;
        if before.is_some_and(|before| nid <= before) {
            return Err(DecodeError::Malformed);
        }
        before = Some(nid);
        let body_epoch = u32::try_from(take_varint(&mut rest)?).map_err(|_| DecodeError::Malformed)?;
        let (packed, tail) = rest.split_at_checked(FLOATS * 4).ok_or(DecodeError::Malformed)?;
        rest = tail;
        let mut f = [0f32; FLOATS];
        for (value, raw) in f.iter_mut().zip(packed.as_chunks().0) {
            *value = f32::from_le_bytes(*raw);
        }
        let update = StateUpdate {
            nid: Nid(nid),
            body_epoch,
            pose: Pose { position: Vec3::new(f[0], f[1], f[2]), rotation: Quat::from_xyzw(f[3], f[4], f[5], f[6]) },
            velocity: Velocity { linear: Vec3::new(f[7], f[8], f[9]), angular: Vec3::new(f[10], f[11], f[12]) },
        };
        if !update.pose.is_valid() || !update.velocity.is_valid() {
            return Err(DecodeError::NotFinite);
        }
        updates.push(update);
    }
    if rest.is_empty() { Ok(updates) } else { Err(DecodeError::Malformed) }
}

fn floats(update: &StateUpdate) -> [f32; FLOATS] {
    let StateUpdate { pose: Pose { position: p, rotation: q }, velocity: Velocity { linear: l, angular: a }, .. } =
        update;
    [p.x, p.y, p.z, q.x, q.y, q.z, q.w, l.x, l.y, l.z, a.x, a.y, a.z]
}

/// Writes a variable-length integer at a place and returns the place behind it.
fn put_varint(mut value: u64, bytes: &mut [u8; BYTES_MAX], mut at: usize) -> usize {
    while value >= 0x80 {
        bytes[at] = value as u8 | 0x80;
        value >>= 7;
        at += 1;
    }
    bytes[at] = value as u8;
    at + 1
}

fn take_varint(bytes: &mut &[u8]) -> Result<u64, DecodeError> {
    if let [byte @ 0..0x80, rest @ ..] = *bytes {
        *bytes = rest;
        return Ok(u64::from(*byte));
    }
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(DecodeError::Malformed)?;
        *bytes = rest;
        let part = u64::from(byte & 0x7f);
        if shift == 63 && part > 1 {
            return Err(DecodeError::Malformed);
        }
        value |= part << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(DecodeError::Malformed)
}
