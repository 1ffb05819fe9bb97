//! A cluster of real processes whose network is slower than the world promises says so; one whose network is as promised does
//! not say that of its latency.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::disallowed_methods, reason = "real processes take real time")]

mod support;

use std::time::Duration;
use support::{Cluster, Free, MARBLES, Plan, is_whole, page};

/// Breaches of a factor so far, of all regions, as the gateway tells monitoring.
fn breaches(cluster: &Cluster, factor: &str) -> Option<u64> {
    let (_, text) = page(cluster.http, "/metrics")?;
    let wanted = format!("factor=\"{factor}\"}} ");
    let samples = text.lines().filter(|line| line.starts_with("nimbus_breaches_total{"));
    let counts = samples.filter_map(|line| line.split_once(&wanted)?.1.parse::<u64>().ok());
    Some(counts.sum())
}

fn start(name: &str, world: &str, head: &str) -> Cluster {
    let plan = Plan {
        name,
        world: Some(world),
        head: head.to_owned(),
        coordinators: 1,
        nodes: 2,
        relayed: true,
        arguments: &[],
    };
    let mut cluster = Cluster::start(&plan, Free::default());
    cluster.until_world("every body", |world| is_whole(world, 40));
    cluster
}

#[test]
fn a_link_that_is_slower_than_promised_is_said_to_be() {
    let mut cluster = start("slow-link", MARBLES, "[relay]\nseed = 1\ndelay_ms = 50\n");
    cluster.until("breaches of latency", |cluster| breaches(cluster, "latency").filter(|count| *count > 0));
    // Backups are as far away, and what waits for them waits for longer than promised.
    cluster.until("breaches of the commit time", |cluster| breaches(cluster, "commit").filter(|count| *count > 0));
}

/// The world promises so much that only a standstill of the machine could exceed it; and then it is right to say so.
#[test]
fn a_link_that_is_as_promised_is_not_said_to_be_slow() {
    let patient = format!("{MARBLES}\n[tolerances]\nspeed = 8.0\nlatency_ms = 400.0\nframe_ms = 400.0\n");
    let head = "[tolerances]\nskew_ms = 100\nstore_ms = 400\n[relay]\nseed = 1\ndelay_ms = 50\n";
    let mut cluster = start("patient-link", &patient, head);
    cluster.until_protected("coordinator-0");
    let before = breaches(&cluster, "latency").unwrap();
    std::thread::sleep(Duration::from_secs(3));
    let after = breaches(&cluster, "latency").unwrap();
    assert_eq!((before, after), (0, 0), "frames of 50 ms where 400 are allowed");
}
