//! A cluster of real processes on a bad network, one of which is cut off for a while: others take over, and every body
//! is there exactly once all the time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::disallowed_methods, reason = "real processes take real time")]

mod support;

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use support::{Cluster, Count, Free, PATIENCE, Plan, is_member, region_epochs as epochs, server, tally};

const BODIES: usize = 40;
const NODES: [&str; 3] = ["node-0", "node-1", "node-2"];
/// How long a process is cut off, and how soon its regions must be served elsewhere.
const CUT: Duration = Duration::from_secs(3);
const HEALED_MAX: Duration = Duration::from_secs(2);

/// Balls roll over two seams all the time.
const WORLD: &str = r#"
name = "marbles"
about = "Balls that roll across the seams between three servers."
radius_max = 1.0

[kill_box]
min = [-900.0, -20.0, -900.0]
max = [900.0, 100.0, 900.0]

[layout]
kind = "columns"
count = 3
width = 200.0

[[bodies]]
name = "ground"
kind = "static"
shape = { cuboid = { half = [800.0, 1.0, 800.0] } }
position = [0.0, -1.0, 0.0]

[[bodies]]
name = "in"
shape = { ball = { radius = 0.4 } }
position = [-120.0, 0.4, -10.0]
velocity = [2.0, 0.0, 0.0]
repeat = { count = [10, 1, 2], spacing = [2.0, 1.0, 4.0] }

[[bodies]]
name = "out"
shape = { ball = { radius = 0.4 } }
position = [80.0, 0.4, -10.0]
velocity = [2.0, 0.0, 0.0]
repeat = { count = [10, 1, 2], spacing = [2.0, 1.0, 4.0] }
"#;

const RELAY: &str = r#"
[relay]
seed = 4
delay_ms = 2
jitter_ms = 1
loss = 0.01
duplicate = 0.01
reorder = 0.005
"#;

/// The roster when all nodes are there and every region has a backup that has everything.
fn settled(cluster: &Cluster) -> Option<Value> {
    let roster = cluster.roster()?;
    let regions = roster["regions"].as_object()?;
    let protected = regions.len() == 3 && regions.values().all(|region| region["protected"] == true);
    let members = roster["processes"].as_object()?.values().filter(|process| is_member(process));
    (protected && members.count() == NODES.len() + 1).then_some(roster)
}

/// What a node says of the regions it serves, or believes to: the epoch of each.
fn serves(cluster: &Cluster, node: &str) -> BTreeMap<u64, Value> {
    let page = cluster.ask(node, "/api/regions").unwrap_or_default();
    let regions = page["regions"].as_array().cloned().unwrap_or_default();
    regions.into_iter().map(|region| (region["region"].as_u64().unwrap(), region)).collect()
}

fn everybody_once(cluster: &mut Cluster, when: &str) {
    let count = cluster.until("a count", |cluster| cluster.count(&cluster.roster()?));
    assert_eq!((count.present.len(), count.doubled.len()), (BODIES, 0), "{when}: {count:?}");
}

/// What the relay says became of packets.
fn packets(cluster: &mut Cluster) -> BTreeMap<String, u64> {
    cluster.tell("counts");
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        let line = cluster.next_line(Duration::from_millis(100)).unwrap_or_default();
        if let Some(counts) = line.strip_prefix("relay: passed ").map(|counts| format!("passed {counts}")) {
            let pairs = counts.split(", ").filter_map(|pair| pair.split_once(' '));
            return pairs.map(|(what, count)| (what.to_owned(), count.parse().unwrap())).collect();
        }
    }
    panic!("the relay says nothing\n{}", cluster.heard.join("\n"));
}

#[test]
fn a_process_that_is_cut_off_is_replaced_and_every_body_is_there_once() {
    let plan = Plan {
        name: "relay",
        world: Some(WORLD),
        head: RELAY.to_owned(),
        coordinators: 1,
        nodes: NODES.len(),
        relayed: true,
        arguments: &[],
    };
    let mut cluster = Cluster::start(&plan, Free::default());
    cluster.until("every region to be protected", settled);
    everybody_once(&mut cluster, "on a bad network");
    let before = cluster.until("every region to be protected", settled);
    // The one in the middle has seams with both others.
    let (victim, number) = server(&before, 1);
    let lost: Vec<u64> = epochs(&before).into_keys().filter(|region| server(&before, *region).1 == number).collect();

    let kept = |cluster: &Cluster| -> Vec<(Value, Value)> {
        serves(cluster, &victim).values().map(|facts| (facts["epoch"].clone(), facts["kept"].clone())).collect()
    };
    let kept_before = kept(&cluster);
    cluster.until("its backups to keep what it does", |cluster| (kept(cluster) != kept_before).then_some(()));

    cluster.tell(&format!("cut {victim} 60000"));
    let since = Instant::now();
    let replaced = cluster.until("its regions to be served by others", |cluster| {
        let roster = cluster.roster()?;
        let is_served = |region: &u64| {
            let ((name, _), epoch) = (server(&roster, *region), epochs(&roster)[region]);
            let serves = serves(cluster, &name);
            let facts = serves.get(region).filter(|facts| facts["epoch"] == epoch)?;
            (name != victim && facts["tick"].as_u64()? > facts["began_after"].as_u64()?).then_some(())
        };
        lost.iter().all(|region| is_served(region).is_some()).then_some(roster)
    });
    let took = since.elapsed();
    let arrived = |cluster: &Cluster| -> u64 {
        let others = NODES.iter().filter(|node| **node != victim).flat_map(|node| serves(cluster, node).into_values());
        others.filter_map(|facts| facts["arrived"].as_u64()).sum()
    };
    let (first, arrived_before) = (kept(&cluster), arrived(&cluster));
    assert_eq!(first.len(), lost.len(), "it still believes that it serves");
    everybody_once(&mut cluster, "while one is cut off");
    std::thread::sleep(CUT.saturating_sub(since.elapsed()));
    let crossed = arrived(&cluster).saturating_sub(arrived_before);
    assert!(crossed > 0, "bodies cross seams while one is cut off");
    assert_eq!(kept(&cluster), first, "nobody keeps what it does, so nothing that it grants counts");
    assert!(epochs(&replaced).iter().all(|(region, epoch)| *epoch >= epochs(&before)[region]));
    cluster.tell("heal");
    let cut = since.elapsed();

    let after = cluster.until("it to be back as somebody new", |cluster| {
        let roster = settled(cluster)?;
        let processes = roster["processes"].as_object()?.clone();
        let mut back = processes.iter().filter(|(_, process)| is_member(process) && process["name"] == victim.as_str());
        back.any(|(new, _)| *new != number.to_string()).then_some(roster)
    });
    let back = since.elapsed() - cut;
    everybody_once(&mut cluster, "afterwards");
    assert_eq!(epochs(&after).len(), 3);
    let packets = packets(&mut cluster);
    println!(
        "served elsewhere after {took:?}, {crossed} bodies crossed meanwhile, cut off for {cut:?}, back after {back:?}; {packets:?}"
    );
    assert!(took < HEALED_MAX, "served elsewhere after {took:?}");
    let share = |what: &str| packets[what] as f64 / (packets["passed"] + packets["lost"]) as f64;
    assert!((0.005..0.02).contains(&share("lost")) && (0.005..0.02).contains(&share("duplicated")), "{packets:?}");
    assert!(packets["cut"] > 0 && packets["reordered"] > 0, "{packets:?}");
}

#[test]
fn the_count_notices_what_is_doubled_missing_or_of_another_time() {
    let census = |region: u64, epoch: u64, tick: u64, owned: &[u64], in_flight: &[u64]| serde_json::json!({ "region": region, "epoch": epoch, "tick": tick, "owned": owned, "in_flight": in_flight });
    let roster = BTreeMap::from([(0, 1), (1, 2)]);
    let zombie = census(1, 1, 9, &[1, 2, 3], &[]);
    let good = [census(0, 1, 9, &[1], &[2]), census(1, 2, 9, &[3], &[]), zombie.clone()];
    let present = BTreeSet::from([1, 2, 3]);
    assert_eq!(tally(&roster, 9, &good), Some(Count { present: present.clone(), doubled: BTreeSet::new() }));
    let doubled = [census(0, 1, 9, &[1, 2], &[]), census(1, 2, 9, &[2, 3], &[])];
    assert_eq!(tally(&roster, 9, &doubled), Some(Count { present, doubled: BTreeSet::from([2]) }));
    let missing = [census(0, 1, 9, &[1], &[]), census(1, 2, 9, &[3], &[])];
    assert_eq!(tally(&roster, 9, &missing).unwrap().present.len(), 2);
    assert_eq!(tally(&roster, 9, &[census(0, 1, 9, &[1], &[]), zombie]), None, "the new server has not answered");
    assert_eq!(tally(&roster, 9, &[census(0, 1, 9, &[1], &[]), census(1, 2, 8, &[3], &[])]), None, "another tick");
}
