//! Touches that begin and end, told once by whoever has the bodies at the time.
//!
//! A touch belongs to the bodies and not to the server. It travels with them, so a group that changes server neither
//! ends its touches where it leaves nor begins them where it arrives, and what happens on its way is told by the
//! receiver under the tick at which it happened. What does not travel has ended: a body died, or it was given away while
//! what it touched stayed. Then the receiver tells of a new beginning if the two meet there again.
//!
//! With a backup, nothing is told before the backup has the tick at which the server learned of it. A process that
//! takes over has lived through the same ticks and holds the same touches back; a shell that tells it how far it had
//! heard its predecessor hears of each exactly once.

use nimbus_model::{Group, Nid, Tick};
use nimbus_physics::ContactEvent;
use nimbus_wire::{Transfer, decode_group};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use crate::node::Node;

/// Touches that one tick may tell of. A crowd that falls down at once stays below it.
const PER_TICK_MAX: usize = 16_384;
/// Touches held back until the backup has them.
const HELD_MAX: usize = 1 << 18;
/// Touches that wait for a shell that does not ask; beyond that the oldest are dropped.
const READY_MAX: usize = 1 << 18;

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

/// Touches on their way to the shell. What is held back is part of a snapshot, since a successor must hold it, too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ContactLog {
    /// By tick; what the backup does not have yet.
    held: VecDeque<ContactTick>,
    held_count: usize,
    #[serde(skip)]
    ready: VecDeque<ContactTick>,
    #[serde(skip)]
    ready_count: usize,
    /// Up to this tick the shell has heard everything.
    #[serde(skip)]
    heard: Tick,
}

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
        let ContactLog { ready, ready_count, heard, .. } = &mut self.contacts;
        *ready_count = 0;
        let ready: Vec<ContactTick> = ready.drain(..).filter(|told| told.tick > *heard).collect();
        *heard = ready.last().map_or(*heard, |told| told.tick);
        ready
    }

    /// Says up to which [`ContactTick`] the shell has heard a former process of this region, so that a server that took
    /// over tells nothing twice. What the former process still has to tell is void from then on.
    pub fn contacts_heard(&mut self, upto: Tick) {
        self.contacts.heard = self.contacts.heard.max(upto);
    }

    /// Notes touches that began or ended.
    pub(crate) fn note_contacts(&mut self, contacts: impl IntoIterator<Item = Contact>) {
        if !self.config.contacts {
            return;
        }
        for contact in contacts {
            if self.contacts.note(self.now, contact) {
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
        if self.config.contacts {
            let now = self.now;
            let events = self.physics.last_report().contacts.clone();
            self.note_contacts(events.into_iter().map(|event| Contact::of(now, event)));
        }
    }

    /// Every touch of some bodies, to be asked before they leave the engine. Nothing when nobody wants to know.
    pub(crate) fn touches_of(&self, nids: &[Nid]) -> Vec<(Nid, Nid)> {
        if self.config.contacts { self.physics.touches(nids) } else { Vec::new() }
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
        if !self.config.contacts {
            return;
        }
        if let Ok(group) = decode_group(&transfer.payload) {
            let dead = |nid| transfer.claims.iter().any(|claim| claim.nid == nid) && !self.hosted.contains(nid);
            let lost = group.contacts.iter().map(|c| (c.a, c.b)).filter(|(a, b)| dead(*a) || dead(*b));
            let lost: Vec<(Nid, Nid)> = lost.collect();
            self.end_contacts(lost);
        }
    }

    /// Makes ready what is certain. How far the backup has come is an input of the tick, so a replay does the same.
    pub(crate) fn release_contacts(&mut self) {
        let certain = if self.config.durable { self.kept } else { self.now };
        self.contacts.release(certain);
    }
}

impl ContactLog {
    /// False when there is no room.
    fn note(&mut self, now: Tick, contact: Contact) -> bool {
        let full = self.held_count >= HELD_MAX;
        if !full && self.held.back().is_none_or(|last| last.tick != now) {
            self.held.push_back(ContactTick { tick: now, ..ContactTick::default() });
        }
        let Some(last) = self.held.back_mut() else { return false };
        if full || last.contacts.len() >= PER_TICK_MAX {
            last.left_out += 1;
            return false;
        }
        last.contacts.push(contact);
        self.held_count += 1;
        true
    }

    fn release(&mut self, certain: Tick) {
        while let Some(told) = self.held.pop_front_if(|told| told.tick <= certain) {
            self.held_count -= told.contacts.len();
            self.ready_count += told.contacts.len();
            self.ready.push_back(told);
        }
        while self.ready_count > READY_MAX
            && let Some(dropped) = self.ready.pop_front()
        {
            self.ready_count -= dropped.contacts.len();
            if let Some(next) = self.ready.front_mut() {
                next.left_out += dropped.left_out + dropped.contacts.len() as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contact(tick: u64) -> Contact {
        Contact { tick: Tick(tick), one: Nid(1), two: Nid(2), kind: ContactKind::Began }
    }

    #[test]
    fn what_is_held_is_released_by_tick() {
        let mut log = ContactLog::default();
        for tick in [3, 3, 4, 7] {
            assert!(log.note(Tick(tick), contact(tick)));
        }
        log.release(Tick(2));
        assert!(log.ready.is_empty());
        log.release(Tick(5));
        assert_eq!(
            log.ready.iter().map(|told| (told.tick.0, told.contacts.len())).collect::<Vec<_>>(),
            [(3, 2), (4, 1)]
        );
        assert_eq!((log.held_count, log.ready_count), (1, 3));
    }

    #[test]
    fn a_tick_tells_of_so_many_and_counts_the_rest() {
        let mut log = ContactLog::default();
        let noted = (0..PER_TICK_MAX + 5).filter(|_| log.note(Tick(1), contact(1))).count();
        assert_eq!((noted, log.held[0].left_out), (PER_TICK_MAX, 5));
        assert!(log.note(Tick(2), contact(2)), "the next tick has room again");
    }

    #[test]
    fn neither_a_silent_backup_nor_a_shell_that_never_asks_fills_the_memory() {
        let mut log = ContactLog::default();
        let per_tick = 100;
        let ticks = 2 * (HELD_MAX.max(READY_MAX) / per_tick) as u64;
        for tick in 1..=ticks {
            (0..per_tick).for_each(|_| _ = log.note(Tick(tick), contact(tick)));
        }
        assert_eq!(log.held_count, HELD_MAX);
        let told = |log: &VecDeque<ContactTick>| log.iter().map(|told| told.left_out).sum::<u64>();
        assert_eq!(told(&log.held) + HELD_MAX as u64, ticks * per_tick as u64);

        let mut log = ContactLog::default();
        for tick in 1..=ticks {
            (0..per_tick).for_each(|_| assert!(log.note(Tick(tick), contact(tick))));
            log.release(Tick(tick));
        }
        assert!(log.held.is_empty() && log.ready_count <= READY_MAX);
        assert_eq!(told(&log.ready) + log.ready_count as u64, ticks * per_tick as u64, "what was dropped is said");
    }
}
