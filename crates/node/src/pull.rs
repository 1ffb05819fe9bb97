//! Bringing together what may touch. A body that comes into reach of an aura goes to the aura's host, with everything
//! that it may touch on the way, if that host's rank is lower; the other direction is left to the other side. Because
//! ranks are a total order, no two servers ever pull at each other.

use nimbus_model::{Nid, RegionId};
use nimbus_wire::Aura;
use std::collections::{BTreeMap, BTreeSet};

use crate::breach::Factor;
use crate::config::Planted;
use crate::horizon::TOUCH_M;
use crate::node::Node;
use crate::scene::{Gap, Scene};
use crate::seam::{Parted, Seam};

/// Where a body is drawn.
#[derive(Clone, Copy, Debug)]
struct Pull {
    to: RegionId,
    /// What draws it cannot move.
    anchored: bool,
}

impl Node {
    /// Gives away every cluster that may soon touch a body of a server of lower rank. Returns what is gone.
    pub(crate) fn pull(&mut self, scene: &mut Scene) -> BTreeSet<Nid> {
        let mut hits: BTreeMap<u32, Pull> = BTreeMap::new();
        let auras = std::mem::take(&mut scene.auras);
        let mut found = Vec::new();
        let caution = self.caution();
        for aura in auras.iter().filter(|aura| self.pulls(aura)) {
            found.clear();
            scene.own_within(&self.horizon, &aura.extent.bounds, self.pulling_gap(scene, aura, caution), |row| {
                found.push(row)
            });
            let pull = Pull { to: aura.host, anchored: aura.anchored };
            for &row in &found {
                let weaker = hits.get(&row).is_some_and(|known| !self.prevails(pull, *known));
                if weaker || self.seam.anchored.contains(&scene.rows[row as usize].nid) {
                    continue;
                }
                if scene.may_touch(self, aura, row, caution) {
                    hits.insert(row, pull);
                }
            }
        }
        scene.auras = auras;

        let mut gone: BTreeSet<Nid> = BTreeSet::new();
        let mut done: BTreeSet<u32> = BTreeSet::new();
        let mut batches: BTreeMap<(RegionId, bool), Vec<Vec<u32>>> = BTreeMap::new();
        for &hit in hits.keys() {
            if done.contains(&hit) {
                continue;
            }
            let Some(cluster) = self.cluster(scene, hit, self.horizon.look_ahead() + caution) else {
                return self.pull_again(scene);
            };
            done.extend(&cluster);
            self.show_cluster(scene, &cluster);
            let pulls = cluster.iter().filter_map(|row| hits.get(row)).copied();
            let Some(pull) = pulls.reduce(|one, two| if self.prevails(one, two) { one } else { two }) else { continue };
            if cluster.len() > self.config.aura.cluster_max {
                let bodies = cluster.iter().take(4).map(|row| scene.rows[*row as usize].nid).collect();
                let (size, limit) = (cluster.len() as f32, self.config.aura.cluster_max as f32);
                self.breach(Factor::ClusterSize, size, limit, bodies);
                continue;
            }
            batches.entry((pull.to, pull.anchored)).or_default().push(cluster);
        }
        for ((to, anchored), clusters) in batches {
            for cluster in clusters {
                let nids: Vec<Nid> = cluster.iter().map(|row| scene.rows[*row as usize].nid).collect();
                if self.may_grant(to, &nids) {
                    self.part(scene, &cluster, to, anchored);
                    gone.extend(nids);
                } else {
                    self.put_off(&nids);
                }
            }
        }
        gone
    }

    /// True when the first of two pulls decides: what cannot move comes before what can, then the lower rank.
    fn prevails(&self, one: Pull, two: Pull) -> bool {
        if one.anchored == two.anchored { self.outranks(one.to, two.to) } else { one.anchored }
    }

    /// How near a body must be to an aura for [`Scene::may_touch`] to be asked, with the same `more` ticks.
    pub(crate) fn pulling_gap(&self, scene: &Scene, aura: &Aura, more: u64) -> Gap {
        let ticks = scene.look_ahead_max(self) + more;
        let reach = self.horizon.reach(aura.speed, self.horizon.gravity, Seam::age(self.now, aura) + ticks);
        self.horizon.fixed_m.map_or(Gap::Soon(TOUCH_M + reach, ticks), |aura| Gap::Within(TOUCH_M + aura))
    }

    /// Looks at everything and starts anew: a cluster reaches further than was looked.
    fn pull_again(&mut self, scene: &mut Scene) -> BTreeSet<Nid> {
        scene.survey(self, true);
        self.pull(scene)
    }

    /// Keeps a cluster for people to see.
    pub(crate) fn show_cluster(&mut self, scene: &Scene, cluster: &[u32]) {
        if cluster.len() > 1 && !self.config.gateways.is_empty() {
            let mut nids: Vec<Nid> = cluster.iter().map(|row| scene.rows[*row as usize].nid).collect();
            nids.sort_unstable();
            self.seam.clusters.push(nids);
        }
    }

    /// True when an aura draws bodies away from here.
    fn pulls(&self, aura: &Aura) -> bool {
        let deaf = self.config.planted == Some(Planted::DeafToAuras);
        let lower = self.outranks(aura.host, self.config.region) && !self.is_held_back(aura.host);
        let drawn = !deaf && (lower || aura.anchored && !self.ranks_change());
        drawn || (self.config.planted == Some(Planted::NoRanks) && aura.host != self.config.region)
    }

    /// A body and everything here that it may touch within some ticks, directly or through others, and whatever joints
    /// hold to any of them; sorted. `None` when it may reach what was left out of the scene.
    pub(crate) fn cluster(&self, scene: &mut Scene, start: u32, ticks: u64) -> Option<Vec<u32>> {
        self.cluster_while(scene, start, ticks, 0.0, |_| true).ok()
    }

    /// The same, as long as every member is `fit`, where also what lies still may gain `gain` m/s2. Otherwise those found
    /// so far, who all belong to one cluster that is unfit or may reach what was left out.
    pub(crate) fn cluster_while(
        &self,
        scene: &mut Scene,
        start: u32,
        ticks: u64,
        gain: f32,
        fit: impl Fn(Nid) -> bool,
    ) -> Result<Vec<u32>, Vec<u32>> {
        scene.search();
        scene.is_new(start);
        let mut members = vec![start];
        let mut found = Vec::new();
        let mut next = 0;
        while let Some(&row) = members.get(next) {
            next += 1;
            let nid = scene.rows[row as usize].nid;
            if scene.is_at_edge(row) || !fit(nid) {
                return Err(members);
            }
            let near = scene.near(self, row);
            let reach = |speed: f32, gain: f32| self.horizon.reach(speed, gain, ticks + u64::from(scene.sweeps()));
            let own = TOUCH_M + reach(near.speed, near.gain.max(gain)) + reach(0.0, gain);
            let gap = self.horizon.fixed_m.map_or(Gap::Soon(own, ticks), |aura| Gap::Within(TOUCH_M + 2.0 * aura));
            found.clear();
            scene.own_within(&self.horizon, &near.extent.bounds, gap, |other| found.push(other));
            for &other in &found {
                if scene.belong_together(self, row, other, ticks, gain) && scene.is_new(other) {
                    members.push(other);
                }
            }
            for linked in self.physics.linked(nid) {
                match scene.row_of(linked) {
                    Some(other) if scene.is_new(other) => members.push(other),
                    None if !scene.is_whole() => return Err(members),
                    _ => {}
                }
            }
        }
        members.sort_unstable();
        Ok(members)
    }

    /// Gives a cluster away and goes on knowing it as an aura of its new host, until that one speaks of it; `anchored`
    /// when it goes to what cannot move.
    pub(crate) fn part(&mut self, scene: &mut Scene, cluster: &[u32], to: RegionId, anchored: bool) {
        let mut nids = Vec::with_capacity(cluster.len());
        for &row in cluster {
            let near = scene.near(self, row);
            let nid = scene.rows[row as usize].nid;
            let aura = Aura { anchored, ..near.aura(nid, to, self.now) };
            self.seam.parted.insert(nid, Parted { aura, arrived: None });
            nids.push(nid);
        }
        nids.sort_unstable();
        self.counters.pulls += nids.len() as u64;
        self.grant(&nids, to);
    }

    /// Forgets bodies given away once their new owner has had the chance to speak of them.
    pub(crate) fn forget_parted(&mut self) {
        if self.seam.parted.is_empty() {
            return;
        }
        let flying: BTreeSet<Nid> = self.in_flight().map(|(nid, _)| nid).collect();
        let Seam { parted, foreign, .. } = &mut self.seam;
        let (hosted, now) = (&self.hosted, self.now);
        parted.retain(|nid, parted| {
            if parted.arrived.is_none() && !flying.contains(nid) {
                parted.arrived = Some(now);
            }
            let heard = foreign.get(&parted.aura.host).map(|foreign| foreign.tick);
            let told = parted.arrived.zip(heard).is_some_and(|(arrived, heard)| heard > arrived);
            let forgotten = parted.arrived.is_some_and(|arrived| now.since(arrived) > 30);
            !told && !forgotten && !hosted.contains(*nid)
        });
    }
}
