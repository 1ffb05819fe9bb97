//! The coordinator itself: who leads, what is in the store, and who is told what.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::config::{Config, Planted};
use crate::exchange::{Input, Link, Note, Order, OrderError, Output, StoreProblem};
use crate::heard::Heard;
use crate::journal::Journal;
use crate::messages::{Fence, FromCoordinator, Heartbeat, Join, RegionReport, Service, ToCoordinator};
use crate::notes;
use crate::plan::{Facts, Plan};
use crate::roster::{Departure, Incarnation, Roster, Standing};
use crate::validity::Invalid;

/// Wishes to join that may wait at a time; whoever is turned away asks again.
const JOINS_MAX: usize = 256;
/// Orders that may wait at a time.
const ORDERS_MAX: usize = 64;

/// Whether this coordinator leads.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stance {
    /// It does not; another one may, and this is its name, if known.
    Following(Option<String>),
    /// It was elected and has not yet written the next term into the store.
    Claiming,
    /// The store has its term.
    Leading,
}

/// What the store was asked last and has not answered.
#[derive(Clone, Copy, Debug)]
struct Question {
    request: u64,
    since_ms: u64,
    writes: bool,
}

/// A roster on its way into the store. It is given up only when its revision is taken by another one, because until
/// then it may still arrive there.
#[derive(Clone, Debug)]
struct Pending {
    roster: Arc<Roster>,
    bytes: Vec<u8>,
    /// Orders that it carries out.
    orders: Vec<u64>,
}

/// Decides about a cluster as long as it leads, and does nothing otherwise.
///
/// Give it every [`Input`] when it happens and [`Input::Time`] several times within `suspect_ms`, and do what comes out,
/// in that order. Nothing is told to anybody before the store has it.
#[derive(Debug)]
pub struct Coordinator {
    config: Config,
    stance: Stance,
    now_ms: u64,
    requests: u64,
    question: Option<Question>,
    /// What was in the store when it was last known.
    stored: Option<Arc<Roster>>,
    pending: Option<Pending>,
    heard: Heard,
    journal: Journal,
    joins: BTreeMap<String, (Link, Join)>,
    drains: BTreeSet<Incarnation>,
    orders: VecDeque<(u64, Order)>,
    exhausted: bool,
    dropped: u64,
}

impl Coordinator {
    /// A coordinator that follows. Refused when a name in the configuration is none.
    pub fn new(config: Config) -> Result<Coordinator, Invalid> {
        config.validate()?;
        Ok(Coordinator {
            config,
            stance: Stance::Following(None),
            now_ms: 0,
            requests: 0,
            question: None,
            stored: None,
            pending: None,
            heard: Heard::default(),
            journal: Journal::default(),
            joins: BTreeMap::new(),
            drains: BTreeSet::new(),
            orders: VecDeque::new(),
            exhausted: false,
            dropped: 0,
        })
    }

    /// Takes what happened at a time that does not go back, and says what to do.
    pub fn handle(&mut self, input: Input, now_ms: u64, out: &mut Vec<Output>) {
        self.now_ms = self.now_ms.max(now_ms);
        self.heard.pass(self.now_ms, self.config.suspect_ms / 2);
        match input {
            Input::Time => self.ask_again(out),
            Input::Lead if matches!(self.stance, Stance::Following(_)) => {
                self.stance = Stance::Claiming;
                self.read(out);
            }
            Input::Lead => {}
            Input::Follow { leader } => self.step_back(leader, out),
            Input::Message { link, message } => {
                let beat = matches!(message, ToCoordinator::Heartbeat(_));
                self.hear(link, message, out);
                if beat {
                    // They come often; what they say can wait until time passes.
                    return;
                }
            }
            Input::Conflict { request, .. } if self.awaits(request) && self.has(Planted::DeafToConflict) => {
                self.settle(out);
            }
            Input::Contents { request, bytes } | Input::Conflict { request, bytes } => {
                if self.awaits(request) {
                    self.find(bytes, out);
                }
            }
            Input::Stored { request } => {
                if self.awaits(request) && self.question.is_some_and(|question| question.writes) {
                    self.settle(out);
                }
            }
            Input::Order { id, order } => self.take_order(id, order, out),
        }
        self.plan(out);
    }

    /// Goes on with another calendar: the unix microsecond at which `now_ms` was 0, as whoever led before would say. Ticks
    /// are due by the calendar of the first leader, and machines do not agree about the time.
    pub fn set_unix_us_at_zero(&mut self, unix_us: u64) {
        self.config.unix_us_at_zero = unix_us;
    }

    /// True when the store has this coordinator's term, as far as it knows.
    pub fn leads(&self) -> bool {
        self.stance == Stance::Leading
    }

    /// What is in the store, as far as it knows.
    pub fn roster(&self) -> Option<&Arc<Roster>> {
        self.stored.as_ref()
    }

    /// What members last said about the regions that they serve, for metrics and for whoever plans the balance.
    pub fn reports(&self) -> impl Iterator<Item = (Incarnation, &RegionReport)> {
        self.heard.reports()
    }

    /// Messages that made no sense or were too many, and were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Plans and writes, unless a write or a question is under way.
    fn plan(&mut self, out: &mut Vec<Output>) {
        let Some(stored) = self.stored.clone() else { return };
        if self.stance != Stance::Leading || self.question.is_some() || self.pending.is_some() {
            return;
        }
        let facts = Facts {
            config: &self.config,
            heard: &self.heard,
            journal: &self.journal,
            joins: self.joins.values().map(|(_, join)| join).collect(),
            drains: &self.drains,
            orders: &self.orders,
            now_ms: self.now_ms,
        };
        let Plan { mut roster, refusals, answers, exhausted, .. } = Plan::make(&stored, facts);
        if exhausted && !self.exhausted {
            out.push(Output::Note(Note::Exhausted));
        }
        self.exhausted = exhausted;
        for (token, reason) in refusals {
            let refused = self.joins.iter().find(|(_, (_, join))| join.token == token).map(|(name, _)| name.clone());
            if let Some((link, _)) = refused.and_then(|name| self.joins.remove(&name)) {
                out.push(Output::Tell { link, message: FromCoordinator::Refused { token, reason } });
            }
        }
        let unchanged = roster == *stored;
        let mut orders = Vec::new();
        for (id, result) in answers {
            if unchanged || result.is_err() {
                self.answer(id, result, out);
            } else {
                orders.push(id);
            }
        }
        if unchanged {
            return;
        }
        roster.revision = stored.revision + 1;
        if let Err(problem) = roster.validate() {
            // Cannot be. But what cannot be must not get into the store, where everybody would refuse to read it.
            for id in orders {
                self.answer(id, Err(OrderError::Invalid(problem.to_string())), out);
            }
            out.push(Output::Note(Note::Inconsistent(problem)));
            return;
        }
        self.write(roster, orders, out);
        if self.has(Planted::TellBeforeStore)
            && let Some(pending) = &self.pending
        {
            self.tell_all(Arc::clone(&pending.roster), out);
        }
    }

    fn write(&mut self, roster: Roster, orders: Vec<u64>, out: &mut Vec<Output>) {
        let bytes = roster.encode();
        self.pending = Some(Pending { roster: Arc::new(roster), bytes, orders });
        self.send_pending(out);
    }

    fn send_pending(&mut self, out: &mut Vec<Output>) {
        let request = self.ask(true);
        if let Some(pending) = &self.pending {
            let expect_revision = pending.roster.revision - 1;
            out.push(Output::Store { request, expect_revision, bytes: pending.bytes.clone() });
        }
    }

    fn read(&mut self, out: &mut Vec<Output>) {
        out.push(Output::Read { request: self.ask(false) });
    }

    fn ask(&mut self, writes: bool) -> u64 {
        self.requests += 1;
        self.question = Some(Question { request: self.requests, since_ms: self.now_ms, writes });
        self.requests
    }

    fn awaits(&self, request: u64) -> bool {
        self.question.is_some_and(|question| question.request == request)
    }

    /// The store has not answered for long. Whether it wrote, only it can tell.
    fn ask_again(&mut self, out: &mut Vec<Output>) {
        let overdue = |question: Question| self.now_ms.saturating_sub(question.since_ms) >= self.config.store_ms;
        if self.question.is_some_and(overdue) {
            self.read(out);
        }
    }

    /// What is in the store has turned out to be this.
    fn find(&mut self, bytes: Option<Vec<u8>>, out: &mut Vec<Output>) {
        self.question = None;
        if self.pending.as_ref().is_some_and(|pending| bytes.as_ref() == Some(&pending.bytes)) {
            return self.settle(out);
        }
        let found = match self.read_found(bytes) {
            Ok(found) => found,
            Err(problem) => {
                out.push(Output::Note(Note::StoreUnusable(problem)));
                return self.step_back(None, out);
            }
        };
        match (&self.stance, found) {
            (Stance::Following(_), _) => {}
            (Stance::Claiming, found) => self.claim(found, out),
            (Stance::Leading, Some(found)) if self.is_mine(&found) => {
                if self.pending.as_ref().is_some_and(|pending| pending.roster.revision == found.revision + 1) {
                    // It did not arrive, or not yet. The same again does no harm either way.
                    return self.send_pending(out);
                }
                self.pending = None;
                self.heard.follow(&found, self.now_ms);
                self.stored = Some(Arc::new(found));
            }
            (Stance::Leading, found) => self.step_back(found.map(|found| found.leader), out),
        }
    }

    fn read_found(&self, bytes: Option<Vec<u8>>) -> Result<Option<Roster>, StoreProblem> {
        let found = bytes.map(|bytes| Roster::decode(&bytes)).transpose()?;
        let known = self.stored.as_ref().map_or(0, |stored| stored.revision);
        let revision = found.as_ref().map_or(0, |found| found.revision);
        match &found {
            Some(found) if found.cluster != self.config.genesis.cluster => {
                Err(StoreProblem::OtherCluster(found.cluster.clone()))
            }
            _ if revision < known => Err(StoreProblem::WentBack { known, found: revision }),
            _ => Ok(found),
        }
    }

    fn is_mine(&self, found: &Roster) -> bool {
        let term = self.stored.as_ref().map(|stored| stored.term);
        term == Some(found.term) && found.leader == self.config.name && found.leader_token == self.config.token
    }

    /// Takes the next term, on top of whatever is there.
    fn claim(&mut self, found: Option<Roster>, out: &mut Vec<Output>) {
        let genesis = &self.config.genesis;
        let base = found.unwrap_or_else(|| Roster {
            cluster: genesis.cluster.clone(),
            revision: 0,
            term: 0,
            leader: String::new(),
            leader_token: 0,
            issued: genesis.standing.issued,
            processes: BTreeMap::new(),
            regions: BTreeMap::new(),
            world: genesis.world.clone(),
            era: genesis.standing.era,
            loaded_at: genesis.standing.loaded_at,
            map: Arc::clone(&genesis.map),
            changes: Vec::new(),
            timeline: None,
            placed: Arc::clone(&genesis.placed),
        });
        let roster = Roster {
            revision: base.revision.saturating_add(1),
            term: base.term.saturating_add(1),
            leader: self.config.name.clone(),
            leader_token: self.config.token,
            ..base
        };
        self.write(roster, Vec::new(), out);
    }

    /// What was pending is in the store: now it may be told.
    fn settle(&mut self, out: &mut Vec<Output>) {
        self.question = None;
        let Some(pending) = self.pending.take() else { return };
        let roster = pending.roster;
        if self.stance == Stance::Claiming {
            self.stance = Stance::Leading;
            let grace_ms = if self.has(Planted::NoGrace) { self.config.abandon_ms } else { 0 };
            self.heard.restart(&roster, self.now_ms.saturating_sub(grace_ms), self.now_ms);
            self.journal.restart(&roster, self.now_ms);
            out.push(Output::Note(Note::Leads { term: roster.term }));
        } else if let Some(before) = &self.stored {
            self.journal.note(before, &roster, self.now_ms);
            out.extend(notes::between(before, &roster).into_iter().map(Output::Note));
        }
        self.heard.follow(&roster, self.now_ms);
        self.stored = Some(Arc::clone(&roster));
        let up = |process: &Incarnation| roster.member(*process).is_some_and(|member| member.standing == Standing::Up);
        self.drains.retain(up);
        for id in pending.orders {
            self.answer(id, Ok(()), out);
        }
        self.welcome(out);
        self.tell_all(roster, out);
    }

    /// Answers the wishes to join that the roster grants.
    fn welcome(&mut self, out: &mut Vec<Output>) {
        let Some(roster) = &self.stored else { return };
        self.joins.retain(|name, (link, join)| {
            let member = roster.member_named(name).filter(|(_, member)| member.token == join.token);
            let Some((process, _)) = member else { return true };
            if let Some(voice) = self.heard.voice_mut(process) {
                (voice.link, voice.told) = (Some(*link), (roster.revision, self.now_ms));
            }
            let message = FromCoordinator::Welcome { token: join.token, process, roster: Arc::clone(roster) };
            out.push(Output::Tell { link: *link, message });
            false
        });
    }

    fn tell_all(&mut self, roster: Arc<Roster>, out: &mut Vec<Output>) {
        for (_, voice) in self.heard.voices_mut() {
            let Some(link) = voice.link.filter(|_| voice.told.0 < roster.revision) else { continue };
            voice.told = (roster.revision, self.now_ms);
            out.push(Output::Tell { link, message: FromCoordinator::Roster(Arc::clone(&roster)) });
        }
    }

    fn hear(&mut self, link: Link, message: ToCoordinator, out: &mut Vec<Output>) {
        if message.validate().is_err() {
            self.dropped += 1;
            return;
        }
        let stored = self.stored.clone().filter(|_| self.stance == Stance::Leading);
        let Some(stored) = stored else {
            let leader = if let Stance::Following(leader) = &self.stance { leader.clone() } else { None };
            out.push(Output::Tell { link, message: FromCoordinator::NotLeading { leader } });
            return;
        };
        let ahead = knows_more(&stored, &message);
        if ahead && self.pending.is_none() && self.question.is_none() {
            // Somebody has written who is not us. Better look before anybody is told what may be long past.
            self.read(out);
        }
        match message {
            ToCoordinator::Join(join) => self.hear_join(&stored, link, join, out),
            ToCoordinator::Heartbeat(beat) if stored.member(beat.process).is_some() => {
                self.hear_beat(&stored, link, beat, out);
            }
            ToCoordinator::Drain(process) if stored.member(process).is_some() => {
                self.drains.insert(process);
            }
            ToCoordinator::Heartbeat(Heartbeat { process, .. }) | ToCoordinator::Drain(process) if !ahead => {
                fence(&stored, process, link, out);
            }
            _ => {}
        }
    }

    fn hear_join(&mut self, stored: &Roster, link: Link, join: Join, out: &mut Vec<Output>) {
        let known =
            stored.processes.iter().rev().find(|(_, known)| known.name == join.name && known.token == join.token);
        match known {
            // A wish from before it was given up, or a process that did not draw another token.
            Some((process, known)) if !known.is_member() => fence(stored, *process, link, out),
            _ if self.joins.len() < JOINS_MAX || self.joins.contains_key(&join.name) => {
                self.joins.insert(join.name.clone(), (link, join));
                self.welcome(out);
            }
            _ => self.dropped += 1,
        }
    }

    fn hear_beat(&mut self, stored: &Arc<Roster>, link: Link, beat: Heartbeat, out: &mut Vec<Output>) {
        let process = beat.process;
        let fenced = beat.regions.iter().any(|report| report.service == Service::Fenced);
        self.heard.note(beat, link, self.now_ms);
        let Some(voice) = self.heard.voice_mut(process) else { return };
        let (told, told_ms) = voice.told;
        let behind = voice.revision < stored.revision;
        let again = told < stored.revision || self.now_ms.saturating_sub(told_ms) >= self.config.retell_ms;
        if (behind || fenced) && again {
            voice.told = (stored.revision, self.now_ms);
            out.push(Output::Tell { link, message: FromCoordinator::Roster(Arc::clone(stored)) });
        }
    }

    fn take_order(&mut self, id: u64, order: Order, out: &mut Vec<Output>) {
        let refused = match self.stance {
            Stance::Leading if self.orders.len() < ORDERS_MAX => return self.orders.push_back((id, order)),
            Stance::Leading => OrderError::TooMany,
            _ => OrderError::NotLeading,
        };
        out.push(Output::Answer { id, result: Err(refused) });
    }

    fn answer(&mut self, id: u64, result: Result<(), OrderError>, out: &mut Vec<Output>) {
        self.orders.retain(|(waiting, _)| *waiting != id);
        out.push(Output::Answer { id, result });
    }

    /// Leads no more. A write under way may still arrive in the store; whoever leads next will find it there.
    fn step_back(&mut self, leader: Option<String>, out: &mut Vec<Output>) {
        if !matches!(self.stance, Stance::Following(_)) {
            out.push(Output::Note(Note::SteppedBack { leader: leader.clone() }));
        }
        self.stance = Stance::Following(leader);
        (self.question, self.pending) = (None, None);
        self.joins.clear();
        self.drains.clear();
        for (id, _) in std::mem::take(&mut self.orders) {
            out.push(Output::Answer { id, result: Err(OrderError::LeadLost) });
        }
    }

    fn has(&self, planted: Planted) -> bool {
        self.config.planted == Some(planted)
    }
}

/// True when a process has heard from the store what this coordinator has not.
fn knows_more(stored: &Roster, message: &ToCoordinator) -> bool {
    match message {
        ToCoordinator::Join(_) => false,
        ToCoordinator::Heartbeat(beat) => beat.revision > stored.revision || beat.process.0 > stored.issued,
        ToCoordinator::Drain(process) => process.0 > stored.issued,
    }
}

/// Tells a process that it is no member, and why.
fn fence(stored: &Roster, process: Incarnation, link: Link, out: &mut Vec<Output>) {
    let why = match stored.processes.get(&process).map(|process| process.standing) {
        Some(Standing::Gone(Departure::Left)) => Fence::Left,
        Some(Standing::Gone(Departure::GivenUp)) => Fence::GivenUp,
        _ => Fence::Unknown,
    };
    let revision = stored.revision;
    out.push(Output::Tell { link, message: FromCoordinator::Fenced { process, revision, why } });
}
