//! What processes and coordinators say to each other, and how processes greet.

use nimbus_control::{
    Birth, FromCoordinator, Heartbeat, Incarnation, Join, Process, Region, RegionReport, Role, Roster, Seat, Service,
    Standing, Timeline, ToCoordinator, Told,
};
use nimbus_model::{Origin, Rng, Tick};
use nimbus_runtime::cluster::{Ask, Post};
use nimbus_runtime::mesh::{ClusterName, HELLO_BYTES, Hello, ProcessName, Role as MeshRole};
use nimbus_runtime::reading::Reading;
use std::sync::Arc;

use super::parts::{region, several, tick};
use super::{frames, servers};
use crate::Verdict;

pub(super) fn to_coordinator(bytes: &[u8]) -> Verdict {
    Verdict::of(ToCoordinator::decode(bytes).is_ok())
}

pub(super) fn from_coordinator(bytes: &[u8]) -> Verdict {
    Verdict::of(FromCoordinator::decode(bytes).is_ok())
}

pub(super) fn roster(bytes: &[u8]) -> Verdict {
    Verdict::of(Roster::decode(bytes).is_ok())
}

pub(super) fn post(bytes: &[u8]) -> Verdict {
    Verdict::of(Post::decode(bytes.to_vec()).is_some())
}

pub(super) fn hello(bytes: &[u8]) -> Verdict {
    Verdict::of(bytes.first_chunk::<HELLO_BYTES>().is_some_and(|bytes| Hello::decode(bytes).is_ok()))
}

/// Names stand in certificates, in files and on the command line.
pub(super) fn name(bytes: &[u8]) -> Verdict {
    Verdict::of(std::str::from_utf8(bytes).is_ok_and(|name| ProcessName::new(name).is_ok()))
}

fn some_name(rng: &mut Rng) -> String {
    format!("node-{}", rng.below(1_000))
}

fn message(rng: &mut Rng) -> ToCoordinator {
    match rng.below(4) {
        0 => ToCoordinator::Drain(Incarnation(rng.below(9) as u16)),
        1 => ToCoordinator::Join(Join {
            name: some_name(rng),
            role: Role::Node,
            address: format!("10.0.0.{}:7810", rng.below(256)),
            token: rng.next_u64(),
        }),
        _ => {
            let mut regions = several(rng, 6, |rng| RegionReport {
                region: region(rng),
                epoch: 4,
                service: Service::Running,
                bodies: rng.below(5_000) as u32,
                tick_us: 800,
                behind: 0,
                life: 2,
                kept: Some(tick(rng)),
                applied: Told {
                    era: 1 + rng.below(3) as u16,
                    epoch: rng.below(9) as u32,
                    revision: rng.below(5) as u32,
                },
                applied_at: tick(rng),
            });
            regions.sort_by_key(|report| report.region);
            regions.dedup_by_key(|report| report.region);
            let process = Incarnation(rng.below(9) as u16);
            ToCoordinator::Heartbeat(Heartbeat { process, revision: rng.below(99), tick: tick(rng), regions })
        }
    }
}

fn some_roster(rng: &mut Rng) -> Roster {
    let map = servers::some_map(rng);
    let process = |id: u16| Process {
        name: format!("node-{id}"),
        role: Role::Node,
        address: format!("10.0.0.{id}:7810"),
        token: u64::from(id) << 32,
        standing: Standing::Up,
    };
    let region = |backup: bool| Region {
        server: Incarnation(1),
        epoch: 1,
        origin: Origin(1),
        birth: Birth::World,
        backup: backup.then_some(Seat { process: Incarnation(2), life: 1 }),
        lives: u32::from(backup),
        protected: backup,
        moving: None,
        lost: None,
    };
    Roster {
        cluster: "meadow".to_owned(),
        revision: 1 + rng.below(999),
        term: 1 + rng.below(9),
        leader: "coordinator-0".to_owned(),
        leader_token: rng.next_u64(),
        issued: 40,
        processes: (1..3 + rng.below(8) as u16).map(|id| (Incarnation(id), process(id))).collect(),
        regions: map.regions().iter().map(|id| (*id, region(rng.chance(0.7)))).collect(),
        world: "rain".to_owned(),
        era: 1,
        loaded_at: Tick(rng.below(2)),
        map: Arc::new(map),
        changes: Vec::new(),
        timeline: Some(Timeline::new(1 << 50, 60)),
        placed: Arc::new(servers::some_placed(rng)),
    }
}

pub(super) fn make_to_coordinator(rng: &mut Rng) -> Vec<u8> {
    message(rng).encode()
}

pub(super) fn make_from_coordinator(rng: &mut Rng) -> Vec<u8> {
    match rng.below(3) {
        0 => FromCoordinator::NotLeading { leader: Some("coordinator-1".to_owned()) },
        1 => FromCoordinator::Roster(Arc::new(some_roster(rng))),
        _ => {
            let roster = Arc::new(some_roster(rng));
            FromCoordinator::Welcome { token: rng.next_u64(), process: Incarnation(2), roster }
        }
    }
    .encode()
}

pub(super) fn make_roster(rng: &mut Rng) -> Vec<u8> {
    some_roster(rng).encode()
}

pub(super) fn make_post(rng: &mut Rng) -> Vec<u8> {
    match rng.below(8) {
        0 => Post::Frame(frames::seams(rng)),
        6 => Post::Asked(rng.next_u64(), Ask::Scene(some_name(rng))),
        7 => Post::Answered(rng.next_u64(), Err(some_name(rng))),
        1 => Post::ToCoordinator(message(rng)),
        2 => Post::FromCoordinator(FromCoordinator::Roster(Arc::new(some_roster(rng)))),
        3 => Post::ClockAsked(rng.next_u64()),
        4 => Post::ClockTold(rng.next_u64(), rng.next_u64()),
        _ => Post::Shown(Reading::default().shown(Tick(0))),
    }
    .encode()
}

pub(super) fn make_hello(rng: &mut Rng) -> Vec<u8> {
    let (Ok(cluster), Ok(name)) = (ClusterName::new("meadow"), ProcessName::new(&some_name(rng))) else {
        return Vec::new();
    };
    let role = MeshRole::ALL[rng.below(3) as usize];
    let version = nimbus_wire::PROTOCOL_VERSION;
    Hello { version, cluster, role, name, incarnation: rng.below(1 << 16) as u16 }.encode().to_vec()
}

pub(super) fn make_name(rng: &mut Rng) -> Vec<u8> {
    some_name(rng).into_bytes()
}
