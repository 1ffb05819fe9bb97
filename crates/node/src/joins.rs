//! Schemes 2 and 2.b: groups that share cells belong together.
//!
//! Space is cut into a static grid of cells. A linkage, which is a body and everything jointed to it, occupies a block of
//! them. Linkages that share a cell form a join, unless both sleep: a long row at rest is not one thing. A join belongs to
//! one of the regions whose cells it occupies. Every server tells the homes of the cells that its linkages occupy, and
//! who it thinks the owner is; a server that hears of a join from one of a lower number goes by its word. Two that
//! disagree find out at the next tick. What has just come is called away at once by a lower number only.

use nimbus_model::{Aabb, Extent, Nid, RegionId, Vec3};
use nimbus_wire::{AURAS_PER_FRAME, Aura};
use std::collections::BTreeMap;

use crate::config::Policy;
use crate::node::Node;
use crate::scene::STRIKE_NONE;

/// Edge of a cell, metres: small bodies have room for some thirty of them on its floor.
pub(crate) const CELL_M: f32 = 4.0;
/// What a neighbour said longer ago than this, in ticks, is not believed any more.
const STALE_TICKS: u64 = 30;
/// A linkage that is awake is announced as at least this fast, m/s; one at rest as not moving.
const AWAKE_SPEED: f32 = 0.01;

/// The block of cells that a box meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Occupancy {
    min: [i32; 3],
    max: [i32; 3],
}

impl Occupancy {
    pub(crate) fn of(bounds: &Aabb) -> Occupancy {
        // A coordinate far out counts as the last cell there is.
        let cell = |p: Vec3| p.to_array().map(|x| (x / CELL_M).floor() as i32);
        Occupancy { min: cell(bounds.min), max: cell(bounds.max) }
    }

    fn shares_cell(&self, other: &Occupancy) -> bool {
        (0..3).all(|axis| self.min[axis] <= other.max[axis] && other.min[axis] <= self.max[axis])
    }

    /// The space of the cells, without the faces that it shares with the next ones.
    pub(crate) fn space(&self) -> Aabb {
        let corner = |cell: [i32; 3], ahead: f32| Vec3::from_array(cell.map(|x| (x as f32 + ahead) * CELL_M));
        Aabb::new(corner(self.min, 0.0), corner(self.max, 1.0)).grown(-1e-3 * CELL_M)
    }

    /// One cell of the block, to count blocks by.
    pub(crate) fn first(&self) -> [i32; 3] {
        self.min
    }
}

/// A linkage of this server, or one that a neighbour told of.
#[derive(Clone, Debug)]
pub(crate) struct Linkage {
    /// Its members, if they are here.
    members: Vec<Nid>,
    /// Names it to others.
    nid: Nid,
    pub(crate) bounds: Aabb,
    pub(crate) cells: Occupancy,
    /// Its speed while it is awake, m/s.
    awake: Option<f32>,
    pub(crate) host: RegionId,
    /// Who its host thinks should have it.
    pub(crate) claim: RegionId,
}

impl Node {
    /// Finds the joins at this tick, gives away those that belong elsewhere, and works out what neighbours must hear.
    pub(crate) fn apply_joins(&mut self) {
        self.outside.clear();
        self.suspects.clear();
        let mut linkages = self.own_linkages();
        let own = linkages.len();
        self.seam.load = self.burden(&linkages);
        self.add_foreign(&mut linkages);
        let mut outgoing: BTreeMap<RegionId, Vec<Aura>> = BTreeMap::new();
        let mut granted = 0;
        for join in joins(&linkages) {
            let mine: Vec<usize> = join.iter().copied().filter(|i| *i < own).collect();
            if mine.is_empty() {
                continue;
            }
            let mut owner = self.owner_of(&linkages, &join);
            if owner > self.config.region && mine.iter().any(|i| self.has_just_come(linkages[*i].nid)) {
                owner = self.config.region;
            }
            let mut parting: BTreeMap<RegionId, Vec<usize>> = BTreeMap::new();
            for &i in &mine {
                linkages[i].claim = self.owner_of_part(&linkages[i], owner);
                parting.entry(linkages[i].claim).or_default().push(i);
            }
            for (to, part) in parting {
                if to == self.config.region || !self.give(&linkages, &part, to, &mut granted) {
                    part.iter().for_each(|i| self.tell_homes(&linkages[*i], &mut outgoing));
                }
            }
        }
        for auras in outgoing.values_mut() {
            auras.sort_by_key(|aura| aura.nid);
            auras.truncate(AURAS_PER_FRAME);
            self.counters.aura_updates += auras.len() as u64;
        }
        self.seam.outgoing = outgoing;
    }

    /// Everything that is here, awake or asleep, in order of the least id.
    fn own_linkages(&self) -> Vec<Linkage> {
        let awake = self.moved.iter().map(|moved| (moved.nid, Some(moved.velocity.linear.length())));
        let asleep = self.seam.sleepers.keys().map(|nid| (*nid, None));
        let mut out = Vec::with_capacity(self.hosted.len());
        for (nid, awake) in awake.chain(asleep).filter(|(nid, _)| self.hosted.contains(*nid)) {
            let jointed = self.physics.linked(nid).next().is_some();
            let members = if jointed { self.physics.linkage(nid) } else { vec![nid] };
            let boxes = members.iter().filter_map(|nid| Some(self.physics.view(*nid)?.aabb()));
            // Every member comes by; the first of them speaks for all.
            if members.iter().min() == Some(&nid)
                && let Some(bounds) = boxes.reduce(|one, two| one.union(&two))
            {
                let (cells, region) = (Occupancy::of(&bounds), self.config.region);
                out.push(Linkage { members, nid, bounds, cells, awake, host: region, claim: region });
            }
        }
        out.sort_by_key(|linkage| linkage.nid);
        out.dedup_by_key(|linkage| linkage.nid);
        out
    }

    /// What neighbours told of their linkages in cells of this region and beside it.
    fn add_foreign(&self, linkages: &mut Vec<Linkage>) {
        for (host, foreign) in &self.seam.foreign {
            if self.now.since(foreign.heard) > STALE_TICKS {
                continue;
            }
            linkages.extend(foreign.moving.iter().filter(|aura| !self.hosted.contains(aura.nid)).map(|aura| Linkage {
                members: Vec::new(),
                nid: aura.nid,
                bounds: aura.extent.bounds,
                cells: Occupancy::of(&aura.extent.bounds),
                awake: (aura.speed > 0.0).then_some(aura.speed),
                host: *host,
                claim: aura.host,
            }));
        }
    }

    /// Who should have a join, as far as this server can tell.
    fn owner_of(&self, linkages: &[Linkage], join: &[usize]) -> RegionId {
        let here = self.config.region;
        let lower = join.iter().map(|i| &linkages[*i]).filter(|linkage| linkage.host < here);
        let word = lower.min_by_key(|linkage| (linkage.host, linkage.claim)).map(|linkage| linkage.claim);
        let word = word.filter(|region| self.map.regions().contains(region));
        if self.config.policy == Policy::Utility {
            let mine = join.iter().map(|i| &linkages[*i]).filter(|linkage| linkage.awake.is_some());
            let bodies = mine.map(|linkage| linkage.members.len()).sum::<usize>() as u32;
            return word.unwrap_or_else(|| self.most_useful_owner(&self.homes_of(linkages, join), bodies));
        }
        let least = self.homes_of(linkages, join).first().copied().unwrap_or(here);
        word.map_or(least, |word| word.min(least))
    }

    /// The regions whose cells a join occupies, sorted.
    fn homes_of(&self, linkages: &[Linkage], join: &[usize]) -> Vec<RegionId> {
        let (mut homes, mut found) = (Vec::new(), Vec::new());
        for &i in join {
            self.map.regions_meeting(&linkages[i].cells.space(), &mut found);
            homes.extend(&found);
            homes.sort_unstable();
            homes.dedup();
        }
        homes
    }

    /// Gives the linkages of a join away, in one group if that is possible and one by one if not. True when all are gone.
    fn give(&mut self, linkages: &[Linkage], part: &[usize], to: RegionId, granted: &mut usize) -> bool {
        let mut together: Vec<Nid> = part.iter().flat_map(|i| &linkages[*i].members).copied().collect();
        together.sort_unstable();
        if *granted + together.len() <= self.config.grants_max && self.may_grant(to, &together) {
            *granted += together.len();
            self.shift_load(to, together.len() as u32);
            self.grant(&together, to);
            return true;
        }
        let mut all_gone = true;
        for &i in part {
            let members = &linkages[i].members;
            if *granted < self.config.grants_max && self.may_grant(to, members) {
                *granted += members.len();
                self.shift_load(to, members.len() as u32);
                self.grant(members, to);
            } else {
                self.put_off(members);
                all_gone = false;
            }
        }
        all_gone
    }

    /// Notes a linkage for everybody else whose cells it occupies.
    fn tell_homes(&self, linkage: &Linkage, outgoing: &mut BTreeMap<RegionId, Vec<Aura>>) {
        if !self.hosted.contains(linkage.nid) {
            return;
        }
        let mut homes = Vec::new();
        self.map.regions_meeting(&linkage.cells.space(), &mut homes);
        let speed = linkage.awake.map_or(0.0, |speed| speed.max(AWAKE_SPEED));
        let Linkage { nid, bounds, claim, .. } = *linkage;
        for home in homes.into_iter().filter(|home| *home != self.config.region) {
            let (tick, extent, strike) = (self.now, Extent::boxed(bounds), STRIKE_NONE);
            let aura = Aura { nid, host: claim, tick, extent, speed, strike, sweeps: false, anchored: false };
            outgoing.entry(home).or_default().push(aura);
        }
    }
}

/// Which linkages belong together: they share a cell, directly or through others, and of any two that do one is awake.
/// Sorted by the first of each, and each sorted.
fn joins(linkages: &[Linkage]) -> Vec<Vec<usize>> {
    let mut leader: Vec<usize> = (0..linkages.len()).collect();
    let mut along: Vec<usize> = (0..linkages.len()).collect();
    along.sort_by_key(|i| (linkages[*i].cells.min[0], *i));
    for (at, &i) in along.iter().enumerate() {
        let one = &linkages[i];
        let near = along[at + 1..].iter().take_while(|j| linkages[**j].cells.min[0] <= one.cells.max[0]);
        for &j in near {
            let two = &linkages[j];
            if (one.awake.is_some() || two.awake.is_some()) && one.cells.shares_cell(&two.cells) {
                let (a, b) = (find(&mut leader, i), find(&mut leader, j));
                leader[a.max(b)] = a.min(b);
            }
        }
    }
    let mut joins: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for i in 0..linkages.len() {
        joins.entry(find(&mut leader, i)).or_default().push(i);
    }
    joins.into_values().collect()
}

fn find(leader: &mut [usize], mut i: usize) -> usize {
    while leader[i] != i {
        leader[i] = leader[leader[i]];
        i = leader[i];
    }
    i
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linkage(nid: u64, at: f32, awake: bool) -> Linkage {
        let bounds = Aabb::around(Vec3::new(at, 1.0, 1.0), Vec3::splat(0.5));
        let (cells, awake, host) = (Occupancy::of(&bounds), awake.then_some(1.0), RegionId(0));
        Linkage { members: vec![Nid(nid)], nid: Nid(nid), bounds, cells, awake, host, claim: host }
    }

    #[test]
    fn a_box_occupies_the_cells_it_meets_and_no_others() {
        let inside = Occupancy::of(&Aabb::around(Vec3::splat(2.0), Vec3::splat(1.0)));
        let across = Occupancy::of(&Aabb::around(Vec3::new(4.0, 2.0, 2.0), Vec3::splat(1.0)));
        let next = Occupancy::of(&Aabb::around(Vec3::new(6.0, 2.0, 2.0), Vec3::splat(1.0)));
        assert!(inside.shares_cell(&across) && across.shares_cell(&next) && !inside.shares_cell(&next));
        let space = inside.space();
        assert!(space.min.min_element() > 0.0 && space.max.max_element() < CELL_M);
    }

    #[test]
    fn boxes_of_any_size_have_cells() {
        let all = Occupancy::of(&Aabb::around(Vec3::ZERO, Vec3::splat(f32::MAX)));
        assert!(all.shares_cell(&Occupancy::of(&Aabb::around(Vec3::splat(7.0), Vec3::ONE))));
        assert!(all.space().min.is_finite() && all.space().max.is_finite());
    }

    #[test]
    fn who_shares_a_cell_joins_unless_both_sleep() {
        let row = |awake: [bool; 4]| {
            let places = [2.0, 4.0, 8.0, 18.0];
            let linkages: Vec<Linkage> = (0..4).map(|i| linkage(i as u64, places[i], awake[i])).collect();
            joins(&linkages)
        };
        assert_eq!(row([true; 4]), [vec![0, 1, 2], vec![3]]);
        assert_eq!(row([false, true, false, false]), [vec![0, 1, 2], vec![3]]);
        assert_eq!(row([true, false, false, false]), [vec![0, 1], vec![2], vec![3]]);
        assert_eq!(row([false; 4]), [vec![0], vec![1], vec![2], vec![3]]);
    }
}
