//! Going home. A cluster that lies wholly outside its host's region is an island; it goes to where it lies, but only
//! when nothing that stays is near enough to call it back. Towards a lower rank it simply goes. Towards a higher rank
//! it is offered first: the other side may be about to give away what the island would touch on arrival.

use nimbus_model::{Nid, RegionId, Tick};
use nimbus_wire::{Address, Aura, Claim, Item};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

use crate::breach::Factor;
use crate::config::{Planted, Policy};
use crate::horizon::TOUCH_M;
use crate::node::Node;
use crate::scene::Scene;
use crate::seam::{Seam, Visit};

/// A body that could not go, or whose former owner had it for a moment only, is left alone for so many ticks; twice as
/// many each time that happens again, but no more often than this.
const SETTLE_TICKS: u64 = 20;
const RESTLESS_MAX: u8 = 5;
/// Most offers under way.
const OFFERS_MAX: usize = 64;
/// Most bodies of one offer, unless a single island has more.
const OFFERED_MAX: usize = 512;

/// An offer that waits for its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Offered {
    pub(crate) to: RegionId,
    pub(crate) at: Tick,
    pub(crate) islands: Vec<Vec<Nid>>,
}

/// Offers made and heard.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Offers {
    next: u32,
    made: BTreeMap<u32, Offered>,
    /// Offers of neighbours to answer at this tick.
    pub(crate) heard: Vec<(RegionId, u32, Vec<Vec<Nid>>)>,
    /// Answers of neighbours to act on at this tick.
    pub(crate) accepted: Vec<(RegionId, u32, Vec<u16>, Tick)>,
}

impl Offers {
    /// Takes back offers of bodies that have come since: what was said of them is of another time.
    pub(crate) fn withdraw(&mut self, nids: &[Nid]) {
        self.made.retain(|_, offer| !offer.islands.iter().flatten().any(|nid| nids.contains(nid)));
    }
}

impl Node {
    /// Sends islands home, and answers neighbours who want to.
    pub(crate) fn traverse(&mut self, scene: &mut Scene, gone: &BTreeSet<Nid>) {
        if self.ranks_change() {
            // Offers were made and heard under another order. No answer means no, and suspects are looked at later.
            self.seam.offers.heard.clear();
            self.seam.offers.accepted.clear();
            return;
        }
        self.answer_offers(scene, gone);
        let mut gone = gone.clone();
        self.act_on_accepts(scene, &mut gone);

        let mut outside = std::mem::take(&mut self.outside);
        let suspects = std::mem::take(&mut self.suspects);
        outside.extend(suspects.iter().filter(|nid| self.is_outside(**nid)));
        outside.sort_unstable();
        outside.dedup();
        let mut settled: BTreeSet<u32> = BTreeSet::new();
        let mut offers: BTreeMap<RegionId, Vec<Vec<Nid>>> = BTreeMap::new();
        let mut granted = 0;
        for nid in outside {
            let Some(row) = scene.row_of(nid) else { continue };
            if gone.contains(&nid) {
                continue;
            }
            // No step will name a sleeper again, so it stays suspect until it has gone, whatever becomes of its cluster.
            if scene.rows[row as usize].asleep {
                self.suspects.insert(nid);
            }
            if settled.contains(&row) {
                continue;
            }
            if self.has_just_come(nid) || self.seam.settle.get(&nid).is_some_and(|until| self.now < *until) {
                continue;
            }
            let clearance = self.clearance(scene, row);
            let found = self.cluster_while(scene, row, clearance, self.least_gain(), |nid| self.is_outside(nid));
            settled.extend(found.as_ref().unwrap_or_else(|part| part));
            let island = match found {
                Ok(island) => island,
                Err(part) => {
                    let part: Vec<Nid> = part.iter().map(|row| scene.rows[*row as usize].nid).collect();
                    self.leave_alone(&part, SETTLE_TICKS);
                    continue;
                }
            };
            self.show_cluster(scene, &island);
            let nids: Vec<Nid> = island.iter().map(|row| scene.rows[*row as usize].nid).collect();
            // A newcomer among them may be on its way through.
            if nids.iter().any(|nid| self.has_just_come(*nid)) {
                self.leave_alone(&[nid], 4);
                continue;
            }
            let Some(to) = self.home_of(&nids, &gone) else {
                self.leave_alone(&nids, SETTLE_TICKS);
                continue;
            };
            if self.is_near_full(to) {
                self.counters.islands_kept += 1;
                self.leave_alone(&nids, SETTLE_TICKS);
                continue;
            }
            if !self.is_clear_of_others(scene, &island, to) {
                self.leave_alone(&nids, self.horizon.legs + 1);
                continue;
            }
            if nids.len() > self.config.aura.cluster_max {
                let (size, limit) = (nids.len() as f32, self.config.aura.cluster_max as f32);
                self.breach(Factor::ClusterSize, size, limit, nids.iter().take(4).copied().collect());
                self.leave_alone(&nids, SETTLE_TICKS);
                continue;
            }
            // One that is larger than the limit goes alone: it can never be smaller.
            let crowded = granted > 0 && granted + nids.len() > self.config.grants_max;
            if crowded || !self.may_grant(to, &nids) {
                self.put_off(&nids);
                self.leave_alone(&nids, 4);
            } else if self.outranks(to, self.config.region) {
                granted += nids.len();
                gone.extend(&nids);
                self.part(scene, &island, to, false);
            } else {
                self.leave_alone(&nids, 2 * self.horizon.legs + 2);
                let offered: usize = offers.get(&to).map_or(0, |islands| islands.iter().map(Vec::len).sum());
                if offered == 0 || offered + nids.len() <= OFFERED_MAX {
                    offers.entry(to).or_default().push(nids);
                }
            }
        }
        for (to, islands) in offers {
            self.offer(to, islands);
        }
    }

    /// For how many ticks an island must be clear of everything that stays: until it has arrived, and no aura may draw
    /// it back at once.
    fn clearance(&self, scene: &mut Scene, row: u32) -> u64 {
        self.horizon.legs + 1 + scene.look_ahead_of_any(self, row)
    }

    /// What also bodies at rest may gain once something stirs them, m/s2: an island must be as clear of what stays as the
    /// pull would want it if both were awake, or it would be drawn back.
    fn least_gain(&self) -> f32 {
        if self.config.planted == Some(Planted::SleepersTossed) { 0.0 } else { self.horizon.gravity }
    }

    /// True when nothing that a third server has could touch an island before it has arrived: that server would send it
    /// here meanwhile. What the receiver has, it judges itself.
    fn is_clear_of_others(&self, scene: &mut Scene, island: &[u32], to: RegionId) -> bool {
        let third = |aura: &Aura| aura.host != to && aura.host != self.config.region;
        if !scene.auras.iter().any(third) {
            return true;
        }
        let auras = std::mem::take(&mut scene.auras);
        let mut found = Vec::new();
        let clear = auras.iter().filter(|aura| third(aura)).all(|aura| {
            found.clear();
            let gap = self.pulling_gap(scene, aura, self.horizon.legs + 1);
            scene.own_within(&self.horizon, &aura.extent.bounds, gap, |row| found.push(row));
            found.retain(|row| island.binary_search(row).is_ok());
            !found.iter().any(|row| scene.may_touch(self, aura, *row, self.horizon.legs + 1))
        });
        scene.auras = auras;
        clear
    }

    /// Where most of an island lies, if none of it touches this server's region.
    fn home_of(&self, island: &[Nid], gone: &BTreeSet<Nid>) -> Option<RegionId> {
        let mut votes: BTreeMap<RegionId, usize> = BTreeMap::new();
        for nid in island {
            if gone.contains(nid) || !self.is_outside(*nid) {
                return None;
            }
            let position = self.physics.view(*nid)?.pose.position;
            *votes.entry(self.map.region_at(position)).or_default() += 1;
        }
        let most = votes.into_iter().max_by_key(|(region, votes)| (*votes, std::cmp::Reverse(*region)))?;
        (most.0 != self.config.region).then_some(most.0)
    }

    /// Notes that a body has come. A visit may be brief, unless its former owner had it for a moment only: otherwise two
    /// servers would toss it to and fro.
    pub(crate) fn begin_visit(&mut self, claim: &Claim) {
        let restless = claim.restless.min(RESTLESS_MAX);
        let is_brief = self.config.policy == Policy::Aura && restless == 0;
        let ticks = if is_brief { 2 * self.horizon.legs + 2 } else { settle_ticks(restless) };
        self.seam.visits.insert(claim.nid, Visit { since: self.now, until: self.now + ticks, restless });
    }

    /// True for a body that is not to be sent home yet.
    pub(crate) fn has_just_come(&self, nid: Nid) -> bool {
        self.seam.visits.get(&nid).is_some_and(|visit| self.now < visit.until)
    }

    /// How often in a row owners had a body for a moment only, if this one gives it away now. Forgotten once it has stayed
    /// for much longer than it had to.
    pub(crate) fn restlessness(&self, nid: Nid) -> u8 {
        let Some(visit) = self.seam.visits.get(&nid) else { return 0 };
        match self.now.since(visit.since) {
            stayed if stayed < SETTLE_TICKS => (visit.restless + 1).min(RESTLESS_MAX),
            stayed if stayed < 4 * settle_ticks(visit.restless) => visit.restless,
            _ => 0,
        }
    }

    fn leave_alone(&mut self, nids: &[Nid], ticks: u64) {
        let until = self.now + ticks;
        for nid in nids {
            self.seam.settle.insert(*nid, until);
        }
    }

    fn offer(&mut self, to: RegionId, islands: Vec<Vec<Nid>>) {
        let now = self.now;
        let patience = SETTLE_TICKS + 2 * self.horizon.legs;
        let offers = &mut self.seam.offers;
        offers.made.retain(|_, offer| now.since(offer.at) <= patience);
        if offers.made.len() >= OFFERS_MAX {
            return;
        }
        offers.next = offers.next.wrapping_add(1);
        let id = offers.next;
        offers.made.insert(id, Offered { to, at: now, islands: islands.clone() });
        self.counters.offers += 1;
        self.outbox.push(Address::Region(to), now, Item::Offer { id, islands });
    }

    /// Answers offers: an island is welcome when nothing here or elsewhere could touch it before it has arrived.
    fn answer_offers(&mut self, scene: &mut Scene, gone: &BTreeSet<Nid>) {
        let heard = std::mem::take(&mut self.seam.offers.heard);
        if self.budget.near_full {
            // No answer means no: what can stay where it is stays.
            return;
        }
        for (from, id, islands) in heard {
            let until = self.now + self.horizon.legs;
            let ticks = until.since(self.now) + self.horizon.legs;
            let islands: Vec<u16> = (0..islands.len().min(OFFERED_MAX))
                .filter(|i| self.has_room(islands[*i].len()) && self.is_welcome(scene, gone, from, &islands[*i], ticks))
                .map(|i| i as u16)
                .collect();
            if !islands.is_empty() && self.outbox.waiting(Address::Region(from)) < crate::outbox::REGION_LANE_MAX {
                self.outbox.push(Address::Region(from), self.now, Item::Accept { id, islands, until });
            }
        }
    }

    /// True when nothing here, or of a server of lower rank, could touch an island before it has arrived, and nothing
    /// that stays with the one who offers it would draw it back. That one does not know what is fast here.
    fn is_welcome(&self, scene: &mut Scene, gone: &BTreeSet<Nid>, from: RegionId, island: &[Nid], ticks: u64) -> bool {
        let mut found = Vec::new();
        let horizon = &self.horizon;
        for nid in island {
            let Ok(at) = scene.auras.binary_search_by_key(nid, |aura| aura.nid) else { return false };
            let aura = scene.auras[at];
            if aura.host != from {
                return false;
            }
            let bounds = aura.extent.bounds;
            let around = scene.speed_at(bounds.centre(), bounds.half().length() + self.seam.largest_m);
            let aura = Aura { speed: aura.speed.max(around.min(horizon.speed)), ..aura };
            let ahead = horizon.legs + 1 + scene.look_ahead_at(self, &bounds, aura.speed);
            let theirs = Seam::age(self.now, &aura) + ahead;
            let reach = horizon.reach(aura.speed, horizon.gravity, theirs);
            let fastest = scene.auras.iter().map(|aura| aura.speed).fold(0.0, f32::max);
            let gap = TOUCH_M + reach + horizon.reach(fastest, horizon.gravity, theirs);
            let mut alone = true;
            scene.auras_within(self, &bounds, gap, |other| {
                let reach = TOUCH_M + reach + horizon.reach(other.speed, horizon.gravity, theirs);
                let concerns = self.outranks(other.host, self.config.region) && !island.contains(&other.nid);
                let concerns = concerns && self.config.planted != Some(Planted::SleepersTossed);
                alone &= !(concerns && aura.extent.is_within(reach, &other.extent));
            });
            found.clear();
            let gap = self.pulling_gap(scene, &aura, ticks);
            scene.own_within(horizon, &bounds, gap, |row| found.push(row));
            found.retain(|row| !gone.contains(&scene.rows[*row as usize].nid));
            if !alone || found.iter().any(|row| scene.may_touch(self, &aura, *row, ticks)) {
                return false;
            }
        }
        true
    }

    /// Gives away what was offered and accepted, if it still is an island and the time has not run out.
    fn act_on_accepts(&mut self, scene: &mut Scene, gone: &mut BTreeSet<Nid>) {
        for (from, id, places, until) in std::mem::take(&mut self.seam.offers.accepted) {
            let Some(offer) = self.seam.offers.made.remove(&id) else { continue };
            if offer.to != from || self.now > until || self.is_near_full(from) {
                continue;
            }
            let welcome: BTreeSet<Nid> =
                places.iter().filter_map(|place| offer.islands.get(usize::from(*place))).flatten().copied().collect();
            // Every one of them is clear of what the other side has, in whatever groups they are by now.
            let mut settled: BTreeSet<u32> = BTreeSet::new();
            for nid in &welcome {
                let Some(row) = scene.row_of(*nid).filter(|row| !settled.contains(row)) else { continue };
                let clearance = self.clearance(scene, row);
                let found = self.cluster_while(scene, row, clearance, self.least_gain(), |nid| welcome.contains(&nid));
                settled.extend(found.as_ref().unwrap_or_else(|part| part));
                let Ok(cluster) = found else { continue };
                let nids: Vec<Nid> = cluster.iter().map(|row| scene.rows[*row as usize].nid).collect();
                let clear = self.is_clear_of_others(scene, &cluster, from);
                if clear && self.home_of(&nids, gone) == Some(from) && self.may_grant(from, &nids) {
                    gone.extend(&nids);
                    self.part(scene, &cluster, from, false);
                }
            }
        }
    }
}

/// How long a body stays that has been tossed about so often.
fn settle_ticks(restless: u8) -> u64 {
    SETTLE_TICKS << restless.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NodeConfig;
    use nimbus_model::{BodyDesc, Layout, Pose, Shape, Vec3, Velocity, World};
    use nimbus_space::PartitionMap;
    use std::sync::Arc;

    #[test]
    fn an_offer_ends_when_its_body_comes_anew() {
        let mut world = World::new("test");
        world.layout = Layout::columns(2, 200.0);
        let ball = world.add(BodyDesc::dynamic(Shape::ball(0.5)), Pose::at(Vec3::X * 20.0), Velocity::ZERO);
        let nid = World::nid(1, ball);
        let (map, world) = (PartitionMap::from_layout(&world.layout).unwrap(), Arc::new(world));
        let [mut here, mut there] =
            [0, 1].map(|region| Node::new(NodeConfig::new(RegionId(region)), world.clone(), 1, map.clone(), Tick(0)));
        here.offer(RegionId(1), vec![vec![nid]]);
        there.tick(Tick(1));
        there.grant(&[nid], RegionId(0));
        let mut frames = Vec::new();
        there.emit(&mut frames);
        here.tick(Tick(1));
        assert_eq!(here.seam.offers.made.len(), 1);
        frames.into_iter().for_each(|frame| here.handle(frame));
        here.tick(Tick(2));
        assert!(here.hosted.contains(nid));
        assert_eq!(here.seam.offers.made.len(), 0);
    }
}
