//! Touches that travel: taken along by the bodies that leave, continued where they arrive.

use nimbus_model::{ContactPatch, ContactPoint, ContactState, Nid, Vec3};
use rapier3d::geometry::{Collider, ColliderHandle, ContactPair};
use rapier3d::pipeline::ActiveHooks;
use std::collections::{BTreeMap, BTreeSet};

use crate::convert::LIMIT;
use crate::{ContactEvent, PhysicsWorld, patches, recycling, warm_start};

/// Touches of one body that travel with it; a body that touches more leaves the rest behind.
const CONTACTS_PER_BODY_MAX: usize = 64;

/// Patches of one touch that travel with it.
pub(crate) const PATCHES_PER_CONTACT_MAX: usize = 8;

/// Points of one patch that travel with it. The engine itself solves four.
pub(crate) const POINTS_PER_PATCH_MAX: usize = 16;

/// Greatest impulse that is believed, N s.
const IMPULSE_MAX: f32 = 1e9;

/// Two bodies that touch, the lower id first.
pub(crate) type PairKey = (Nid, Nid);

/// Touches that came with bodies since the last step.
pub(crate) type Carried = BTreeMap<PairKey, ContactState>;

impl PhysicsWorld {
    /// Every touch of these owned bodies, the lower id first, sorted, each once: among them, with other bodies and with
    /// statics. Those that were carried in and wait for the next step count. After a removal, what of these is not in
    /// the group has been cut.
    pub fn touches(&self, nids: &[Nid]) -> Vec<(Nid, Nid)> {
        let mut found: BTreeSet<PairKey> = BTreeSet::new();
        for &nid in nids {
            found.extend(self.touching(nid).into_iter().map(|other| (nid.min(other), nid.max(other))));
        }
        let asked: BTreeSet<Nid> = nids.iter().copied().filter(|nid| self.contains(*nid)).collect();
        found.extend(self.carried.keys().filter(|(a, b)| asked.contains(a) || asked.contains(b)));
        found.into_iter().collect()
    }

    /// The touches among `gone` bodies, a sorted list, and with statics. Those that were carried in and have not been
    /// stepped yet are taken out.
    pub(crate) fn take_contacts(&mut self, gone: &[Nid]) -> Vec<ContactState> {
        let contacts = self.contacts_among(gone);
        let leaves = |nid: Nid| gone.binary_search(&nid).is_ok();
        self.carried.retain(|&(a, b), _| !leaves(a) && !leaves(b));
        contacts
    }

    /// The same touches, with nothing taken out.
    pub(crate) fn contacts_among(&self, gone: &[Nid]) -> Vec<ContactState> {
        let leaves = |nid: Nid| gone.binary_search(&nid).is_ok();
        let along = |nid: Nid| leaves(nid) || self.statics.contains(nid);
        let goes = |&(a, b): &PairKey| (leaves(a) || leaves(b)) && along(a) && along(b);
        let carried = self.carried.iter().filter(|(pair, _)| goes(pair));
        let mut found: Carried = carried.map(|(pair, contact)| (*pair, contact.clone())).collect();
        for &nid in gone {
            let Some(slot) = self.index.get(nid).and_then(|handle| self.slot(handle)) else { continue };
            // Each pair once: from its lower end, or from the one that is no static.
            let partner = |one: ColliderHandle, two: ColliderHandle| {
                let other =
                    self.present_nid(self.engine.colliders.get(if one == slot.collider { two } else { one })?)?;
                ((leaves(other) && nid < other) || self.statics.contains(other)).then_some(other)
            };
            for pair in self.engine.narrow_phase.contact_pairs_with(slot.collider) {
                if pair.has_any_active_contact()
                    && let Some(other) = partner(pair.collider1, pair.collider2)
                    && let Some(one) = self.engine.colliders.get(pair.collider1)
                    && let Some(two) = self.engine.colliders.get(pair.collider2)
                {
                    let first = (pair.collider1 == slot.collider) == (nid < other);
                    let contact = state_of(pair, (one, two), ContactState::bare(nid, other), first);
                    found.insert((contact.a, contact.b), contact);
                }
            }
            for (one, two, touching) in self.engine.narrow_phase.intersection_pairs_with(slot.collider) {
                if touching && let Some(other) = partner(one, two) {
                    let contact = ContactState::bare(nid, other);
                    found.insert((contact.a, contact.b), contact);
                }
            }
        }
        let mut contacts: Vec<ContactState> = found.into_values().collect();
        self.bound(&mut contacts);
        contacts
    }

    /// Takes in the touches of a group whose sorted members have just been inserted. What names other bodies or holds
    /// impossible numbers is dropped: it is worth a twitch, not a refusal.
    pub(crate) fn accept_contacts(&mut self, mut contacts: Vec<ContactState>, members: &[crate::Member]) {
        let arrives = |nid: Nid| members.binary_search_by_key(&nid, |member| member.nid).is_ok();
        contacts.retain_mut(|ContactState { a, b, patches, .. }| {
            let is_unit = |normal: &Vec3| (normal.length_squared() - 1.0).abs() < 1e-2;
            patches.retain_mut(|ContactPatch { normal_a, normal_b, points }| {
                points.retain(is_believable);
                points.truncate(POINTS_PER_PATCH_MAX);
                !points.is_empty() && is_unit(normal_a) && is_unit(normal_b)
            });
            patches.truncate(PATCHES_PER_CONTACT_MAX);
            let known = |nid: Nid| arrives(nid) || self.statics.contains(nid);
            *a < *b && (arrives(*a) || arrives(*b)) && known(*a) && known(*b)
        });
        contacts.dedup_by_key(|contact| (contact.a, contact.b));
        self.bound(&mut contacts);
        self.carried.extend(contacts.into_iter().map(|contact| ((contact.a, contact.b), contact)));
    }

    /// Cuts a sorted list to what one body may carry.
    fn bound(&self, contacts: &mut Vec<ContactState>) {
        let mut counts: BTreeMap<Nid, usize> = BTreeMap::new();
        contacts.retain(|contact| {
            let full = |nid: Nid| counts.get(&nid).is_some_and(|count| *count >= CONTACTS_PER_BODY_MAX);
            let keep = !full(contact.a) && !full(contact.b);
            for nid in [contact.a, contact.b].into_iter().filter(|nid| keep && !self.statics.contains(*nid)) {
                *counts.entry(nid).or_default() += 1;
            }
            keep
        });
    }

    /// Lays the impulses of arrived touches ready for the engine and returns the colliders that ask for them.
    pub(crate) fn arm_warm_start(&mut self) -> Vec<ColliderHandle> {
        let pressing = self.carried.iter().filter(|(_, contact)| !contact.patches.is_empty());
        let ready: Carried = pressing.map(|(pair, contact)| (*pair, contact.clone())).collect();
        if ready.is_empty() {
            return Vec::new();
        }
        let mut nids: Vec<Nid> = ready.keys().map(|&(a, b)| if self.statics.contains(a) { b } else { a }).collect();
        nids.sort_unstable();
        nids.dedup();
        let collider = |nid: Nid| Some(self.slot(self.index.get(nid)?)?.collider);
        let asking: Vec<ColliderHandle> = nids.into_iter().filter_map(collider).collect();
        self.warm_start.lay_ready(ready);
        self.let_ask(&asking, ActiveHooks::FILTER_CONTACT_PAIRS);
        asking
    }

    /// After the step: the colliders ask no more, because whatever asks is looked at anew in every step.
    pub(crate) fn disarm_warm_start(&mut self, asking: &[ColliderHandle]) {
        if !asking.is_empty() {
            self.let_ask(asking, ActiveHooks::empty());
            self.warm_start.clear();
        }
    }

    fn let_ask(&mut self, colliders: &[ColliderHandle], hooks: ActiveHooks) {
        for handle in colliders {
            if let Some(collider) = self.engine.colliders.get_mut(*handle) {
                collider.set_active_hooks(hooks);
            }
        }
    }

    /// Corrects the sorted events of a step for touches that came with bodies: one that goes on did not begin, and one
    /// that is no longer there has ended.
    pub(crate) fn continue_touches(&mut self) {
        if self.carried.is_empty() {
            return;
        }
        let mut carried = std::mem::take(&mut self.carried);
        let contacts = &mut self.report.contacts;
        contacts.retain(|event| !event.began || carried.remove(&(event.a, event.b)).is_none());
        contacts.extend(carried.into_keys().map(|(a, b)| ContactEvent { a, b, began: false }));
        contacts.sort_by_key(|event| (event.a, event.b));
    }
}

/// Adds what the engine could take back of a pair; `straight` if its first collider is that of the lower id.
fn state_of(
    pair: &ContactPair,
    (one, two): (&Collider, &Collider),
    mut contact: ContactState,
    straight: bool,
) -> ContactState {
    let with_parts = patches::has_parts(one.shape()) || patches::has_parts(two.shape());
    contact.recycled = recycling::would_recycle(pair, one, two);
    for manifold in pair.manifolds().iter().take(PATCHES_PER_CONTACT_MAX) {
        let mut points = Vec::new();
        if contact.recycled {
            warm_start::read_solved(manifold, &mut points);
        } else {
            warm_start::read_all(manifold, with_parts, &mut points);
        }
        points.truncate(POINTS_PER_PATCH_MAX);
        if !points.is_empty() {
            contact.patches.push(ContactPatch { normal_a: manifold.local_n1, normal_b: manifold.local_n2, points });
        }
    }
    if !straight {
        warm_start::swap_ends(&mut contact);
    }
    contact
}

fn is_believable(point: &ContactPoint) -> bool {
    let within = |value: f32, limit: f32| value.abs() <= limit;
    point.at_a.is_finite()
        && point.at_b.is_finite()
        && within(point.at_a.abs().max_element(), LIMIT)
        && within(point.at_b.abs().max_element(), LIMIT)
        && within(point.distance, LIMIT)
        && (0.0..=IMPULSE_MAX).contains(&point.step_impulse)
        && (0.0..=IMPULSE_MAX).contains(&point.normal_impulse)
        && point.tangent_impulse.is_finite()
        && within(point.tangent_impulse.abs().max_element(), IMPULSE_MAX)
        && within(point.twist_impulse, IMPULSE_MAX)
}
