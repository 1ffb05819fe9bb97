//! Frames between servers, gateways and backups.

use nimbus_model::{
    Aabb, ContactPatch, ContactPoint, ContactState, Extent, GAME_STATE_BYTES_MAX, GameState, Group, Keepsake, Link,
    Member, Mixer, Rng, StateUpdate, Vec3, coding,
};
use nimbus_wire::ask::{Ask, LaneMarks, Lowest, Part, PartAnswer, Reply, Unanswered, UnderWay};
use nimbus_wire::client::{FromClient, Hit, NearestBody};
use nimbus_wire::{
    Act, Address, Aura, AuraFrame, AuraSize, BirthCause, Breach, Claim, Command, Commit, Content, Course, Deed, Factor,
    Frame, GatewayId, Item, Kept, LaneFrame, Linkage, Order, Outcome, Piece, PieceKind, Places, PlannedBirth, Records,
    SeamReport, SeamTotals, Sighting, Strike, Touch, Touches, Transfer, Transit, WantedTouches, Wish, encode_group,
};
use std::sync::Arc;

use super::clients::questions;
use super::parts::{asked_by, desc, joint, motion, nid, pose, region, several, tick, vector, velocity};

fn frame(rng: &mut Rng, content: Content) -> Vec<u8> {
    let to = match rng.below(3) {
        0 => Address::Gateway(GatewayId(rng.below(2) as u16)),
        1 => Address::Backup(region(rng)),
        _ => Address::Region(region(rng)),
    };
    Frame { from: Address::Region(region(rng)), to, era: 1, epoch: rng.below(9) as u32, tick: tick(rng), content }
        .encode()
}

pub(super) fn lane(rng: &mut Rng) -> Vec<u8> {
    // Now and then the longest lane there is, of the shortest items.
    let items = match rng.below(64) {
        0 => several(rng, 3_000, |rng| (tick(rng), Item::Died { nid: nid(rng), body_epoch: 1 })),
        _ => several(rng, 8, |rng| (tick(rng), item(rng))),
    };
    let content = Content::Lane(LaneFrame { ack: rng.below(1_000), first: rng.below(1_000), items });
    frame(rng, content)
}

fn item(rng: &mut Rng) -> Item {
    match rng.below(15) {
        0 | 1 => Item::Transfer(Transfer {
            tick: tick(rng),
            claims: several(rng, 4, |rng| Claim {
                nid: nid(rng),
                body_epoch: rng.below(90) as u32,
                restless: rng.below(6) as u8,
            }),
            payload: encode_group(&some_group(rng)),
            obeyed: several(rng, 3, |rng| (nid(rng), several(rng, 3, asked_by))),
            returned: None,
            keepsakes: several(rng, 2, |rng| (nid(rng), keepsake(rng))),
            courses: several(rng, 2, |rng| (nid(rng), Course { pose: pose(rng), until: tick(rng) })),
        }),
        2 => Item::Order(Order { by: asked_by(rng), hops: rng.below(8) as u8, command: command(rng) }),
        3 => Item::Rests(several(rng, 6, aura)),
        4 => Item::Stirs(several(rng, 20, nid)),
        5 => Item::Offer { id: rng.below(99) as u32, islands: several(rng, 4, |rng| several(rng, 6, nid)) },
        6 => Item::Accept { id: rng.below(99) as u32, islands: vec![0, 2], until: tick(rng) },
        7 => Item::Hosted { nid: nid(rng), body_epoch: 3, desc: Arc::new(desc(rng)), motion: motion(rng) },
        8 => Item::Rested { nid: nid(rng), body_epoch: 3, motion: motion(rng) },
        9 => Item::Outcome(asked_by(rng), Outcome::Refused("there is no such body".to_owned())),
        10 => {
            let seen = Sighting { region: region(rng), tick: tick(rng), certain: true };
            let bodies = [nid(rng), nid(rng)];
            Item::Linkage(Linkage {
                by: asked_by(rng),
                bodies,
                joint: joint(rng),
                until: tick(rng),
                seen: [Some(seen), None],
            })
        }
        11 => Item::Deed(Deed { hops: 1, act: act(rng) }),
        12 => Item::Birth(PlannedBirth {
            at: tick(rng),
            nid: nid(rng),
            desc: Arc::new(desc(rng)),
            motion: motion(rng),
            cause: match rng.below(3) {
                0 => BirthCause::World,
                1 => BirthCause::Command(asked_by(rng)),
                _ => BirthCause::Game(keepsake(rng)),
            },
        }),
        13 => Item::Touches(Touches { touches: several(rng, 20, touch), left_out: rng.below(9) }),
        _ => Item::Died { nid: nid(rng), body_epoch: 9 },
    }
}

fn touch(rng: &mut Rng) -> Touch {
    Touch { tick: tick(rng), one: nid(rng), two: nid(rng), began: rng.chance(0.5) }
}

fn keepsake(rng: &mut Rng) -> Keepsake {
    let bytes = several(rng, GAME_STATE_BYTES_MAX as u64, |rng| rng.next_u64() as u8);
    Keepsake { children: rng.below(9) as u32, state: GameState::new(bytes).unwrap_or_default() }
}

fn act(rng: &mut Rng) -> Act {
    match rng.below(3) {
        0 => Act::Birth { nid: nid(rng), desc: Arc::new(desc(rng)), motion: motion(rng), keepsake: keepsake(rng) },
        1 => Act::Push { nid: nid(rng), impulse: vector(rng) },
        _ => Act::Velocity { nid: nid(rng), velocity: velocity(rng) },
    }
}

fn command(rng: &mut Rng) -> Command {
    match rng.below(6) {
        0 => Command::Spawn { desc: Arc::new(desc(rng)), motion: motion(rng) },
        1 => Command::Push { nid: nid(rng), impulse: vector(rng) },
        2 => Command::Game { nid: nid(rng), payload: several(rng, 40, |rng| rng.next_u64() as u8) },
        3 => Command::Turn { nid: nid(rng), linear: Some(vector(rng)), angular: None },
        4 => Command::Steer { nid: nid(rng), pose: pose(rng), ticks: rng.below(99) as u32 },
        _ => Command::Join { one: nid(rng), two: nid(rng), joint: joint(rng) },
    }
}

pub(super) fn states(rng: &mut Rng) -> Vec<u8> {
    let mut updates = several(rng, 20, |rng| StateUpdate {
        nid: nid(rng),
        body_epoch: rng.below(300) as u32,
        pose: pose(rng),
        velocity: velocity(rng),
    });
    updates.sort_by_key(|update| update.nid);
    updates.dedup_by_key(|update| update.nid);
    frame(rng, Content::States(updates))
}

fn aura(rng: &mut Rng) -> Aura {
    let min = vector(rng);
    let extent = Extent { bounds: Aabb::new(min, min + Vec3::ONE), axis: Vec3::Y, radius: rng.unit() };
    let (mass, restitution, spin, spin_mass) = (rng.unit() * 1e3, rng.unit(), rng.unit(), rng.unit());
    let strike = Strike { speed: rng.unit(), mass, restitution, spin, spin_mass };
    let (sweeps, anchored) = (rng.chance(0.2), rng.chance(0.2));
    Aura { nid: nid(rng), host: region(rng), tick: tick(rng), extent, speed: rng.unit(), strike, sweeps, anchored }
}

pub(super) fn auras(rng: &mut Rng) -> Vec<u8> {
    let (others, auras, near_full) = (several(rng, 3, region), several(rng, 10, aura), rng.chance(0.5));
    let settled = tick(rng);
    frame(rng, Content::Auras(AuraFrame { sent_us: 7, settled, load: 12, near_full, others, auras }))
}

pub(super) fn seams(rng: &mut Rng) -> Vec<u8> {
    let breach = |rng: &mut Rng| Breach {
        tick: tick(rng),
        region: region(rng),
        factor: Factor::ALL[rng.below(Factor::ALL.len() as u64) as usize],
        value: 40.0,
        limit: 32.0,
        bodies: several(rng, 8, nid),
    };
    let auras = if rng.below(64) == 0 { 2_048 } else { 12 };
    let report = SeamReport {
        auras: several(rng, auras, |rng| AuraSize { nid: nid(rng), reach: rng.unit() }),
        clusters: several(rng, 4, |rng| several(rng, 8, nid)),
        in_transit: several(rng, 6, |rng| Transit { nid: nid(rng), to: region(rng) }),
        breaches: several(rng, 3, breach),
        totals: SeamTotals { auras: 3, ghosts: 4, in_transit: 1, breaches: [0, 1, 2, 0, 0, 9, 0, 4, 0, 6] },
    };
    frame(rng, Content::Seams(report))
}

pub(super) fn records(rng: &mut Rng) -> Vec<u8> {
    let piece = |rng: &mut Rng| Piece {
        kind: [PieceKind::Seed, PieceKind::Snapshot, PieceKind::Tick][rng.below(3) as usize],
        tick: tick(rng),
        begins: rng.chance(0.5),
        ends: rng.chance(0.5),
        bytes: several(rng, 300, |rng| rng.next_u64() as u8),
    };
    let content = match rng.below(4) {
        0 => Content::Kept(Kept { epoch: 3, upto: rng.below(1 << 40) }),
        1 => Content::Commit(Commit { region: region(rng), epoch: 2, tick: tick(rng) }),
        _ => {
            let awaiting = several(rng, 4, |rng| Address::Region(region(rng)));
            Content::Records(Records { life: 2, first: rng.below(500), pieces: several(rng, 4, piece), awaiting })
        }
    };
    frame(rng, content)
}

pub(super) fn asks(rng: &mut Rng) -> Vec<u8> {
    if rng.chance(0.2) {
        let boxes = several(rng, 6, |rng| Aabb::around(vector(rng), Vec3::splat(rng.unit())));
        let motion = if rng.chance(0.2) { Places::Everywhere } else { Places::Within(boxes) };
        let touches = if rng.chance(0.3) { WantedTouches::All } else { WantedTouches::of(several(rng, 6, nid)) };
        return frame(rng, Content::Wish(Wish { motion, touches }));
    }
    let (number, at) = (rng.below(99), tick(rng));
    if let FromClient::Query { queries, filter, .. } = questions(rng)
        && rng.chance(0.5)
    {
        return frame(rng, Content::Ask(Ask { number, at, queries, filter }));
    }
    let found = match rng.below(8) {
        0 => Err(Unanswered::Missed),
        _ => Ok(Part {
            answers: several(rng, 6, part_answer),
            under_way: several(rng, 3, |rng| UnderWay {
                to: region(rng),
                sequence: rng.below(500),
                answers: several(rng, 4, |rng| (rng.below(9) as u16, part_answer(rng))),
            }),
            unsaid: several(rng, 3, |rng| (region(rng), rng.below(500))),
            lanes: several(rng, 4, |rng| LaneMarks { peer: region(rng), acknowledged: rng.below(99), mark: 7 }),
        }),
    };
    frame(rng, Content::Reply(Reply { number, at, found }))
}

fn part_answer(rng: &mut Rng) -> PartAnswer {
    let hit = |rng: &mut Rng| Hit { nid: nid(rng), distance: rng.unit(), point: vector(rng), normal: vector(rng) };
    let lowest = |rng: &mut Rng| Lowest::of(several(rng, 5, nid));
    match rng.below(5) {
        0 => PartAnswer::Ray(Some(hit(rng))),
        1 => PartAnswer::Cast(Some(hit(rng))),
        2 => PartAnswer::Overlap { bodies: lowest(rng), statics: lowest(rng) },
        3 => PartAnswer::Nearest(Some(NearestBody { nid: nid(rng), distance: rng.unit(), point: vector(rng) })),
        _ => PartAnswer::Ray(None),
    }
}

fn some_group(rng: &mut Rng) -> Group {
    let point = |rng: &mut Rng| ContactPoint {
        at_a: vector(rng),
        at_b: vector(rng),
        feature_a: 1,
        feature_b: 2,
        distance: -rng.unit(),
        step_impulse: rng.unit(),
        normal_impulse: rng.unit(),
        tangent_impulse: Vec3::ZERO,
        twist_impulse: 0.0,
    };
    let patch =
        |rng: &mut Rng| ContactPatch { normal_a: vector(rng), normal_b: vector(rng), points: several(rng, 4, point) };
    Group {
        members: several(rng, 4, |rng| Member { nid: nid(rng), desc: Arc::new(desc(rng)), motion: motion(rng) }),
        links: several(rng, 2, |rng| Link::new(nid(rng), nid(rng), 0, joint(rng))),
        contacts: several(rng, 3, |rng| ContactState {
            patches: several(rng, 2, patch),
            ..ContactState::bare(nid(rng), nid(rng))
        }),
    }
}

/// A group without its checksum, which [`sealed`] puts in front: a forger can compute it, and so must we.
pub(super) fn group(rng: &mut Rng) -> Vec<u8> {
    coding::write(&some_group(rng))
}

/// Bytes with the checksum of a group in front.
pub(super) fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut mixer = Mixer::new();
    mixer.bytes(bytes);
    [&mixer.finish().to_le_bytes(), bytes].concat()
}
