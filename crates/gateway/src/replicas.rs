//! Copies of every body of the world, and the rules by which claims about a body are believed.
//!
//! A claim with a higher stamp wins. Bodies appear, change hands and die only in an order that stamps allow, whatever
//! order frames arrive in: the death of a body outlives it as a grave, so that nothing late revives it.
//!
//! Replicas lie densely by slot. Ids are looked up in one sorted list, along which a frame of states, sorted too, is
//! joined by short jumps; there is no tree search per body per tick.

use nimbus_model::{BodyDesc, Motion, Nid, Pose, RegionId, Stamp, Tick, Velocity};
use nimbus_wire::StateUpdate;
use nimbus_wire::client::{HandOver, SLOT_LIMIT};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::Counters;
use crate::hand_overs::HandOvers;

/// How long a death is remembered: far longer than any frame is late.
const GRAVE_TICKS: u64 = 36_000;
/// How many deaths are remembered.
const GRAVES_MAX: usize = 100_000;
/// Entries of the index looked at one by one before the search jumps.
const NEAR: usize = 8;
/// Marks an entry of the index whose body died since the index was put in order.
const VOID: u32 = u32::MAX;

/// A copy of a body that some region owns.
#[derive(Clone, Debug)]
pub struct Replica {
    /// The body.
    pub nid: Nid,
    /// What clients call it; kept until death.
    pub slot: u32,
    /// How strong the claim is that the replica rests on.
    pub stamp: Stamp,
    /// Who owns the body.
    pub region: RegionId,
    /// Where it is.
    pub pose: Pose,
    /// How it moves.
    pub velocity: Velocity,
    /// At rest until something wakes it.
    pub sleeping: bool,
    /// What it is.
    pub desc: Arc<BodyDesc>,
    /// Clients have been told that it exists.
    announced: bool,
    /// The round in which it moved last; a number, so that nobody has to walk all replicas to reset a mark.
    moved_in: u64,
}

impl Replica {
    /// Moves the replica; true the first time in this round.
    #[inline]
    fn place(&mut self, pose: Pose, velocity: Velocity, round: u64) -> bool {
        self.velocity = velocity;
        if self.pose == pose {
            return false;
        }
        self.pose = pose;
        std::mem::replace(&mut self.moved_in, round) != round
    }
}

/// What happened to replicas since the last [`Replicas::end_tick`], by slot.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) created: Vec<u32>,
    /// Only those that clients know.
    pub(crate) destroyed: Vec<u32>,
    pub(crate) owners: Vec<u32>,
    pub(crate) moved: Vec<u32>,
}

/// Who speaks, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Voice {
    pub(crate) region: RegionId,
    pub(crate) epoch: u32,
    pub(crate) tick: Tick,
}

impl Voice {
    fn stamp(self, body_epoch: u32) -> Stamp {
        Stamp { body_epoch, region_epoch: self.epoch, tick: self.tick }
    }

    fn takes_over(self, from: RegionId, epoch: u32) -> HandOver {
        HandOver { tick: self.tick, from, to: self.region, epoch }
    }
}

#[derive(Debug)]
pub(crate) struct Replicas {
    slots: Vec<Option<Replica>>,
    free: BTreeSet<u32>,
    /// Slots that become free when clients have been told.
    leaving: Vec<u32>,
    /// Ids in order with their slots.
    index: Vec<(Nid, u32)>,
    /// Bodies that are not in the index yet.
    born: BTreeMap<Nid, u32>,
    voids: usize,
    graves: BTreeMap<Nid, u32>,
    grave_ages: VecDeque<(Tick, Nid)>,
    changes: Changes,
    hand_overs: HandOvers,
    /// Counts calls of [`Replicas::end_tick`], from one.
    round: u64,
}

impl Default for Replicas {
    fn default() -> Self {
        Replicas {
            slots: Vec::new(),
            free: BTreeSet::new(),
            leaving: Vec::new(),
            index: Vec::new(),
            born: BTreeMap::new(),
            voids: 0,
            graves: BTreeMap::new(),
            grave_ages: VecDeque::new(),
            changes: Changes::default(),
            hand_overs: HandOvers::default(),
            round: 1,
        }
    }
}

impl Replicas {
    /// A region says that a body is there, by birth or by arrival.
    pub(crate) fn hosted(
        &mut self,
        voice: Voice,
        (nid, body_epoch): (Nid, u32),
        desc: &Arc<BodyDesc>,
        motion: &Motion,
        counters: &mut Counters,
    ) {
        if !motion.is_valid() {
            counters.items_bad += 1;
            return;
        }
        if self.find(nid).is_some() {
            self.claim(voice, nid, body_epoch, motion, motion.sleeping, counters);
            return;
        }
        if self.graves.get(&nid).is_some_and(|&death| body_epoch <= death) {
            counters.items_stale += 1;
            return;
        }
        let Some(slot) = self.free_slot() else {
            counters.slots_exhausted += 1;
            return;
        };
        self.slots[slot as usize] = Some(Replica {
            nid,
            slot,
            stamp: voice.stamp(body_epoch),
            region: voice.region,
            pose: motion.pose,
            velocity: motion.velocity,
            sleeping: motion.sleeping,
            desc: Arc::clone(desc),
            announced: false,
            moved_in: 0,
        });
        self.born.insert(nid, slot);
        self.changes.created.push(slot);
        counters.births += 1;
    }

    /// A region says exactly where a body came to rest.
    pub(crate) fn rested(&mut self, voice: Voice, nid: Nid, body_epoch: u32, motion: &Motion, counters: &mut Counters) {
        if !motion.is_valid() {
            counters.items_bad += 1;
            return;
        }
        self.claim(voice, nid, body_epoch, motion, true, counters);
    }

    /// A region says that a body is no more.
    pub(crate) fn died(&mut self, now: Tick, nid: Nid, body_epoch: u32, counters: &mut Counters) {
        if let Some(slot) = self.find(nid) {
            let known = self.get(slot).map_or(0, |replica| replica.stamp.body_epoch);
            if body_epoch < known {
                counters.items_stale += 1;
                return;
            }
            self.remove(nid, slot);
            counters.deaths += 1;
        }
        let death = self.graves.entry(nid).or_insert(body_epoch);
        *death = body_epoch.max(*death);
        self.grave_ages.push_back((now, nid));
    }

    /// True when a body is known to be no more.
    pub(crate) fn is_dead(&self, nid: Nid) -> bool {
        self.graves.contains_key(&nid)
    }

    /// A region says where its bodies are. Updates of unknown bodies are ignored: births come for certain, by lane.
    pub(crate) fn states(&mut self, voice: Voice, updates: &[StateUpdate], counters: &mut Counters) {
        let mut at = 0;
        let mut before = Nid(0);
        let round = self.round;
        for update in updates {
            if update.nid < before {
                at = 0;
            }
            before = update.nid;
            at = seek(&self.index, at, update.nid);
            let slot = self.index.get(at).filter(|(nid, _)| *nid == update.nid).map(|(_, slot)| *slot as usize);
            let Some(replica) = slot.and_then(|slot| self.slots.get_mut(slot)).and_then(Option::as_mut) else {
                counters.states_unknown += 1;
                continue;
            };
            let stamp = voice.stamp(update.body_epoch);
            if stamp <= replica.stamp {
                counters.states_stale += 1;
                continue;
            }
            if replica.region != voice.region {
                if update.body_epoch == replica.stamp.body_epoch {
                    counters.states_foreign += 1;
                    continue;
                }
                self.hand_overs.note(replica.nid, voice.takes_over(replica.region, update.body_epoch));
                replica.region = voice.region;
                self.changes.owners.push(replica.slot);
                counters.hand_overs += 1;
            }
            replica.stamp = stamp;
            replica.sleeping = false;
            if replica.place(update.pose, update.velocity, round) {
                self.changes.moved.push(replica.slot);
            }
            counters.states_applied += 1;
        }
    }

    /// Puts the index in order after births and deaths. Must come before [`Replicas::states`].
    pub(crate) fn settle(&mut self) {
        if self.voids > 0 {
            self.index.retain(|(_, slot)| *slot != VOID);
            self.voids = 0;
        }
        if self.born.is_empty() {
            return;
        }
        let middle = self.index.len();
        self.index.extend(std::mem::take(&mut self.born));
        if middle > 0 && self.index[middle - 1].0 > self.index[middle].0 {
            // Two sorted runs, which this sort merges in one pass.
            self.index.sort_by_key(|(nid, _)| *nid);
        }
    }

    /// What changed since the last tick; call [`Replicas::settle`] first.
    pub(crate) fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Clients have been told everything: freed slots may be used again, old graves are forgotten.
    pub(crate) fn end_tick(&mut self, now: Tick) {
        let Changes { created, destroyed, owners, moved } = &mut self.changes;
        for slot in created.drain(..) {
            if let Some(replica) = self.slots[slot as usize].as_mut() {
                replica.announced = true;
            }
        }
        self.round += 1;
        moved.clear();
        destroyed.clear();
        owners.clear();
        self.free.extend(self.leaving.drain(..));
        while let Some(&(made, nid)) = self.grave_ages.front()
            && (self.grave_ages.len() > GRAVES_MAX || now.since(made) > GRAVE_TICKS)
        {
            self.grave_ages.pop_front();
            self.graves.remove(&nid);
        }
    }

    /// Forgets everything, graves included, and takes every slot back.
    pub(crate) fn clear(&mut self) {
        *self = Replicas::default();
    }

    pub(crate) fn get(&self, slot: u32) -> Option<&Replica> {
        self.slots.get(slot as usize)?.as_ref()
    }

    /// The replica of a body; call [`Replicas::settle`] first.
    pub(crate) fn of(&self, nid: Nid) -> Option<&Replica> {
        self.find(nid).and_then(|slot| self.get(slot))
    }

    /// How often a body changed owner, and the latest changes, oldest first.
    pub(crate) fn history(&self, nid: Nid) -> (u64, Vec<HandOver>) {
        self.hand_overs.of(nid)
    }

    /// All replicas in order of id; call [`Replicas::settle`] first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Replica> {
        self.index.iter().filter_map(|(_, slot)| self.get(*slot))
    }

    /// All replicas that clients may know of, in order of slot.
    pub(crate) fn in_slots(&self) -> impl Iterator<Item = &Replica> {
        self.slots.iter().flatten().filter(|replica| replica.announced)
    }

    /// The replica, if clients know it.
    pub(crate) fn announced(&self, slot: u32) -> Option<&Replica> {
        self.get(slot).filter(|replica| replica.announced)
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len() - self.voids + self.born.len()
    }

    /// Applies a claim that came by lane to a replica. At an equal stamp the lane counts: it speaks for certain.
    fn claim(
        &mut self,
        voice: Voice,
        nid: Nid,
        body_epoch: u32,
        motion: &Motion,
        sleeping: bool,
        counters: &mut Counters,
    ) {
        let slot = self.find(nid);
        let Some(replica) = slot.and_then(|slot| self.slots.get_mut(slot as usize)).and_then(Option::as_mut) else {
            counters.items_stale += 1;
            return;
        };
        let stamp = voice.stamp(body_epoch);
        let foreign = replica.region != voice.region && body_epoch == replica.stamp.body_epoch;
        if stamp < replica.stamp || foreign {
            counters.items_stale += 1;
            return;
        }
        if replica.region != voice.region {
            self.hand_overs.note(nid, voice.takes_over(replica.region, body_epoch));
            replica.region = voice.region;
            self.changes.owners.push(replica.slot);
            counters.hand_overs += 1;
        }
        replica.stamp = stamp;
        replica.sleeping = sleeping;
        if replica.place(motion.pose, motion.velocity, self.round) {
            self.changes.moved.push(replica.slot);
        }
    }

    fn find(&self, nid: Nid) -> Option<u32> {
        match self.index.binary_search_by_key(&nid, |(nid, _)| *nid) {
            Ok(at) if self.index[at].1 != VOID => Some(self.index[at].1),
            _ => self.born.get(&nid).copied(),
        }
    }

    fn free_slot(&mut self) -> Option<u32> {
        if let Some(slot) = self.free.pop_first() {
            return Some(slot);
        }
        let slot = u32::try_from(self.slots.len()).ok().filter(|slot| *slot < SLOT_LIMIT)?;
        self.slots.push(None);
        Some(slot)
    }

    fn remove(&mut self, nid: Nid, slot: u32) {
        if self.born.remove(&nid).is_none()
            && let Ok(at) = self.index.binary_search_by_key(&nid, |(nid, _)| *nid)
        {
            self.index[at].1 = VOID;
            self.voids += 1;
        }
        if let Some(replica) = self.slots[slot as usize].take()
            && replica.announced
        {
            self.changes.destroyed.push(slot);
        }
        self.hand_overs.forget(nid);
        self.leaving.push(slot);
    }
}

/// The first place from `at` on whose id is not below `nid`: step by step, since it is mostly near, then by
/// doubling jumps.
fn seek(index: &[(Nid, u32)], at: usize, nid: Nid) -> usize {
    let mut low = at;
    for (there, _) in index.iter().skip(at).take(NEAR) {
        if *there >= nid {
            return low;
        }
        low += 1;
    }
    let mut jump = 1;
    while let Some((there, _)) = index.get(low + jump - 1)
        && *there < nid
    {
        low += jump;
        jump *= 2;
    }
    let high = (low + jump - 1).min(index.len());
    low + index[low..high].partition_point(|(there, _)| *there < nid)
}

#[cfg(test)]
#[path = "replicas_tests.rs"]
mod tests;
