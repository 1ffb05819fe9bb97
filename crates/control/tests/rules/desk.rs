//! One coordinator with a store that answers at once, and processes that do what they are told, for tests of one rule.

use nimbus_control::{
    Beginning, Config, Coordinator, FromCoordinator, Genesis, Heartbeat, Incarnation, Input, Join, Link, Note, Order,
    OrderError, Output, RegionReport, Role, Roster, Service, ToCoordinator, Told,
};
use nimbus_model::{Layout, RegionId, Tick};
use nimbus_space::PartitionMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Time between two heartbeats, and between two looks at the clock.
pub(crate) const ROUND_MS: u64 = 20;

pub(crate) fn genesis(regions: u16) -> Genesis {
    let map = PartitionMap::from_layout(&Layout::columns(regions, 10.0)).expect("a plain layout");
    let (cluster, world, spare) = ("test".into(), "rain".into(), Vec::new());
    Genesis { cluster, world, map: Arc::new(map), spare, tick_hz: 60, standing: Beginning::NEW, placed: Arc::default() }
}

pub(crate) fn config(regions: u16, nodes_wanted: usize) -> Config {
    Config { nodes_wanted, ..Config::new("c1", 1, genesis(regions)) }
}

/// Server, epoch, and process and life of the backup of a region.
pub(crate) type Row = (u16, u32, Option<(u16, u32)>);

pub(crate) struct Desk {
    pub(crate) coordinator: Coordinator,
    pub(crate) store: Option<Vec<u8>>,
    /// The store does not answer.
    pub(crate) mute: bool,
    pub(crate) now_ms: u64,
    pub(crate) told: Vec<(Link, FromCoordinator)>,
    pub(crate) notes: Vec<Note>,
    pub(crate) answers: BTreeMap<u64, Result<(), OrderError>>,
    /// Everything that the store was asked while it was mute.
    pub(crate) asked: Vec<Output>,
    /// Processes that beat.
    pub(crate) alive: BTreeSet<Incarnation>,
    /// Backups are given everything at once.
    pub(crate) seeding: bool,
    /// Backups are being given everything, and that takes for ever.
    pub(crate) slow: bool,
    /// Regions whose server cannot come into being.
    pub(crate) failing: BTreeSet<RegionId>,
    /// Servers stop when told.
    pub(crate) obedient: bool,
    /// Nobody hears of new rosters.
    pub(crate) deaf: bool,
    /// Backups get nothing after this tick.
    pub(crate) kept_until: Option<Tick>,
    /// What each server has made of the changes of the whole world, and when the last of it.
    pub(crate) made: BTreeMap<(RegionId, u32), (Told, Tick)>,
    pub(crate) writes: u64,
    pub(crate) orders: u64,
}

impl Desk {
    pub(crate) fn new(config: Config) -> Desk {
        Desk {
            coordinator: Coordinator::new(config).expect("a sound configuration"),
            store: None,
            mute: false,
            now_ms: 0,
            told: Vec::new(),
            notes: Vec::new(),
            answers: BTreeMap::new(),
            asked: Vec::new(),
            alive: BTreeSet::new(),
            seeding: true,
            slow: false,
            failing: BTreeSet::new(),
            obedient: true,
            deaf: false,
            kept_until: None,
            made: BTreeMap::new(),
            writes: 0,
            orders: 0,
        }
    }

    /// A leading coordinator and this many nodes that have joined.
    pub(crate) fn started(config: Config, nodes: u16) -> Desk {
        let mut desk = Desk::new(config);
        desk.give(Input::Lead);
        for i in 0..nodes {
            desk.join(&format!("n{i}"), u64::from(i));
        }
        desk.run(2 * ROUND_MS);
        desk
    }

    pub(crate) fn give(&mut self, input: Input) {
        let mut out = Vec::new();
        self.coordinator.handle(input, self.now_ms, &mut out);
        for output in out {
            match output {
                Output::Tell { link, message } => {
                    // Everything goes as bytes, so that every test is one of encoding, too.
                    self.told
                        .push((link, FromCoordinator::decode(&message.encode()).expect("what is told can be read")));
                }
                Output::Note(note) => self.notes.push(note),
                Output::Answer { id, result } => assert!(self.answers.insert(id, result).is_none()),
                asked if self.mute => self.asked.push(asked),
                asked => self.serve_store(asked),
            }
        }
    }

    /// Does what the store was asked.
    pub(crate) fn serve_store(&mut self, asked: Output) {
        match asked {
            Output::Read { request } => self.give(Input::Contents { request, bytes: self.store.clone() }),
            Output::Store { request, expect_revision, bytes } => {
                let revision = self
                    .store
                    .as_ref()
                    .map_or(0, |bytes| Roster::decode(bytes).expect("what is stored can be read").revision);
                if revision == expect_revision {
                    self.writes += 1;
                    self.store = Some(bytes);
                    self.give(Input::Stored { request });
                } else {
                    self.give(Input::Conflict { request, bytes: self.store.clone() });
                }
            }
            other => panic!("{other:?} is not for the store"),
        }
    }

    pub(crate) fn say(&mut self, link: u64, message: ToCoordinator) {
        let message = ToCoordinator::decode(&message.encode()).expect("what is sent can be read");
        self.give(Input::Message { link: Link(link), message });
    }

    /// A process joins on a link that has the number of its token.
    pub(crate) fn join(&mut self, name: &str, token: u64) -> Option<Incarnation> {
        self.join_as(name, token, Role::Node)
    }

    pub(crate) fn join_as(&mut self, name: &str, token: u64, role: Role) -> Option<Incarnation> {
        let join = Join { name: name.into(), role, address: "10.0.0.1:7000".into(), token };
        let before = self.told.len();
        self.say(token, ToCoordinator::Join(join));
        let welcome = self.told[before..].iter().find_map(|(_, message)| match message {
            FromCoordinator::Welcome { token: to, process, .. } if *to == token => Some(*process),
            _ => None,
        });
        self.alive.extend(welcome);
        welcome
    }

    pub(crate) fn order(&mut self, order: Order) -> Option<Result<(), OrderError>> {
        self.orders += 1;
        self.give(Input::Order { id: self.orders, order });
        self.answers.get(&self.orders).cloned()
    }

    /// Time passes; everybody alive beats.
    pub(crate) fn run(&mut self, ms: u64) {
        let until = self.now_ms + ms;
        while self.now_ms < until {
            self.now_ms += ROUND_MS;
            for process in self.alive.clone() {
                self.beat(process);
            }
            self.give(Input::Time);
        }
    }

    /// A process beats and says what one says that does all it is told.
    pub(crate) fn beat(&mut self, process: Incarnation) {
        let roster = self.roster();
        let tick = roster.timeline.as_ref().and_then(|line| line.tick_at(self.now_ms * 1000)).unwrap_or_default();
        let mut regions = Vec::new();
        for duty in roster.duties(process).serve {
            let seat = duty.backup.filter(|seat| self.seeding && self.alive.contains(&seat.process));
            let stopped = self.obedient && duty.stop_after.is_some_and(|stop| stop <= tick);
            let service = match () {
                () if self.failing.contains(&duty.region) => Service::Failed,
                () if stopped => Service::Stopped,
                () => Service::Running,
            };
            let made = self.made.entry((duty.region, duty.epoch)).or_insert((Told::in_force(&roster), tick));
            let due = roster.yet_to_tell(made.0).into_iter().take_while(|change| change.at() <= tick && !self.deaf);
            for change in due {
                made.0.hear(&change);
                made.1 = tick;
            }
            let (applied, applied_at) = *made;
            let kept = self.kept_until.map_or(tick, |last| last.min(tick));
            let report = RegionReport {
                region: duty.region,
                epoch: duty.epoch,
                service,
                bodies: 10,
                tick_us: 900,
                behind: 0,
                life: seat.map_or(0, |seat| seat.life),
                kept: seat.filter(|_| !self.slow).map(|_| kept),
                applied,
                applied_at,
            };
            regions.push(report);
        }
        let revision = if self.deaf { 1 } else { roster.revision };
        let beat = Heartbeat { process, revision, tick, regions };
        self.say(u64::from(process.0) + 1000, ToCoordinator::Heartbeat(beat));
    }

    pub(crate) fn roster(&self) -> Roster {
        Roster::decode(self.store.as_ref().expect("something is stored")).expect("what is stored can be read")
    }

    pub(crate) fn tick(&self) -> Tick {
        self.roster().timeline.and_then(|line| line.tick_at(self.now_ms * 1000)).unwrap_or_default()
    }

    /// Server, epoch and backup of each region.
    pub(crate) fn table(&self) -> Vec<Row> {
        let regions = self.roster().regions;
        let row = |region: &nimbus_control::Region| {
            (region.server.0, region.epoch, region.backup.map(|seat| (seat.process.0, seat.life)))
        };
        regions.values().map(row).collect()
    }
}
