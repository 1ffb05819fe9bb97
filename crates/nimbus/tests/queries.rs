//! Questions that the servers of a real cluster answer after one tick, held against one world made of what every server
//! says of itself at that tick.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::disallowed_methods, reason = "real processes take real time")]

mod support;

use nimbus::client::{Hits, Query, QueryAnswer};
use nimbus::model::{Nid, Pose, RegionId, Rng, Tick, Vec3, World, world_file};
use nimbus::physics::{Filter, QueryMirror};
use nimbus::runtime::Places;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use support::{Cluster, Free, MARBLES, Plan, Viewer, get, is_whole, tick};

/// Balls that roll across the seams of three servers, and some that lie still: the ground of the world that all tests share
/// with other regions and other balls.
fn marbles() -> String {
    let (ground, _) = MARBLES.split_once("[[bodies]]\nname = \"ball\"").expect("the balls come last");
    let narrow = ground.replace("count = 2", "count = 3").replace("width = 200.0", "width = 60.0");
    narrow
        + r#"
[[bodies]]
name = "rolls"
shape = { ball = { radius = 0.4 } }
position = [-80.0, 0.4, -9.0]
velocity = [2.5, 0.0, 0.0]
repeat = { count = [40, 1, 3], spacing = [4.0, 1.0, 6.0] }

[[bodies]]
name = "lies"
shape = { ball = { radius = 0.4 } }
position = [-80.0, 0.4, -7.0]
repeat = { count = [40, 1, 3], spacing = [4.0, 1.0, 6.0] }
"#
}

const BODIES: u64 = 240;
const RAYS: usize = 1_000;
/// Rays in one message: four of them make a thousand, which is what servers answer after one tick.
const BATCH: usize = 250;
/// So far ahead everybody hears of a tick in time.
const AHEAD: u64 = 90;

fn start(name: &str, head: &str) -> (Cluster, Viewer, World) {
    let text = marbles();
    let (world, head) = (Some(text.as_str()), head.to_owned());
    let plan = Plan { name, world, head, coordinators: 1, nodes: 3, relayed: false, arguments: &[] };
    let mut cluster = Cluster::start(&plan, Free::default());
    cluster.until_world("every body on three servers", |world| {
        is_whole(world, BODIES) && world["nodes"].as_array().unwrap().len() == 3
    });
    cluster.until_protected("coordinator-0");
    let mut viewer = cluster.viewer();
    viewer.until("every body", |client| client.len() as u64 == BODIES);
    let world = world_file::parse(&text, "marbles").unwrap();
    (cluster, viewer, world)
}

/// From one end of the world to the other, through all three regions.
fn ray(rng: &mut Rng) -> Query {
    let sense = if rng.chance(0.5) { 1.0 } else { -1.0 };
    let mut end = |x: f32| Vec3::new(x, rng.between(0.1, 0.79), rng.between(-10.0, 10.0));
    let (from, to) = (end(-sense * 88.0), end(sense * 88.0));
    Query::Ray { origin: from, direction: to - from, max: 200.0 }
}

/// Where every body is after a tick, by the servers' own word; nothing while one is on its way.
fn places(cluster: &Cluster, tick: Tick) -> Option<BTreeMap<Nid, (RegionId, Pose)>> {
    let nodes: Vec<_> = cluster.operators.iter().filter(|(name, _)| name.starts_with("node")).collect();
    let path = format!("/api/places?tick={tick}");
    let pages: Vec<_> = std::thread::scope(|scope| {
        let path = &path;
        let asked: Vec<_> = nodes.iter().map(|(_, node)| scope.spawn(move || get(**node, path))).collect();
        asked.into_iter().filter_map(|asked| asked.join().unwrap()).collect()
    });
    let places = pages.into_iter().flat_map(|page| serde_json::from_value::<Vec<Places>>(page).unwrap());
    let (mut all, mut regions) = (BTreeMap::new(), BTreeSet::new());
    for one in places {
        assert_eq!(one.tick, tick, "{} answers for the tick that it was asked for", one.region);
        regions.insert(one.region);
        for (nid, pose) in one.owned {
            assert!(all.insert(nid, (one.region, pose)).is_none(), "{nid} is there twice");
        }
    }
    assert_eq!(regions.len(), 3);
    (all.len() as u64 == BODIES).then_some(all)
}

/// How many answers are not those of one world with all bodies, leaving out those of a region if told to.
fn wrong(
    world: &World,
    places: &BTreeMap<Nid, (RegionId, Pose)>,
    without: Option<RegionId>,
    asked: &[(Query, QueryAnswer)],
) -> usize {
    let mut one_world = QueryMirror::new(world, 1);
    for (key, (nid, (region, pose))) in (0..).zip(places) {
        if Some(*region) != without {
            let desc = world.owned_bodies().find(|(i, _)| World::nid(1, *i) == *nid).unwrap().1.desc.clone();
            one_world.insert(key, *nid, &desc, *pose).unwrap();
        }
    }
    let mut differs = |(query, answer): &(Query, QueryAnswer)| {
        let (Query::Ray { origin, direction, max }, QueryAnswer::Ray(hit)) = (query, answer) else { return true };
        match (hit, one_world.ray_cast(*origin, *direction, *max, Filter::SOLIDS)) {
            (Some(hit), Some(is)) => hit.nid != is.nid || (hit.distance - is.distance).abs() > 1e-4,
            (hit, is) => hit.is_some() || is.is_some(),
        }
    };
    asked.iter().map(|one| usize::from(differs(one))).sum()
}

#[test]
fn a_thousand_rays_through_three_processes_meet_what_they_would_in_one_world() {
    let (mut cluster, mut viewer, world) = start("queries", "");
    let mut rng = Rng::new(5);
    let (mut compared, mut met, mut rounds) = (0, BTreeMap::<RegionId, usize>::new(), 0);
    // A tick at which a ball is between two servers, or that a server skipped, is left for another one.
    while compared < RAYS {
        rounds += 1;
        assert!(rounds < 12, "hardly any tick without a ball on its way");
        let now = tick(&get(cluster.http, "/api/world").unwrap());
        let at = Tick(now + AHEAD);
        let queries: Vec<Query> = (0..RAYS).map(|_| ray(&mut rng)).collect();
        for batch in queries.chunks(BATCH) {
            viewer.ask_servers(Some(at), batch.to_vec());
        }
        let places = places(&cluster, at);
        let mut hits = viewer.until_hits(RAYS / BATCH);
        hits.sort_by_key(|hits| hits.seq);
        assert!(hits.iter().all(|hits| hits.tick == at && hits.missing.is_some()), "{at}: {hits:?}");
        let whole = hits.iter().all(|hits| hits.missing.as_deref() == Some(&[]));
        let Some(places) = places.filter(|_| whole) else { continue };
        let answers = hits.into_iter().flat_map(|hits| hits.answers);
        let asked: Vec<(Query, QueryAnswer)> = queries.into_iter().zip(answers).collect();
        assert_eq!(asked.len(), RAYS);
        assert_eq!(wrong(&world, &places, None, &asked), 0);
        for region in 0..3 {
            assert!(wrong(&world, &places, Some(RegionId(region)), &asked) > 0, "the check can fail");
        }
        for (_, answer) in &asked {
            if let QueryAnswer::Ray(Some(hit)) = answer
                && let Some((region, _)) = places.get(&hit.nid)
            {
                *met.entry(*region).or_default() += 1;
            }
        }
        compared += RAYS;
    }
    println!("{compared} rays in {rounds} rounds met bodies of {met:?}");
    assert!(met.len() == 3 && met.values().all(|met| *met > 20), "{met:?}");
    // Balls rolled while that was asked.
    let world = get(cluster.http, "/api/world").unwrap();
    assert!(world["nodes"].as_array().unwrap().iter().any(|node| node["awake"].as_u64().unwrap() > 0), "{world}");
    cluster.until_world("balls have crossed a seam", |world| {
        world["nodes"].as_array().unwrap().iter().any(|node| node["migrations"].as_u64().unwrap() > 0)
    });
}

#[test]
fn a_query_server_answers_and_does_nothing_else() {
    let mut free = Free::default();
    let http = free.tcp();
    let head = format!(
        "[[gateway]]\nname = \"questions\"\naddress = \"{}\"\nhttp = \"{http}\"\nserves = \"questions\"\n",
        free.udp()
    );
    let text = marbles();
    let plan = Plan {
        name: "query-server",
        world: Some(&text),
        head,
        coordinators: 1,
        nodes: 3,
        relayed: false,
        arguments: &[],
    };
    let mut cluster = Cluster::start(&plan, free);
    cluster.until_world("every body", |world| is_whole(world, BODIES));
    cluster.until("the query server knows every body", |_| {
        get(http, "/api/world").filter(|world| world["bodies"] == BODIES)
    });
    let mut asker = Viewer::connect(http);
    asker.until("a world", |client| client.world().is_some());
    let nearest = Query::Nearest { position: Vec3::new(-80.0, 0.4, -7.0), max: 5.0 };
    asker.ask(vec![nearest; 250]);
    let hits = asker.until_hits(1).remove(0);
    println!("answered for {} ticks ago", hits.age);
    assert!(hits.answers.iter().all(|answer| matches!(answer, QueryAnswer::Nearest(Some(_)))));
    assert!(hits.age < 20, "it hears of everything at every tick: {}", hits.age);
    let refused = asker.command(serde_json::json!({"type": "reset"})).unwrap_err();
    assert!(refused.contains("answers questions and nothing else"), "{refused}");
    assert_eq!(asker.client.len(), 0, "it shows nothing");
    let gateways = asker.client.gateways().to_vec();
    assert!(gateways.is_empty(), "whoever asks cannot go on elsewhere, and whoever plays not here: {gateways:?}");
}

/// A world that slows down has its successors run every tick, the one that was asked for included. Where that is forbidden
/// they skip what they missed.
#[test]
fn a_tick_that_a_successor_skips_is_answered_without_it() {
    let (mut cluster, mut viewer, _) = start("queries-kill", "[tolerances]\nslowest = 1.0\n");
    let mut rng = Rng::new(6);
    let mut ask = |viewer: &mut Viewer, at: Option<Tick>| -> Hits {
        viewer.ask_servers(at, (0..20).map(|_| ray(&mut rng)).collect());
        viewer.until_hits(1).remove(0)
    };
    assert_eq!(ask(&mut viewer, None).missing, Some(vec![]));
    let victim = cluster.server_of("r1");
    cluster.kill(&victim);
    let killed = Instant::now();
    // Without a named tick a later one would be tried, and by then its backup may have taken over.
    let at = viewer.client.tick().unwrap() + 20;
    let hits = ask(&mut viewer, Some(at));
    println!("{:?} after {:?}: {:?}", hits.tick, killed.elapsed(), hits.missing);
    assert!(hits.missing.as_ref().unwrap().contains(&RegionId(1)), "{hits:?}");
    assert_eq!(hits.answers.len(), 20, "the others answer");
    // Its backup takes over, and nothing is missing any more.
    let end = Instant::now() + support::PATIENCE;
    loop {
        let missing = ask(&mut viewer, None).missing;
        if missing == Some(vec![]) {
            break;
        }
        assert!(Instant::now() < end, "{missing:?} is still missing");
        std::thread::sleep(Duration::from_millis(200));
    }
    println!("whole again after {:?}", killed.elapsed());
}
