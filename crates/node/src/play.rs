//! A game on this server: its hooks are called, what it wants is done, what it says is told once it is certain.

use nimbus_model::{GAME_COMMAND_BYTES_MAX, Nid, RegionId, Tick, Velocity};
use nimbus_wire::{Act, Address, CommandRef, Deed, Item, Outcome};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

use crate::config::Planted;
use crate::contact_events::Contact;
use crate::event::Cause;
use crate::game::{GameEvent, NewBody, Rules, Turn, Wish, Wishes};
use crate::node::Node;
use crate::outbox::REGION_LANE_MAX;
use crate::withheld::{Limits, Withheld};

/// How much a game may say.
const LIMITS: Limits = Limits { per_tick: 16_384, held: 1 << 18, ready: 1 << 18 };
/// Longest reason that a game gives for a refusal, characters.
const REASON_CHARS_MAX: usize = 300;
/// A deed that was passed on this often is dropped.
const HOPS_MAX: u8 = 8;

/// What a game said that a server learned of at one tick.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GameTick {
    /// The tick: how far a shell has heard this region.
    pub tick: Tick,
    /// What was said, in order.
    pub events: Vec<GameEvent>,
    /// How much more there was.
    pub left_out: u64,
}

/// What a game said, on its way to the shell.
pub(crate) type GameLog = Withheld<GameEvent>;

/// What the game is to be told at this tick. Empty between ticks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agenda {
    pub(crate) contacts: Vec<Contact>,
    pub(crate) commands: Vec<(CommandRef, Nid, Vec<u8>)>,
}

impl Node {
    /// Plays by these rules from now on. Call it after [`Node::restore`], before anything else: a snapshot has what a game
    /// keeps with bodies and not the game.
    pub fn play(&mut self, rules: Option<Rules>) {
        self.config.game = rules;
    }

    /// The rules it plays by.
    pub fn rules(&self) -> Option<&Rules> {
        self.config.game.as_ref()
    }

    /// What the game said and is certain, since the last call. Call it after every tick and before [`Node::emit`], as with
    /// [`Node::take_contacts`].
    pub fn take_game_events(&mut self) -> Vec<GameTick> {
        let told = self.game_log.take().into_iter();
        told.map(|told| GameTick { tick: told.tick, events: told.entries, left_out: told.left_out }).collect()
    }

    /// Says up to which [`GameTick`] the shell has heard a former process of this region.
    pub fn game_events_heard(&mut self, upto: Tick) {
        if self.config.planted != Some(Planted::EagerEvents) {
            self.game_log.hear(upto);
        }
    }

    /// What the game keeps with a body that this server owns; empty when nothing.
    pub fn game_state(&self, nid: Nid) -> &[u8] {
        self.keepsakes.get(&nid).map_or(&[], |kept| kept.state.bytes())
    }

    /// What the game keeps with bodies on their way to others, unacknowledged.
    pub fn game_states_in_flight(&self) -> impl Iterator<Item = (Nid, &[u8])> {
        let transfers = self.outbox.unacknowledged().filter_map(|(_, item)| match item {
            Item::Transfer(transfer) => Some(transfer),
            _ => None,
        });
        transfers.flat_map(|transfer| transfer.keepsakes.iter().map(|(nid, kept)| (*nid, kept.state.bytes())))
    }

    /// Puts a command for the game on the agenda; it is answered within the tick.
    pub(crate) fn note_game_command(&mut self, by: CommandRef, nid: Nid, payload: Vec<u8>) {
        let refused = match self.config.game {
            None => Some("this world has no game that takes commands".to_owned()),
            Some(_) if payload.len() > GAME_COMMAND_BYTES_MAX => {
                Some(format!("a game is told at most {GAME_COMMAND_BYTES_MAX} bytes"))
            }
            Some(_) => None,
        };
        match refused {
            Some(reason) => self.reply(by, Outcome::Refused(reason)),
            None => self.agenda.commands.push((by, nid, payload)),
        }
    }

    /// Calls the hooks, then does what they asked for.
    pub(crate) fn play_turn(&mut self) {
        let Some(rules) = self.config.game.clone() else { return };
        let Agenda { mut contacts, commands } = std::mem::take(&mut self.agenda);
        let mut wishes = Wishes::default();
        for (by, nid, payload) in commands {
            self.take_game_command(&rules, &mut wishes, (by, nid), &payload);
        }
        // Those that were on their way come with those of the step, in one order whoever brought them.
        contacts.sort_unstable();
        for contact in contacts {
            wishes.begin_call();
            rules.on_contact(&mut self.turn(&mut wishes), contact);
        }
        let mut minded = Vec::new();
        self.physics.for_each(|body| {
            if rules.minds(body.desc) {
                minded.push(body.nid);
            }
        });
        for nid in minded {
            if !wishes.doomed.contains(&nid) {
                wishes.begin_call();
                rules.on_tick(&mut self.turn(&mut wishes), nid);
            }
        }
        self.fulfil(wishes);
    }

    fn take_game_command(&mut self, rules: &Rules, wishes: &mut Wishes, (by, nid): (CommandRef, Nid), payload: &[u8]) {
        let outcome = if !self.hosted.contains(nid) || wishes.doomed.contains(&nid) {
            Outcome::Refused(format!("there is no body {nid}"))
        } else if self.recent.has(nid, by) {
            self.counters.orders_repeated += 1;
            Outcome::Done(nid)
        } else {
            wishes.begin_call();
            match rules.on_command(&mut self.turn(wishes), nid, by, payload) {
                Ok(()) => {
                    self.recent.note(nid, by);
                    Outcome::Done(nid)
                }
                Err(reason) => Outcome::Refused(reason.chars().take(REASON_CHARS_MAX).collect()),
            }
        };
        self.reply(by, outcome);
    }

    fn turn<'a>(&'a mut self, wishes: &'a mut Wishes) -> Turn<'a> {
        let Node { now, loaded_at, era, world, physics, hosted, keepsakes, .. } = self;
        Turn { now: *now, loaded_at: *loaded_at, era: *era, world, physics, hosted, keepsakes, wishes }
    }

    fn fulfil(&mut self, wishes: Wishes) {
        let Wishes { mut acts, events, refused, .. } = wishes;
        self.counters.game_refused += refused;
        for event in events {
            if self.game_log.note(self.now, event, LIMITS) {
                self.counters.game_events += 1;
            } else {
                self.counters.game_refused += 1;
            }
        }
        acts.sort_by_key(|(nid, _)| *nid);
        let mut gone = BTreeSet::new();
        for (nid, wish) in acts {
            match wish {
                Wish::Force(force, torque) => _ = self.physics.set_force(nid, force, torque),
                Wish::Push(impulse) => self.act_when_known(Act::Push { nid, impulse }),
                Wish::Velocity(velocity) => self.act_when_known(Act::Velocity { nid, velocity }),
                Wish::Despawn => {
                    if self.hosted.contains(nid) {
                        self.bury(&[nid], Cause::Despawned);
                        gone.insert(nid);
                    }
                }
                Wish::Birth(NewBody { desc, motion, state }) => {
                    let keepsake = nimbus_model::Keepsake { children: 0, state };
                    self.see_to(Deed { hops: 0, act: Act::Birth { nid, desc, motion, keepsake } });
                }
            }
        }
        self.leave_out(&gone);
    }

    /// Does something to a body here, at once or when everybody near has had the time to hear of it.
    fn act_when_known(&mut self, act: Act) {
        let deed = Deed { hops: 0, act };
        if let Some(deed) = self.defer_deed(deed) {
            self.act(deed);
        }
    }

    /// A deed from this server's game or another's. A body that is to appear does so at the next tick at the earliest.
    pub(crate) fn see_to(&mut self, deed: Deed) {
        let elsewhere = match &deed.act {
            Act::Birth { motion, .. } => Some(self.map.region_at(motion.pose.position)),
            Act::Push { nid, .. } | Act::Velocity { nid, .. } => self.left_for(*nid),
        };
        match elsewhere.filter(|region| *region != self.config.region) {
            Some(to) => self.pass_deed_on(deed, to),
            None => {
                if let Some(deed) = self.defer_deed(deed) {
                    self.act(deed);
                }
            }
        }
    }

    /// Does what has waited, or passes it on to where the body has gone since.
    pub(crate) fn act(&mut self, deed: Deed) {
        match deed.act {
            // A birth always waits for its tick.
            Act::Birth { .. } => self.counters.deeds_lost += 1,
            Act::Push { nid, .. } | Act::Velocity { nid, .. } if !self.hosted.contains(nid) => {
                match self.left_for(nid) {
                    Some(to) => self.pass_deed_on(deed, to),
                    None => self.counters.deeds_lost += 1,
                }
            }
            Act::Push { nid, impulse } => _ = self.push(nid, impulse),
            Act::Velocity { nid, velocity: Velocity { linear, angular } } => {
                let linear = linear.clamp_length_max(self.world.speed_max());
                self.physics.set_velocity(nid, Velocity { linear, angular });
            }
        }
    }

    fn left_for(&self, nid: Nid) -> Option<RegionId> {
        let departed = self.departed.get(&nid).filter(|_| !self.hosted.contains(nid));
        departed.map(|(to, _)| *to)
    }

    fn pass_deed_on(&mut self, mut deed: Deed, to: RegionId) {
        deed.hops = deed.hops.saturating_add(1);
        if deed.hops > HOPS_MAX || self.outbox.waiting(Address::Region(to)) >= REGION_LANE_MAX {
            self.counters.deeds_lost += 1;
        } else {
            self.outbox.push(Address::Region(to), self.now, Item::Deed(deed));
        }
    }

    pub(crate) fn release_game_events(&mut self, certain: Tick) {
        let certain = if self.config.planted == Some(Planted::EagerEvents) { self.now } else { certain };
        self.game_log.release(certain, LIMITS);
    }
}
