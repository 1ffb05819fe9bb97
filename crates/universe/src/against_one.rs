//! A world on many servers beside the same world on one server, by the first contacts of every pair.
//!
//! A contact is *late* when it begins more than a tick later than on one server, and *missed* when it never begins. It is
//! *silent* when no breach said before it that a promise is void there. What also differs between two runs on one server
//! whose bodies were given to the engine in another order, elsewhere, is *chaotic*: it is counted apart and is no fault. The first
//! contact of two bodies that have touched nothing before, here or there, is never excused in that way.

use nimbus_model::{BodyKind, Nid, RegionId, Tick, World};
use nimbus_node::Breach;
use std::collections::{BTreeMap, BTreeSet};

use crate::config::{Outcome, UniverseConfig, UniverseError};
use crate::faults::{Fault, Faults};
use crate::network::LinkModel;
use crate::other_order::OtherOrder;
use crate::run_record::{AT_REST, Pair, RunRecord, SETTLED_TICKS, Sight};
use crate::universe::Universe;

/// Two bodies that close by less than this in a tick are found by the engine a few ticks sooner or later depending on when
/// each was put into it, on one server just as well. It looks this far ahead. Metres.
const CREEP_M: f32 = 0.02;
/// How many other orders are tried at most to tell chaos from faults. Three bodies that meet in one tick have six orders, and
/// each run draws one.
const ORDERS_MAX: u64 = 16;
/// Most bodies that a breach names.
const BREACH_BODIES_MAX: usize = 4;
/// A breach that names no bodies speaks of this much time, seconds.
const BREACH_S: f32 = 1.0;
/// Velocities after a contact may differ by this share of the greater of the two speeds.
const VELOCITY_SHARE: f32 = 0.01;
/// And by this much however slow the bodies are, m/s.
const VELOCITY_MIN: f32 = 0.05;
/// Places may differ by this much, metres.
const PLACE_M: f32 = 0.01;
/// A body that is elsewhere by more than this in another order, before a contact, is on a chaotic way, metres: rounding
/// alone makes a hundredth of it.
const UNSTEADY_M: f32 = 1e-3;
/// Changes of owner at the end are counted over this time, seconds.
const END_S: f32 = 5.0;
/// Once everything has been at rest for so long, nothing changes owner any more, seconds.
const REST_S: f32 = 10.0;

/// A contact that came late or never.
#[derive(Clone, Debug, PartialEq)]
pub struct SeamFault {
    /// The two bodies, the lower id first; one may be a static.
    pub pair: (Nid, Nid),
    /// When they touch on one server.
    pub expected: Tick,
    /// When they touched here, if they did.
    pub seen: Option<Tick>,
    /// The servers that had the first body around that time, and those that had the second.
    pub owners: [Vec<RegionId>; 2],
    /// The breach that said so before, if any did.
    pub announced: Option<Breach>,
}

/// A body that does not move on as on one server after a contact, or lies elsewhere at the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviation {
    /// The body.
    pub nid: Nid,
    /// After which tick.
    pub tick: Tick,
    /// By how much its place differs, metres.
    pub place_m: f32,
    /// By how much its velocity differs, m/s.
    pub velocity: f32,
}

impl Deviation {
    fn between((tick, nid): (u64, Nid), here: &Sight, there: &Sight) -> Deviation {
        let velocity = here.velocity.linear.distance(there.velocity.linear);
        Deviation { nid, tick: Tick(tick), place_m: here.place.distance(there.place), velocity }
    }
}

/// What a comparison found.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Pairs that touch on one server.
    pub compared: usize,
    /// Contacts more than a tick late.
    pub late: Vec<SeamFault>,
    /// Contacts that never came.
    pub missed: Vec<SeamFault>,
    /// Contacts that came late or never, as they do on one server in another order.
    pub chaotic: usize,
    /// Bodies that were hit by one other body, or by none, and do not move on as on one server.
    pub deviations: Vec<Deviation>,
    /// Other orders that were tried.
    pub orders: u64,
    /// Changes of owner a second in the last five seconds.
    pub owner_changes_per_s: f32,
    /// Changes of owner after everything had been at rest for ten seconds; `None` when it was not for so long.
    pub changes_at_rest: Option<u64>,
    /// Bodies awake at the end.
    pub awake: usize,
    /// What became of the run on many servers.
    pub outcome: Outcome,
}

impl Comparison {
    /// Late and missed contacts that no breach announced.
    pub fn silent(&self) -> impl Iterator<Item = &SeamFault> {
        self.late.iter().chain(&self.missed).filter(|fault| fault.announced.is_none())
    }
}

/// Runs a world as configured and on one server, and compares. `progress` is told the completed ticks of all runs.
pub fn against_one(
    config: &UniverseConfig,
    world: &World,
    mut progress: impl FnMut(Tick),
) -> Result<Comparison, UniverseError> {
    if config.commands || config.faults.has(Fault::Reset) {
        let what = "what clients do at random, and worlds loaded anew, cannot be compared with one server: leave out \
                    commands and the fault `reset`";
        return Err(UniverseError::Usage(what.to_owned()));
    }
    let alone = nimbus_scenes::on_one_server(world);
    let mut one = RunRecord::wanting(ends(world, config.ticks));
    run_alone(config, alone.clone(), None, &mut one, &mut progress)?;
    let mut many = RunRecord::wanting(one.wanted.clone());
    let mut servers = config.clone();
    servers.contacts = true;
    servers.clients = 0;
    let universe = Universe::of_world(servers, world.clone())?;
    let outcome = universe.run_watching(&mut |node| many.look(node), &mut progress);
    many.hear(outcome.contacts.iter().map(|(_, contact)| contact));
    let mut judge = Judge::new(config, world, &one, &many, &outcome);
    while judge.orders < ORDERS_MAX && judge.has_doubts() {
        let order = OtherOrder::new(&alone, judge.orders);
        let wanted = one.wanted.iter().map(|(tick, nid)| (*tick, order.here(*nid))).collect();
        let mut other = RunRecord::wanting(wanted);
        run_alone(config, order.world.clone(), Some(judge.orders), &mut other, &mut progress)?;
        judge.excuse(&in_original_names(&other, &order));
    }
    Ok(judge.conclude(outcome))
}

/// The places of all bodies of the description at the end.
fn ends(world: &World, ticks: u64) -> BTreeSet<(u64, Nid)> {
    let moved = world.owned_bodies().filter(|(_, body)| body.desc.kind == BodyKind::Dynamic);
    moved.map(|(i, _)| (ticks, World::nid(1, i))).collect()
}

fn run_alone(
    config: &UniverseConfig,
    world: World,
    reorder: Option<u64>,
    record: &mut RunRecord,
    progress: &mut impl FnMut(Tick),
) -> Result<(), UniverseError> {
    let mut quiet = UniverseConfig::new(&config.scene, 1, config.seed, config.ticks);
    quiet.policy = config.policy;
    quiet.reorder = reorder;
    quiet.game.clone_from(&config.game);
    quiet.link = Some(LinkModel::default());
    quiet.faults = Faults::default();
    quiet.clients = 0;
    quiet.checked = false;
    quiet.contacts = true;
    let universe = Universe::of_world(quiet, world)?;
    let outcome = universe.run_watching(&mut |node| record.look_alone(node), progress);
    record.hear(outcome.contacts.iter().map(|(_, contact)| contact));
    Ok(())
}

fn in_original_names(record: &RunRecord, order: &OtherOrder) -> RunRecord {
    let pair = |(a, b): Pair| {
        let (a, b) = (order.original(a), order.original(b));
        (a.min(b), a.max(b))
    };
    let back = |sight: &Sight| Sight { place: sight.place - order.shift, ..*sight };
    RunRecord {
        first: record.first.iter().map(|(named, tick)| (pair(*named), *tick)).collect(),
        sights: record.sights.iter().map(|((tick, nid), sight)| ((*tick, order.original(*nid)), back(sight))).collect(),
        ..RunRecord::default()
    }
}

struct Judge<'a> {
    world: &'a World,
    ticks: u64,
    one: &'a RunRecord,
    many: &'a RunRecord,
    breaches: Vec<Breach>,
    /// For each body of the description, a number that all bodies share which are jointed to it.
    linkage: Vec<usize>,
    /// Whether something holds it.
    jointed: Vec<bool>,
    /// The ticks at which each body first touches something new on one server, and what it is, ascending.
    touches: BTreeMap<Nid, Vec<(u64, Nid)>>,
    /// The same on many servers.
    touches_here: BTreeMap<Nid, Vec<(u64, Nid)>>,
    /// Late or missed, so far.
    suspects: Vec<Pair>,
    deviations: Vec<Deviation>,
    /// Pairs whose first contact differs between orders.
    unsteady: BTreeSet<Pair>,
    chaotic: usize,
    orders: u64,
}

impl<'a> Judge<'a> {
    fn new(
        config: &UniverseConfig,
        world: &'a World,
        one: &'a RunRecord,
        many: &'a RunRecord,
        outcome: &Outcome,
    ) -> Judge<'a> {
        let mut jointed = vec![false; world.bodies.len()];
        world.joints.iter().flat_map(|joint| [joint.a, joint.b]).for_each(|i| jointed[i as usize] = true);
        let mut judge = Judge {
            world,
            ticks: config.ticks,
            one,
            many,
            breaches: outcome.breaches.clone(),
            linkage: linkages(world),
            jointed,
            touches: one.touches(),
            touches_here: many.touches(),
            suspects: Vec::new(),
            deviations: Vec::new(),
            unsteady: BTreeSet::new(),
            chaotic: 0,
            orders: 0,
        };
        judge.suspects = judge.compared().filter(|(pair, tick)| judge.is_wrong(**pair, **tick)).map(|p| *p.0).collect();
        judge.deviations = judge.find_deviations();
        judge
    }

    fn compared(&self) -> impl Iterator<Item = (&Pair, &u64)> {
        self.one.first.iter().filter(|(_, tick)| **tick <= self.ticks)
    }

    /// How much later than on one server a contact may begin, ticks.
    fn slack(&self, pair: Pair) -> u64 {
        let closing = self.one.closing.get(&pair).copied().unwrap_or(f32::INFINITY);
        1.max((CREEP_M / (closing * self.world.tick_s()).max(1e-3)) as u64)
    }

    fn is_wrong(&self, pair: Pair, expected: u64) -> bool {
        self.many.first.get(&pair).is_none_or(|seen| *seen > expected + self.slack(pair))
    }

    fn is_static(&self, nid: Nid) -> bool {
        self.index(nid).is_some_and(|i| self.world.bodies[i].desc.kind == BodyKind::Static)
    }

    /// The index of a body of the description.
    fn index(&self, nid: Nid) -> Option<usize> {
        let index = nid.0.wrapping_sub(World::nid(1, 0).0);
        (index < self.world.bodies.len() as u64).then_some(index as usize)
    }

    /// What a body shares its fate with: itself, or all that is jointed to it.
    fn fate(&self, nid: Nid) -> Nid {
        self.index(nid).map_or(nid, |i| World::nid(1, self.linkage[i] as u32))
    }

    fn is_jointed(&self, nid: Nid) -> bool {
        self.index(nid).is_some_and(|i| self.jointed[i])
    }

    /// True when neither body has touched anything before they touch each other, here or on one server, and nothing holds
    /// either of them.
    fn is_undisturbed(&self, pair: Pair) -> bool {
        let at = self.one.first[&pair];
        let others_before = |nid: Nid| {
            let touches = [&self.touches, &self.touches_here].into_iter().filter_map(|touches| touches.get(&nid));
            touches.flatten().any(|(tick, other)| *tick < at && ![pair.0, pair.1].contains(other))
        };
        let moving = [pair.0, pair.1].into_iter().filter(|nid| !self.is_static(*nid));
        moving.into_iter().all(|nid| !others_before(nid) && !self.is_jointed(nid))
    }

    fn has_doubts(&self) -> bool {
        let excused = self.excused();
        let doubt = |pair: &&Pair| !excused.contains(pair) && !self.is_undisturbed(**pair);
        self.suspects.iter().any(|pair| doubt(&pair)) || !self.deviations.is_empty()
    }

    /// Takes a run on one server in another order into account.
    fn excuse(&mut self, other: &RunRecord) {
        self.orders += 1;
        for (pair, tick) in &self.one.first {
            let slack = self.slack(*pair);
            let steady = other.first.get(pair).is_some_and(|there| {
                let seen = self.many.first.get(pair);
                let as_late = seen.is_some_and(|seen| *seen > tick + slack && *seen <= there + slack);
                there.abs_diff(*tick) <= slack && !as_late && !self.strays(other, *pair, tick - 1)
            });
            if !steady && *tick <= self.ticks {
                self.unsteady.insert(*pair);
            }
        }
        let differs = |deviation: &Deviation| {
            let at = (deviation.tick.0, deviation.nid);
            let (Some(here), Some(there)) = (other.sights.get(&at), self.one.sights.get(&at)) else { return true };
            let chaos = Deviation::between(at, here, there);
            2.0 * chaos.place_m >= deviation.place_m && 2.0 * chaos.velocity >= deviation.velocity
        };
        self.deviations.retain(|deviation| !differs(deviation));
    }

    /// True when one of two bodies is elsewhere in another order after a tick.
    fn strays(&self, other: &RunRecord, pair: Pair, tick: u64) -> bool {
        [pair.0, pair.1].into_iter().any(|nid| {
            let sights = (self.one.sights.get(&(tick, nid)), other.sights.get(&(tick, nid)));
            matches!(sights, (Some(here), Some(there)) if here.place.distance(there.place) > UNSTEADY_M)
        })
    }

    /// Suspects that are chaotic: their own first contact differs between orders, in time or in place, or an earlier one of
    /// something that shares the fate of one of the bodies. What a body on a chaotic way strikes here is on one, too.
    fn excused(&self) -> BTreeSet<Pair> {
        let mut in_time: Vec<(u64, Pair, bool)> = self.compared().map(|(pair, tick)| (*tick, *pair, true)).collect();
        in_time.extend(self.many.first.iter().map(|(pair, tick)| (*tick, *pair, false)));
        in_time.sort_unstable();
        let suspects: BTreeSet<Pair> = self.suspects.iter().copied().collect();
        let mut since: BTreeMap<Nid, u64> = BTreeMap::new();
        let mut excused = BTreeSet::new();
        for (tick, pair, on_one) in in_time {
            let fates = [pair.0, pair.1].map(|nid| (!self.is_static(nid)).then(|| self.fate(nid)));
            let inherited = fates.iter().flatten().any(|fate| since.get(fate).is_some_and(|began| *began < tick));
            let chaotic = if on_one {
                !self.is_undisturbed(pair) && (inherited || self.unsteady.contains(&pair))
            } else {
                inherited
            };
            if !chaotic {
                continue;
            }
            for fate in fates.into_iter().flatten() {
                since.entry(fate).or_insert(tick);
            }
            if on_one && suspects.contains(&pair) {
                excused.insert(pair);
            }
        }
        excused
    }

    fn find_deviations(&self) -> Vec<Deviation> {
        let mut found = Vec::new();
        for (pair, at) in self.compared() {
            let in_time = at + SETTLED_TICKS[3] <= self.ticks && !self.is_wrong(*pair, *at);
            if !in_time || !self.is_undisturbed(*pair) || self.touch_more(*pair, *at) {
                continue;
            }
            let closing = self.one.closing.get(pair).copied().unwrap_or(0.0);
            for nid in [pair.0, pair.1] {
                let mut later = SETTLED_TICKS.iter();
                found.extend(later.find_map(|later| self.compare_sights(at + later, nid, closing)).flatten());
            }
        }
        let pairs = self.one.first.keys().filter(|(a, b)| !self.is_static(*a) && !self.is_static(*b));
        let struck: BTreeSet<Nid> = pairs.flat_map(|(a, b)| [*a, *b]).collect();
        for (tick, nid) in self.one.wanted.iter().filter(|(tick, nid)| *tick == self.ticks && !struck.contains(nid)) {
            let rests = self.one.sights.get(&(*tick, *nid)).is_some_and(|s| s.velocity.linear.length() < AT_REST);
            if rests && !self.is_jointed(*nid) {
                found.extend(self.compare_sights(*tick, *nid, 0.0).flatten());
            }
        }
        found
    }

    /// True when one of two bodies begins to touch something else before they are looked at again.
    fn touch_more(&self, pair: Pair, at: u64) -> bool {
        let soon = at..=at + SETTLED_TICKS[3];
        [pair.0, pair.1].into_iter().filter(|nid| !self.is_static(*nid)).any(|nid| {
            let touches = self.touches.get(&nid);
            touches.is_some_and(|touches| touches.iter().filter(|(tick, _)| soon.contains(tick)).count() > 1)
        })
    }

    /// Compares a body after a tick with the same on one server; `None` when it cannot be.
    fn compare_sights(&self, tick: u64, nid: Nid, closing: f32) -> Option<Option<Deviation>> {
        let (here, there) = (self.many.sights.get(&(tick, nid))?, self.one.sights.get(&(tick, nid))?);
        let deviation = Deviation::between((tick, nid), here, there);
        let allowed = VELOCITY_MIN.max(VELOCITY_SHARE * closing.max(there.velocity.linear.length()));
        Some((deviation.place_m > PLACE_M || deviation.velocity > allowed).then_some(deviation))
    }

    fn conclude(mut self, outcome: Outcome) -> Comparison {
        let excused = self.excused();
        self.chaotic = excused.len();
        let (mut late, mut missed) = (Vec::new(), Vec::new());
        for pair in self.suspects.iter().filter(|pair| !excused.contains(pair)) {
            let fault = self.fault(*pair);
            if fault.seen.is_some() { late.push(fault) } else { missed.push(fault) }
        }
        let hz = self.world.tick_hz as f32;
        let counted = ((END_S * hz) as u64).clamp(1, self.ticks.max(1));
        let changes = self.many.owner_changes(self.ticks - counted, self.ticks);
        let at_rest = self.many.last_motion + (REST_S * hz) as u64;
        Comparison {
            compared: self.compared().count(),
            late,
            missed,
            chaotic: self.chaotic,
            deviations: self.deviations,
            orders: self.orders,
            owner_changes_per_s: changes as f32 * hz / counted as f32,
            changes_at_rest: (at_rest < self.ticks).then(|| self.many.owner_changes(at_rest, u64::MAX)),
            awake: self.many.awake.values().sum(),
            outcome,
        }
    }

    fn fault(&self, pair: Pair) -> SeamFault {
        let expected = self.one.first[&pair];
        let since = expected.saturating_sub((BREACH_S * self.world.tick_hz as f32) as u64);
        let owners = [pair.0, pair.1].map(|nid| self.many.owners_between(nid, since, expected));
        let speaks = |breach: &&Breach| {
            let named = breach.bodies.iter().any(|nid| [pair.0, pair.1].contains(nid));
            // One that names as many as it may speaks of others, too.
            let unnamed = breach.bodies.is_empty() || breach.bodies.len() >= BREACH_BODIES_MAX;
            let near = unnamed && breach.tick.0 >= since;
            breach.tick.0 <= expected && (named || near && owners.iter().flatten().any(|o| *o == breach.region))
        };
        SeamFault {
            pair,
            expected: Tick(expected),
            seen: self.many.first.get(&pair).map(|tick| Tick(*tick)),
            announced: self.breaches.iter().find(speaks).cloned(),
            owners,
        }
    }
}

/// For each body of a description, a number that all bodies share which are jointed to it.
fn linkages(world: &World) -> Vec<usize> {
    let mut linkage: Vec<usize> = (0..world.bodies.len()).collect();
    loop {
        let mut changed = false;
        for joint in &world.joints {
            let (a, b) = (joint.a as usize, joint.b as usize);
            if [a, b].iter().any(|i| world.bodies[*i].desc.kind == BodyKind::Static) {
                continue;
            }
            let least = linkage[a].min(linkage[b]);
            changed |= linkage[a] != least || linkage[b] != least;
            (linkage[a], linkage[b]) = (least, least);
        }
        if !changed {
            return linkage;
        }
    }
}
