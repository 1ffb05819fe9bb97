//! Which tick is named for a checkpoint, of which world it is, and how long is waited for it.

use super::*;
use crate::cluster::stage;
use nimbus_control::{Birth, Incarnation, Process, Region, Role, Standing};
use nimbus_model::Origin;
use nimbus_node::{Node, NodeConfig};
use serde_json::json;
use std::path::PathBuf;

/// A coordinator that knows one node with one region, and where it keeps checkpoints.
struct Stage {
    checkpointing: Checkpointing,
    desk: OrderDesk,
    roster: Roster,
    world: Arc<World>,
    directory: PathBuf,
    /// What the node was asked for.
    asked: Vec<(String, Tick)>,
}

impl Stage {
    fn new(test: &str, timeline: Timeline, every: Option<Duration>) -> Stage {
        let directory = std::env::temp_dir().join(format!("nimbus-checkpointing-{test}-{}", std::process::id()));
        let plan = CheckpointPlan { place: directory.display().to_string(), every };
        let (checkpointing, desk) = Checkpointing::new(Some(plan));
        let world = Arc::new(World::new("test"));
        let address = "127.0.0.1:1".to_owned();
        let node = Process { name: "n".to_owned(), role: Role::Node, address, token: 3, standing: Standing::Up };
        let region = Region {
            server: Incarnation(1),
            epoch: 1,
            origin: Origin(2),
            birth: Birth::World,
            backup: None,
            lives: 0,
            protected: false,
            moving: None,
            lost: None,
        };
        let roster = Roster {
            issued: 2,
            processes: BTreeMap::from([(Incarnation(1), node)]),
            regions: BTreeMap::from([(RegionId(0), region)]),
            timeline: Some(timeline),
            ..stage::roster()
        };
        Stage { checkpointing, desk, roster, world, directory, asked: Vec::new() }
    }

    fn order(&self) -> Receiver<Outcome> {
        let (answer, outcome) = sync_channel(1);
        self.desk.try_send(answer).unwrap();
        outcome
    }

    /// A turn at a moment; the calendar began with the clock.
    fn turn(&mut self, at: Duration) {
        let timeline = self.roster.timeline.as_ref().unwrap();
        let calendar_us = at.as_micros() as u64;
        let tick = timeline.tick_at(calendar_us).unwrap();
        let now = Now { at, roster: &self.roster, timeline, calendar_us, tick, world: &self.world };
        let asked = &mut self.asked;
        let send = |_: &ProcessName, post| {
            if let Post::Contribute(name, tick) = post {
                asked.push((name, tick));
            }
        };
        self.checkpointing.turn(&now, send, &mut drop);
    }

    /// The node writes what it was last asked for, of a world that was loaded so often, at a moment.
    fn contribute(&mut self, era: u16, at: Duration) {
        let (name, tick) = self.asked.last().cloned().unwrap();
        let map = (*self.roster.map).clone();
        let node = Node::new(NodeConfig::new(RegionId(0)), self.world.clone(), era, map, tick);
        let part = node.contribution(node.whole_draft()).into_part();
        let place = self.directory.display().to_string();
        let filed = Checkpoints::open(&place).unwrap().write_part(&name, &part).unwrap();
        self.checkpointing.hear(&name, Ok(vec![filed]), &mut drop);
        self.turn(at);
    }

    /// Waits for the list, which is written beside what else goes on.
    fn until(&mut self, at: Duration, done: impl Fn(&Stage) -> bool) {
        let clock = crate::Clock::start();
        while !done(self) {
            assert!(clock.now() < Duration::from_secs(20), "{:?}", self.asked);
            std::thread::yield_now();
            self.turn(at);
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Ticks by their rate and, from a tick on that is due at a microsecond, at another pace.
fn timeline(hz: u32, from: u64, due_us: u64, permille: u32) -> Timeline {
    let mut timeline = json!(Timeline::new(0, hz));
    let paces = timeline["paces"].as_array_mut().unwrap();
    paces.push(json!({ "from": from, "due_us": due_us, "permille": permille }));
    serde_json::from_value(timeline).unwrap()
}

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn while_time_stands_still_its_last_tick_is_kept() {
    let mut stage = Stage::new("still", timeline(60, 600, 10_000_000, 0), Some(s(500)));
    for (name, at) in [("era-00001-tick-000000000600", s(100)), ("era-00001-tick-000000000600-2", s(101))] {
        let outcome = stage.order();
        stage.turn(at);
        assert_eq!(stage.asked.pop(), Some((name.to_owned(), Tick(600))));
        stage.asked.push((name.to_owned(), Tick(600)));
        stage.contribute(1, at);
        stage.until(at, |stage| stage.checkpointing.under_way.is_none());
        assert_eq!(outcome.try_recv().unwrap().unwrap().name, name, "one that is whole is not written over");
    }
    stage.turn(s(601));
    assert_eq!(stage.asked.len(), 2, "nothing has happened since");
    assert!(stage.checkpointing.due > s(601));
}

#[test]
fn a_pause_that_comes_first_has_another_tick_named() {
    let mut stage = Stage::new("pause", Timeline::new(0, 60), None);
    let outcome = stage.order();
    stage.turn(s(10));
    assert_eq!(stage.asked.last().map(|asked| asked.1), Some(Tick(645)));
    stage.roster.timeline = Some(timeline(60, 612, 10_200_000, 0));
    stage.turn(s(11));
    stage.turn(s(11));
    assert_eq!(stage.asked.last().map(|asked| asked.1), Some(Tick(612)));
    assert_eq!(outcome.try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn patience_begins_when_the_tick_is_due() {
    for (hz, permille, ahead, due_s) in [(60, 1000, 45, 1), (60, 50, 45, 15), (10, 50, 7, 14), (1, 50, 1, 20)] {
        let mut stage = Stage::new("patience", timeline(hz, 0, 0, permille), None);
        let outcome = stage.order();
        let tick = stage.roster.timeline.as_ref().unwrap().tick_at(100_000_000).unwrap();
        stage.turn(s(100));
        assert_eq!(stage.asked.last().map(|asked| asked.1), Some(tick + ahead), "{hz} Hz at {permille}");
        stage.turn(s(100 + due_s) + PATIENCE - s(1));
        assert_eq!(outcome.try_recv(), Err(TryRecvError::Empty), "{hz} Hz at {permille}");
        stage.turn(s(100 + due_s) + PATIENCE + s(1));
        assert!(outcome.try_recv().unwrap().is_err_and(|why| why.contains("in time")));
    }
}

#[test]
fn a_checkpoint_is_of_the_world_in_which_it_began() {
    let mut stage = Stage::new("era", Timeline::new(0, 60), None);
    let outcome = stage.order();
    stage.turn(s(10));
    // Another world is in force before all is there.
    (stage.roster.era, stage.roster.world) = (2, "other".to_owned());
    let before = std::mem::replace(&mut stage.world, Arc::new(World::new("other")));
    stage.contribute(2, s(11));
    stage.until(s(11), |stage| stage.asked.len() == 2);
    assert_eq!(outcome.try_recv(), Err(TryRecvError::Empty), "it is tried again");
    assert!(stage.asked[1].0.starts_with("era-00002"));
    stage.contribute(2, s(12));
    stage.until(s(12), |stage| stage.checkpointing.under_way.is_none());
    let made = outcome.try_recv().unwrap().unwrap();
    assert_eq!((made.era, made.world.as_str()), (2, "other"));

    let outcome = stage.order();
    (stage.roster.era, stage.roster.world) = (1, "test".to_owned());
    let after = std::mem::replace(&mut stage.world, before);
    stage.turn(s(20));
    (stage.roster.era, stage.roster.world) = (2, "other".to_owned());
    stage.contribute(1, s(21));
    stage.world = after;
    stage.until(s(21), |stage| stage.checkpointing.under_way.is_none());
    let made = outcome.try_recv().unwrap().unwrap();
    assert_eq!((made.era, made.world.as_str()), (1, "test"), "although the roster has another one");
}

#[test]
fn no_checkpoint_begins_while_another_world_is_announced() {
    let mut stage = Stage::new("load", Timeline::new(0, 60), Some(s(5)));
    let _outcome = stage.order();
    let map = stage.roster.map.clone();
    stage.roster.changes = vec![Change::Load { at: Tick(650), era: 2, world: "other".to_owned(), map }];
    stage.turn(s(10));
    assert!(stage.asked.is_empty());
    stage.roster.changes.clear();
    stage.turn(s(11));
    assert_eq!(stage.asked.len(), 1);
}
