//! Recordings: equal bits when run again, and a clear word about files that are none.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use nimbus_model::{Nid, RegionId, Rng, Tick, World};
use nimbus_node::{Node, NodeConfig, TickLog};
use nimbus_runtime::inspect::{inspect, life_of};
use nimbus_runtime::pace::{LockStep, Pace};
use nimbus_runtime::recording::{Note, Recorder, RecordingError, Start, StateMark};
use nimbus_runtime::replay::replay;
use nimbus_runtime::{EmbeddedCluster, EmbeddedConfig, RunEnd, Servers, ServersConfig, first_map};
use nimbus_scenes::SceneParams;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that is gone when the test is.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        Scratch(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

fn scene(name: &str, servers: u16) -> World {
    nimbus_scenes::build(name, &SceneParams { servers, seed: 3, scale: 0.2 }).unwrap()
}

fn record(world: World, ticks: u64, path: &Path) -> RunEnd {
    let config = ServersConfig { record: Some(path.to_owned()), ..ServersConfig::new(world) };
    let pace = |count| Pace::LockStep(LockStep::new(count, Tick(0), Tick(ticks)));
    Servers::start(config, pace).unwrap().0.join().unwrap()
}

#[test]
fn a_recording_runs_again_to_the_same_bits() {
    let (first, second) = (Scratch::new("first.mcap"), Scratch::new("second.mcap"));
    let end = record(scene("crossing", 3), 300, &first.0);
    assert!(end.nodes.iter().all(|node| node.tick == Tick(300)), "{end:?}");
    assert!(end.nodes.iter().map(|node| node.arrived).sum::<u64>() > 0, "bodies cross");
    let again = record(scene("crossing", 3), 300, &second.0);
    assert_eq!(end.nodes, again.nodes, "lock step gives the same run every time");

    let replayed = replay(&first.0, |_| {}).unwrap();
    assert_eq!(replayed.divergence, None);
    assert_eq!(replayed.combined_hash(), end.combined_hash());
    // The start, five multiples of 60, and the end.
    assert!(replayed.nodes.iter().all(|node| node.ticks == 300 && node.compared == 7), "{replayed:?}");

    let found = inspect(&first.0, true).unwrap();
    assert_eq!((found.servers, found.last, found.tick_hz), (3, Tick(300), 60));
    assert_eq!(found.hand_over_count(), end.nodes.iter().map(|node| node.arrived).sum::<u64>());
    assert_eq!(found.hand_overs.len() as u64, found.hand_over_count());
    let hand_over = found.hand_overs[0];
    let life = life_of(&first.0, hand_over.body).unwrap();
    assert_eq!(life[0].began, "born");
    assert!(life.iter().any(|reign| reign.region == hand_over.to && reign.since == hand_over.tick));
    assert!(life.windows(2).all(|pair| pair[0].until.is_some_and(|until| until <= pair[1].since)), "{life:?}");
    assert!(life_of(&first.0, Nid(u64::MAX)).unwrap().is_empty());
}

#[test]
fn a_run_in_real_time_with_a_gateway_runs_again_too() {
    let file = Scratch::new("embedded.mcap");
    let config = EmbeddedConfig { record: Some(file.0.clone()), ..EmbeddedConfig::new(scene("rain", 2)) };
    let cluster = EmbeddedCluster::start(config).unwrap();
    let board = cluster.handle().board().clone();
    while board.gateway().tick < Tick(100) {
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
    let end = cluster.stop().unwrap();
    let replayed = replay(&file.0, |_| {}).unwrap();
    assert_eq!(replayed.divergence, None);
    assert_eq!(replayed.combined_hash(), end.combined_hash());
}

#[test]
fn a_file_that_is_cut_or_damaged_is_an_error_and_never_a_panic() {
    let (file, broken) = (Scratch::new("whole.mcap"), Scratch::new("broken.mcap"));
    record(scene("head-on", 2), 90, &file.0);
    let whole = std::fs::read(&file.0).unwrap();
    assert!(replay(&file.0, |_| {}).is_ok());
    let length = whole.len();
    let cuts = [0, 1, 7, 8, 9, 40, 100, length / 4, length / 2, length - 200, length - 30, length - 9, length - 1];
    for cut in cuts {
        std::fs::write(&broken.0, &whole[..cut]).unwrap();
        let error = replay(&broken.0, |_| {}).expect_err(&format!("cut to {cut} of {length}"));
        assert!(error.to_string().contains("broken.mcap"), "{error}");
        assert!(inspect(&broken.0, false).is_err(), "cut to {cut}");
    }
    let mut rng = Rng::new(5);
    let mut refused = 0;
    for _ in 0..150 {
        let mut bytes = whole.clone();
        let at = rng.below(length as u64) as usize;
        bytes[at] ^= 1 << rng.below(8);
        std::fs::write(&broken.0, &bytes).unwrap();
        refused += u64::from(inspect(&broken.0, false).is_err());
    }
    assert!(refused > 140, "only {refused} of 150 damaged files were refused");
    std::fs::write(&broken.0, b"name = \"a world file\"\n").unwrap();
    assert!(matches!(replay(&broken.0, |_| {}), Err(RecordingError::Foreign(_))));
    assert!(matches!(replay(Path::new("/does/not/exist"), |_| {}), Err(RecordingError::Io { .. })));
    assert!(matches!(replay(Path::new("/"), |_| {}), Err(RecordingError::Foreign(_))));
}

#[test]
fn a_difference_is_found_and_placed() {
    let file = Scratch::new("wrong.mcap");
    let world = Arc::new(scene("head-on", 1));
    let map = first_map(&world, 1).unwrap().0;
    let config = NodeConfig { log: true, ..NodeConfig::new(RegionId(0)) };
    let start = Start { nodes: vec![config.clone()], world: world.clone(), era: 1, map: map.clone(), at: Tick(0) };
    let mut node = Node::new(config, world, 1, map, Tick(0));
    let recorder = Recorder::create(&file.0, &start).unwrap();
    let notes = recorder.handle();
    for tick in 1..=30 {
        node.tick(Tick(tick));
        assert!(notes.note(Note::Log(RegionId(0), node.take_log())));
        let hash = node.state_hash() ^ u64::from(tick == 20);
        assert!(notes.note(Note::Mark(RegionId(0), StateMark { tick: Tick(tick), hash })));
    }
    drop(notes);
    recorder.finish().unwrap();
    let difference = replay(&file.0, |_| {}).unwrap().divergence.expect("a difference");
    assert_eq!((difference.tick, difference.last_equal), (Tick(20), Some(Tick(19))));
    assert_eq!(difference.recorded ^ difference.replayed, 1);
}

#[test]
fn a_jump_in_time_is_refused_at_once() {
    let file = Scratch::new("jump.mcap");
    let world = Arc::new(scene("rain", 1));
    let map = first_map(&world, 1).unwrap().0;
    let start = Start { nodes: vec![NodeConfig::new(RegionId(0))], world, era: 1, map, at: Tick(0) };
    let recorder = Recorder::create(&file.0, &start).unwrap();
    let log = |tick| TickLog { tick: Tick(tick), inputs: Vec::new() };
    assert!(recorder.handle().note(Note::Log(RegionId(0), vec![log(1), log(1 << 62)])));
    recorder.finish().unwrap();
    let error = replay(&file.0, |_| {}).unwrap_err();
    assert!(matches!(error, RecordingError::Damaged { .. }) && error.to_string().contains("r0 jumps"), "{error}");
}

#[test]
fn a_recording_that_cannot_be_written_says_where() {
    let path = Path::new("/does/not/exist/run.mcap");
    let config = ServersConfig { record: Some(path.to_owned()), ..ServersConfig::new(scene("head-on", 1)) };
    let Err(error) = Servers::start(config, |count| Pace::LockStep(LockStep::new(count, Tick(0), Tick(1)))) else {
        panic!("it was written");
    };
    assert!(error.to_string().contains("/does/not/exist/run.mcap"), "{error}");
}
