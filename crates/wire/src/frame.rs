//! The envelope every message between servers and gateways travels in.

use nimbus_model::{RegionId, StateUpdate, Tick};
use serde::{Deserialize, Serialize};
use std::fmt;

use crate::PROTOCOL_VERSION;
use crate::aura::AuraFrame;
use crate::item::Item;
use crate::records::{Commit, Kept, Records};
use crate::seams::SeamReport;
use crate::states;

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

#[derive(Serialize, Deserialize)]
struct Header {
    from: Address,
    to: Address,
    era: u16,
    epoch: u32,
    tick: Tick,
}

const KIND_LANE: u8 = 0;
const KIND_STATES: u8 = 1;
const KIND_AURAS: u8 = 2;
const KIND_SEAMS: u8 = 3;
const KIND_RECORDS: u8 = 8;
const KIND_KEPT: u8 = 9;
const KIND_COMMIT: u8 = 10;

impl Frame {
    /// The frame as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let header = Header { from: self.from, to: self.to, era: self.era, epoch: self.epoch, tick: self.tick };
        match &self.content {
            Content::Lane(lane) => written(KIND_LANE, &(header, lane)),
            Content::Auras(auras) => written(KIND_AURAS, &(header, auras)),
            Content::Seams(report) => written(KIND_SEAMS, &(header, report)),
            Content::Records(records) => written(KIND_RECORDS, &(header, records)),
            Content::Kept(kept) => written(KIND_KEPT, &(header, kept)),
            Content::Commit(commit) => written(KIND_COMMIT, &(header, commit)),
            Content::States(updates) => {
                let head = bitcode::serialize(&header).expect("plain data always serialises");
                let length = u8::try_from(head.len()).expect("a header is a few bytes");
                let mut bytes = vec![PROTOCOL_VERSION, KIND_STATES, length];
                bytes.extend_from_slice(&head);
                states::encode(updates, &mut bytes);
                bytes
            }
        }
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
        let (&kind, rest) = rest.split_first().ok_or(DecodeError::Malformed)?;
        let (header, content) = match kind {
            KIND_LANE => {
                let (header, lane): (Header, LaneFrame) =
                    bitcode::deserialize(rest).map_err(|_| DecodeError::Malformed)?;
                (header, Content::Lane(lane))
            }
            KIND_AURAS => {
                let (header, auras): (Header, AuraFrame) =
                    bitcode::deserialize(rest).map_err(|_| DecodeError::Malformed)?;
                if !auras.is_valid() {
                    return Err(DecodeError::NotFinite);
                }
                (header, Content::Auras(auras))
            }
            KIND_STATES => {
                let (&length, rest) = rest.split_first().ok_or(DecodeError::Malformed)?;
                let (head, body) = rest.split_at_checked(usize::from(length)).ok_or(DecodeError::Malformed)?;
                let header = bitcode::deserialize(head).map_err(|_| DecodeError::Malformed)?;
                (header, Content::States(states::decode(body)?))
            }
            KIND_SEAMS => {
                let (header, report): (Header, SeamReport) =
                    bitcode::deserialize(rest).map_err(|_| DecodeError::Malformed)?;
                if !report.is_bounded() {
                    return Err(DecodeError::Malformed);
                }
                if !report.is_sound() {
                    return Err(DecodeError::NotFinite);
                }
                (header, Content::Seams(report))
            }
            KIND_RECORDS => {
                let (header, records): (Header, Records) =
                    bitcode::deserialize(rest).map_err(|_| DecodeError::Malformed)?;
                records.check()?;
                (header, Content::Records(records))
            }
            KIND_KEPT => {
                let (header, kept) = bitcode::deserialize(rest).map_err(|_| DecodeError::Malformed)?;
                (header, Content::Kept(kept))
            }
            KIND_COMMIT => {
                let (header, commit) = bitcode::deserialize(rest).map_err(|_| DecodeError::Malformed)?;
                (header, Content::Commit(commit))
            }
            _ => return Err(DecodeError::Malformed),
        };
        let Header { from, to, era, epoch, tick } = header;
        Ok(Frame { from, to, era, epoch, tick, content })
    }
}

/// A frame of plain data.
fn written(kind: u8, content: &impl Serialize) -> Vec<u8> {
    let body = bitcode::serialize(content).expect("plain data always serialises");
    let mut bytes = vec![PROTOCOL_VERSION, kind];
    bytes.extend_from_slice(&body);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AuraSize, Breach, Claim, CommandRef, Factor, PIECE_BYTES_MAX, Piece, PieceKind, SeamTotals, Transfer, Transit,
    };
    use nimbus_model::{ClientId, Nid, Pose, Quat, Vec3, Velocity};
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
        fn rubbish_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..400), kind in 0u8..12) {
            let mut framed = vec![PROTOCOL_VERSION, kind];
            framed.extend(&bytes);
            let _ = Frame::decode(&framed);
            let _ = Frame::decode(&bytes);
        }

        #[test]
        fn damaged_frames_never_panic(at in 0usize..200, value in any::<u8>(), cut in 0usize..200) {
            let transfer = Transfer {
                tick: Tick(7),
                claims: vec![Claim { nid: Nid(1), body_epoch: 2 }],
                payload: vec![1; 40],
                obeyed: vec![(Nid(1), vec![CommandRef { gateway: GatewayId(0), client: ClientId(3), sequence: 9 }])],
                returned: None,
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
            totals: SeamTotals { auras: 1, ghosts: 4, in_transit: 1, breaches: [0, 0, 0, 0, 3, 0] },
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
        assert_eq!(Frame::decode(&[9, 0]), Err(DecodeError::Version(9)));
    }
}
