//! One body can be followed through a cluster by what its processes say: every hand-over has one id everywhere.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::disallowed_methods, reason = "real processes take real time")]

mod support;

use std::path::Path;
use support::log_lines::{TakenOver, Told, followed, impossible, read, stale_adopted, void_grants};
use support::{Cluster, Free, MARBLES, Plan};

#[test]
fn a_hand_over_has_the_same_id_at_both_servers_and_at_the_gateway() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-handover.log", std::process::id()));
    let plan = Plan {
        name: "handover-log",
        world: Some(MARBLES),
        head: String::new(),
        coordinators: 1,
        nodes: 2,
        relayed: false,
        arguments: &["--log", "nimbus::handover"],
    };
    let mut cluster = Cluster::start_writing(&plan, Free::default(), std::fs::File::create(&path).unwrap().into());
    let look = || read(&std::fs::read_to_string(&path).unwrap());
    let told = cluster.until("hand-overs to be told by all who have to do with them", |_| {
        let told = look();
        (followed(&told).len() >= 4).then_some(told)
    });
    // Each process writes when it comes to it, so a grant may stand below its adoption.
    cluster.until("every adoption to have a grant", |_| {
        let mut later = look();
        later.retain(|line| line.what != "adopted");
        later.extend(told.iter().filter(|line| line.what == "adopted").cloned());
        impossible(&later).is_empty().then_some(())
    });
    drop(cluster);
    let said = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let others = said.lines().filter(|line| line.contains(" DEBUG ") && !line.contains(" nimbus::handover: "));
    assert_eq!(others.collect::<Vec<_>>(), [""; 0], "the filter lets nothing else through");
}

/// Lines of processes p, q and g about one body.
fn said(lines: &[&str]) -> Vec<Told> {
    let text: String = lines
        .iter()
        .map(|line| {
            let [process, what, handover, region, epoch, peer, tick] = line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            format!(
                "2026-01-01T00:00:00.000000Z DEBUG {process} nimbus::handover: what={what} handover={handover} \
                 region={region} epoch={epoch} peer={peer} tick={tick} era=1\n"
            )
        })
        .collect();
    let told = read(&text);
    assert_eq!(told.len(), lines.len());
    told
}

#[test]
fn what_was_not_told_alike_everywhere_is_not_followed() {
    let (granted, shown) = ("p granted 1.7@2 r0 1 r1 5", "g shown 1.7@2 r1 1 r0 9");
    assert_eq!(followed(&said(&[granted, "q adopted 1.7@2 r1 1 r0 6", shown])).len(), 1);
    for wrong in ["q adopted 1.7@3 r1 1 r0 6", "q adopted 1.7@2 r2 1 r0 6", "p adopted 1.7@2 r1 1 r0 6"] {
        assert!(followed(&said(&[granted, wrong, shown])).is_empty(), "{wrong}");
    }
    assert!(followed(&said(&[granted, "q adopted 1.7@2 r1 1 r0 6"])).is_empty(), "the gateway did not show it");
    assert!(read("... DEBUG p nimbus::handover: what=granted handover=1.7@2 region=r0 epo").is_empty(), "half a line");
}

#[test]
fn what_a_replaced_server_granted_too_late_must_come_to_nothing() {
    let taken = TakenOver { region: "r0".to_owned(), former: 1, after: 100 };
    let (early, late) = ("p granted 1.7@2 r0 1 r1 100", "p granted 1.8@2 r0 1 r1 101");
    let good = said(&[early, "q adopted 1.7@2 r1 1 r0 102", late]);
    assert!(void_grants(&good, &taken).len() == 1 && stale_adopted(&good, &taken).is_empty());
    let again = said(&[late, "q granted 1.8@2 r0 2 r1 130", "q adopted 1.8@2 r1 1 r0 131"]);
    assert!(stale_adopted(&again, &taken).is_empty(), "who took over gave the same body away");
    assert_eq!(stale_adopted(&said(&[late, "q adopted 1.8@2 r1 1 r0 103"]), &taken).len(), 1);
}

#[test]
fn nobody_adopts_what_nobody_granted_to_him() {
    let granted = "p granted 1.7@2 r0 1 r1 5";
    let adopted = "q adopted 1.7@2 r1 1 r0 6";
    assert!(impossible(&said(&[granted, adopted, "s adopted 1.7@2 r1 2 r0 6"])).is_empty(), "it took over from q");
    assert!(impossible(&said(&[granted, "q refused 1.7@2 r1 1 r0 6", "p adopted 1.7@3 r0 1 r1 7"])).is_empty());
    for wrong in
        [&[adopted][..], &[granted, "q adopted 1.7@2 r2 1 r0 6"], &[granted, adopted, "p adopted 1.7@3 r0 1 r1 7"]]
    {
        assert_eq!(impossible(&said(wrong)).len(), 1, "{wrong:?}");
    }
}
