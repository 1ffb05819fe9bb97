//! Questions for one tick: kept until the server has run it, answered right after it, and answered again as often as
//! somebody asks.
//!
//! Asking changes nothing: it is in no log, and a server that takes over knows nothing of it. Whoever asked and hears
//! nothing asks again, and hears that the tick is missed if it is. With a backup no answer is given before the backup has
//! the tick, so that what was answered is never undone.

use nimbus_model::{Group, RegionId, Tick};
use nimbus_wire::ask::{Ask, Reply, Unanswered};
use nimbus_wire::{Address, Content, Frame, GatewayId};
use std::collections::BTreeMap;

use crate::config::Planted;
use crate::node::Node;

/// Batches of questions that wait for their tick.
const ASKS_MAX: usize = 128;
/// Questions that may wait for one tick.
const QUESTIONS_PER_TICK_MAX: usize = 2_048;
/// Bodies that may be looked at closely after one tick. One takes about a microsecond.
const TRIES_PER_TICK: u64 = 16_384;
/// Questions may be for a tick this far ahead: twenty seconds at 60 Hz.
const AHEAD_TICKS_MAX: u64 = 1_200;
/// Replies that may be asked for again.
const REPLIES_MAX: usize = 256;
/// For how long after its tick.
const REPLY_TICKS: u64 = 240;

/// Questions that wait, and what was said to others.
#[derive(Default)]
pub(crate) struct Asked {
    waiting: BTreeMap<(Tick, GatewayId, u64), Ask>,
    said: BTreeMap<(GatewayId, u64), Said>,
    /// Tries that are left after this tick.
    tries: (Tick, u64),
    /// Groups that are on a lane, by receiver and number there, as they would be after the last tick.
    pub(crate) caught_up: (Tick, BTreeMap<(RegionId, u64), Group>),
}

/// A reply, and whether somebody waits for it.
struct Said {
    reply: Reply,
    owed: bool,
}

impl Node {
    /// Takes questions from a gateway.
    pub(crate) fn hear_ask(&mut self, from: Address, ask: Ask) {
        let Address::Gateway(gateway) = from else {
            self.counters.frames_void += 1;
            return;
        };
        let (key, waits_as) = ((gateway, ask.number), (ask.at, gateway, ask.number));
        if let Some(said) = self.asked.said.get_mut(&key) {
            said.owed = true;
        } else if !self.asked.waiting.contains_key(&waits_as) {
            let ahead = ask.at.since(self.now);
            let at_tick = self.asked.waiting.iter().filter(|((at, ..), _)| *at == ask.at);
            let questions = at_tick.map(|(_, other)| other.queries.len()).sum::<usize>() + ask.queries.len();
            if ask.at < self.now || ahead > AHEAD_TICKS_MAX {
                self.refuse(gateway, &ask, Unanswered::Missed);
            } else if self.asked.waiting.len() >= ASKS_MAX || questions > QUESTIONS_PER_TICK_MAX {
                self.refuse(gateway, &ask, Unanswered::TooMuch);
            } else {
                self.asked.waiting.insert(waits_as, ask);
                // Between two ticks everything is as it was after the last.
                self.answer_asks();
            }
        }
    }

    /// Answers what is asked for the tick just run.
    pub(crate) fn answer_asks(&mut self) {
        let late = u64::from(self.config.planted == Some(Planted::LateAnswers));
        while let Some(first) = self.asked.waiting.first_entry()
            && first.key().0 + late <= self.now
        {
            let ((at, gateway, _), ask) = first.remove_entry();
            if at + late < self.now {
                self.refuse(gateway, &ask, Unanswered::Missed);
                continue;
            }
            if self.asked.tries.0 != self.now {
                self.asked.tries = (self.now, TRIES_PER_TICK);
            }
            let mut tries = self.asked.tries.1;
            let part = self.answer(&ask, &mut tries);
            self.asked.tries.1 = tries;
            match part {
                Some(part) => {
                    self.counters.asks_answered += 1;
                    self.asked.say(gateway, Reply { number: ask.number, at: ask.at, found: Ok(part) });
                }
                None => self.refuse(gateway, &ask, Unanswered::TooMuch),
            }
        }
    }

    /// Sends every reply that somebody waits for, once nothing can undo it.
    pub(crate) fn emit_replies(&mut self, out: &mut Vec<Frame>) {
        let now = self.now;
        self.asked.said.retain(|_, said| said.owed || now.since(said.reply.at) <= REPLY_TICKS);
        let certain = if self.config.durable { self.stream.kept() } else { now };
        let mut frames = Vec::new();
        for ((gateway, _), said) in &mut self.asked.said {
            if said.owed && (said.reply.found.is_err() || said.reply.at <= certain) {
                said.owed = false;
                frames.push((Address::Gateway(*gateway), said.reply.clone()));
            }
        }
        out.extend(frames.into_iter().map(|(to, reply)| self.frame(to, Content::Reply(reply))));
    }

    fn refuse(&mut self, gateway: GatewayId, ask: &Ask, why: Unanswered) {
        match why {
            Unanswered::Missed => self.counters.asks_missed += 1,
            Unanswered::TooMuch => self.counters.asks_too_much += 1,
        }
        self.asked.say(gateway, Reply { number: ask.number, at: ask.at, found: Err(why) });
    }
}

impl Asked {
    fn say(&mut self, gateway: GatewayId, reply: Reply) {
        if self.said.len() >= REPLIES_MAX {
            let oldest = self.said.iter().min_by_key(|(_, said)| said.reply.at).map(|(key, _)| *key);
            oldest.and_then(|oldest| self.said.remove(&oldest));
        }
        self.said.insert((gateway, reply.number), Said { reply, owed: true });
    }

    /// Forgets what a gateway asked that is gone for good.
    pub(crate) fn close(&mut self, gone: GatewayId) {
        self.waiting.retain(|(_, gateway, _), _| *gateway != gone);
        self.said.retain(|(gateway, _), _| *gateway != gone);
    }
}
