//! What comes from outside becomes a value that makes sense, or is refused with a reason.

use crate::desk::{Desk, config};
use nimbus_control::{
    Change, FromCoordinator, Heartbeat, Incarnation, Invalid, Join, Loss, MessageError, ROSTER_BYTES_MAX, RegionReport,
    Role, Roster, RosterError, Seat, Service, ToCoordinator, Told,
};
use nimbus_model::{Origin, RegionId, Tick};
use proptest::prelude::*;
use std::sync::Arc;

fn roster() -> Roster {
    let mut desk = Desk::started(config(3, 3), 3);
    desk.run(200);
    desk.roster()
}

fn report(region: u16) -> RegionReport {
    RegionReport {
        region: RegionId(region),
        epoch: 4,
        service: Service::Running,
        bodies: 7,
        tick_us: 800,
        behind: 0,
        life: 2,
        kept: Some(Tick(9)),
        applied: Told { era: 3, epoch: 2, revision: 1 },
        applied_at: Tick(8),
    }
}

fn beat(regions: Vec<RegionReport>) -> ToCoordinator {
    ToCoordinator::Heartbeat(Heartbeat { process: Incarnation(3), revision: 8, tick: Tick(9), regions })
}

fn join(name: &str, address: &str) -> ToCoordinator {
    ToCoordinator::Join(Join { name: name.into(), role: Role::Gateway, address: address.into(), token: 5 })
}

#[test]
fn messages_survive() {
    for message in
        [join("node-1.eu", "[::1]:7000"), beat(vec![report(0), report(1)]), ToCoordinator::Drain(Incarnation(1))]
    {
        assert_eq!(ToCoordinator::decode(&message.encode()), Ok(message));
    }
    let roster = Arc::new(roster());
    for message in [
        FromCoordinator::Welcome { token: 1, process: Incarnation(2), roster: Arc::clone(&roster) },
        FromCoordinator::Roster(roster),
        FromCoordinator::NotLeading { leader: None },
    ] {
        assert_eq!(FromCoordinator::decode(&message.encode()), Ok(message));
    }
}

#[test]
fn messages_that_make_no_sense_are_refused_with_a_reason() {
    let refused = |message: ToCoordinator| ToCoordinator::decode(&message.encode()).unwrap_err().to_string();
    for name in ["", "a b", "caf\u{e9}", &"x".repeat(65)] {
        assert!(refused(join(name, "host:1")).contains("is not a name"), "{name}");
    }
    for address in ["", "host", ":1", "host:", "host:0", "host:65536", "ho st:1", &format!("{}:1", "h".repeat(300))] {
        assert!(refused(join("n", address)).contains("is not an address"), "{address}");
    }
    assert!(refused(beat(vec![report(1), report(1)])).contains("once"));
    assert!(refused(beat((0..1025).map(report).collect())).contains("1024"));
    assert_eq!(ToCoordinator::decode(&[9]), Err(MessageError::Version(9)));
    assert_eq!(ToCoordinator::decode(&[]), Err(MessageError::Malformed));
    assert!(matches!(ToCoordinator::decode(&vec![1; 300 << 10]), Err(MessageError::TooLong(..))));
    let roster = Roster { term: 0, ..roster() };
    let told = FromCoordinator::Roster(Arc::new(roster)).encode();
    assert_eq!(FromCoordinator::decode(&told), Err(MessageError::Invalid(Invalid::Count)));
}

#[test]
fn rosters_that_contradict_themselves_are_refused() {
    let first = RegionId(0);
    let check = |what: &str, spoil: &dyn Fn(&mut Roster)| {
        let mut roster = roster();
        assert_eq!(Roster::decode(&roster.encode()).as_ref(), Ok(&roster));
        spoil(&mut roster);
        let refused = Roster::decode(&roster.encode()).unwrap_err();
        assert!(matches!(refused, RosterError::Invalid(_)), "{what}: {refused}");
        assert!(refused.to_string().contains(what), "{what}: {refused}");
    };
    check("out of range", &|roster| roster.revision = 0);
    check("out of range", &|roster| roster.term = u64::MAX);
    check("not a name", &|roster| roster.cluster.clear());
    check("never issued", &|roster| roster.issued = 1);
    check("never issued", &|roster| roster.regions.get_mut(&first).unwrap().origin = Origin::WORLD);
    check("two members", &|roster| roster.processes.get_mut(&Incarnation(1)).unwrap().name = "n1".into());
    check("does not have", &|roster| roster.regions.get_mut(&first).unwrap().server = Incarnation(9));
    check("serves itself", &|roster| {
        let region = roster.regions.get_mut(&first).unwrap();
        region.backup = Some(Seat { process: region.server, life: region.lives });
    });
    check("not the newest", &|roster| roster.regions.get_mut(&first).unwrap().lives = 9);
    check("nobody keeps", &|roster| roster.regions.get_mut(&first).unwrap().backup = None);
    check("epoch is zero", &|roster| roster.regions.get_mut(&first).unwrap().epoch = 0);
    check("it is lost", &|roster| {
        roster.regions.get_mut(&first).unwrap().lost = Some(Loss { server: "a".into(), backup: None });
    });
    check("not all regions of the partition", &|roster| drop(roster.regions.remove(&first)));
    check("timeline", &|roster| roster.timeline = None);
    check("not in order", &|roster| {
        let load = |at| Change::Load { at, era: 2, world: "w".into(), map: roster.map.clone() };
        (roster.changes, roster.loaded_at) = (vec![load(Tick(9))], Tick(10));
    });
    assert_eq!(Roster::decode(&vec![1; ROSTER_BYTES_MAX + 1]), Err(RosterError::TooLong(ROSTER_BYTES_MAX + 1)));
    assert_eq!(Roster::decode(&[7, 7]), Err(RosterError::Version(7)));
}

#[test]
fn a_message_that_was_not_checked_by_the_shell_is_dropped_and_counted() {
    let mut desk = Desk::started(config(2, 2), 2);
    let before = desk.roster();
    desk.give(nimbus_control::Input::Message { link: nimbus_control::Link(9), message: join("no name", "nowhere") });
    assert_eq!((desk.coordinator.dropped(), desk.roster()), (1, before));
}

proptest! {
    #[test]
    fn rubbish_never_panics(mut bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for _ in 0..2 {
            let _ = (ToCoordinator::decode(&bytes), FromCoordinator::decode(&bytes), Roster::decode(&bytes));
            bytes.insert(0, 1);
        }
    }
}

#[test]
fn damage_never_panics_and_never_makes_a_roster_that_is_not_valid() {
    let bytes = roster().encode();
    for at in 0..bytes.len() {
        for flip in [1, 0x10, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            if let Ok(roster) = Roster::decode(&damaged) {
                assert_eq!(roster.validate(), Ok(()));
            }
        }
        assert!(Roster::decode(&bytes[..at]).is_err());
    }
}
