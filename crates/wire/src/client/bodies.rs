//! Binary messages: bodies that appear, vanish, change hands and move, and what lies around them at the seams.
//!
//! Encoders append to a buffer that the caller uses again and again. The decoder checks a whole message first and
//! copies nothing; what it hands out afterwards cannot be wrong.

use nimbus_model::{BodyKind, Nid, Pose, Quat, RegionId, Tick, Vec3};

use super::SLOT_LIMIT;

const CREATE: u32 = 1;
const DESTROY: u32 = 2;
const OWNER: u32 = 3;
const STATE: u32 = 4;
const AURAS: u32 = 5;
const CLUSTERS: u32 = 6;
const IN_TRANSIT: u32 = 7;
const LEAVE: u32 = 8;
const PACKED: u32 = 9;

const CREATE_BYTES: usize = 48;
const DESTROY_BYTES: usize = 4;
const OWNER_BYTES: usize = 8;
const STATE_BYTES: usize = 24;
const PAIR_BYTES: usize = 8;
const HEAD_BYTES: usize = 8;
const TICK_BYTES: usize = 8;

const FLAG_SENSOR: u8 = 1;
/// One step of a rotation component.
const ROTATION_SCALE: f32 = 32767.0;

/// Everything a client must know of a body that it has not seen before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Create {
    /// The gateway's short name for the body.
    pub slot: u32,
    /// The body's name for life.
    pub nid: Nid,
    /// Its form, announced before.
    pub shape: u32,
    /// Who owns it.
    pub region: RegionId,
    /// Dynamic or kinematic; statics come with the world.
    pub kind: BodyKind,
    /// Reports touches without pushing back.
    pub sensor: bool,
    /// Where it is.
    pub pose: Pose,
}

/// Appends a `create` message.
pub fn encode_create(bodies: impl ExactSizeIterator<Item = Create>, out: &mut Vec<u8>) {
    let count = bodies.len();
    out.reserve(HEAD_BYTES + count * CREATE_BYTES);
    put_head(CREATE, count, out);
    for body in bodies {
        out.extend_from_slice(&body.slot.to_le_bytes());
        out.extend_from_slice(&body.nid.0.to_le_bytes());
        out.extend_from_slice(&body.shape.to_le_bytes());
        out.extend_from_slice(&body.region.0.to_le_bytes());
        out.push(u8::from(body.kind == BodyKind::Kinematic));
        out.push(if body.sensor { FLAG_SENSOR } else { 0 });
        let (p, q) = (body.pose.position, body.pose.rotation);
        for value in [p.x, p.y, p.z, q.x, q.y, q.z, q.w] {
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

/// Appends a `destroy` message.
pub fn encode_destroy(slots: &[u32], out: &mut Vec<u8>) {
    put_head(DESTROY, slots.len(), out);
    for slot in slots {
        out.extend_from_slice(&slot.to_le_bytes());
    }
}

/// Appends an `owner` message.
pub fn encode_owner(owners: impl ExactSizeIterator<Item = (u32, RegionId)>, out: &mut Vec<u8>) {
    put_head(OWNER, owners.len(), out);
    for (slot, region) in owners {
        out.extend_from_slice(&slot.to_le_bytes());
        out.extend_from_slice(&region.0.to_le_bytes());
        out.extend_from_slice(&0u16.to_le_bytes());
    }
}

/// Appends a `state` message. The hot path of a gateway: one pass over the bodies, straight into the three columns.
pub fn encode_state(tick: Tick, bodies: impl ExactSizeIterator<Item = (u32, Pose)>, out: &mut Vec<u8>) {
    let count = bodies.len();
    put_head(STATE, count, out);
    out.extend_from_slice(&tick.0.to_le_bytes());
    let start = out.len();
    out.resize(start + count * STATE_BYTES, 0);
    let (slots, rest) = out[start..].split_at_mut(count * 4);
    let (positions, rotations) = rest.split_at_mut(count * 12);
    let columns =
        slots.chunks_exact_mut(4).zip(positions.chunks_exact_mut(12)).zip(rotations.chunks_exact_mut(8)).zip(bodies);
    for (((slot_out, position_out), rotation_out), (slot, pose)) in columns {
        slot_out.copy_from_slice(&slot.to_le_bytes());
        let p = pose.position;
        position_out[0..4].copy_from_slice(&p.x.to_le_bytes());
        position_out[4..8].copy_from_slice(&p.y.to_le_bytes());
        position_out[8..12].copy_from_slice(&p.z.to_le_bytes());
        let q = pose.rotation;
        rotation_out[0..2].copy_from_slice(&quantised(q.x).to_le_bytes());
        rotation_out[2..4].copy_from_slice(&quantised(q.y).to_le_bytes());
        rotation_out[4..6].copy_from_slice(&quantised(q.z).to_le_bytes());
        rotation_out[6..8].copy_from_slice(&quantised(q.w).to_le_bytes());
    }
}

/// Appends an `auras` message: how far each aura reaches beyond its body, metres.
pub fn encode_auras(auras: impl ExactSizeIterator<Item = (u32, f32)>, out: &mut Vec<u8>) {
    put_pairs(AURAS, auras.map(|(slot, reach)| (slot, reach.to_bits())), out);
}

/// Appends a `clusters` message: members of one cluster share a number.
pub fn encode_clusters(members: impl ExactSizeIterator<Item = (u32, u32)>, out: &mut Vec<u8>) {
    put_pairs(CLUSTERS, members, out);
}

/// Appends an `in-transit` message: bodies on their way, and where to.
pub fn encode_in_transit(bodies: impl ExactSizeIterator<Item = (u32, RegionId)>, out: &mut Vec<u8>) {
    put_pairs(IN_TRANSIT, bodies.map(|(slot, to)| (slot, u32::from(to.0))), out);
}

/// Appends a `leave` message: bodies that go on living where this client does not look.
pub fn encode_leave(slots: &[u32], out: &mut Vec<u8>) {
    put_head(LEAVE, slots.len(), out);
    for slot in slots {
        out.extend_from_slice(&slot.to_le_bytes());
    }
}

/// Appends a `packed` message: a packet of a [stream](crate::stream), which `write` appends, about bodies at a tick.
pub fn encode_packed<E>(
    tick: Tick,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let head = out.len();
    put_head(PACKED, 0, out);
    out.extend_from_slice(&tick.0.to_le_bytes());
    let start = out.len();
    write(out)?;
    let count = (out.len() - start) as u32;
    out[head + 4..head + 8].copy_from_slice(&count.to_le_bytes());
    out.resize(start + (count as usize).next_multiple_of(4), 0);
    Ok(())
}

/// Why bytes are not a message about bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodiesError {
    /// The length does not fit the count.
    #[error("the length of the message does not fit its count")]
    Length,
    /// A slot beyond the limit, a kind that is none, or a pose that is not finite.
    #[error("a body has a slot, a kind or a pose that no body can have")]
    Value,
}

/// A checked message about bodies, still in its bytes.
#[derive(Clone, Copy, Debug)]
pub enum Bodies<'a> {
    /// Bodies that appear; see [`creates`].
    Create(&'a [u8]),
    /// Bodies that vanish; see [`slots`].
    Destroy(&'a [u8]),
    /// Bodies that change hands; see [`owners`].
    Owner(&'a [u8]),
    /// Bodies that moved; see [`states`].
    State(Tick, &'a [u8]),
    /// All auras there are; see [`auras`].
    Auras(&'a [u8]),
    /// All clusters there are; see [`clusters`].
    Clusters(&'a [u8]),
    /// All bodies in transit; see [`owners`].
    InTransit(&'a [u8]),
    /// Bodies that went out of sight; see [`slots`].
    Leave(&'a [u8]),
    /// A packet for a [`StreamDecoder`](crate::stream::StreamDecoder).
    Packed(Tick, &'a [u8]),
}

/// Bytes as a message; `None` for a kind this version does not know, which is to be skipped.
pub fn decode(bytes: &[u8]) -> Result<Option<Bodies<'_>>, BodiesError> {
    let (head, rest) = bytes.split_at_checked(HEAD_BYTES).ok_or(BodiesError::Length)?;
    if !bytes.len().is_multiple_of(4) {
        return Err(BodiesError::Length);
    }
    let count = u32_at(head, 4) as usize;
    let fits = |bytes: &[u8], each: usize| {
        if count.checked_mul(each) == Some(bytes.len()) { Ok(()) } else { Err(BodiesError::Length) }
    };
    let known = |good: bool| if good { Ok(()) } else { Err(BodiesError::Value) };
    Ok(Some(match u32_at(head, 0) {
        CREATE => {
            fits(rest, CREATE_BYTES)?;
            known(rest.chunks_exact(CREATE_BYTES).all(|r| r[18] <= 1) && creates(rest).all(|c| c.pose.is_valid()))?;
            known(creates(rest).all(|c| c.slot < SLOT_LIMIT))?;
            Bodies::Create(rest)
        }
        DESTROY => {
            fits(rest, DESTROY_BYTES)?;
            known(slots(rest).all(|slot| slot < SLOT_LIMIT))?;
            Bodies::Destroy(rest)
        }
        OWNER => {
            fits(rest, OWNER_BYTES)?;
            known(owners(rest).all(|(slot, _)| slot < SLOT_LIMIT))?;
            Bodies::Owner(rest)
        }
        STATE => {
            let (tick, rest) = rest.split_at_checked(TICK_BYTES).ok_or(BodiesError::Length)?;
            fits(rest, STATE_BYTES)?;
            known(states(rest).all(|(slot, pose)| slot < SLOT_LIMIT && pose.is_valid()))?;
            Bodies::State(Tick(u64_at(tick, 0)), rest)
        }
        AURAS => {
            fits(rest, PAIR_BYTES)?;
            known(auras(rest).all(|(slot, reach)| slot < SLOT_LIMIT && reach.is_finite() && reach >= 0.0))?;
            Bodies::Auras(rest)
        }
        CLUSTERS => {
            fits(rest, PAIR_BYTES)?;
            known(clusters(rest).all(|(slot, _)| slot < SLOT_LIMIT))?;
            Bodies::Clusters(rest)
        }
        IN_TRANSIT => {
            fits(rest, PAIR_BYTES)?;
            known(owners(rest).all(|(slot, _)| slot < SLOT_LIMIT))?;
            Bodies::InTransit(rest)
        }
        LEAVE => {
            fits(rest, DESTROY_BYTES)?;
            known(slots(rest).all(|slot| slot < SLOT_LIMIT))?;
            Bodies::Leave(rest)
        }
        PACKED => {
            let (tick, rest) = rest.split_at_checked(TICK_BYTES).ok_or(BodiesError::Length)?;
            if count.checked_next_multiple_of(4) != Some(rest.len()) {
                return Err(BodiesError::Length);
            }
            Bodies::Packed(Tick(u64_at(tick, 0)), &rest[..count])
        }
        _ => return Ok(None),
    }))
}

/// The records of a [`Bodies::Create`].
pub fn creates(records: &[u8]) -> impl ExactSizeIterator<Item = Create> {
    records.chunks_exact(CREATE_BYTES).map(|record| Create {
        slot: u32_at(record, 0),
        nid: Nid(u64_at(record, 4)),
        shape: u32_at(record, 12),
        region: RegionId(u16_at(record, 16)),
        kind: if record[18] == 1 { BodyKind::Kinematic } else { BodyKind::Dynamic },
        sensor: record[19] & FLAG_SENSOR != 0,
        pose: Pose {
            position: Vec3::new(f32_at(record, 20), f32_at(record, 24), f32_at(record, 28)),
            rotation: Quat::from_xyzw(f32_at(record, 32), f32_at(record, 36), f32_at(record, 40), f32_at(record, 44)),
        },
    })
}

/// The records of a [`Bodies::Destroy`] or a [`Bodies::Leave`].
pub fn slots(records: &[u8]) -> impl ExactSizeIterator<Item = u32> {
    records.chunks_exact(DESTROY_BYTES).map(|record| u32_at(record, 0))
}

/// The records of a [`Bodies::Auras`]: slot and reach.
pub fn auras(records: &[u8]) -> impl ExactSizeIterator<Item = (u32, f32)> {
    records.chunks_exact(PAIR_BYTES).map(|record| (u32_at(record, 0), f32_at(record, 4)))
}

/// The records of a [`Bodies::Clusters`]: slot and the number of its cluster.
pub fn clusters(records: &[u8]) -> impl ExactSizeIterator<Item = (u32, u32)> {
    records.chunks_exact(PAIR_BYTES).map(|record| (u32_at(record, 0), u32_at(record, 4)))
}

/// The records of a [`Bodies::Owner`] or a [`Bodies::InTransit`].
pub fn owners(records: &[u8]) -> impl ExactSizeIterator<Item = (u32, RegionId)> {
    records.chunks_exact(OWNER_BYTES).map(|record| (u32_at(record, 0), RegionId(u16_at(record, 4))))
}

/// The columns of a [`Bodies::State`], body by body. Rotations come out at unit length unless they have none.
pub fn states(columns: &[u8]) -> impl ExactSizeIterator<Item = (u32, Pose)> {
    let count = columns.len() / STATE_BYTES;
    (0..count).map(move |i| {
        let (p, q) = (count * 4 + i * 12, count * 16 + i * 8);
        let component = |k: usize| f32::from(u16_at(columns, q + 2 * k).cast_signed()) / ROTATION_SCALE;
        let rotation = Quat::from_xyzw(component(0), component(1), component(2), component(3));
        let length = rotation.length();
        let rotation = if length > 0.5 { rotation / length } else { rotation };
        let position = Vec3::new(f32_at(columns, p), f32_at(columns, p + 4), f32_at(columns, p + 8));
        (u32_at(columns, i * 4), Pose { position, rotation })
    })
}

fn put_pairs(kind: u32, pairs: impl ExactSizeIterator<Item = (u32, u32)>, out: &mut Vec<u8>) {
    out.reserve(HEAD_BYTES + pairs.len() * PAIR_BYTES);
    put_head(kind, pairs.len(), out);
    for (slot, value) in pairs {
        out.extend_from_slice(&slot.to_le_bytes());
        out.extend_from_slice(&value.to_le_bytes());
    }
}

#[inline]
fn put_head(kind: u32, count: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&(count as u32).to_le_bytes());
}

/// The nearest step; the sum with half a step is cut towards zero, which is what rounding costs least.
#[inline]
fn quantised(component: f32) -> i16 {
    let scaled = component.clamp(-1.0, 1.0) * ROTATION_SCALE;
    (scaled + 0.5f32.copysign(scaled)) as i16
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

fn f32_at(bytes: &[u8], at: usize) -> f32 {
    f32::from_bits(u32_at(bytes, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pose() -> impl Strategy<Value = Pose> {
        let vector = || (-1e4f32..1e4, -1e4f32..1e4, -1e4f32..1e4).prop_map(|(x, y, z)| Vec3::new(x, y, z));
        (vector(), vector()).prop_map(|(position, turn)| Pose { position, rotation: Quat::from_scaled_axis(turn) })
    }

    fn create() -> impl Strategy<Value = Create> {
        (0..SLOT_LIMIT, any::<u64>(), any::<u32>(), any::<u16>(), any::<bool>(), any::<bool>(), pose()).prop_map(
            |(slot, nid, shape, region, moved, sensor, pose)| {
                let kind = if moved { BodyKind::Kinematic } else { BodyKind::Dynamic };
                Create { slot, nid: Nid(nid), shape, region: RegionId(region), kind, sensor, pose }
            },
        )
    }

    #[test]
    fn the_layout_is_that_of_the_protocol_page() {
        let body = Create {
            slot: 0x01020304,
            nid: Nid(0x1112131415161718),
            shape: 0x21222324,
            region: RegionId(0x3132),
            kind: BodyKind::Kinematic,
            sensor: true,
            pose: Pose::at(Vec3::new(1.0, 2.0, 3.0)),
        };
        let mut out = Vec::new();
        encode_create([body].into_iter(), &mut out);
        assert_eq!(out.len(), 8 + 48);
        assert_eq!(out[..8], [1, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(out[8..12], [4, 3, 2, 1]);
        assert_eq!(out[12..20], [0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11]);
        assert_eq!(out[20..24], [0x24, 0x23, 0x22, 0x21]);
        assert_eq!(out[24..28], [0x32, 0x31, 1, 1]);
        assert_eq!(out[28..32], 1.0f32.to_le_bytes());
        assert_eq!(out[52..56], 1.0f32.to_le_bytes());
        out.clear();
        encode_state(Tick(1 << 32), [(5, Pose::at(Vec3::X)), (6, Pose::at(Vec3::Y))].into_iter(), &mut out);
        assert_eq!(out.len(), 16 + 2 * 24);
        assert_eq!(out[..20], [4, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0]);
        assert_eq!(out[24..28], 1.0f32.to_le_bytes());
        assert_eq!(out[48..56], [0, 0, 0, 0, 0, 0, 0xff, 0x7f]);
        out.clear();
        encode_owner([(7, RegionId(3))].into_iter(), &mut out);
        assert_eq!(out, [3, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0]);
        out.clear();
        encode_destroy(&[9], &mut out);
        assert_eq!(out, [2, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0]);
        out.clear();
        encode_auras([(7, 1.0)].into_iter(), &mut out);
        assert_eq!(out, [5, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0x80, 0x3f]);
        out.clear();
        encode_clusters([(7, 3)].into_iter(), &mut out);
        assert_eq!(out, [6, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0]);
        out.clear();
        encode_in_transit([(7, RegionId(3))].into_iter(), &mut out);
        assert_eq!(out, [7, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0]);
    }

    #[test]
    fn impossible_values_are_refused_and_unknown_kinds_skipped() {
        let mut out = Vec::new();
        encode_destroy(&[SLOT_LIMIT], &mut out);
        assert_eq!(decode(&out).unwrap_err(), BodiesError::Value);
        out.clear();
        encode_state(Tick(1), [(1, Pose::at(Vec3::new(f32::NAN, 0.0, 0.0)))].into_iter(), &mut out);
        assert_eq!(decode(&out).unwrap_err(), BodiesError::Value);
        for reach in [f32::NAN, -0.5] {
            out.clear();
            encode_auras([(1, reach)].into_iter(), &mut out);
            assert_eq!(decode(&out).unwrap_err(), BodiesError::Value);
        }
        assert!(decode(&[99, 0, 0, 0, 1, 0, 0, 0]).unwrap().is_none());
        let huge = [2, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0];
        assert_eq!(decode(&huge).unwrap_err(), BodiesError::Length);
    }

    proptest! {
        #[test]
        fn messages_survive_the_wire(bodies in prop::collection::vec(create(), 0..40), tick in any::<u64>()) {
            let mut out = Vec::new();
            encode_create(bodies.iter().copied(), &mut out);
            let Ok(Some(Bodies::Create(records))) = decode(&out) else { panic!("not a create") };
            prop_assert_eq!(creates(records).collect::<Vec<_>>(), bodies.clone());

            out.clear();
            encode_state(Tick(tick), bodies.iter().map(|b| (b.slot, b.pose)), &mut out);
            let Ok(Some(Bodies::State(at, columns))) = decode(&out) else { panic!("not a state") };
            prop_assert_eq!(at, Tick(tick));
            prop_assert_eq!(states(columns).len(), bodies.len());
            for ((slot, pose), body) in states(columns).zip(&bodies) {
                prop_assert_eq!(slot, body.slot);
                prop_assert_eq!(pose.position, body.pose.position);
                let unit = body.pose.rotation.normalize();
                prop_assert!((pose.rotation - unit).length() < 1e-4, "{} {}", pose.rotation, unit);
            }

            out.clear();
            encode_owner(bodies.iter().map(|b| (b.slot, b.region)), &mut out);
            let Ok(Some(Bodies::Owner(records))) = decode(&out) else { panic!("not an owner") };
            prop_assert!(owners(records).eq(bodies.iter().map(|b| (b.slot, b.region))));

            out.clear();
            let gone: Vec<u32> = bodies.iter().map(|b| b.slot).collect();
            encode_destroy(&gone, &mut out);
            let Ok(Some(Bodies::Destroy(records))) = decode(&out) else { panic!("not a destroy") };
            prop_assert_eq!(slots(records).collect::<Vec<_>>(), gone);

            out.clear();
            encode_auras(bodies.iter().map(|b| (b.slot, b.pose.position.x.abs())), &mut out);
            let Ok(Some(Bodies::Auras(records))) = decode(&out) else { panic!("not auras") };
            prop_assert!(auras(records).eq(bodies.iter().map(|b| (b.slot, b.pose.position.x.abs()))));

            out.clear();
            encode_clusters(bodies.iter().map(|b| (b.slot, b.shape)), &mut out);
            let Ok(Some(Bodies::Clusters(records))) = decode(&out) else { panic!("not clusters") };
            prop_assert!(clusters(records).eq(bodies.iter().map(|b| (b.slot, b.shape))));

            out.clear();
            encode_in_transit(bodies.iter().map(|b| (b.slot, b.region)), &mut out);
            let Ok(Some(Bodies::InTransit(records))) = decode(&out) else { panic!("not bodies in transit") };
            prop_assert!(owners(records).eq(bodies.iter().map(|b| (b.slot, b.region))));
        }

        #[test]
        fn rubbish_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0u8..9, count in 0u8..8) {
            let _ = decode(&bytes);
            let mut framed = vec![kind, 0, 0, 0, count, 0, 0, 0];
            framed.extend(&bytes);
            for cut in 0..framed.len() {
                let _ = decode(&framed[..cut]);
            }
        }
    }
}
