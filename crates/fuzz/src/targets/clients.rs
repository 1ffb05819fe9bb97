//! What clients send, and what is sent to clients.

use nimbus_model::{Aabb, BodyKind, ClientId, RegionBox, Rng};
use nimbus_wire::client::bodies::{self, Bodies, BodiesError, Create};
use nimbus_wire::client::{
    Authority, ClientHello, ClientRole, FrameKind, Framer, FromClient, Hit, Hits, Overlapping, Overlay, Query,
    QueryAnswer, QueryFilter, SceneInfo, Spawn, StaticSpawn, TEXT_BYTES_MAX, ToClient, Watch,
};

use super::parts::{self, joint, pose, region, several, shape, tick, vector};
use super::servers::some_world;

pub(super) fn from_client(rng: &mut Rng) -> Vec<u8> {
    if rng.below(64) == 0 {
        return swollen(rng);
    }
    let seq = rng.chance(0.5).then(|| rng.below(1_000));
    let command = match rng.below(19) {
        0..3 => FromClient::Spawn(Spawn::new(shape(rng), vector(rng), vector(rng))),
        3 => FromClient::Impulse { nid: parts::nid(rng), impulse: vector(rng) },
        4 => FromClient::Despawn { nid: parts::nid(rng) },
        5 => FromClient::Join { one: parts::nid(rng), two: parts::nid(rng), joint: joint(rng) },
        6 => FromClient::Scene { name: "rain".to_owned() },
        7 => FromClient::Step { ticks: 60 },
        10 => FromClient::Kill { server: 3 },
        11..13 => questions(rng),
        17 => FromClient::Watch(Watch { packed: rng.chance(0.5), ..Watch::around(vector(rng), 50.0) }),
        8 => FromClient::Overlays { on: Overlay::ALL.to_vec() },
        13 => FromClient::Velocity { nid: parts::nid(rng), linear: Some(vector(rng)), angular: Some(vector(rng)) },
        14 => FromClient::Target { nid: parts::nid(rng), pose: pose(rng), ticks: 60 },
        15 => FromClient::Static(StaticSpawn::new(shape(rng), pose(rng))),
        16 => FromClient::Regions {
            boxes: several(rng, 4, |rng| {
                let (one, two) = (vector(rng), vector(rng));
                RegionBox { region: region(rng), bounds: Aabb::new(one.min(two), one.max(two)) }
            }),
            rest: region(rng),
        },
        _ => FromClient::Speed { factor: 0.5 },
    };
    command.to_text(seq).into_bytes()
}

pub(super) fn hello(rng: &mut Rng) -> Vec<u8> {
    let token = rng.chance(0.5).then(|| format!("v1.player.{}.{:032x}.mac", rng.below(1 << 32), rng.next_u64()));
    ClientHello { watches: rng.chance(0.5), token }.encode()
}

/// Some messages on a stream, the first a hello.
pub(super) fn frames(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = FrameKind::Hello.frame(&hello(rng));
    for _ in 0..rng.below(4) {
        let (kind, message) = match rng.below(2) {
            0 => (FrameKind::Text, from_client(rng)),
            _ => (FrameKind::Binary, self::bodies(rng)),
        };
        bytes.extend(kind.frame(&message[..message.len().min(TEXT_BYTES_MAX)]));
    }
    bytes
}

/// Reads a stream to its end as a gateway does, in pieces. False when something in it is no message, or only half of one.
pub(super) fn read_frames(bytes: &[u8]) -> bool {
    const PIECE: usize = 1_000;
    let mut framer = Framer::default();
    let mut read = 0;
    for piece in bytes.chunks(PIECE) {
        framer.push(piece);
        loop {
            match framer.next(TEXT_BYTES_MAX) {
                Ok(Some(message)) => read += nimbus_wire::client::FRAME_HEAD_BYTES + message.size(),
                Ok(None) => break,
                Err(_) => return false,
            }
        }
    }
    read == bytes.len() && read > 0
}

pub(super) fn questions(rng: &mut Rng) -> FromClient {
    let (filter, around) = (QueryFilter::default(), nimbus_model::Shape::ball(rng.between(0.1, 2.0)));
    let query = |rng: &mut Rng| match rng.below(4) {
        0 => Query::Ray { origin: vector(rng), direction: vector(rng), max: 100.0 },
        1 => Query::Cast { shape: around.clone(), pose: pose(rng), direction: vector(rng), max: 9.0 },
        2 => Query::Overlap { shape: around.clone(), pose: pose(rng) },
        _ => Query::Nearest { position: vector(rng), max: 50.0 },
    };
    let mut queries = several(rng, 5, query);
    queries.push(query(rng));
    let except = rng.chance(0.5).then(|| parts::nid(rng));
    let authority = match rng.below(3) {
        0 => Authority::Gateway,
        1 => Authority::Servers { at: None },
        _ => Authority::Servers { at: Some(tick(rng)) },
    };
    FromClient::Query { queries, filter: QueryFilter { except, ..filter }, authority }
}

/// A message with as many small values as fit: what becomes large when it is read.
fn swollen(rng: &mut Rng) -> Vec<u8> {
    let entry = ["0", "[0]", "{}", "{\"a\":0}", "[[0]]", "\"\"", "null"][rng.below(7) as usize];
    let entries = vec![entry; rng.below(9_000) as usize].join(",");
    format!("{{\"type\":\"spawn\",\"shape\":{{\"convex-hull\":{{\"points\":[{entries}]}}}}}}").into_bytes()
}

pub(super) fn to_client(rng: &mut Rng) -> Vec<u8> {
    let message = match rng.below(6) {
        0 => ToClient::Shape { id: rng.below(99) as u32, shape: shape(rng) },
        1 => ToClient::Welcome {
            protocol: 1,
            client: ClientId(rng.below(99) as _),
            role: ClientRole::ALL[rng.below(4) as usize],
            scenes: vec![SceneInfo { name: "rain".to_owned(), about: "It rains.".to_owned() }],
        },
        2 => ToClient::Refused { seq: Some(rng.below(99)), reason: "no \u{e4}\n".to_owned() },
        3 => ToClient::Done { seq: None, nid: Some(parts::nid(rng)) },
        4 => {
            let hit = Hit { nid: parts::nid(rng), distance: rng.unit(), point: vector(rng), normal: vector(rng) };
            let overlapping = Overlapping { bodies: several(rng, 4, parts::nid), total: 9 };
            let answers = vec![QueryAnswer::Ray(Some(hit)), QueryAnswer::Cast(None), QueryAnswer::Overlap(overlapping)];
            let missing = rng.chance(0.5).then(|| several(rng, 3, region));
            ToClient::Hits(Hits { seq: Some(3), tick: tick(rng), age: rng.below(9), answers, missing })
        }
        _ => ToClient::world(&some_world(rng), 2),
    };
    message.to_text().into_bytes()
}

pub(super) fn bodies(rng: &mut Rng) -> Vec<u8> {
    let mut out = Vec::new();
    let slots = several(rng, 12, |rng| rng.below(2_000) as u32);
    match rng.below(9) {
        0 | 1 => {
            let create = |rng: &mut Rng| Create {
                slot: rng.below(2_000) as u32,
                nid: parts::nid(rng),
                shape: 1,
                region: region(rng),
                kind: BodyKind::Dynamic,
                sensor: false,
                pose: pose(rng),
            };
            bodies::encode_create(several(rng, 8, create).into_iter(), &mut out);
        }
        2 => bodies::encode_destroy(&slots, &mut out),
        3 => bodies::encode_owner(slots.into_iter().map(|slot| (slot, region(rng))), &mut out),
        4 => bodies::encode_auras(slots.into_iter().map(|slot| (slot, rng.unit())), &mut out),
        5 => bodies::encode_clusters(slots.into_iter().map(|slot| (slot, 1)), &mut out),
        6 => bodies::encode_leave(&slots, &mut out),
        7 => {
            let packet: Vec<u8> = slots.iter().map(|slot| *slot as u8).collect();
            let written = bodies::encode_packed(tick(rng), &mut out, |out| {
                out.extend_from_slice(&packet);
                Ok::<(), ()>(())
            });
            assert_eq!(written, Ok(()));
        }
        _ => {
            let at = tick(rng);
            bodies::encode_state(at, slots.into_iter().map(|slot| (slot, pose(rng))), &mut out);
        }
    }
    out
}

/// Reads everything that a checked message holds: checking it once must be enough.
pub(super) fn walk(decoded: Result<Option<Bodies<'_>>, BodiesError>) -> bool {
    match decoded {
        Ok(Some(Bodies::Create(records))) => bodies::creates(records).all(|create| create.pose.is_valid()),
        Ok(Some(Bodies::Destroy(records) | Bodies::Leave(records))) => {
            bodies::slots(records).len() * 4 == records.len()
        }
        Ok(Some(Bodies::Owner(records) | Bodies::InTransit(records))) => bodies::owners(records).count() < usize::MAX,
        Ok(Some(Bodies::State(_, columns))) => bodies::states(columns).all(|(_, pose)| pose.is_valid()),
        Ok(Some(Bodies::Auras(records))) => bodies::auras(records).all(|(_, reach)| reach.is_finite()),
        Ok(Some(Bodies::Clusters(records))) => bodies::clusters(records).count() < usize::MAX,
        // What is in a packet is for the decoder of streams, which is a target of its own.
        Ok(Some(Bodies::Packed(_, packet))) => packet.len() < usize::MAX,
        Ok(None) | Err(_) => false,
    }
}

pub(super) fn nid(rng: &mut Rng) -> Vec<u8> {
    parts::nid(rng).to_string().into_bytes()
}
