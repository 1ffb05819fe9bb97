//! What a server knows of the bodies beyond its own: auras of neighbours, bodies it gave away, and what it told whom.

use nimbus_model::{Aabb, BodyDesc, Extent, Nid, RegionId, Tick, World};
use nimbus_wire::{Aura, AuraFrame, Breach, Strike};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::scene::Scene;
use crate::traverse::Offers;

/// Most lying auras remembered of one neighbour.
const RESTING_MAX: usize = 65_536;
/// An aura older than this is judged as if it were this old; by then the neighbour counts as silent.
const AGE_MAX: u64 = 16;

/// What one neighbour has said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Foreign {
    /// The tick of its latest frame.
    pub(crate) tick: Tick,
    /// When that frame took effect here.
    pub(crate) heard: Tick,
    /// Its auras that move, in order of id.
    pub(crate) moving: Vec<Aura>,
    /// Its auras that lie still.
    pub(crate) resting: BTreeMap<Nid, Aura>,
    /// What it has to do.
    pub(crate) load: u32,
    /// It is nearly full.
    pub(crate) near_full: bool,
    /// Servers that announce into its region.
    pub(crate) others: Vec<RegionId>,
}

/// A body given away, until its new owner announces it or is known not to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Parted {
    pub(crate) aura: Aura,
    /// When its arrival was known.
    pub(crate) arrived: Option<Tick>,
}

/// A body asleep: it stays where it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sleeper {
    pub(crate) extent: Extent,
    /// How far it is from the nearest boundary.
    pub(crate) edge: f32,
    pub(crate) since: Tick,
    pub(crate) strike: Strike,
    pub(crate) sweeps: bool,
}

/// A body that came from another server.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Visit {
    pub(crate) since: Tick,
    /// It is not sent home before.
    pub(crate) until: Tick,
    /// How often in a row an owner had it for a moment only.
    pub(crate) restless: u8,
}

/// What a server knows beyond its own bodies.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Seam {
    pub(crate) foreign: BTreeMap<RegionId, Foreign>,
    pub(crate) parted: BTreeMap<Nid, Parted>,
    pub(crate) sleepers: BTreeMap<Nid, Sleeper>,
    /// Which bodies were told to lie still, to whom, and when they last did.
    pub(crate) told: BTreeMap<(RegionId, Nid), Tick>,
    /// Bodies that are not to be moved home before a tick.
    pub(crate) settle: BTreeMap<Nid, Tick>,
    /// Bodies that have come from elsewhere.
    pub(crate) visits: BTreeMap<Nid, Visit>,
    pub(crate) offers: Offers,
    /// Own bodies near other regions whose cluster is too large to move, and when that was looked at.
    pub(crate) anchored: BTreeSet<Nid>,
    pub(crate) anchored_at: Tick,
    /// Whether more than two servers can meet anywhere around this region.
    pub(crate) cornered: bool,
    /// How many servers beyond two can meet anywhere around this region.
    pub(crate) corner_max: u64,
    /// Greatest distance from the centre of any body to its surface, known here or elsewhere.
    pub(crate) largest_m: f32,
    /// Greatest coefficient of restitution of any body, known here or elsewhere.
    pub(crate) restitution: f32,
    /// True when any body, known here or elsewhere, sweeps.
    pub(crate) sweeps: bool,
    /// The room around what others have deep inside this region.
    pub(crate) guests: Option<Aabb>,
    /// What this server has to do, as neighbours are told.
    #[serde(skip)]
    pub(crate) load: u32,
    /// What goes out with the next frames.
    #[serde(skip)]
    pub(crate) outgoing: BTreeMap<RegionId, Vec<Aura>>,
    /// Neighbours whose last frame said nothing, and when.
    #[serde(skip)]
    pub(crate) quiet: BTreeMap<RegionId, Tick>,
    /// Bodies that were judged last, for people to see.
    #[serde(skip)]
    pub(crate) shown: Vec<Aura>,
    /// Clusters found at the last tick, for people to see.
    #[serde(skip)]
    pub(crate) clusters: Vec<Vec<Nid>>,
    /// The latest breaches, for people to see.
    #[serde(skip)]
    pub(crate) recent: VecDeque<Breach>,
    /// Buffers of the last tick.
    #[serde(skip)]
    pub(crate) scene: Scene,
}

impl Seam {
    /// What is known of the bodies that a world describes.
    pub(crate) fn of(world: &World) -> Seam {
        let mut seam = Seam { largest_m: 0.5, ..Seam::default() };
        let later = world.injections.iter().flat_map(|injection| &injection.choices).map(|choice| &choice.body);
        world.owned_bodies().map(|(_, spawn)| &*spawn.desc).chain(later).for_each(|desc| seam.learn(desc));
        seam
    }

    /// Takes note of a kind of body.
    pub(crate) fn learn(&mut self, desc: &BodyDesc) {
        self.largest_m = self.largest_m.max(desc.shape.bounding_radius());
        self.restitution = self.restitution.max(desc.restitution);
        self.sweeps |= desc.ccd;
    }

    /// Takes a neighbour's auras; older ones than are known change nothing.
    pub(crate) fn hear(&mut self, from: RegionId, tick: Tick, now: Tick, frame: &AuraFrame) {
        for aura in &frame.auras {
            self.restitution = self.restitution.max(aura.strike.restitution);
            self.sweeps |= aura.sweeps;
        }
        let known = self.foreign.entry(from).or_default();
        if tick > known.tick {
            known.tick = tick;
            known.heard = now;
            known.moving.clone_from(&frame.auras);
            known.load = frame.load;
            known.near_full = frame.near_full;
            known.others.clone_from(&frame.others);
        }
    }

    /// Notes that bodies of a neighbour lie still.
    pub(crate) fn rest(&mut self, from: RegionId, auras: Vec<Aura>) {
        let known = self.foreign.entry(from).or_default();
        for aura in auras.into_iter().filter(Aura::is_valid) {
            if known.resting.len() < RESTING_MAX {
                known.resting.insert(aura.nid, aura);
            }
        }
    }

    /// Notes that bodies of a neighbour no longer lie still.
    pub(crate) fn stir(&mut self, from: RegionId, nids: &[Nid]) {
        if let Some(known) = self.foreign.get_mut(&from) {
            for nid in nids {
                known.resting.remove(nid);
            }
        }
    }

    /// Everything known of bodies elsewhere, each once, by the latest word on it, in order of id. `mine` are left out.
    pub(crate) fn known(&self, mine: impl Fn(Nid) -> bool, out: &mut Vec<Aura>) {
        out.clear();
        for foreign in self.foreign.values() {
            out.extend(&foreign.moving);
            let still = foreign.resting.values().map(|aura| Aura { tick: aura.tick.max(foreign.tick), ..*aura });
            out.extend(still.filter(|aura| foreign.moving.binary_search_by_key(&aura.nid, |m| m.nid).is_err()));
        }
        out.extend(self.parted.values().map(|parted| parted.aura));
        out.sort_by_key(|aura| (aura.nid, std::cmp::Reverse(aura.tick), aura.host));
        out.dedup_by_key(|aura| aura.nid);
        out.retain(|aura| !mine(aura.nid));
    }

    /// How old an aura is, in ticks.
    pub(crate) fn age(now: Tick, aura: &Aura) -> u64 {
        now.since(aura.tick).min(AGE_MAX)
    }

    /// Forgets a body that is no longer here.
    pub(crate) fn drop_body(&mut self, nid: Nid) {
        self.sleepers.remove(&nid);
        self.settle.remove(&nid);
        self.visits.remove(&nid);
        self.anchored.remove(&nid);
    }
}
