//! How a group changes server, exactly once.
//!
//! The source stops stepping the group, raises its epochs and puts it on the ordered lane to the receiver; from then on
//! the lane is the only place where the group exists, until the receiver adopts it. A receiver that cannot take a group
//! gives it back the same way. The source forgets only what was acknowledged, the receiver acknowledges only what took
//! effect, and the lane's mark sees to it that nothing takes effect twice.

use nimbus_model::{Group, Nid, RegionId, Tick, World};
use nimbus_physics::{InsertError, PhysicsWorld, ScratchWorld};
use nimbus_wire::{Address, Claim, Course, Item, Refusal, Transfer, decode_group, encode_group};

use crate::breach::Factor;
use crate::config::{Planted, Policy};
use crate::contact_events::Contact;
use crate::event::{Cause, EventKind};
use crate::node::Node;

/// A group that was under way for longer is caught up by this much only, with a breach.
const CATCH_UP_TICKS_MAX: u64 = 60;

impl Node {
    /// Gives a whole linkage to another region.
    pub(crate) fn grant(&mut self, linkage: &[Nid], to: RegionId) {
        let touches = self.touches_of(linkage);
        let group = if self.config.planted == Some(Planted::KeepOnGrant) {
            let group = self.physics.remove(linkage);
            let kept = self.physics.insert(group.clone());
            debug_assert!(kept.is_ok());
            group
        } else {
            self.physics.remove(linkage)
        };
        self.end_cut_contacts(touches, &group);
        let raise = u32::from(self.config.planted != Some(Planted::StaleEpoch));
        let mut claims = Vec::with_capacity(group.members.len());
        let (mut obeyed, mut keepsakes, mut courses) = (Vec::new(), Vec::new(), Vec::new());
        for member in &group.members {
            let body_epoch = self.hosted.get(member.nid).unwrap_or(0) + raise;
            let restless = self.restlessness(member.nid);
            if self.config.planted != Some(Planted::KeepOnGrant) {
                self.hosted.remove(member.nid);
                self.seam.drop_body(member.nid);
            }
            obeyed.push((member.nid, self.recent.take(member.nid)));
            keepsakes.extend(self.keepsakes.remove(&member.nid).map(|kept| (member.nid, kept)));
            courses.extend(self.courses.remove(&member.nid).map(|course| (member.nid, course)));
            self.departed.insert(member.nid, (to, self.now));
            self.report(member.nid, body_epoch, EventKind::Granted(to));
            claims.push(Claim { nid: member.nid, body_epoch, restless });
        }
        self.counters.left += claims.len() as u64;
        obeyed.retain(|(_, obeyed)| !obeyed.is_empty());
        let (payload, returned) = (encode_group(&group), None);
        let transfer = Transfer { tick: self.now, claims, payload, obeyed, returned, keepsakes, courses };
        self.outbox.push(Address::Region(to), self.now, Item::Transfer(transfer));
    }

    /// Takes over a group, or gives it back.
    pub(crate) fn adopt(&mut self, from: RegionId, transfer: Transfer) {
        match self.examine(&transfer).and_then(|group| self.take(from, &transfer, group)) {
            Ok(()) => {}
            Err(_) if transfer.returned.is_some() => self.lay_out(from, &transfer),
            Err(reason) => self.give_back(from, transfer, reason),
        }
    }

    fn examine(&self, transfer: &Transfer) -> Result<Group, Refusal> {
        let group = decode_group(&transfer.payload).map_err(|_| Refusal::Malformed)?;
        let claimed = transfer.claims.iter().map(|claim| claim.nid);
        if group.members.is_empty() || !group.members.iter().map(|m| m.nid).eq(claimed) {
            return Err(Refusal::Malformed);
        }
        if transfer.claims.iter().any(|claim| self.hosted.contains(claim.nid)) {
            return Err(Refusal::Known);
        }
        if !self.has_room(group.members.len()) && transfer.returned.is_none() {
            return Err(Refusal::Full);
        }
        let fastest = if transfer.returned.is_some() { f32::INFINITY } else { self.world.speed_max() };
        let sound = |m: &nimbus_model::Member| m.motion.is_valid() && m.motion.velocity.linear.length() <= fastest;
        if !group.members.iter().all(sound) {
            return Err(Refusal::BadState);
        }
        Ok(group)
    }

    fn take(&mut self, from: RegionId, transfer: &Transfer, mut group: Group) -> Result<(), Refusal> {
        if self.config.planted == Some(Planted::FastArrival) {
            group.members.iter_mut().for_each(|m| m.motion.velocity.linear *= 8.0);
        }
        if self.config.planted == Some(Planted::ForgottenTouches) {
            group.contacts.clear();
        }
        let (caught_up, contacts) = self.catch_up(transfer, &mut group)?;
        group.members.iter().for_each(|member| self.seam.learn(&member.desc));
        self.physics.insert(group).map_err(|_| Refusal::BadBody)?;
        self.note_contacts(contacts);
        if self.outranks(from, self.config.region) {
            // It may have come to what cannot move.
            self.seam.anchored_at = Tick::default();
        }
        for claim in &transfer.claims {
            self.hosted.insert(claim.nid, claim.body_epoch);
            self.departed.remove(&claim.nid);
            self.begin_visit(claim);
            self.report(claim.nid, claim.body_epoch, EventKind::Adopted(from));
            self.tell_hosted(claim.nid, Some(from));
            if self.sleeps(claim.nid) {
                self.note_sleeper(claim.nid);
                self.suspects.insert(claim.nid);
            }
            if transfer.returned.is_some() {
                self.returned.insert(claim.nid, self.now);
            }
        }
        for (nid, obeyed) in transfer.obeyed.iter().filter(|(nid, _)| self.hosted.contains(*nid)) {
            self.recent.put(*nid, obeyed);
        }
        if self.config.planted != Some(Planted::ForgottenKeepsakes) {
            let arrived = |nid: &Nid| transfer.claims.binary_search_by_key(nid, |claim| claim.nid).is_ok();
            let kept = transfer.keepsakes.iter().filter(|(nid, _)| arrived(nid));
            self.keepsakes.extend(kept.cloned());
        }
        let sound = |(nid, course): &(Nid, Course)| self.hosted.contains(*nid) && course.pose.is_valid();
        self.courses.extend(transfer.courses.iter().copied().filter(sound));
        let nids: Vec<Nid> = transfer.claims.iter().map(|claim| claim.nid).collect();
        self.seam.offers.withdraw(&nids);
        // The pushes of this tick are still to come, for everybody.
        let missed_from = transfer.tick.next() + caught_up;
        self.push_scripted(missed_from, self.now - 1, |nid| nids.binary_search(&nid).is_ok());
        self.counters.ticks_in_transit += self.now.since(missed_from) * nids.len() as u64;
        let delays = &mut self.counters.arrival_ticks;
        delays[(self.now.since(transfer.tick) as usize).min(delays.len() - 1)] += nids.len() as u64;
        match transfer.returned {
            Some(_) => self.counters.returned += 1,
            None => self.counters.arrived += transfer.claims.len() as u64,
        }
        Ok(())
    }

    /// Lets a group live through the ticks that it was under way, alone with the world's statics: within the promises
    /// nothing else can have touched it. Returns for how many, and what began and ceased to touch on the way.
    fn catch_up(&mut self, transfer: &Transfer, group: &mut Group) -> Result<(u64, Vec<Contact>), Refusal> {
        let missed = self.now.since(transfer.tick.next());
        if self.config.policy != Policy::Aura || missed == 0 || self.config.planted == Some(Planted::NoCatchUp) {
            return Ok((0, Vec::new()));
        }
        let ticks = missed.min(CATCH_UP_TICKS_MAX);
        if missed > ticks {
            let bodies = transfer.claims.iter().take(4).map(|claim| claim.nid).collect();
            self.breach(Factor::TimeLost, missed as f32, ticks as f32, bodies);
        }
        self.counters.catch_ups += 1;
        self.counters.catch_up_ticks += ticks;
        if group.members.iter().all(|member| member.motion.sleeping) {
            return Ok((ticks, Vec::new()));
        }
        let (first, count) = (transfer.tick.next(), group.members.len());
        let contacts = self.wants_contacts();
        let (caught_up, scratch) = self.live_alone(std::mem::take(group), first, ticks, contacts);
        *group = caught_up.map_err(|_| Refusal::BadBody)?;
        let contacts =
            scratch.contacts().iter().map(|(ordinal, event)| Contact::of(first + *ordinal, *event)).collect();
        if group.members.len() == count { Ok((ticks, contacts)) } else { Err(Refusal::BadState) }
    }

    /// Lets a group live through some ticks alone with the world's statics, from `first` on. The world in which it did
    /// knows what it touched.
    pub(crate) fn live_alone(
        &mut self,
        group: Group,
        first: Tick,
        ticks: u64,
        contacts: bool,
    ) -> (Result<Group, InsertError>, &ScratchWorld) {
        let (world, loaded_at, era) = (self.world.clone(), self.loaded_at, self.era);
        let scratch = self.scratch.get_or_insert_with(|| PhysicsWorld::scratch(&world, era));
        scratch.report_contacts(contacts);
        let group = scratch.catch_up(group, ticks, |physics, ordinal| {
            for push in world.pushes_at(first + ordinal, loaded_at) {
                physics.change_velocity(World::nid(era, push.body), push.linear, push.angular);
            }
        });
        (group, scratch)
    }

    /// Takes back what a receiver refused and finds that it cannot be brought to life here either: it dies, by name.
    fn lay_out(&mut self, from: RegionId, transfer: &Transfer) {
        self.counters.unplaceable += 1;
        self.end_lost_contacts(transfer);
        for claim in &transfer.claims {
            if self.hosted.contains(claim.nid) {
                continue;
            }
            self.departed.remove(&claim.nid);
            self.report(claim.nid, claim.body_epoch, EventKind::Adopted(from));
            self.report(claim.nid, claim.body_epoch + 1, EventKind::Died(Cause::Unplaceable));
            self.tell(&Item::Died { nid: claim.nid, body_epoch: claim.body_epoch + 1 });
        }
    }

    /// Gives a group back to the region it came from, unread and under a higher epoch than it came with.
    fn give_back(&mut self, from: RegionId, transfer: Transfer, reason: Refusal) {
        self.counters.refused += 1;
        if reason == Refusal::Full {
            self.refuse_arrivals(transfer.claims.iter().map(|claim| claim.nid));
        }
        for claim in &transfer.claims {
            self.report(claim.nid, claim.body_epoch, EventKind::Refused(from, reason));
            self.departed.insert(claim.nid, (from, self.now));
        }
        if self.config.planted == Some(Planted::DropRefused) {
            return;
        }
        let raised = |claim: Claim| Claim { body_epoch: claim.body_epoch.saturating_add(1), ..claim };
        let claims = transfer.claims.into_iter().map(raised).collect();
        let back = Transfer { claims, returned: Some(reason), ..transfer };
        self.outbox.push(Address::Region(from), self.now, Item::Transfer(back));
    }

    /// Forgets where bodies went long ago; commands for them are refused from then on.
    pub(crate) fn forget_departed(&mut self, before: Tick) {
        self.departed.retain(|_, (_, left)| *left >= before);
        self.returned.retain(|_, returned| *returned >= before);
    }
}
