//! The envelope every message between servers and gateways travels in.

use nimbus_model::{RegionId, StateUpdate, Tick, coding};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;

use crate::PROTOCOL_VERSION;
use crate::ask::{Ask, Reply};
use crate::aura::{AuraFrame, Bytes};
use crate::item::Item;
use crate::records::{Commit, Kept, Records};
use crate::seams::SeamReport;
use crate::states;
use crate::wish::Wish;

/// Frames longer than this are refused unread.
pub const FRAME_BYTES_MAX: usize = 8 << 20;

/// One gateway of the deployment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GatewayId(pub u16);

/// Who sends or receives a frame. Authority belongs to regions, so frames are addressed to regions, not to processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Address {
    /// The server that has this region now.
    Region(RegionId),
    /// A gateway.
    Gateway(GatewayId),
    /// Whoever keeps what this region wrote down.
    Backup(RegionId),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Region(region) => region.fmt(f),
            Address::Gateway(gateway) => write!(f, "g{}", gateway.0),
            Address::Backup(region) => write!(f, "backup of {region}"),
        }
    }
}

/// Items of an ordered lane, and how far the other direction has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LaneFrame {
    /// Everything up to here from the other side has taken effect.
    pub ack: u64,
    /// Sequence number of the first item.
    pub first: u64,
    /// Items with the tick at which each was made, in sequence.
    pub items: Vec<(Tick, Item)>,
}

/// What a frame carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Must arrive, in order, once.
    Lane(LaneFrame),
    /// Only the latest counts.
    States(Vec<StateUpdate>),
    /// Region to region: what is near. Only the latest counts.
    Auras(AuraFrame),
    /// Region to gateway, for people to see: what goes on at the seams. Only the latest counts.
    Seams(SeamReport),
    /// Region to backup: what took effect.
    Records(Records),
    /// Backup to region: how much of it is kept.
    Kept(Kept),
    /// Backup to peers: how far the region's word is certain.
    Commit(Commit),
    /// Gateway to region: questions for one tick.
    Ask(Ask),
    /// Region to gateway: what it says to them.
    Reply(Reply),
    /// Gateway to region: what it wants to hear. Only the latest counts.
    Wish(Wish),
}

/// The envelope every message between servers and gateways travels in.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Who speaks.
    pub from: Address,
    /// To whom.
    pub to: Address,
    /// How often the world had been loaded; frames of another era are void.
    pub era: u16,
    /// Which life of the sender speaks.
    pub epoch: u32,
    /// The tick the sender had completed.
    pub tick: Tick,
    /// What it says.
    pub content: Content,
}

/// Why bytes are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// More bytes than any frame has.
    #[error("frame longer than {FRAME_BYTES_MAX} bytes")]
    TooLong,
    /// The sender speaks another version.
    #[error("peer speaks protocol version {0}, this is version {PROTOCOL_VERSION}; run the same release everywhere")]
    Version(u8),
    /// The bytes do not parse.
    #[error("malformed frame")]
    Malformed,
    /// A number that is not one.
    #[error("frame carries a number that is not finite")]
    NotFinite,
}

/// Bytes of an address.
const ADDRESS_BYTES: usize = 3;

impl Address {
    fn encode(self) -> [u8; ADDRESS_BYTES] {
        let (kind, id) = match self {
            Address::Region(region) => (0, region.0),
            Address::Gateway(gateway) => (1, gateway.0),
            Address::Backup(region) => (2, region.0),
        };
        let [low, high] = id.to_le_bytes();
        [kind, low, high]
    }

    fn decode([kind, low, high]: [u8; ADDRESS_BYTES]) -> Result<Address, DecodeError> {
        let id = u16::from_le_bytes([low, high]);
        match kind {
            0 => Ok(Address::Region(RegionId(id))),
            1 => Ok(Address::Gateway(GatewayId(id))),
            2 => Ok(Address::Backup(RegionId(id))),
            _ => Err(DecodeError::Malformed),
        }
    }
}

const KIND_LANE: u8 = 0;
const KIND_STATES: u8 = 1;
const KIND_AURAS: u8 = 2;
const KIND_SEAMS: u8 = 3;
const KIND_RECORDS: u8 = 8;
const KIND_KEPT: u8 = 9;
const KIND_COMMIT: u8 = 10;
const KIND_ASK: u8 = 11;
const KIND_REPLY: u8 = 12;
const KIND_WISH: u8 = 13;

impl Frame {
    /// The frame as bytes: version, kind, the envelope in fields of fixed width, and the content.
    pub fn encode(&self) -> Vec<u8> {
        let kind = match &self.content {
            Content::Lane(_) => KIND_LANE,
            Content::States(_) => KIND_STATES,
            Content::Auras(_) => KIND_AURAS,
            Content::Seams(_) => KIND_SEAMS,
            Content::Records(_) => KIND_RECORDS,
            Content::Kept(_) => KIND_KEPT,
            Content::Commit(_) => KIND_COMMIT,
            Content::Ask(_) => KIND_ASK,
            Content::Reply(_) => KIND_REPLY,
            Content::Wish(_) => KIND_WISH,
        };
        let mut bytes = vec![PROTOCOL_VERSION, kind];
        bytes.extend_from_slice(&self.from.encode());
        bytes.extend_from_slice(&self.to.encode());
        bytes.extend_from_slice(&self.era.to_le_bytes());
        bytes.extend_from_slice(&self.epoch.to_le_bytes());
        bytes.extend_from_slice(&self.tick.0.to_le_bytes());
        match &self.content {
            Content::Lane(lane) => write(lane, &mut bytes),
            Content::States(updates) => states::encode(updates, &mut bytes),
            Content::Auras(auras) => auras.encode(&mut bytes),
            Content::Seams(report) => write(report, &mut bytes),
            Content::Records(records) => write(records, &mut bytes),
            Content::Kept(kept) => write(kept, &mut bytes),
            Content::Commit(commit) => write(commit, &mut bytes),
            Content::Ask(ask) => write(ask, &mut bytes),
            Content::Reply(reply) => write(reply, &mut bytes),
            Content::Wish(wish) => write(wish, &mut bytes),
        }
        bytes
    }

    /// From whom to whom bytes claim to be, without looking at the rest.
    pub fn addresses(bytes: &[u8]) -> Result<(Address, Address), DecodeError> {
        let mut rest = Bytes(bytes);
        let [version, _] = rest.take()?;
        if version != PROTOCOL_VERSION {
            return Err(DecodeError::Version(version));
        }
        Ok((Address::decode(rest.take()?)?, Address::decode(rest.take()?)?))
    }

    /// Bytes from outside as a frame, or why they are none.
    pub fn decode(bytes: &[u8]) -> Result<Frame, DecodeError> {
        if bytes.len() > FRAME_BYTES_MAX {
            return Err(DecodeError::TooLong);
        }
        let (&version, rest) = bytes.split_first().ok_or(DecodeError::Malformed)?;
        if version != PROTOCOL_VERSION {
            return Err(DecodeError::Version(version));
        }
        let mut rest = Bytes(rest);
        let [kind] = rest.take()?;
        let (from, to) = (Address::decode(rest.take()?)?, Address::decode(rest.take()?)?);
        let (era, epoch) = (u16::from_le_bytes(rest.take()?), u32::from_le_bytes(rest.take()?));
        let tick = Tick(u64::from_le_bytes(rest.take()?));
        let body = rest.0;
        let content = match kind {
            KIND_LANE => Content::Lane(read(body)?),
            KIND_STATES => Content::States(states::decode(body)?),
            KIND_AURAS => Content::Auras(AuraFrame::decode(body)?),
            KIND_SEAMS => {
                let report: SeamReport = read(body)?;
                if !report.is_bounded() {
                    return Err(DecodeError::Malformed);
                }
                if !report.is_sound() {
                    return Err(DecodeError::NotFinite);
                }
                Content::Seams(report)
            }
            KIND_RECORDS => {
                let records: Records = read(body)?;
                records.check()?;
                Content::Records(records)
            }
            KIND_KEPT => Content::Kept(read(body)?),
            KIND_COMMIT => Content::Commit(read(body)?),
            KIND_ASK => Content::Ask(read(body).and_then(|ask: Ask| sound(ask.is_sound(), ask))?),
            KIND_REPLY => Content::Reply(read(body).and_then(|reply: Reply| sound(reply.is_sound(), reply))?),
            KIND_WISH => Content::Wish(read(body).and_then(|wish: Wish| sound(wish.is_sound(), wish))?),
            _ => return Err(DecodeError::Malformed),
        };
        Ok(Frame { from, to, era, epoch, tick, content })
    }
}

fn write(content: &impl Serialize, out: &mut Vec<u8>) {
    *out = coding::write_to(content, std::mem::take(out));
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    coding::read(bytes).map_err(|_| DecodeError::Malformed)
}

fn sound<T>(is_sound: bool, content: T) -> Result<T, DecodeError> {
    if is_sound { Ok(content) } else { Err(DecodeError::Malformed) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::{LaneMarks, Part, PartAnswer, UNDER_WAY_ANSWERS_MAX, Unanswered, UnderWay};
    use crate::client::{Hit, QUERIES_MAX, Query, QueryFilter};
    use crate::{
        AuraSize, Breach, Claim, CommandRef, Course, Factor, PIECE_BYTES_MAX, Piece, PieceKind, Places, SeamTotals,
        Transfer, Transit, WISH_BODIES_MAX, WISH_BOXES_MAX, WantedTouches,
    };
    use nimbus_model::{Aabb, ClientId, Nid, Pose, Quat, Shape, Vec3, Velocity};
    use proptest::prelude::*;

    fn frame(content: Content) -> Frame {
        Frame {
            from: Address::Region(RegionId(3)),
            to: Address::Gateway(GatewayId(1)),
            era: 2,
            epoch: 5,
            tick: Tick(1 << 40),
            content,
        }
    }

    fn vec3() -> impl Strategy<Value = Vec3> {
        (-1e4f32..1e4, -1e4f32..1e4, -1e4f32..1e4).prop_map(|(x, y, z)| Vec3::new(x, y, z))
    }

    fn update() -> impl Strategy<Value = StateUpdate> {
        (any::<u64>(), any::<u32>(), vec3(), vec3(), vec3(), vec3()).prop_map(|(nid, body_epoch, p, l, a, axis)| {
            StateUpdate {
                nid: Nid(nid),
                body_epoch,
                pose: Pose { position: p, rotation: Quat::from_scaled_axis(axis) },
                velocity: Velocity { linear: l, angular: a },
            }
        })
    }

    proptest! {
        #[test]
        fn states_survive_the_wire(mut updates in prop::collection::vec(update(), 0..50)) {
            updates.sort_by_key(|u| u.nid);
            updates.dedup_by_key(|u| u.nid);
            let sent = frame(Content::States(updates));
            prop_assert_eq!(Frame::decode(&sent.encode()), Ok(sent));
        }

        #[test]
        fn rubbish_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..400), kind in 0u8..15) {
            let mut framed = vec![PROTOCOL_VERSION, kind];
            framed.extend(&bytes);
            let _ = Frame::decode(&framed);
            let _ = Frame::decode(&bytes);
        }

        #[test]
        fn damaged_frames_never_panic(at in 0usize..200, value in any::<u8>(), cut in 0usize..200) {
            let transfer = Transfer {
                tick: Tick(7),
                claims: vec![Claim { nid: Nid(1), body_epoch: 2, restless: 1 }],
                payload: vec![1; 40],
                obeyed: vec![(Nid(1), vec![CommandRef { gateway: GatewayId(0), client: ClientId(3), sequence: 9 }])],
                returned: None,
                keepsakes: Vec::new(),
                courses: vec![(Nid(1), Course { pose: Pose::IDENTITY, until: Tick(9) })],
            };
            let lane = LaneFrame { ack: 3, first: 4, items: vec![(Tick(7), Item::Transfer(transfer))] };
            let sent = frame(Content::Lane(lane));
            let mut bytes = sent.encode();
            prop_assert_eq!(Frame::decode(&bytes), Ok(sent));
            let length = bytes.len();
            bytes[at % length] = value;
            let _ = Frame::decode(&bytes);
            bytes.truncate(cut % length);
            let _ = Frame::decode(&bytes);
        }
    }

    #[test]
    fn what_backups_hear_and_say_survives_the_wire() {
        let piece =
            Piece { kind: PieceKind::Seed, tick: Tick(9), begins: true, ends: false, bytes: vec![7; PIECE_BYTES_MAX] };
        let awaiting = vec![Address::Backup(RegionId(1)), Address::Region(RegionId(0))];
        for content in [
            Content::Records(Records { life: 2, first: 40, pieces: vec![piece], awaiting }),
            Content::Kept(Kept { epoch: 3, upto: 1 << 50 }),
            Content::Commit(Commit { region: RegionId(5), epoch: 2, tick: Tick(77) }),
        ] {
            let sent = frame(content);
            assert_eq!(Frame::decode(&sent.encode()), Ok(sent));
        }
        let beyond = Records { first: u64::MAX, pieces: vec![], ..Records::default() };
        let beyond = Records {
            pieces: vec![Piece { kind: PieceKind::Tick, tick: Tick(1), begins: true, ends: true, bytes: vec![] }],
            ..beyond
        };
        assert_eq!(Frame::decode(&frame(Content::Records(beyond)).encode()), Err(DecodeError::Malformed));
    }

    #[test]
    fn questions_and_answers_survive_the_wire_and_nonsense_is_dropped() {
        let ray = |max: f32| Query::Ray { origin: Vec3::Y, direction: Vec3::X, max };
        let shape = Query::Overlap { shape: Shape::ball(0.5), pose: Pose::IDENTITY };
        let filter = QueryFilter { except: Some(Nid(7)), ..QueryFilter::default() };
        let ask = |queries| frame(Content::Ask(Ask { number: 9, at: Tick(70), queries, filter: filter.clone() }));
        let good = ask(vec![ray(50.0), shape]);
        assert_eq!(Frame::decode(&good.encode()), Ok(good));
        for bad in [vec![], vec![ray(f32::NAN)], vec![ray(-1.0)], vec![ray(1.0); QUERIES_MAX + 1]] {
            assert_eq!(Frame::decode(&ask(bad).encode()), Err(DecodeError::Malformed));
        }
        let hit = |distance| Hit { nid: Nid(3), distance, point: Vec3::ZERO, normal: Vec3::Y };
        let reply = |distance, groups| {
            let found = (1, PartAnswer::Nearest(None));
            let part = Part {
                answers: vec![PartAnswer::Ray(Some(hit(distance))), PartAnswer::Cast(None)],
                under_way: vec![UnderWay { to: RegionId(2), sequence: 5, answers: vec![found] }; groups],
                unsaid: vec![(RegionId(2), 7)],
                lanes: vec![LaneMarks { peer: RegionId(2), acknowledged: 4, mark: 9 }],
            };
            frame(Content::Reply(Reply { number: 9, at: Tick(70), found: Ok(part) }))
        };
        let good = reply(1.5, 3);
        assert_eq!(Frame::decode(&good.encode()), Ok(good));
        assert_eq!(Frame::decode(&reply(f32::INFINITY, 1).encode()), Err(DecodeError::Malformed));
        assert_eq!(Frame::decode(&reply(1.0, UNDER_WAY_ANSWERS_MAX + 1).encode()), Err(DecodeError::Malformed));
        let missed = Reply { number: 9, at: Tick(70), found: Err(Unanswered::Missed) };
        let missed = frame(Content::Reply(missed));
        assert_eq!(Frame::decode(&missed.encode()), Ok(missed));
    }

    #[test]
    fn wishes_survive_the_wire_and_nonsense_is_dropped() {
        let wishes = |boxes, touches| frame(Content::Wish(Wish { motion: Places::Within(boxes), touches }));
        let wish = |boxes| wishes(boxes, WantedTouches::All);
        let within = Aabb::around(Vec3::X, Vec3::splat(2.0));
        let everywhere = frame(Content::Wish(Wish { motion: Places::Everywhere, touches: WantedTouches::None }));
        for good in [wish(vec![]), wish(vec![within, Aabb::EVERYTHING]), everywhere] {
            assert_eq!(Frame::decode(&good.encode()), Ok(good));
        }
        let inside_out = Aabb::new(Vec3::X, Vec3::ZERO);
        for bad in [vec![inside_out], vec![within.grown(f32::NAN)], vec![within; WISH_BOXES_MAX + 1]] {
            assert_eq!(Frame::decode(&wish(bad).encode()), Err(DecodeError::Malformed));
        }
        let named = |nids: Vec<u64>| wishes(vec![], WantedTouches::Of(nids.into_iter().map(Nid).collect()));
        let good = named(vec![1, 7]);
        assert_eq!(Frame::decode(&good.encode()), Ok(good));
        for bad in [vec![7, 1], vec![1, 1], (0..=WISH_BODIES_MAX as u64).collect()] {
            assert_eq!(Frame::decode(&named(bad).encode()), Err(DecodeError::Malformed));
        }
    }

    #[test]
    fn states_that_are_not_finite_are_dropped() {
        let mut bad = StateUpdate { nid: Nid(1), body_epoch: 1, pose: Pose::IDENTITY, velocity: Velocity::ZERO };
        bad.velocity.linear.x = f32::NAN;
        assert_eq!(Frame::decode(&frame(Content::States(vec![bad])).encode()), Err(DecodeError::NotFinite));
    }

    fn seams(reach: f32) -> SeamReport {
        let breach = Breach {
            tick: Tick(5),
            region: RegionId(3),
            factor: Factor::ClusterSize,
            value: 5_000.0,
            limit: 4_096.0,
            bodies: vec![Nid(8), Nid(9)],
        };
        SeamReport {
            auras: vec![AuraSize { nid: Nid(8), reach }],
            clusters: vec![vec![Nid(8), Nid(9)]],
            in_transit: vec![Transit { nid: Nid(7), to: RegionId(1) }],
            breaches: vec![breach],
            totals: SeamTotals { auras: 1, ghosts: 4, in_transit: 1, breaches: [0, 0, 0, 0, 3, 0, 0, 0, 5, 0] },
        }
    }

    #[test]
    fn seams_survive_the_wire_and_nonsense_is_dropped() {
        let sent = frame(Content::Seams(seams(2.5)));
        assert_eq!(Frame::decode(&sent.encode()), Ok(sent));
        for reach in [f32::NAN, f32::INFINITY, -1.0] {
            assert_eq!(Frame::decode(&frame(Content::Seams(seams(reach))).encode()), Err(DecodeError::NotFinite));
        }
        let mut long = seams(1.0);
        long.auras = vec![long.auras[0]; crate::seams::AURAS_MAX + 1];
        assert_eq!(Frame::decode(&frame(Content::Seams(long)).encode()), Err(DecodeError::Malformed));
    }

    #[test]
    fn another_version_is_named() {
        let other = PROTOCOL_VERSION + 1;
        assert_eq!(Frame::decode(&[other, 0]), Err(DecodeError::Version(other)));
    }
}
