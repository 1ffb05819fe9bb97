//! A gateway as a process: it lets clients in and shows them what the nodes tell.

use nimbus_control::{Roster, Told};
use nimbus_gateway::{Gateway, GatewayConfig, Serves};
use nimbus_model::Tick;
use nimbus_node::Change;
use nimbus_wire::{Address, GatewayId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc;

use super::asks::Asks;
use super::member::{Heard, Member};
use super::pulse::Pulses;
use super::setup::{ClusterError, ClusterSetup};
use super::upcoming::in_full;
use super::worlds::Worlds;
use crate::board::{Board, GatewayReading};
use crate::clock::Clock;
use crate::council::{Council, CouncilDesk, News};
use crate::doors::Doors;
use crate::embedded::{ClusterHandle, Scenes};
use crate::gateway_thread::{ClientEvent, EVENTS_MAX, GatewayThread};
use crate::links::Links;
use crate::mesh::{ProcessName, Role};
use crate::metrics;
use crate::operator::{Facts, Operator, Page};
use crate::pace::{Pace, RealTime};
use crate::reading::{Gauge, Shown};

/// How long it waits for the network at most before it looks after itself.
const POLL: Duration = Duration::from_millis(10);

/// A gateway with its place in the cluster.
pub struct GatewayProcess {
    setup: ClusterSetup,
    member: Member,
    links: Links,
    pace: Arc<Pace>,
    /// By region, in order.
    gauges: Vec<Gauge>,
    pulses: Pulses,
    board: Arc<Board>,
    /// What clients do; here until the gateway itself has begun.
    events: Option<mpsc::Receiver<ClientEvent>>,
    thread: Option<JoinHandle<()>>,
    worlds: Worlds,
    /// What clients ask of the coordinator.
    asks: Asks,
    /// Where the gateway hears what was decided, once it has begun.
    council: Option<CouncilDesk>,
    /// The changes that the gateway was told.
    told: Told,
    clock: Clock,
    serves: Serves,
    handle: ClusterHandle,
    _operator: Option<Operator>,
}

impl GatewayProcess {
    /// Starts it; clients can come at once and see something when the cluster has started.
    pub fn start(setup: &ClusterSetup, name: &ProcessName, token: u64) -> Result<GatewayProcess, ClusterError> {
        let member = Member::new(setup, name, Role::Gateway, token)?;
        let links = Links::default();
        let pace = Arc::new(Pace::RealTime(RealTime::common(setup.slowest())));
        let (events, inbound) = mpsc::channel(EVENTS_MAX);
        let shown = GatewayReading {
            alive: true,
            scene: setup.world.name.clone(),
            era: 1,
            speed: 1.0,
            dilation: 1.0,
            ..GatewayReading::default()
        };
        let gauges: Vec<Gauge> = setup.regions().into_iter().map(Gauge::new).collect();
        // Nobody has heard of any of them yet.
        gauges.iter().for_each(|gauge| gauge.write(|reading| reading.alive = false));
        let board = Arc::new(Board::new(gauges.clone(), links.clone(), shown));
        let handle = ClusterHandle::new(events, board.clone(), Arc::new(AtomicU32::new(1)));
        let facts = facts(&board, handle.clone());
        let operator = setup.operators.get(name).map(|address| Operator::start(*address, facts)).transpose()?;
        Ok(GatewayProcess {
            setup: setup.clone(),
            member,
            links,
            pace,
            gauges,
            pulses: Pulses::default(),
            board,
            events: Some(inbound),
            thread: None,
            worlds: Worlds::new(setup),
            asks: Asks::new(token),
            council: None,
            told: Told::default(),
            clock: Clock::start(),
            serves: Serves::Everybody,
            handle,
            _operator: operator,
        })
    }

    /// The same, for these clients.
    pub fn serving(self, serves: Serves) -> GatewayProcess {
        GatewayProcess { serves, ..self }
    }

    /// Begins to listen to servers, under the number that this start of the process has, with the world that is in force.
    fn begin(&mut self, roster: &Roster) -> Result<(), ClusterError> {
        let Some(process) = self.member.process().filter(|_| self.events.is_some()) else { return Ok(()) };
        let world = match self.worlds.ready(&roster.world) {
            None => return Ok(()),
            Some(Ok(world)) => world.with_placed(&roster.placed),
            Some(Err(why)) => return Err(ClusterError::World(roster.world.clone(), why)),
        };
        let Some(events) = self.events.take() else { return Ok(()) };
        self.told = Told::in_force(roster);
        let id = GatewayId(process.0);
        let durable = self.setup.is_durable();
        let config = GatewayConfig { id, durable, serves: self.serves, ..GatewayConfig::default() };
        let (council, desk) = Council::open();
        self.council = Some(desk);
        let thread = GatewayThread {
            aura: self.setup.aura(),
            gateway: Gateway::new(
                config,
                self.setup.scenes.list.clone(),
                world.clone(),
                roster.era,
                (*roster.map).clone(),
            ),
            pace: self.pace.clone(),
            links: self.links.clone(),
            inbox: self.links.open(Address::Gateway(id)),
            events,
            doors: Doors::default(),
            board: self.board.clone(),
            scenes: Scenes::default(),
            servers: self.setup.map.regions().len() as u16,
            regions: self.setup.regions(),
            world,
            next_world: None,
            queues: BTreeMap::new(),
            balancer: None,
            council: Some(council),
            kill_switch: None,
            lives: Vec::new(),
            map: (*roster.map).clone(),
            dilate_at: Duration::ZERO,
            placed: Arc::default(),
            placed_at: Vec::new(),
        };
        let spawned = std::thread::Builder::new().name("gateway".to_owned()).spawn(move || thread.run());
        self.thread = Some(spawned.map_err(|error| ClusterError::Io("gateway".to_owned(), error))?);
        Ok(())
    }

    /// Tells the gateway of worlds and partitions that it has not been told. False when something has to wait.
    fn announce(&mut self, roster: &Roster) -> bool {
        let Some(council) = &self.council else { return false };
        self.worlds.keep(roster.worlds());
        for change in roster.yet_to_tell(self.told) {
            // One whose world is still being made is told at a later turn.
            let Some(full) = in_full(&change, |name| self.worlds.ready(name)) else { return false };
            let news = match full {
                Ok(Change::Map(map)) => News::Map(map),
                Ok(Change::Load { at, era, world, map }) => News::Load { at, era, world, map },
                Ok(Change::Statics { at, era, placed }) => News::Statics { at, era, placed },
                Err(why) => {
                    eprintln!("nimbus: {why}");
                    return true;
                }
            };
            self.told.hear(&change);
            // A gateway whose thread has ended shows nothing any more.
            _ = council.news.send(news);
        }
        true
    }

    /// Passes on what clients ask of the coordinator, and tells those who wait in vain.
    fn ask(&mut self) {
        let Some(council) = &self.council else { return };
        let now = self.clock.now();
        let mut answers = self.asks.expired(now);
        for wish in council.wishes.try_iter() {
            match self.asks.open(wish, now) {
                Ok((number, ask)) => self.member.ask(number, ask),
                Err(refused) => answers.push(refused),
            }
        }
        // A gateway whose thread has ended has no clients any more.
        answers.into_iter().for_each(|answer| _ = council.news.send(News::Answer(answer)));
    }

    /// A way in for clients.
    pub fn handle(&self) -> ClusterHandle {
        self.handle.clone()
    }

    /// Runs until `ends` says so, or until it is told that it is no member any more.
    pub fn run(mut self, mut ends: impl FnMut() -> bool) -> Result<(), ClusterError> {
        let mut outcome = Ok(());
        while outcome.is_ok() && !ends() {
            outcome = self.turn();
        }
        self.pace.stop();
        // One that panicked has said so on its way.
        self.thread.take().into_iter().for_each(|thread| _ = thread.join());
        outcome
    }

    fn turn(&mut self) -> Result<(), ClusterError> {
        let mesh = self.member.mesh.clone();
        mesh.wait(POLL);
        let mut outcome = Ok(());
        mesh.drain(|received| match self.member.hear(received) {
            Ok(Heard::Frame(to, bytes)) => _ = self.links.deliver(to, || bytes),
            Ok(Heard::Roster(_)) => self.links.route(&mesh, self.member.routes()),
            Ok(Heard::Shown(shown)) => self.see(shown),
            Ok(Heard::Answered(number, outcome)) => {
                if let (Some(answer), Some(council)) = (self.asks.close(number, outcome), &self.council) {
                    _ = council.news.send(News::Answer(answer));
                }
            }
            Ok(Heard::Nothing | Heard::Left | Heard::Contribute(..)) => {}
            Err(error) => outcome = Err(error),
        });
        if let Some(roster) = self.member.unheeded() {
            self.begin(&roster)?;
            if self.announce(&roster) {
                self.member.heed(&roster);
            }
        }
        self.feel_pulses();
        self.ask();
        if let Some(time) = self.pace.real_time() {
            self.member.align(time);
        }
        self.member.beat(Tick(0), Vec::new);
        outcome.and(still_runs(self.thread.as_ref()))
    }

    /// Takes what a server shows. Only the one is heard that the roster names.
    fn see(&mut self, shown: Shown) {
        let region = shown.region;
        let Some(gauge) = self.gauges.iter().find(|gauge| gauge.look(|reading| reading.region == region)) else {
            return;
        };
        let mut seen = false;
        gauge.write(|reading| seen = reading.see(shown));
        if seen {
            self.pulses.feel(region);
        }
    }

    /// Notes which servers are silent.
    fn feel_pulses(&mut self) {
        self.pulses.pass(self.clock.now());
        for gauge in &self.gauges {
            gauge.write(|reading| reading.alive &= self.pulses.beats(reading.region));
        }
    }
}

/// A gateway whose thread has panicked shows nothing to anybody: the process must end, so that it is started anew.
fn still_runs(thread: Option<&JoinHandle<()>>) -> Result<(), ClusterError> {
    match thread {
        Some(thread) if thread.is_finished() => Err(ClusterError::Ended("gateway")),
        _ => Ok(()),
    }
}

/// What operators may ask of a gateway.
fn facts(board: &Arc<Board>, handle: ClusterHandle) -> Facts {
    let (ready, figures, world) = (board.clone(), board.clone(), board.clone());
    let world: Page = Box::new(move |_| serde_json::to_value(world.world_stats()).map_err(|error| error.to_string()));
    let bodies: Page = Box::new(move |_| {
        let bodies = handle.bodies().ok_or("the gateway has not begun, or does not answer")?;
        serde_json::to_value(bodies).map_err(|error| error.to_string())
    });
    Facts {
        unready: Box::new(move || (ready.gateway().bodies == 0).then(|| "no body is known yet".to_owned())),
        metrics: Box::new(move || metrics::render(&figures)),
        pages: BTreeMap::from([("/api/world", world), ("/api/bodies", bodies)]),
        acts: BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_panicked_ends_the_process() {
        let (go, gone) = std::sync::mpsc::channel::<()>();
        let work = move || {
            // Ends when the other end is dropped.
            _ = gone.recv();
            std::panic::resume_unwind(Box::new("the gateway"));
        };
        let thread = std::thread::Builder::new().spawn(work).unwrap();
        assert!(still_runs(None).is_ok(), "it has not begun");
        assert!(still_runs(Some(&thread)).is_ok());
        drop(go);
        while !thread.is_finished() {
            std::thread::yield_now();
        }
        assert!(matches!(still_runs(Some(&thread)), Err(ClusterError::Ended("gateway"))));
    }
}
