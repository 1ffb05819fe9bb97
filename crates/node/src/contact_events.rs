//! Touches that begin and end, told once by whoever has the bodies at the time.
//!
//! A touch belongs to the bodies and not to the server. It travels with them, so a group that changes server neither
//! ends its touches where it leaves nor begins them where it arrives, and what happens on its way is told by the
//! receiver under the tick at which it happened. What does not travel has ended: a body died, or it was given away while
//! what it touched stayed. Then the receiver tells of a new beginning if the two meet there again.
//!
//! With a backup, nothing is told before it is certain; see `withheld.rs`.

use nimbus_model::{Group, Nid, Tick};
use nimbus_physics::ContactEvent;
use nimbus_wire::{Transfer, decode_group};
use serde::{Deserialize, Serialize};

use crate::node::Node;
use crate::withheld::{Limits, Withheld};

/// How many touches there may be. A crowd that falls down at once stays below what one tick may tell of.
const LIMITS: Limits = Limits { per_tick: 16_384, held: 1 << 18, ready: 1 << 18 };

/// What two bodies did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ContactKind {
    /// They began to touch.
    Began,
    /// They ceased to touch, or one of them ceased to be.
    Ended,
}

/// Two bodies began or ceased to touch. For each pair the two kinds take turns, over all servers together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Contact {
    /// When. It may lie before the tick at which the server learned of it, while the bodies were on their way to it.
    pub tick: Tick,
    /// The lower id.
    pub one: Nid,
    /// The higher id; one of the two may be a static.
    pub two: Nid,
    /// What they did.
    pub kind: ContactKind,
}

/// What a server learned of at one tick, in the order in which it did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactTick {
    /// The tick at which the server learned of it: how far a shell has heard this region.
    pub tick: Tick,
    /// The touches.
    pub contacts: Vec<Contact>,
    /// How many more there were. After such a tick the kinds of a pair may not take turns.
    pub left_out: u64,
}

/// Touches on their way to the shell.
pub(crate) type ContactLog = Withheld<Contact>;

impl Contact {
    /// An event of the engine at a tick.
    pub(crate) fn of(tick: Tick, event: ContactEvent) -> Contact {
        let kind = if event.began { ContactKind::Began } else { ContactKind::Ended };
        Contact { tick, one: event.a, two: event.b, kind }
    }
}

impl Node {
    /// Touches that began or ended and are certain, since the last call; empty unless the configuration asks for them.
    ///
    /// Call it after every tick and before [`Node::emit`]: then nothing is lost with the process. A world that is
    /// loaded anew ends no touch; its bodies have other ids.
    pub fn take_contacts(&mut self) -> Vec<ContactTick> {
        let told = self.contacts.take().into_iter();
        told.map(|told| ContactTick { tick: told.tick, contacts: told.entries, left_out: told.left_out }).collect()
    }

    /// Says up to which [`ContactTick`] the shell has heard a former process of this region, so that a server that took
    /// over tells nothing twice. What the former process still has to tell is void from then on.
    pub fn contacts_heard(&mut self, upto: Tick) {
        self.contacts.hear(upto);
    }

    /// True when somebody wants to know of touches.
    pub(crate) fn wants_contacts(&self) -> bool {
        self.tells_touches() || self.config.game.is_some()
    }

    /// True when somebody outside wants to know of them.
    pub(crate) fn tells_touches(&self) -> bool {
        self.config.contacts || !self.listeners.is_empty()
    }

    /// Notes touches that began or ended.
    pub(crate) fn note_contacts(&mut self, contacts: impl IntoIterator<Item = Contact>) {
        for contact in contacts {
            if contact.kind == ContactKind::Began && self.config.game.is_some() {
                self.agenda.contacts.push(contact);
            }
            self.note_touch(contact);
            if !self.config.contacts {
                continue;
            }
            if self.contacts.note(self.now, contact, LIMITS) {
                match contact.kind {
                    ContactKind::Began => self.counters.contacts_began += 1,
                    ContactKind::Ended => self.counters.contacts_ended += 1,
                }
            } else {
                self.counters.contacts_left_out += 1;
            }
        }
    }

    /// Notes what the step just made has reported.
    pub(crate) fn note_step_contacts(&mut self) {
        if self.wants_contacts() {
            let now = self.now;
            let events = self.physics.last_report().contacts.clone();
            self.note_contacts(events.into_iter().map(|event| Contact::of(now, event)));
        }
    }

    /// Every touch of some bodies, to be asked before they leave the engine. Nothing when nobody wants to know.
    pub(crate) fn touches_of(&self, nids: &[Nid]) -> Vec<(Nid, Nid)> {
        if self.tells_touches() { self.physics.touches(nids) } else { Vec::new() }
    }

    /// Ends touches now.
    pub(crate) fn end_contacts(&mut self, touches: impl IntoIterator<Item = (Nid, Nid)>) {
        let (tick, kind) = (self.now, ContactKind::Ended);
        self.note_contacts(touches.into_iter().map(|(one, two)| Contact { tick, one, two, kind }));
    }

    /// Ends those touches of a group that leaves which do not travel with it.
    pub(crate) fn end_cut_contacts(&mut self, mut touches: Vec<(Nid, Nid)>, group: &Group) {
        touches.retain(|pair| !group.carries(*pair));
        self.end_contacts(touches);
    }

    /// Ends the touches of a group that came back and cannot live here either.
    pub(crate) fn end_lost_contacts(&mut self, transfer: &Transfer) {
        if !self.tells_touches() {
            return;
        }
        if let Ok(group) = decode_group(&transfer.payload) {
            let dead = |nid| transfer.claims.iter().any(|claim| claim.nid == nid) && !self.hosted.contains(nid);
            let lost = group.contacts.iter().map(|c| (c.a, c.b)).filter(|(a, b)| dead(*a) || dead(*b));
            let lost: Vec<(Nid, Nid)> = lost.collect();
            self.end_contacts(lost);
        }
    }

    /// What happened up to this tick will stand: the backup has it, where there is one.
    pub fn certain(&self) -> Tick {
        if self.config.durable { self.kept } else { self.now }
    }

    /// Makes ready what is certain. How far the backup has come is an input of the tick, so a replay does the same.
    pub(crate) fn release_contacts(&mut self) {
        let certain = self.certain();
        self.contacts.release(certain, LIMITS);
        self.release_game_events(certain);
    }
}
