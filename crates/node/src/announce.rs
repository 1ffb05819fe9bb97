//! Telling neighbours of what is near them. A server announces its bodies to servers of higher rank, who will give way;
//! a body outside its own region is announced to everybody near it, so that they treat it as a boundary.

use nimbus_model::{Aabb, Nid, RegionId, Vec3, World};
use nimbus_wire::{AURAS_PER_FRAME, Address, Aura, AuraFrame, Content, Frame, Item, PlannedBirth, Strike};
use std::collections::{BTreeMap, BTreeSet};

use crate::breach::Factor;
use crate::horizon::{Horizon, TOUCH_M};
use crate::node::Node;
use crate::outbox::REGION_LANE_MAX;
use crate::scene::{Gap, Scene, strike_of};
use crate::seam::Sleeper;

/// A body that fell asleep is still announced for so long, in case the word that it lies still is lost; one that woke
/// is known to lie still for so long, in case its first auras are lost.
const OVERLAP_TICKS: u64 = 30;
/// Who has nothing to say says so every so many ticks, much more often than silence is noticed.
pub(crate) const QUIET_TICKS: u64 = 4;

impl Node {
    /// Works out what every neighbour must know now.
    pub(crate) fn announce(&mut self, scene: &mut Scene, births: &[(PlannedBirth, Aura)]) {
        self.forget_parted();
        let mut outgoing: BTreeMap<RegionId, Vec<Aura>> = BTreeMap::new();
        let mut rests: BTreeMap<RegionId, Vec<Aura>> = BTreeMap::new();
        let mut wanted: Vec<(RegionId, u32)> = Vec::new();
        let mut targets = Vec::new();
        let far = self.announced_from();
        for row in 0..scene.own as u32 {
            let at = scene.rows[row as usize];
            if at.edge <= far + self.seam.largest_m {
                let speed = scene.near(self, row).speed;
                let anchored = self.seam.anchored.contains(&at.nid);
                self.targets(at.position, self.seam.largest_m, speed, anchored, &mut targets);
                wanted.extend(targets.iter().map(|to| (*to, row)));
            }
        }
        // What may strike a body through others, and those others: only so can a neighbour tell how far an impact runs.
        let mut followed: BTreeSet<(RegionId, u32)> = BTreeSet::new();
        for at in 0..wanted.len() {
            let (to, row) = wanted[at];
            let strikers = std::iter::successors(scene.striker(row), |row| scene.striker(*row));
            wanted.extend(strikers.map(|row| (to, row)).take_while(|striker| followed.insert(*striker)));
        }
        // What lies near bodies that others have outside their regions.
        for aura in &scene.auras {
            let bounds = &aura.extent.bounds;
            if self.outranks_in_any(self.config.region, aura.host) {
                scene.own_within(&self.horizon, bounds, Gap::Within(far), |row| wanted.push((aura.host, row)));
            } else if self.map.region_at(bounds.centre()) != aura.host {
                // Its host must not send it home while something from here is on its way to it.
                let ticks = 3 * self.horizon.legs + self.horizon.look_ahead();
                let gap = TOUCH_M + self.horizon.reach(aura.speed, self.horizon.gravity, ticks);
                let gap = Gap::Soon(gap, ticks);
                scene.own_within(&self.horizon, bounds, gap, |row| wanted.push((aura.host, row)));
            }
        }
        wanted.sort_unstable();
        wanted.dedup();
        wanted.retain(|(_, row)| self.hosted.contains(scene.rows[*row as usize].nid));

        self.seam.shown.clear();
        for group in wanted.chunk_by(|one, two| one.0 == two.0) {
            let to = group[0].0;
            let moving = outgoing.entry(to).or_default();
            for &(_, row) in group {
                let at = scene.rows[row as usize];
                let near = scene.near(self, row);
                let anchored = self.seam.anchored.contains(&at.nid);
                let aura = Aura { anchored, ..near.aura(at.nid, self.config.region, self.now) };
                let sleeper = if at.asleep { self.seam.sleepers.get(&at.nid) } else { None };
                let slept = sleeper.map(|sleeper| self.now.since(sleeper.since));
                if aura.speed > 0.0 || slept.is_none_or(|ticks| ticks < OVERLAP_TICKS) {
                    moving.push(aura);
                }
                if slept.is_some() && self.seam.told.insert((to, at.nid), self.now).is_none() {
                    rests.entry(to).or_default().push(Aura { speed: 0.0, ..aura });
                }
            }
            self.seam.shown.extend(moving.iter());
        }
        self.seam.shown.sort_by_key(|aura| aura.nid);
        self.seam.shown.dedup_by_key(|aura| aura.nid);
        self.announce_parted(&mut outgoing);
        self.announce_births(births, &mut outgoing);
        for (to, auras) in rests {
            self.outbox.push(Address::Region(to), self.now, Item::Rests(auras));
        }
        self.tell_stirred();
        let (mut most, mut left_out) = (0, Vec::new());
        for auras in outgoing.values_mut() {
            auras.sort_by_key(|aura| aura.nid);
            auras.dedup_by_key(|aura| aura.nid);
            most = most.max(auras.len());
            left_out.extend(auras.iter().skip(AURAS_PER_FRAME).take(4).map(|aura| aura.nid));
            auras.truncate(AURAS_PER_FRAME);
            self.counters.aura_updates += auras.len() as u64;
        }
        if !left_out.is_empty() {
            left_out.truncate(4);
            self.breach(Factor::ClusterSize, most as f32, AURAS_PER_FRAME as f32, left_out);
        }
        self.counters.auras = self.seam.shown.len() as u64;
        self.counters.ghosts = scene.auras.len() as u64;
        self.seam.outgoing = outgoing;
    }

    /// How near to another region a body is announced there, measured from its surface, metres. Two legs more than the
    /// judgement needs, so that one lost frame costs nothing, and as much again for every server beyond two at a corner.
    pub(crate) fn announced_from(&self) -> f32 {
        let leg = self.horizon.speed * self.horizon.tick_s * self.horizon.legs as f32;
        let corner = if self.horizon.fixed_m.is_some() { 0 } else { self.seam.corner_max };
        self.horizon.depth_m() + 2.0 * (1 + corner) as f32 * leg + self.seam.largest_m
    }

    /// The same for a body around which nothing is faster than `speed`, where so many servers beyond two meet. Others may
    /// be as fast as the world allows.
    fn announced_within(&self, speed: f32, corner: u64) -> f32 {
        let Horizon { legs, speed: fastest, gravity, tick_s, fixed_m, .. } = self.horizon;
        if fixed_m.is_some() {
            return self.announced_from();
        }
        let more = (1 + corner) * legs;
        let (ours, theirs) = ((2 * legs - 1 + more) as f32 * tick_s, (legs - 1 + more) as f32 * tick_s);
        let reach = (speed + gravity * ours) * ours + fastest * theirs + self.seam.largest_m;
        reach.min(self.announced_from())
    }

    /// Who must know of a body of this server's that reaches this far from its position and may soon be this fast. One
    /// that cannot move must be known to lower ranks, too.
    pub(crate) fn targets(&self, position: Vec3, radius: f32, speed: f32, anchored: bool, out: &mut Vec<RegionId>) {
        let reach = Aabb::around(position, Vec3::splat(radius + self.announced_from()));
        self.map.regions_meeting(&reach, out);
        let region = self.config.region;
        let corner = out.len().saturating_sub(2) as u64;
        let mut is_home = self.map.region_at(position) == region;
        let mut map_changes = false;
        for other in self.next_maps().chain(&self.former) {
            let mut then = Vec::new();
            other.regions_meeting(&reach, &mut then);
            out.extend(then);
            is_home &= other.region_at(position) == region;
            map_changes = true;
        }
        if is_home {
            let within = radius + self.announced_within(speed, corner);
            let is_near = |to: RegionId| map_changes || self.map.distance(to, position) <= within;
            out.retain(|to| (anchored || self.outranks_in_any(region, *to)) && is_near(*to));
        } else {
            let near = out.clone();
            let others = near.iter().filter_map(|to| self.seam.foreign.get(to)).flat_map(|foreign| &foreign.others);
            out.extend(others);
        }
        out.sort_unstable();
        out.dedup();
        out.retain(|to| *to != region);
    }

    /// Bodies that are on their way are announced by their former owner until their new one can.
    fn announce_parted(&self, outgoing: &mut BTreeMap<RegionId, Vec<Aura>>) {
        let mut near = Vec::new();
        for parted in self.seam.parted.values() {
            self.map.regions_meeting(&parted.aura.extent.bounds.grown(self.announced_from()), &mut near);
            for to in near.iter().filter(|to| **to != self.config.region && **to != parted.aura.host) {
                outgoing.entry(*to).or_default().push(parted.aura);
            }
        }
    }

    /// Takes back the word that bodies lie still, for those that no longer do.
    fn tell_stirred(&mut self) {
        let mut stirred: BTreeMap<RegionId, Vec<Nid>> = BTreeMap::new();
        let (now, sleepers) = (self.now, &self.seam.sleepers);
        for (&(to, nid), last) in &mut self.seam.told {
            if sleepers.contains_key(&nid) {
                *last = now;
            } else if now.since(*last) >= OVERLAP_TICKS || !self.hosted.contains(nid) {
                stirred.entry(to).or_default().push(nid);
            }
        }
        for (to, nids) in stirred {
            if self.outbox.waiting(Address::Region(to)) < REGION_LANE_MAX {
                for nid in &nids {
                    self.seam.told.remove(&(to, *nid));
                }
                self.outbox.push(Address::Region(to), self.now, Item::Stirs(nids));
            }
        }
    }

    /// Notes who sleeps and who does not.
    pub(crate) fn follow_sleepers(&mut self, asleep: &[Nid], woke: &[Nid]) {
        for nid in woke {
            self.seam.sleepers.remove(nid);
        }
        for &nid in asleep {
            self.note_sleeper(nid);
            self.suspect_outside(nid);
        }
    }

    pub(crate) fn note_sleeper(&mut self, nid: Nid) {
        if let Some(body) = self.physics.view(nid).filter(|_| self.hosted.contains(nid)) {
            let edge = self.map.distance_to_boundary(self.config.region, body.pose.position);
            // The engine keeps what little spin a body fell asleep with.
            let (strike, sweeps) = (Strike { speed: 0.0, spin: 0.0, ..strike_of(&body) }, body.sweeps());
            let sleeper = Sleeper { extent: body.extent(), edge, since: self.now, strike, sweeps };
            self.seam.sleepers.insert(nid, sleeper);
        }
    }

    /// Takes note of a new partition.
    pub(crate) fn follow_map(&mut self) {
        let region = self.config.region;
        let neighbours = self.map.neighbours(region);
        let meet = |one: RegionId, two: RegionId| self.map.neighbours(one).iter().any(|n| n.region == two);
        self.seam.corner_max = self.servers_at_corners().saturating_sub(2) as u64;
        self.seam.cornered = neighbours.iter().any(|one| neighbours.iter().any(|two| meet(one.region, two.region)));
        for sleeper in self.seam.sleepers.values_mut() {
            sleeper.edge = self.map.distance_to_boundary(region, sleeper.extent.bounds.centre());
        }
    }

    /// Most servers that can meet within the depth of any point. The same on every server.
    fn servers_at_corners(&self) -> usize {
        let mut most = 0;
        let mut servers = Vec::new();
        // Faces at infinity meet nothing there; any finite coordinate stands for them.
        let finite = |x: f32| if x.is_finite() { x } else { 0.0 };
        for leaf in self.map.regions().iter().flat_map(|region| self.map.leaves(*region)) {
            for i in 0..8 {
                let pick = |axis: usize| finite(if i >> axis & 1 == 0 { leaf.min[axis] } else { leaf.max[axis] });
                let corner = Vec3::new(pick(0), pick(1), pick(2));
                let around = Aabb::around(corner, Vec3::splat(self.horizon.depth_m()));
                self.map.regions_meeting(&around, &mut servers);
                most = most.max(servers.len());
            }
        }
        most
    }

    /// Says to every neighbour what is near it; also when that is nothing, so that silence means trouble.
    pub(crate) fn emit_auras(&mut self, out: &mut Vec<Frame>) {
        let mut outgoing = std::mem::take(&mut self.seam.outgoing);
        let region = self.config.region;
        let mut peers: BTreeSet<RegionId> = self.map.neighbours(region).iter().map(|n| n.region).collect();
        peers.extend(outgoing.keys());
        peers.extend(self.seam.foreign.iter().filter(|(_, f)| self.now.since(f.heard) < 60).map(|(peer, _)| *peer));
        for next in self.next_maps() {
            peers.extend(next.neighbours(region).iter().map(|n| n.region));
        }
        let announcing = |foreign: &crate::seam::Foreign| foreign.moving.iter().any(|aura| self.is_inside(aura));
        let others: Vec<RegionId> =
            self.seam.foreign.iter().filter(|(_, f)| announcing(f)).map(|(peer, _)| *peer).collect();
        let is_late = self.is_late();
        for peer in peers {
            let others: Vec<RegionId> = others.iter().copied().filter(|other| *other != peer).collect();
            let auras = outgoing.remove(&peer).unwrap_or_default();
            // Nothing again is worth saying now and then only, unless others wait for it.
            if !auras.is_empty() || !others.is_empty() || is_late {
                self.seam.quiet.remove(&peer);
            } else if self.seam.quiet.get(&peer).is_some_and(|last| self.now.since(*last) < QUIET_TICKS) {
                continue;
            } else {
                self.seam.quiet.insert(peer, self.now);
            }
            let (load, near_full) = (self.seam.load, self.budget.near_full);
            let settled = self.certain();
            let frame = AuraFrame { sent_us: self.clock_us, settled, load, near_full, others, auras };
            out.push(self.frame(Address::Region(peer), Content::Auras(frame)));
        }
    }

    fn is_inside(&self, aura: &Aura) -> bool {
        self.map.region_at(aura.extent.bounds.centre()) == self.config.region
    }
}

/// Greatest distance from the centre of any body of a world to its surface.
pub(crate) fn largest_of(world: &World) -> f32 {
    let first = world.owned_bodies().map(|(_, spawn)| spawn.desc.shape.bounding_radius());
    let later = world.injections.iter().flat_map(|injection| &injection.choices);
    first.chain(later.map(|choice| choice.body.shape.bounding_radius())).fold(0.5, f32::max)
}
