//! Questions to all regions for one tick: who is asked, who has answered, when to ask again and when to give up.
//!
//! The tick lies a little ahead, so that every region hears of it in time. Asking is repeated until a region has answered
//! or patience ends. A region that ran past the tick, or answers that do not fit together, make another, later tick
//! necessary; after a few of them the answer goes out and says what it lacks.

use nimbus_model::{ClientId, RegionId, Tick};
use nimbus_wire::ask::{Ask, Part, Reply, Unanswered};
use nimbus_wire::client::{Hits, QueryFilter};
use nimbus_wire::client::{Query, QueryAnswer};
use std::collections::{BTreeMap, BTreeSet};

use crate::merge::{Merged, fits, merge};

/// How far ahead the tick lies at the first try; twice as far at each that follows.
const LEAD_TICKS: u64 = 8;
/// Ticks that are tried.
const TRIES_MAX: u32 = 3;
/// Regions that have not answered are asked again after this many ticks.
const AGAIN_TICKS: u64 = 3;
/// A region that has not answered this long after the tick is taken for gone: a second at 60 Hz.
const PATIENCE_TICKS: u64 = 60;
/// A client may name a tick this far ahead: ten seconds at 60 Hz.
const AHEAD_TICKS_MAX: u64 = 600;
/// Batches under way, of all clients and of one.
const OPEN_MAX: usize = 96;
const OPEN_PER_CLIENT_MAX: usize = 8;
/// Questions that all regions are to answer after the same tick.
const QUESTIONS_PER_TICK_MAX: usize = 1_024;
/// How far ahead a tick is looked for that has room.
const SEARCH_TICKS: u64 = 60;

/// A region is asked for this long after it lost its place. Servers let births follow a partition 600 ticks late, so it goes
/// on making bodies, each of which is gone before a gateway has heard of it; the rest is for the last ones to leave.
const FORMER_TICKS: u64 = 660;

/// A batch of questions that regions are answering.
#[derive(Debug)]
struct FanOut {
    client: ClientId,
    seq: Option<u64>,
    ask: Ask,
    /// The client named the tick, so there is no other.
    named: bool,
    tries: u32,
    /// When whoever is silent is asked next; none while nobody has been asked.
    next: Option<Tick>,
    /// Everybody who may have bodies at the tick, and what each said.
    heard: BTreeMap<RegionId, Option<Result<Part, Unanswered>>>,
}

/// What became of a batch.
#[derive(Debug)]
pub(crate) struct Closed {
    pub(crate) client: ClientId,
    pub(crate) seq: Option<u64>,
    pub(crate) outcome: Result<Hits, String>,
}

/// All batches under way, by the gateway's number, which rises and is never used again.
#[derive(Debug, Default)]
pub(crate) struct FanOuts {
    last: u64,
    open: BTreeMap<u64, FanOut>,
    /// When regions had a place last.
    former: BTreeMap<RegionId, Tick>,
}

impl FanOuts {
    /// Takes questions on, or says why not.
    pub(crate) fn open(
        &mut self,
        (client, seq): (ClientId, Option<u64>),
        (queries, filter): (Vec<Query>, QueryFilter),
        at: Option<Tick>,
        now: Tick,
        regions: &BTreeSet<RegionId>,
    ) -> Result<(), String> {
        if self.open.values().filter(|open| open.client == client).count() >= OPEN_PER_CLIENT_MAX {
            return Err(format!("{OPEN_PER_CLIENT_MAX} of your questions to the servers are under way; wait for them"));
        }
        if self.open.len() >= OPEN_MAX {
            return Err("too many questions to the servers are under way; try again".to_owned());
        }
        let tick = match at {
            Some(at) if at <= now => return Err(format!("tick {} is past; it is {} now", at.0, now.0)),
            Some(at) if at.since(now) > AHEAD_TICKS_MAX => {
                return Err(format!("tick {} is too far ahead; at most {AHEAD_TICKS_MAX} ticks are", at.0));
            }
            Some(at) if !self.has_room(at, queries.len()) => {
                return Err(format!("too many questions are for tick {} already", at.0));
            }
            Some(at) => at,
            None => {
                let room = self.tick_with_room(now + LEAD_TICKS, queries.len());
                room.ok_or("too many questions to the servers are under way; try again")?
            }
        };
        let number = self.next_number();
        let ask = Ask { number, at: tick, queries, filter };
        let heard = regions.iter().map(|region| (*region, None)).collect();
        self.open.insert(number, FanOut { client, seq, ask, named: at.is_some(), tries: 1, next: None, heard });
        Ok(())
    }

    /// From a tick on another map is in force than the one in which these regions have a place.
    pub(crate) fn succeeded(&mut self, regions: &[RegionId], at: Tick) {
        self.former.extend(regions.iter().map(|region| (*region, at)));
    }

    /// Regions that had a place not long ago, and may have one still.
    pub(crate) fn former(&self, now: Tick) -> impl Iterator<Item = RegionId> {
        self.former.iter().filter(move |(_, at)| now.since(**at) <= FORMER_TICKS).map(|(region, _)| *region)
    }

    /// Takes what a region says. False when nobody waits for it, or it answers something else.
    pub(crate) fn hear(&mut self, region: RegionId, reply: Reply) -> bool {
        let Some(open) = self.open.get_mut(&reply.number).filter(|open| open.ask.at == reply.at) else { return false };
        let Some(heard) = open.heard.get_mut(&region).filter(|heard| heard.is_none()) else { return false };
        if reply.found.as_ref().is_ok_and(|part| !fits(&open.ask.queries, part)) {
            return false;
        }
        *heard = Some(reply.found);
        true
    }

    /// Regions may have bodies, each from a tick on. Questions for that tick or a later one are theirs as well, and they
    /// are asked without delay. Must come before [`FanOuts::turn`]: else an answer goes out without them.
    pub(crate) fn include(&mut self, now: Tick, regions: &BTreeMap<RegionId, Tick>) {
        for open in self.open.values_mut() {
            let at = open.ask.at;
            for (region, _) in regions.iter().filter(|(_, from)| **from <= at) {
                if !open.heard.contains_key(region) {
                    open.heard.insert(*region, None);
                    open.next = open.next.map(|next| next.min(now));
                }
            }
        }
    }

    /// Ends every batch that has all its answers or waited long enough, and tries others once more; says how many.
    pub(crate) fn turn(&mut self, now: Tick, closed: &mut Vec<Closed>) -> u64 {
        let mut again = 0;
        let ripe = self.open.iter().filter(|(_, open)| open.is_ripe(now));
        let ripe: Vec<u64> = ripe.map(|(number, _)| *number).collect();
        for number in ripe {
            let Some(mut open) = self.open.remove(&number) else { continue };
            let Merged { answers, torn } = open.merge();
            if open.may_try_again(&torn)
                && let Some(at) = self.tick_with_room(now + (LEAD_TICKS << open.tries), open.ask.queries.len())
            {
                again += 1;
                open.tries += 1;
                open.next = None;
                open.heard.values_mut().for_each(|heard| *heard = None);
                (open.ask.number, open.ask.at) = (self.next_number(), at);
                self.open.insert(open.ask.number, open);
            } else {
                closed.push(open.close(now, answers, torn));
            }
        }
        again
    }

    /// What to send to regions now.
    pub(crate) fn emit(&mut self, now: Tick, mut send: impl FnMut(RegionId, Ask)) {
        for open in self.open.values_mut() {
            // Time may have gone on since the tick was chosen; nobody has heard of it yet.
            if open.next.is_none() && !open.named {
                open.ask.at = open.ask.at.max(now + LEAD_TICKS - 1);
            }
            if open.next.is_none_or(|next| next <= now) {
                open.next = Some(now + AGAIN_TICKS);
                let silent = open.heard.iter().filter(|(_, heard)| heard.is_none());
                silent.for_each(|(region, _)| send(*region, open.ask.clone()));
            }
        }
    }

    /// Gives up everything under way.
    pub(crate) fn abandon(&mut self, reason: &str) -> Vec<Closed> {
        let open = std::mem::take(&mut self.open).into_values();
        open.map(|FanOut { client, seq, .. }| Closed { client, seq, outcome: Err(reason.to_owned()) }).collect()
    }

    /// A client is gone, and nobody waits for its answers.
    pub(crate) fn forget(&mut self, client: ClientId) {
        self.open.retain(|_, open| open.client != client);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn has_room(&self, at: Tick, questions: usize) -> bool {
        let there = self.open.values().filter(|open| open.ask.at == at).map(|open| open.ask.queries.len());
        there.sum::<usize>() + questions <= QUESTIONS_PER_TICK_MAX
    }

    fn tick_with_room(&self, from: Tick, questions: usize) -> Option<Tick> {
        (from.0..from.0 + SEARCH_TICKS).map(Tick).find(|at| self.has_room(*at, questions))
    }
}

impl FanOut {
    /// True when it has all answers, or has waited long enough since everybody was asked.
    fn is_ripe(&self, now: Tick) -> bool {
        let late = self.next.is_some() && now.since(self.ask.at) > PATIENCE_TICKS;
        late || self.heard.values().all(Option::is_some)
    }

    fn parts(&self) -> BTreeMap<RegionId, &Part> {
        let heard = self.heard.iter();
        heard.filter_map(|(region, heard)| Some((*region, heard.as_ref()?.as_ref().ok()?))).collect()
    }

    fn merge(&self) -> Merged {
        merge(&self.ask.queries, &self.parts())
    }

    /// True when another tick may give what this one did not: nobody is silent, and nobody has too much to do.
    fn may_try_again(&self, torn: &BTreeSet<RegionId>) -> bool {
        let missed = |heard: &Option<Result<Part, Unanswered>>| *heard == Some(Err(Unanswered::Missed));
        let fine = |heard: &Option<Result<Part, Unanswered>>| matches!(heard, Some(Ok(_))) || missed(heard);
        let lacks = !torn.is_empty() || self.heard.values().any(missed);
        !self.named && self.tries < TRIES_MAX && lacks && self.heard.values().all(fine)
    }

    fn close(self, now: Tick, answers: Vec<QueryAnswer>, torn: BTreeSet<RegionId>) -> Closed {
        let FanOut { client, seq, heard, ask, .. } = self;
        if heard.values().any(|heard| *heard == Some(Err(Unanswered::TooMuch))) {
            let reason = "these questions take more of a server's time than a tick has; ask for less, or try again";
            return Closed { client, seq, outcome: Err(reason.to_owned()) };
        }
        let silent = heard.into_iter().filter(|(_, heard)| !matches!(heard, Some(Ok(_)))).map(|(region, _)| region);
        let missing: BTreeSet<RegionId> = silent.chain(torn).collect();
        let missing = Some(missing.into_iter().collect());
        Closed { client, seq, outcome: Ok(Hits { seq, tick: ask.at, age: now.since(ask.at), answers, missing }) }
    }
}
