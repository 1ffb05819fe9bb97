//! What is seen of one run for a comparison: first contacts, owners, and the motion of chosen bodies at chosen ticks.

use nimbus_model::{Nid, RegionId, Velocity};
use nimbus_node::{Contact, ContactKind, Node};
use std::collections::{BTreeMap, BTreeSet};

/// Two bodies, the lower id first.
pub(crate) type Pair = (Nid, Nid);

/// A body faster than this is not at rest, m/s.
pub(crate) const AT_REST: f32 = 0.01;
/// What became of a contact is looked at so many ticks later, at the first of these at which the bodies have an owner:
/// the engine has finished pushing by then.
pub(crate) const SETTLED_TICKS: [u64; 4] = [6, 8, 10, 12];

/// Where a body was and how it moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sight {
    pub(crate) place: nimbus_model::Vec3,
    pub(crate) velocity: Velocity,
}

/// What was seen of one run.
#[derive(Debug, Default)]
pub(crate) struct RunRecord {
    /// The tick at which each pair first touched.
    pub(crate) first: BTreeMap<Pair, u64>,
    /// Ticks at which the motion of bodies is wanted, and what it was.
    pub(crate) wanted: BTreeSet<(u64, Nid)>,
    pub(crate) sights: BTreeMap<(u64, Nid), Sight>,
    /// Owners of each body, with the first tick after which each was seen to have it.
    pub(crate) owners: BTreeMap<Nid, Vec<(u64, RegionId)>>,
    /// The last tick after which a body was faster than [`AT_REST`].
    pub(crate) last_motion: u64,
    /// Bodies that were awake after the last tick of each server.
    pub(crate) awake: BTreeMap<RegionId, usize>,
    /// How fast the surfaces of two bodies may have closed in the tick before they first touched, at most, m/s. Kept of a
    /// run on one server only.
    pub(crate) closing: BTreeMap<Pair, f32>,
    /// What every awake body did after the tick before, in a run on one server.
    pub(crate) previous: BTreeMap<Nid, Sight>,
}

impl RunRecord {
    /// A record that also keeps the motion of these bodies after these ticks.
    pub(crate) fn wanting(wanted: BTreeSet<(u64, Nid)>) -> RunRecord {
        RunRecord { wanted, ..RunRecord::default() }
    }

    /// Looks at a server after one of its ticks.
    pub(crate) fn look(&mut self, node: &Node) {
        let tick = node.now().0;
        for (nid, _) in node.hosted() {
            let owners = self.owners.entry(nid).or_default();
            if owners.last().is_none_or(|(_, owner)| *owner != node.region()) {
                owners.push((tick, node.region()));
            }
        }
        let mut moves = false;
        node.physics().for_each_awake(|body| moves |= body.velocity.linear.length() > AT_REST);
        if moves {
            self.last_motion = self.last_motion.max(tick);
        }
        self.awake.insert(node.region(), node.awake_count());
        let wanted: Vec<Nid> = self.wanted.range((tick, Nid(0))..=(tick, Nid(u64::MAX))).map(|(_, nid)| *nid).collect();
        for nid in wanted {
            if let Some(motion) = node.motion(nid) {
                self.sights.insert((tick, nid), Sight { place: motion.pose.position, velocity: motion.velocity });
            }
        }
    }

    /// Looks at the only server of a run after one of its ticks: what touches now is wanted before and a little later.
    pub(crate) fn look_alone(&mut self, node: &Node) {
        let tick = node.now().0;
        let physics = node.physics();
        let surface_speed = |nid: Nid, velocity: &Velocity| {
            let radius = physics.view(nid).map_or(0.0, |body| body.desc.shape.bounding_radius());
            velocity.angular.length() * radius
        };
        for event in physics.last_report().contacts.iter().filter(|event| event.began) {
            if self.closing.contains_key(&(event.a, event.b)) {
                continue;
            }
            let pair = [event.a, event.b];
            for nid in pair.into_iter().filter(|nid| self.previous.contains_key(nid)) {
                self.wanted.insert((tick - 1, nid));
                self.sights.insert((tick - 1, nid), self.previous[&nid]);
            }
            let [a, b] = pair.map(|nid| self.previous.get(&nid).map_or(Velocity::ZERO, |sight| sight.velocity));
            let turning = surface_speed(event.a, &a) + surface_speed(event.b, &b);
            self.closing.insert((event.a, event.b), a.linear.distance(b.linear) + turning);
            let later = SETTLED_TICKS.iter().flat_map(|later| [(tick + later, event.a), (tick + later, event.b)]);
            self.wanted.extend(later);
        }
        self.previous.clear();
        physics.for_each_awake(|body| {
            self.previous.insert(body.nid, Sight { place: body.pose.position, velocity: body.velocity });
        });
        self.look(node);
    }

    /// Takes note of the contacts of a run.
    pub(crate) fn hear<'a>(&mut self, contacts: impl IntoIterator<Item = &'a Contact>) {
        for contact in contacts.into_iter().filter(|contact| contact.kind == ContactKind::Began) {
            let first = self.first.entry((contact.one, contact.two)).or_insert(contact.tick.0);
            *first = (*first).min(contact.tick.0);
        }
    }

    /// The ticks at which each body first touched something new, and what it was, ascending.
    pub(crate) fn touches(&self) -> BTreeMap<Nid, Vec<(u64, Nid)>> {
        let mut touches: BTreeMap<Nid, Vec<(u64, Nid)>> = BTreeMap::new();
        for ((a, b), tick) in &self.first {
            touches.entry(*a).or_default().push((*tick, *b));
            touches.entry(*b).or_default().push((*tick, *a));
        }
        touches.values_mut().for_each(|ticks| ticks.sort_unstable());
        touches
    }

    /// The servers that had a body at some time from `since` to `until`.
    pub(crate) fn owners_between(&self, nid: Nid, since: u64, until: u64) -> Vec<RegionId> {
        let Some(owners) = self.owners.get(&nid) else { return Vec::new() };
        let last = owners.partition_point(|(tick, _)| *tick <= until);
        let first = owners.partition_point(|(tick, _)| *tick <= since).saturating_sub(1);
        owners[first.min(last)..last].iter().map(|(_, region)| *region).collect()
    }

    /// Changes of owner after a tick and up to another.
    pub(crate) fn owner_changes(&self, after: u64, until: u64) -> u64 {
        let changes = self.owners.values().flat_map(|owners| owners.iter().skip(1));
        changes.filter(|(tick, _)| *tick > after && *tick <= until).count() as u64
    }
}
