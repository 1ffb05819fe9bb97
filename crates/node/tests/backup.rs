//! Backups: what they keep, whom they answer, and what they become.

mod cluster;
mod pair;

use cluster::Cluster;
use nimbus_model::{Origin, RegionId, Tick};
use nimbus_node::{Backup, PromoteError};
use nimbus_wire::{Address, Content, Frame};
use pair::{LEFT, RIGHT};

fn is_commit(frame: &Frame) -> bool {
    matches!(frame.content, Content::Commit(_))
}

fn is_records(frame: &Frame) -> bool {
    matches!(frame.content, Content::Records(_))
}

#[test]
fn a_backup_becomes_bit_for_bit_what_the_server_was() {
    let (mut cluster, _) = Cluster::new(-20.0, 3.0);
    for round in 0..6 {
        cluster.run(37, |_| true);
        let node = &cluster.pair.nodes[LEFT];
        let copy = cluster.backups[LEFT].copy().expect("it is seeded");
        assert_eq!((copy.now(), copy.state_hash()), (node.now(), node.state_hash()), "round {round}");
    }
    assert!(cluster.backups[LEFT].counters().pieces_kept > 200);
    assert!(cluster.backups[LEFT].bytes() < 100_000, "snapshots let it forget");
    let durability = cluster.pair.nodes[LEFT].durability();
    assert_eq!((durability.lag_ticks, durability.seeds, durability.promotions), (0, 1, 0));
}

#[test]
fn a_backup_that_was_not_given_everything_cannot_take_over() {
    let backup = Backup::new(RegionId(3), 1, 1, None);
    assert_eq!(backup.kept(), None);
    assert_eq!(backup.promote(2, Origin(9)).err(), Some(PromoteError::NotSeeded(RegionId(3))));
}

#[test]
fn nothing_from_a_neighbour_takes_effect_before_its_backup_has_it() {
    let (mut cluster, nid) = Cluster::new(-1.0, 6.0);
    cluster.run(60, |frame| !is_commit(frame));
    assert_eq!(cluster.pair.hosts(nid), [false, false], "given away and not yet certain");
    assert_eq!(cluster.pair.nodes[RIGHT].durability().commits_waiting, 1);
    cluster.run(3, |_| true);
    assert_eq!(cluster.pair.hosts(nid), [false, true]);
    cluster.run(4, |_| true);
    assert_eq!(cluster.pair.nodes[LEFT].in_flight().count(), 0);
}

#[test]
fn nothing_is_acknowledged_before_the_own_backup_has_it() {
    let (mut cluster, nid) = Cluster::new(-1.0, 6.0);
    let deaf = Address::Backup(RegionId(1));
    cluster.run(4, |_| true);
    cluster.run(60, |frame| frame.to != deaf);
    assert_eq!(cluster.pair.hosts(nid), [false, true]);
    assert_eq!(cluster.pair.nodes[LEFT].in_flight().count(), 1, "the sender still has it");
    cluster.promote(RIGHT, 2);
    assert_eq!(cluster.pair.hosts(nid), [false, false], "the adoption never happened");
    cluster.run(8, |_| true);
    assert_eq!(cluster.pair.hosts(nid), [false, true], "it came again");
    cluster.run(8, |_| true);
    assert_eq!(cluster.pair.nodes[LEFT].in_flight().count(), 0);
}

#[test]
fn a_grant_that_was_not_kept_never_happened() {
    let (mut cluster, nid) = Cluster::new(-1.0, 6.0);
    cluster.run(4, |_| true);
    cluster.run(10, |frame| frame.to != Address::Backup(RegionId(0)));
    assert_eq!(cluster.pair.hosts(nid), [true, false], "with a silent backup nothing is given away");
    cluster.run(60, |frame| !(is_records(frame) && frame.from == Address::Region(RegionId(0))));
    assert_eq!(cluster.pair.hosts(nid), [true, false]);
    cluster.promote(LEFT, 2);
    cluster.run(90, |_| true);
    assert_eq!(cluster.pair.hosts(nid), [false, true], "it happens once a backup has it");
    assert_eq!(cluster.pair.nodes[LEFT].epoch(), 2);
}

#[test]
fn a_process_that_was_given_up_is_not_kept() {
    let (mut cluster, _) = Cluster::new(-20.0, 0.0);
    cluster.run(5, |_| true);
    let mut frames = Vec::new();
    cluster.pair.nodes[LEFT].tick(Tick(6));
    cluster.pair.nodes[LEFT].emit(&mut frames);
    cluster.promote(LEFT, 2);
    let mut answers = Vec::new();
    for frame in frames.into_iter().filter(is_records) {
        cluster.backups[LEFT].handle(frame, &mut answers);
    }
    assert!(answers.is_empty() && cluster.backups[LEFT].counters().frames_void == 1);
    assert_eq!(cluster.backups[LEFT].kept(), None);
}

#[test]
fn a_backup_that_is_replaced_is_given_everything() {
    let (mut cluster, nid) = Cluster::new(-1.0, 6.0);
    cluster.run(20, |_| true);
    cluster.backups[LEFT] = Backup::new(RegionId(0), 7, 1, None);
    cluster.run(4, |_| true);
    assert_eq!(cluster.pair.nodes[LEFT].durability().seeds, 2);
    cluster.promote(LEFT, 8);
    cluster.run(60, |_| true);
    assert_eq!(cluster.pair.hosts(nid), [false, true]);
}
