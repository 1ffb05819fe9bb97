//! The coordinator as a process: its core, a store, and the mesh.

use nimbus_control::{
    Beginning, Config, Coordinator, Genesis, Input, Link, LoadReport, Note, Order, Output, Role as Part, Roster,
    ToCoordinator,
};
use nimbus_model::{Nid, RegionId};
use nimbus_node::AuraConfig;
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::asks::Ask;
use super::calendar::Calendar;
use super::checkpointing::{Checkpointing, Now, OrderDesk};
use super::petition::{Next, Petition};
use super::post::Post;
use super::setup::{ClusterError, ClusterSetup};
use super::store::{Store, Word};
use super::worlds::Worlds;
use crate::balancer::Balancer;
use crate::clock::Clock;
use crate::mesh::{Delivery, Mesh, ProcessName, Received, Role};
use crate::metrics;
use crate::operator::{Facts, Operator, Page};

/// Partitions are announced this long ahead: as the core demands, and what writing the roster may take.
const BALANCE_LEAD_TICKS: u64 = 90;
/// How often the core is told that time passes, at least.
const POLL: Duration = Duration::from_millis(20);
/// The same while the store is about to answer.
const POLL_ASKED: Duration = Duration::from_millis(2);
/// How often a coordinator that is elected and does not lead is told so again.
const LEAD_AGAIN: Duration = Duration::from_secs(1);
/// How long somebody who orders a checkpoint waits at the most.
const CHECKPOINT_PATIENCE: Duration = Duration::from_secs(60);
/// Wishes of gateways that wait for their turn at most.
const ASKED_MAX: usize = 64;
/// How often one that follows asks what time it is.
const CLOCK_EVERY: Duration = Duration::from_millis(200);
/// The same for one that leads and does not know.
const CLOCK_SOUGHT_EVERY: Duration = Duration::from_millis(50);

/// Runs a coordinator until `ends` says so. `tell` gets what people should know.
pub fn run_coordinator(
    setup: &ClusterSetup,
    name: &ProcessName,
    token: u64,
    mut ends: impl FnMut() -> bool,
    mut tell: impl FnMut(String),
) -> Result<(), ClusterError> {
    let (mut desk, order_desk) = Desk::open(setup, name, token)?;
    let shown: Arc<Mutex<Option<Arc<Roster>>>> = Arc::default();
    let _operator = setup.operators.get(name).map(|at| Operator::start(*at, facts(&shown, order_desk))).transpose()?;
    while !ends() {
        let mesh = desk.mesh.clone();
        mesh.wait(if desk.store.is_asked() { POLL_ASKED } else { POLL });
        mesh.drain(|received| desk.hear(received, &mut tell));
        desk.keep_time();
        desk.lead(&mut tell);
        desk.ask_time();
        desk.act(Input::Time, &mut tell);
        desk.balance(&mut tell);
        desk.carry_on(&mut tell);
        desk.checkpoint(&mut tell);
        while let Some(word) = desk.store.hear() {
            desk.heed(word, &mut tell);
        }
        *shown.lock().unwrap_or_else(PoisonError::into_inner) = desk.roster().cloned();
    }
    Ok(())
}

struct Desk {
    checkpointing: Checkpointing,
    core: Coordinator,
    store: Store,
    mesh: Arc<Mesh>,
    name: ProcessName,
    token: u64,
    /// The other coordinators.
    others: Vec<ProcessName>,
    /// All who are no coordinators.
    members: Vec<ProcessName>,
    links: BTreeMap<ProcessName, Link>,
    /// What the election says.
    elected: bool,
    /// Who leads instead, as far as people know.
    followed: Option<String>,
    /// The newest roster that somebody else has written.
    newest: Option<Arc<Roster>>,
    /// When the core is told again, if it is elected and does not lead.
    lead_at: Duration,
    /// The store does not do what it is asked, and people know.
    troubled: bool,
    /// What people know of a store that cannot be used.
    unusable: Option<Note>,
    calendar: Calendar,
    /// When the other coordinators are asked what it shows.
    ask_time_at: Duration,
    /// Plans boundaries, if they are to follow the load.
    balancer: Option<Balancer>,
    /// What a tick of a region may cost before it gets help.
    budget_us: Option<u32>,
    /// How the aura policy judges.
    aura: AuraConfig,
    /// The world that it plans for.
    balanced_era: u16,
    loads: BTreeMap<RegionId, LoadReport>,
    orders: u64,
    /// The wish of a gateway that is being carried out.
    petition: Option<Petition>,
    /// Those that wait for their turn, with who wishes and its number for it.
    asked: VecDeque<(ProcessName, u64, Ask)>,
    worlds: Worlds,
    clock: Clock,
}

impl Desk {
    /// A desk, and where operators order checkpoints at it.
    fn open(setup: &ClusterSetup, name: &ProcessName, token: u64) -> Result<(Desk, OrderDesk), ClusterError> {
        let clock = Clock::start();
        let genesis = Genesis {
            cluster: setup.name.as_str().to_owned(),
            world: setup.world.name.clone(),
            map: Arc::new(setup.map.clone()),
            spare: setup.spare.clone(),
            tick_hz: setup.world.tick_hz,
            standing: setup.restored.as_ref().map_or(Beginning::NEW, |restored| Beginning {
                tick: restored.checkpoint.tick,
                era: restored.checkpoint.era,
                loaded_at: restored.checkpoint.loaded_at,
                issued: restored.manifest.issued,
            }),
            placed: Arc::new(setup.world.placed.clone()),
        };
        let config = Config {
            unix_us_at_zero: clock.steady_us().saturating_sub(clock.now().as_micros() as u64),
            nodes_wanted: setup.count(Role::Node),
            slowest_permille: setup.slowest(),
            ..Config::new(name.as_str(), token, genesis)
        };
        let core = Coordinator::new(config).map_err(|invalid| ClusterError::Coordinator(invalid.to_string()))?;
        let store = Store::open(setup, name, token)?;
        let mesh = setup.connect(name, Role::Coordinator)?;
        let (checkpointing, order_desk) = Checkpointing::new(setup.checkpoints.clone());
        let desk = Desk {
            checkpointing,
            core,
            store,
            mesh,
            name: name.clone(),
            token,
            others: setup.named(Role::Coordinator).filter(|other| *other != name).cloned().collect(),
            members: setup.named(Role::Node).chain(setup.named(Role::Gateway)).cloned().collect(),
            links: setup.places.keys().cloned().zip((0..).map(Link)).collect(),
            elected: false,
            followed: None,
            newest: None,
            lead_at: Duration::ZERO,
            troubled: false,
            unusable: None,
            calendar: Calendar::default(),
            ask_time_at: Duration::ZERO,
            balancer: setup.balance.then(|| {
                let its = Balancer::with_lead(&setup.world, &setup.aura(), setup.map.clone(), BALANCE_LEAD_TICKS);
                its.with_budget(setup.budget_us)
            }),
            budget_us: setup.budget_us,
            aura: setup.aura(),
            balanced_era: 1,
            loads: BTreeMap::new(),
            orders: 0,
            petition: None,
            asked: VecDeque::new(),
            worlds: Worlds::new(setup),
            clock,
        };
        Ok((desk, order_desk))
    }

    /// The newest roster, whoever wrote it.
    fn roster(&self) -> Option<&Arc<Roster>> {
        let known = [self.core.roster(), self.newest.as_ref()];
        known.into_iter().flatten().max_by_key(|roster| roster.revision)
    }

    fn hear(&mut self, received: Received, tell: &mut impl FnMut(String)) {
        let Some(&link) = self.links.get(&received.from) else { return };
        match Post::decode(received.bytes) {
            Some(Post::ClockAsked(sent)) => {
                if let Some(shown) = self.calendar_us() {
                    self.mesh.send(&received.from, Post::ClockTold(sent, shown).encode(), Delivery::Latest);
                }
            }
            Some(Post::ClockTold(sent, clock)) if received.role == Role::Coordinator => {
                self.calendar.note(sent, clock, self.clock.steady_us());
            }
            Some(Post::ClockTold(sent, clock)) => self.calendar.note_member(sent, clock, self.clock.steady_us()),
            Some(Post::Load(load)) if self.serves(&received.from, load.region) => {
                self.loads.insert(load.region, *load);
            }
            Some(Post::Contributed(name, outcome)) if received.role == Role::Node => {
                self.checkpointing.hear(&name, outcome, tell);
            }
            Some(Post::Asked(number, ask)) if received.role == Role::Gateway => {
                self.take_ask(received.from, number, ask, tell);
            }
            Some(Post::ToCoordinator(message))
                if speaks_for_itself(self.core.roster(), &received.from, received.role, &message) =>
            {
                self.act(Input::Message { link, message }, tell);
            }
            _ => {}
        }
    }

    /// Takes what a gateway asks, to be carried out after what was asked before. Only the coordinator that leads answers.
    fn take_ask(&mut self, from: ProcessName, number: u64, ask: Ask, tell: &mut impl FnMut(String)) {
        if !self.core.leads() {
            return;
        }
        if self.calendar.is_sought() {
            return self.answer(&from, number, Err("the coordinator has only just begun; wait a moment".to_owned()));
        }
        if self.asked.len() >= ASKED_MAX {
            return self.answer(&from, number, Err("too many changes are under way; wait a moment".to_owned()));
        }
        self.asked.push_back((from, number, ask));
        self.carry_on(tell);
    }

    /// Goes on with what a gateway asked, when its world is there, and begins with the next.
    fn carry_on(&mut self, tell: &mut impl FnMut(String)) {
        let Some(roster) = self.core.roster().cloned() else { return };
        if !self.core.leads() {
            self.asked.clear();
        }
        if self.petition.is_none()
            && let Some((from, number, ask)) = self.asked.pop_front()
        {
            self.orders += 1;
            let (petition, next) = Petition::new(from, number, ask, &roster, self.orders);
            self.petition = Some(petition);
            self.pursue(next, tell);
        }
        let Some(petition) = &mut self.petition else {
            return self.worlds.keep(roster.worlds());
        };
        let next = petition.carry_on(&self.worlds, &roster, &self.aura, self.orders + 1);
        self.pursue(next, tell);
    }

    fn pursue(&mut self, next: Next, tell: &mut impl FnMut(String)) {
        match next {
            Next::Wait => {}
            Next::Order(id, order) => {
                self.orders = id;
                self.act(Input::Order { id, order }, tell);
            }
            Next::Refuse(why) => {
                if let Some(petition) = self.petition.take() {
                    self.answer(&petition.from, petition.number, Err(why));
                }
            }
        }
    }

    fn answer(&self, to: &ProcessName, number: u64, outcome: Result<Option<Nid>, String>) {
        self.mesh.send(to, Post::Answered(number, outcome).encode(), Delivery::Ordered);
    }

    fn serves(&self, process: &ProcessName, region: RegionId) -> bool {
        let server = |roster: &Arc<Roster>| Some(roster.member(roster.regions.get(&region)?.server)?.name.clone());
        self.roster().and_then(server).is_some_and(|name| name == process.as_str())
    }

    /// Makes checkpoints when they are ordered or due, while it leads.
    fn checkpoint(&mut self, tell: &mut impl FnMut(String)) {
        let Some(roster) = self.core.roster().filter(|_| self.core.leads()).cloned() else {
            return self.checkpointing.give_up(tell);
        };
        let Some((timeline, calendar_us)) = roster.timeline.as_ref().zip(self.calendar_us()) else { return };
        let (Some(tick), Some(Ok(world))) = (timeline.tick_at(calendar_us), self.worlds.ready(&roster.world)) else {
            return;
        };
        let mesh = self.mesh.clone();
        let now = Now { at: self.clock.now(), roster: &roster, timeline, calendar_us, tick, world: &world };
        self.checkpointing.turn(&now, |to, post| _ = mesh.send(to, post.encode(), Delivery::Ordered), tell);
    }

    /// Has boundaries follow the load, while it leads.
    fn balance(&mut self, tell: &mut impl FnMut(String)) {
        let Some(roster) = self.core.roster().filter(|_| self.core.leads()).cloned() else { return };
        let calm = roster.held().all(|(_, region)| region.moving.is_none()) && roster.changes.is_empty();
        let now_us = self.calendar_us();
        let tick = roster.timeline.as_ref().zip(now_us).and_then(|(timeline, now_us)| timeline.tick_at(now_us));
        if self.balancer.is_some() && roster.era != self.balanced_era {
            // Another world has other limits.
            let Some(Ok(world)) = self.worlds.ready(&roster.world) else { return };
            let balancer = Balancer::with_lead(&world, &self.aura, (*roster.map).clone(), BALANCE_LEAD_TICKS);
            self.balancer = Some(balancer.with_budget(self.budget_us));
            self.balanced_era = roster.era;
            self.loads.clear();
        }
        let (Some(balancer), Some(tick), true) = (self.balancer.as_mut(), tick, calm) else { return };
        if !balancer.is_due(tick) {
            return;
        }
        balancer.announced(roster.newest_map());
        if let Some(map) = balancer.plan(tick, std::mem::take(&mut self.loads).into_values().collect()) {
            self.orders += 1;
            let order = Order::Map { era: roster.era, map: Arc::new(map) };
            self.act(Input::Order { id: self.orders, order }, tell);
        }
    }

    /// Takes a word of the store's.
    fn heed(&mut self, word: Word, tell: &mut impl FnMut(String)) {
        match word {
            Word::Answer(input) => {
                self.relieve(tell);
                self.act(input, tell);
            }
            Word::Lead => {
                (self.elected, self.lead_at) = (true, Duration::ZERO);
                self.lead(tell);
            }
            Word::Follow(leader) => {
                self.elected = false;
                self.follow(leader, tell);
            }
            Word::Written(roster) => {
                let mine = roster.leader == self.name.as_str() && roster.leader_token == self.token;
                let news = self.core.roster().is_none_or(|known| known.revision < roster.revision);
                // One that claims the lead finds out by itself.
                if !mine && news && (self.core.leads() || !self.elected) {
                    self.follow(Some(roster.leader.clone()), tell);
                }
                self.newest = Some(Arc::new(*roster));
            }
            Word::Trouble(Some(problem)) => {
                if !std::mem::replace(&mut self.troubled, true) {
                    tell(format!("{problem}; what runs goes on, but nobody can join or take over meanwhile"));
                }
            }
            Word::Trouble(None) => self.relieve(tell),
        }
    }

    fn relieve(&mut self, tell: &mut impl FnMut(String)) {
        if std::mem::replace(&mut self.troubled, false) {
            tell("the roster can be kept again".to_owned());
        }
    }

    /// Has the core lead if it is elected and does not.
    fn lead(&mut self, tell: &mut impl FnMut(String)) {
        if !self.elected || self.core.leads() || self.clock.now() < self.lead_at {
            return;
        }
        self.lead_at = self.clock.now() + LEAD_AGAIN;
        let now_us = self.calendar.inherit(self.clock.steady_us());
        self.core.set_unix_us_at_zero(now_us.saturating_sub(self.clock.now().as_micros() as u64));
        self.act(Input::Lead, tell);
    }

    fn follow(&mut self, leader: Option<String>, tell: &mut impl FnMut(String)) {
        if leader.as_deref().is_some_and(|leader| leader != self.name.as_str()) {
            self.calendar.hand_over();
            if self.followed != leader {
                tell(format!("follows {}", leader.as_deref().unwrap_or_default()));
            }
        }
        self.followed.clone_from(&leader);
        self.act(Input::Follow { leader }, tell);
    }

    /// Asks the other coordinators what time it is; the one that leads answers. One that leads and was told by none asks
    /// the members.
    fn ask_time(&mut self) {
        let (leads, sought) = (self.core.leads(), self.calendar.is_sought());
        if (leads && !sought) || self.clock.now() < self.ask_time_at {
            return;
        }
        self.ask_time_at = self.clock.now() + if sought { CLOCK_SOUGHT_EVERY } else { CLOCK_EVERY };
        for other in if sought { &self.members } else { &self.others } {
            self.mesh.send(other, Post::ClockAsked(self.clock.steady_us()).encode(), Delivery::Latest);
        }
    }

    /// What the calendar shows; none while another one keeps it, or members are asked.
    fn calendar_us(&self) -> Option<u64> {
        self.calendar.shown(self.clock.steady_us())
    }

    /// Has the core go by what is shown to others, also when the machine slept or members knew better.
    fn keep_time(&mut self) {
        self.calendar.settle(self.clock.now());
        if let Some(now_us) = self.calendar_us() {
            self.core.set_unix_us_at_zero(now_us.saturating_sub(self.clock.now().as_micros() as u64));
        }
    }

    /// Gives the core an input and does what it says.
    fn act(&mut self, input: Input, tell: &mut impl FnMut(String)) {
        let mut outputs = Vec::new();
        self.core.handle(input, self.clock.now().as_millis() as u64, &mut outputs);
        if self.core.leads() {
            let has_begun = self.core.roster().is_some_and(|roster| roster.timeline.is_some());
            self.calendar.keep(has_begun, self.clock.now());
        }
        for output in outputs {
            match output {
                Output::Read { request } => self.store.read(request),
                Output::Store { request, expect_revision, bytes } => self.store.swap(request, expect_revision, bytes),
                Output::Tell { link, message } => {
                    if let Some((to, _)) = self.links.iter().find(|(_, known)| **known == link) {
                        self.mesh.send(to, Post::FromCoordinator(message).encode(), Delivery::Ordered);
                    }
                }
                Output::Note(note) => self.note(note, tell),
                Output::Answer { id, result } => {
                    if let Some(petition) = self.petition.take_if(|petition| petition.is(id)) {
                        let outcome = result.map(|()| petition.about).map_err(|error| error.to_string());
                        self.answer(&petition.from, petition.number, outcome);
                    }
                }
            }
        }
    }

    /// Says what people should know. A store that cannot be used is tried again and again, and told of once.
    fn note(&mut self, note: Note, tell: &mut impl FnMut(String)) {
        match &note {
            Note::StoreUnusable(_) if self.unusable.as_ref() == Some(&note) => return,
            Note::StoreUnusable(_) => self.unusable = Some(note.clone()),
            Note::SteppedBack { .. } if self.unusable.is_some() => return,
            Note::Leads { .. } => self.unusable = None,
            _ => {}
        }
        tell(format!("{note:?}"));
    }
}

/// True when a process speaks of itself and not of another one.
fn speaks_for_itself(roster: Option<&Arc<Roster>>, from: &ProcessName, role: Role, message: &ToCoordinator) -> bool {
    let is_named = |process| {
        let known = roster.and_then(|roster| roster.processes.get(process));
        known.is_none_or(|known| known.name == from.as_str())
    };
    match message {
        ToCoordinator::Join(join) => {
            let part = if role == Role::Gateway { Part::Gateway } else { Part::Node };
            join.name == from.as_str() && join.role == part && role != Role::Coordinator
        }
        ToCoordinator::Heartbeat(beat) => is_named(&beat.process),
        ToCoordinator::Drain(process) => is_named(process),
    }
}

/// What operators may ask of a coordinator: the roster, which says who serves what, who is protected, and what is lost;
/// and a checkpoint.
fn facts(shown: &Arc<Mutex<Option<Arc<Roster>>>>, checkpoints: OrderDesk) -> Facts {
    let read = |shown: &Mutex<Option<Arc<Roster>>>| shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (ready, figures, page) = (shown.clone(), shown.clone(), shown.clone());
    let page: Page = Box::new(move |_| {
        let roster = read(&page).ok_or("it has read no roster yet")?;
        serde_json::to_value(&*roster).map_err(|error| error.to_string())
    });
    let checkpoint: Page = Box::new(move |_| {
        let (answer, outcome) = sync_channel(1);
        checkpoints.try_send(answer).map_err(|_| "too many checkpoints are ordered; order again later")?;
        let manifest =
            outcome.recv_timeout(CHECKPOINT_PATIENCE).map_err(|_| "it takes too long; look at the log")??;
        serde_json::to_value(manifest).map_err(|error| error.to_string())
    });
    Facts {
        unready: Box::new(move || read(&ready).is_none().then(|| "it has read no roster yet".to_owned())),
        metrics: Box::new(move || read(&figures).map_or_else(String::new, |roster| metrics::render_roster(&roster))),
        pages: BTreeMap::from([("/api/roster", page)]),
        acts: BTreeMap::from([("/api/checkpoint", checkpoint)]),
    }
}

#[cfg(test)]
#[path = "coordinator_tests.rs"]
mod tests;
