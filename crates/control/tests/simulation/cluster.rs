//! Two coordinators, a store, and some processes, in virtual time and with everything going wrong.

use nimbus_control::{
    Beginning, Config, Coordinator, FromCoordinator, Genesis, Input, Link, Note, Output, Planted, Role, Roster,
    Standing, ToCoordinator,
};
use nimbus_model::{Layout, Rng, Tick};
use nimbus_space::PartitionMap;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::checkers::{Counts, Truth};
use crate::member::Member;

pub(crate) const SUSPECT_MS: u64 = 500;
/// Time from the moment that a silent server could be replaced to the moment that it is, at the most: some heartbeats,
/// writes and rosters may get lost on the way.
const ROUNDS_MS: u64 = 700;
const ROUND_MS: u64 = 20;

/// Something on its way.
pub(crate) enum Event {
    ToCoordinator(usize, Link, ToCoordinator),
    ToMember(u64, FromCoordinator),
    /// For the start of a coordinator that has this token; a later one does not hear it.
    Answer(usize, u64, Input),
    Ask(usize, u64, Output),
}

/// One coordinator of two, or the place of one that is dead.
pub(crate) struct Desk {
    pub(crate) coordinator: Option<Coordinator>,
    pub(crate) token: u64,
    pub(crate) booted_ms: u64,
    pub(crate) stalled_until: u64,
}

pub(crate) struct Cluster {
    pub(crate) truth: Truth,
    pub(crate) counts: Counts,
    pub(crate) rng: Rng,
    planted: Option<Planted>,
    pub(crate) now_ms: u64,
    queue: BTreeMap<(u64, u64), Event>,
    pub(crate) sequence: u64,
    tokens: u64,
    pub(crate) desks: [Desk; 2],
    pub(crate) elected: usize,
    pub(crate) elected_at: u64,
    pub(crate) members: Vec<Option<Member>>,
    /// No messages between a place and a coordinator until then.
    pub(crate) cuts: BTreeMap<(usize, usize), u64>,
    pub(crate) calm: bool,
    pub(crate) regions: u16,
    loss: f32,
}

impl Cluster {
    pub(crate) fn new(seed: u64, planted: Option<Planted>) -> Cluster {
        let mut rng = Rng::stream(seed, 1);
        let places = 2 + rng.below(7) as usize;
        let regions = 1 + rng.below(6) as u16;
        let loss = rng.between(0.0, 0.12);
        let desk = || Desk { coordinator: None, token: 0, booted_ms: 0, stalled_until: 0 };
        let mut cluster = Cluster {
            truth: Truth::default(),
            counts: Counts::default(),
            rng,
            planted,
            now_ms: 1_000,
            queue: BTreeMap::new(),
            sequence: 0,
            tokens: 0,
            desks: [desk(), desk()],
            elected: 0,
            elected_at: 0,
            members: (0..places).map(|_| None).collect(),
            cuts: BTreeMap::new(),
            calm: false,
            regions,
            loss,
        };
        cluster.boot(0);
        cluster.boot(1);
        cluster
    }

    /// Runs for a while with faults and then for a while without. The first rule that is broken ends it.
    pub(crate) fn run(&mut self, faults_ms: u64, calm_ms: u64) -> Result<(), String> {
        let (faults_until, until) = (self.now_ms + faults_ms, self.now_ms + faults_ms + calm_ms);
        while self.now_ms < until && self.truth.violation.is_none() {
            if self.now_ms >= faults_until && !self.calm {
                self.calm_down();
            }
            self.round();
        }
        if self.truth.violation.is_none() {
            self.check_end();
        }
        self.truth.violation.take().map_or(Ok(()), Err)
    }

    fn round(&mut self) {
        if self.calm {
            self.keep_somebody();
        } else {
            self.go_wrong();
        }
        for place in 0..self.members.len() {
            if self.members[place].is_none() && (self.calm || self.rng.chance(0.02)) {
                self.tokens += 1;
                self.members[place] = Some(Member::new(&format!("p{place}"), self.tokens));
            }
            self.wake(place);
        }
        self.seed_backups();
        for i in 0..2 {
            self.give(i, Input::Time);
            let coordinator = self.desks[i].coordinator.as_ref();
            if i == self.elected && coordinator.is_some_and(|it| !it.leads()) && self.rng.chance(0.3) {
                self.give(i, Input::Lead);
            }
        }
        let next = self.now_ms + ROUND_MS;
        while let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= next) {
            let ((at, _), event) = entry.remove_entry();
            self.now_ms = self.now_ms.max(at);
            self.deliver(event);
        }
        self.now_ms = next;
        self.check_waiting();
    }

    /// A process says what it has to say, to both coordinators: it does not know who leads.
    fn wake(&mut self, place: usize) {
        let now_us = self.now_ms * 1000;
        let Some(member) = &mut self.members[place] else { return };
        if member.stalled_until > self.now_ms {
            return;
        }
        if member.fenced {
            self.counts.count("fenced");
            self.members[place] = None;
            return;
        }
        member.run(now_us, &mut self.truth);
        let (link, said) = (Link(member.token), member.speak(now_us));
        for message in said {
            let message = ToCoordinator::decode(&message.encode()).expect("what is sent can be read");
            for i in 0..2 {
                self.send(place, i, || Event::ToCoordinator(i, link, message.clone()));
            }
        }
    }

    /// Servers give their backups everything, sooner or later, and then every tick, sooner or later. Processes reach each other even when coordinators do
    /// not reach them.
    fn seed_backups(&mut self) {
        let mut servers = Vec::new();
        for (place, member) in self.members.iter().enumerate() {
            let Some(member) = member.as_ref().filter(|member| member.stalled_until <= self.now_ms) else { continue };
            let Some((roster, own)) = member.roster.as_ref().zip(member.incarnation) else { continue };
            for duty in roster.duties(own).serve {
                servers.extend(duty.backup.map(|seat| (place, duty.region, duty.epoch, seat)));
            }
        }
        for (place, region, epoch, seat) in servers {
            let (lucky, arrives) = (self.rng.chance(0.15), self.rng.chance(0.4));
            let now_ms = self.now_ms;
            let server = self.members[place].as_ref().and_then(|member| member.serving.get(&region));
            let Some(made) = server.filter(|server| server.epoch == epoch).map(|server| server.made) else { continue };
            let keeper = self.members.iter_mut().flatten().find(|member| member.incarnation == Some(seat.process));
            let backup = keeper.filter(|keeper| keeper.stalled_until <= now_ms).and_then(|keeper| {
                keeper.keeping.get_mut(&region).filter(|backup| (backup.life, backup.epoch) == (seat.life, epoch))
            });
            let Some(backup) = backup else { continue };
            backup.seeded |= lucky;
            let seeded = backup.seeded;
            let arrives = lucky || (arrives && seeded);
            if arrives {
                backup.made = Some(made);
            }
            let server = self.members[place].as_mut().and_then(|member| member.serving.get_mut(&region));
            if let Some(server) = server.filter(|server| server.epoch == epoch && !server.failed && seeded) {
                self.truth.seeded.insert((region, epoch, seat.life));
                if server.seeded != Some(seat.life) {
                    (server.seeded, server.kept) = (Some(seat.life), Tick(0));
                }
                if arrives {
                    server.kept = server.tick;
                }
            }
        }
    }

    pub(crate) fn give(&mut self, i: usize, input: Input) {
        if self.desks[i].stalled_until > self.now_ms {
            if !matches!(input, Input::Time) {
                let at = self.desks[i].stalled_until;
                let token = self.desks[i].token;
                self.push(at, Event::Answer(i, token, input));
            }
            return;
        }
        if matches!(input, Input::Conflict { .. }) {
            self.counts.count("conflict");
        }
        let desk = &mut self.desks[i];
        let mut out = Vec::new();
        let Some(coordinator) = &mut desk.coordinator else { return };
        coordinator.handle(input, self.now_ms - desk.booted_ms, &mut out);
        let token = desk.token;
        for output in out {
            match output {
                Output::Read { .. } | Output::Store { .. } => {
                    self.send_store(Event::Ask(i, token, output));
                }
                Output::Tell { link, message } => {
                    let place = self.place_of(link.0);
                    let Some(place) = place else { continue };
                    self.send(place, i, || Event::ToMember(link.0, message.clone()));
                }
                Output::Note(Note::SteppedBack { .. }) => self.counts.count("step back"),
                Output::Note(Note::Inconsistent(problem)) => self.truth.blame(format!("inconsistent plan: {problem}")),
                Output::Note(Note::StoreUnusable(problem)) => self.truth.blame(format!("unusable store: {problem}")),
                Output::Answer { result: Ok(()), .. } => self.counts.count("order"),
                Output::Answer { .. } => {}
                Output::Note(_) => {}
            }
        }
    }

    fn deliver(&mut self, event: Event) {
        match event {
            Event::ToCoordinator(i, link, message) => self.give(i, Input::Message { link, message }),
            Event::ToMember(token, message) => {
                let member = self.members.iter_mut().flatten().find(|member| member.token == token);
                if let Some(member) = member.filter(|member| member.stalled_until <= self.now_ms) {
                    member.hear(message, &mut self.truth);
                }
            }
            Event::Answer(i, token, input) => {
                if self.desks[i].token == token {
                    self.give(i, input);
                }
            }
            Event::Ask(i, token, asked) => self.serve_store(i, token, asked),
        }
    }

    fn serve_store(&mut self, i: usize, token: u64, asked: Output) {
        let there = self.truth.history.last().map(|roster| roster.encode());
        let answer = match asked {
            Output::Read { request } => Input::Contents { request, bytes: there },
            Output::Store { request, expect_revision, bytes } => {
                if self.truth.history.len() as u64 == expect_revision {
                    self.truth.note_stored(&bytes, self.now_ms, SUSPECT_MS);
                    self.check_losses(i);
                    Input::Stored { request }
                } else {
                    Input::Conflict { request, bytes: there }
                }
            }
            _ => return,
        };
        self.send_store(Event::Answer(i, token, answer));
    }

    /// Sends to the store or back: perhaps not at all, perhaps so late that the coordinator has long asked again.
    fn send_store(&mut self, event: Event) {
        if !self.calm && self.rng.chance(self.loss / 2.0) {
            return self.counts.count("store silent");
        }
        let late = !self.calm && self.rng.chance(0.05);
        let at = self.now_ms + 1 + self.rng.below(if late { 500 } else { 15 });
        self.push(at, event);
    }

    /// Sends between a place and a coordinator: perhaps not at all, perhaps twice.
    fn send(&mut self, place: usize, i: usize, event: impl Fn() -> Event) {
        let cut = self.cuts.get(&(place, i)).is_some_and(|until| *until > self.now_ms);
        if cut || (!self.calm && self.rng.chance(self.loss)) {
            self.counts.count("message lost");
            return;
        }
        let at = self.now_ms + 1 + self.rng.below(20);
        self.push(at, event());
        if self.rng.chance(0.05) {
            let at = at + self.rng.below(400);
            self.push(at, event());
        }
    }

    pub(crate) fn push(&mut self, at: u64, event: Event) {
        self.sequence += 1;
        self.queue.insert((at.max(self.now_ms), self.sequence), event);
    }

    fn place_of(&self, token: u64) -> Option<usize> {
        self.members.iter().position(|member| member.as_ref().is_some_and(|member| member.token == token))
    }

    pub(crate) fn boot(&mut self, i: usize) {
        self.tokens += 1;
        let map = PartitionMap::from_layout(&Layout::columns(self.regions, 10.0)).expect("a plain layout");
        let genesis = Genesis {
            cluster: "sim".into(),
            world: "rain".into(),
            map: Arc::new(map),
            spare: Vec::new(),
            tick_hz: 60,
            standing: Beginning::NEW,
            placed: Arc::default(),
        };
        let config = Config {
            // Clocks of two machines differ a little.
            unix_us_at_zero: self.now_ms * 1000 + self.rng.below(5_000),
            nodes_wanted: self.members.len(),
            grace_ms: 600,
            start_lead_ms: 100,
            suspect_ms: SUSPECT_MS,
            abandon_ms: 2_500,
            settle_ms: 1_500,
            handover_ms: 400,
            handover_ticks: 10,
            announce_ticks: 20,
            store_ms: 100,
            planted: self.planted,
            ..Config::new(["c1", "c2"][i], self.tokens, genesis)
        };
        let coordinator = Coordinator::new(config).expect("a sound configuration");
        self.desks[i] =
            Desk { coordinator: Some(coordinator), token: self.tokens, booted_ms: self.now_ms, stalled_until: 0 };
    }

    pub(crate) fn roster(&self) -> Option<Arc<Roster>> {
        self.truth.history.last().cloned()
    }

    /// A region may be lost only if nobody who can be reached has all of it.
    fn check_losses(&mut self, i: usize) {
        let [.., before, after] = &self.truth.history[..] else { return };
        // What was decided a moment ago may have been right a moment ago.
        let long_ago = |until: u64| until + 800 < self.now_ms;
        let lost = before.held().filter(|(id, _)| after.regions[id].lost.is_some());
        let whole = lost.filter_map(|(id, region)| {
            let seat = region.backup.filter(|_| region.protected)?;
            let mut members = self.members.iter().enumerate().filter_map(|(place, it)| Some((place, it.as_ref()?)));
            let (place, keeper) = members.find(|(_, member)| member.incarnation == Some(seat.process))?;
            let reached = self.cuts.get(&(place, i)).is_none_or(|until| long_ago(*until));
            let awake = long_ago(keeper.stalled_until) && !keeper.fenced;
            let seeded = keeper.keeping.get(&id).is_some_and(|backup| backup.life == seat.life && backup.seeded);
            (reached && awake && seeded).then_some(id)
        });
        if let Some(id) = whole.min() {
            self.truth.blame(format!("{id} is given up for lost, and its backup is there"));
        }
    }

    /// The leader that can act on what it hears: elected for a while, and its term is in the store.
    fn able_leader(&self, roster: &Roster) -> Option<usize> {
        let desk = &self.desks[self.elected];
        let leads = desk.coordinator.as_ref().is_some_and(Coordinator::leads);
        let able = leads && roster.leader_token == desk.token && desk.stalled_until <= self.now_ms;
        able.then_some(self.elected)
    }

    fn check_waiting(&mut self) {
        let Some(roster) = self.roster() else { return };
        let leader = self.able_leader(&roster);
        for (id, region) in &roster.regions {
            let reachable = |process| {
                let place = self.members.iter().position(|member| {
                    let member = member.as_ref().filter(|member| !member.fenced);
                    member.is_some_and(|it| it.incarnation == Some(process) && it.stalled_until <= self.now_ms)
                })?;
                let cut = self.cuts.get(&(place, leader?)).is_some_and(|until| *until > self.now_ms);
                (!cut).then_some(place)
            };
            let served = self.members.iter().flatten().any(|member| {
                member.serving.get(id).is_some_and(|server| server.epoch == region.epoch) && !member.fenced
            });
            let keeper = region.backup.filter(|_| region.protected).and_then(|seat| reachable(seat.process));
            let waits = region.lost.is_none() && !served && (keeper.is_some() || reachable(region.server).is_some());
            self.truth.note_waiting(*id, waits && leader.is_some(), self.now_ms, SUSPECT_MS + ROUNDS_MS);
        }
    }

    /// After the calm everything that is not lost is served and protected.
    fn check_end(&mut self) {
        let Some(roster) = self.roster() else { return self.truth.blame("nothing was ever written".into()) };
        if roster.regions.is_empty() {
            return self.truth.blame("regions were never placed".into());
        }
        let nodes = roster.members().filter(|(_, it)| it.role == Role::Node && it.standing == Standing::Up).count();
        if nodes < self.members.len() {
            self.truth.blame(format!("{nodes} of {} nodes are members after the calm", self.members.len()));
        }
        for (id, region) in roster.held() {
            let server = self.members.iter().flatten().find(|member| member.incarnation == Some(region.server));
            let epoch = server.and_then(|member| member.serving.get(&id)).map(|server| server.epoch);
            if epoch != Some(region.epoch) || !region.protected {
                self.truth.blame(format!("{id} is not served and protected after the calm: {region:?}"));
            }
        }
        for member in self.members.iter().flatten() {
            if member.roster.as_ref().map(|known| known.revision) != Some(roster.revision) {
                let what = format!("{} does not know the newest roster after the calm", member.name);
                self.truth.violation.get_or_insert(what);
            }
        }
    }
}
