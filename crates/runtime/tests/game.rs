//! A game on servers with threads of their own: who embeds a world hears what it says, and its recordings replay.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::disallowed_methods, reason = "what runs in real time takes some")]

use nimbus_harvest::{Harvest, field, score_told};
use nimbus_model::Tick;
use nimbus_node::{GameEvent, Rules};
use nimbus_runtime::pace::{LockStep, Pace, RealTime};
use nimbus_runtime::replay::{replay, replay_with};
use nimbus_runtime::{Play, Servers, ServersConfig};
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

const RULES: Harvest = Harvest { round_ticks: u64::MAX };

fn play(servers: u16, room: usize, record: Option<PathBuf>) -> (Vec<GameEvent>, u64) {
    let (sender, receiver) = sync_channel(room);
    let play = Some(Play { rules: Rules::new(RULES), events: Some(sender) });
    let config = ServersConfig { play, record, ..ServersConfig::new(field(servers, 3)) };
    let pace = |count| Pace::LockStep(LockStep::new(count, Tick(0), Tick(600)));
    let (running, ..) = Servers::start(config, pace).unwrap();
    let gauges = running.gauges().to_vec();
    let end = running.join().unwrap();
    assert_eq!(end.died, []);
    let mut events: Vec<GameEvent> = receiver.try_iter().flat_map(|(_, tick)| tick.events).collect();
    events.sort_unstable();
    (events, gauges.iter().map(|gauge| gauge.read().game_events_dropped).sum())
}

#[test]
fn what_the_game_says_is_heard_and_repeats() {
    let (first, dropped) = play(4, 10_000, None);
    assert_eq!((score_told(&first), dropped), (first.len() as i64, 0));
    assert!(first.len() > 30, "{}", first.len());
    assert_eq!(play(4, 10_000, None).0, first);
}

#[test]
fn nobody_waits_for_who_does_not_listen() {
    let (heard, dropped) = play(1, 1, None);
    assert!(heard.len() <= 4 && dropped > 30, "{} heard, {dropped} dropped", heard.len());
}

#[test]
fn a_recording_replays_by_its_rules_only() {
    let path = std::env::temp_dir().join(format!("nimbus-game-{}.mcap", std::process::id()));
    play(2, 10_000, Some(path.clone()));
    let with = replay_with(&path, Some(&Rules::new(RULES)), |_| {}).unwrap();
    let without = replay(&path, |_| {}).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(with.divergence, None);
    assert!(without.divergence.is_some(), "the game is part of what is compared");
}

/// Waits for something for some seconds.
fn wait_for(what: &str, mut come: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !come() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_game_goes_on_where_a_backup_takes_over() {
    let (sender, receiver) = sync_channel(100_000);
    let play = Some(Play { rules: Rules::new(RULES), events: Some(sender) });
    let config = ServersConfig { play, durable: true, ..ServersConfig::new(field(2, 3)) };
    let (running, ..) = Servers::start(config, |_| Pace::RealTime(RealTime::start(Tick(0), 60, 50))).unwrap();
    let victim = running.regions()[1];
    wait_for("the server can be killed", || running.kill(victim).is_ok());
    let epoch = |region: usize| running.readings()[region].durability.promotions;
    wait_for("its backup takes over", || epoch(1) == 1);
    let taken_over = running.readings()[1].tick;
    let mut heard = Vec::new();
    wait_for("somebody scores there", || {
        heard.extend(receiver.try_iter());
        heard.iter().any(|(region, tick)| *region == victim && tick.tick > taken_over && !tick.events.is_empty())
    });
    let end = running.stop().unwrap();
    assert_eq!(end.died, []);
}
