//! Questions that the servers answer after one tick, held against one world that has every body of that tick.
//!
//! What every server contributes to a checkpoint is taken down after each of its ticks. For the tick of an answer these
//! make one world, in which the same questions are asked again. Groups that had been under way for some ticks stand in it
//! where they come to when they go on alone.

use nimbus_client::{Hits, Query, QueryAnswer, QueryFilter};
use nimbus_model::{
    Aabb, BodyDesc, Group, Layout, Member, Nid, Pose, RegionId, Rng, Shape, Tick, Tolerances, Vec3, Velocity, World,
};
use nimbus_node::{Checkpoint, Node, Part, Planted};
use nimbus_physics::{Filter, PhysicsWorld, QueryMirror};
use nimbus_universe::{Faults, LinkModel, Universe, UniverseConfig};
use nimbus_wire::client::OVERLAP_BODIES_MAX;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const SERVERS: u16 = 3;
/// Rays in all, and in one message.
const RAYS: usize = 1_000;
const BATCH: usize = 25;
/// Answers are of the same distance when they differ by less, metres.
const SAME_M: f32 = 1e-4;
/// Ticks between two messages: five rays in the time of a tick are within a client's allowance.
const EVERY: u64 = 5;
/// Nobody waits longer for an answer, in ticks: three tries and the patience with those who are silent.
const ANSWERED_WITHIN: u64 = 200;

/// Frames are lost, doubled and late.
const LOSSY: &str = "loss,duplication,reordering,jitter";
/// Servers die, are taken for dead and lose their backups.
const MUCH: &str = "crash,suspicion,backup-loss,loss,reordering";
/// Half the inside of the box that is the world, metres; regions are columns along its length.
const INSIDE: Vec3 = Vec3::new(60.0, 3.0, 10.0);

/// A closed box across three regions in which bodies of all forms fly to and fro and bounce, most of them fast along its
/// length.
fn world(seed: u64) -> World {
    let mut world = World::new("flight");
    world.gravity = Vec3::ZERO;
    world.tolerances = Tolerances { speed: 24.0, ..Tolerances::default() };
    world.radius_max = 0.7;
    world.layout = Layout::columns(SERVERS, 40.0);
    world.kill_box = Aabb::around(Vec3::ZERO, INSIDE + 6.0);
    let slippery = |desc: BodyDesc| BodyDesc { friction: 0.0, restitution: 1.0, ..desc };
    for axis in [Vec3::X, Vec3::Y, Vec3::Z] {
        for side in [-1.0, 1.0] {
            let half = axis + (INSIDE + 2.0) * (Vec3::ONE - axis);
            let wall = slippery(BodyDesc::fixed(Shape::cuboid(half.x, half.y, half.z)));
            world.add(wall, Pose::at(axis * (INSIDE + 1.0) * side), Velocity::ZERO);
        }
    }
    let mut rng = Rng::stream(seed, 78);
    for x in 0..30 {
        for z in 0..9 {
            let shape = match (x + z) % 3 {
                0 => Shape::ball(0.5),
                1 => Shape::cuboid(0.4, 0.4, 0.4),
                _ => Shape::Capsule { half_height: 0.2, radius: 0.4 },
            };
            let place = Vec3::new(x as f32 * 3.9 - 56.5, rng.between(-2.0, 2.0), z as f32 * 2.1 - 8.4);
            let sense = if rng.chance(0.5) { 1.0 } else { -1.0 };
            let velocity = Vec3::new(sense * rng.between(6.0, 14.0), rng.between(-2.0, 2.0), rng.between(-2.0, 2.0));
            world.add(slippery(BodyDesc::dynamic(shape)), Pose::at(place), Velocity::linear(velocity));
        }
    }
    world
}

/// What one server was after one tick.
struct Seen {
    /// The life of the server.
    epoch: u32,
    part: Part,
    owned: BTreeSet<Nid>,
}

struct Stage {
    universe: Universe,
    world: Arc<World>,
    seen: BTreeMap<Tick, BTreeMap<RegionId, Seen>>,
    asked: BTreeMap<u64, (Tick, Vec<Query>)>,
    answered: Vec<(Hits, Vec<Query>)>,
    refused: usize,
    rng: Rng,
}

/// What became of questions of one run.
#[derive(Debug, Default, PartialEq)]
struct Tally {
    rays: usize,
    others: usize,
    wrong: usize,
    /// Messages that named missing regions.
    incomplete: usize,
    /// Messages refused because too many were under way.
    refused: usize,
    /// Rays that met a body of each region.
    met: BTreeMap<RegionId, usize>,
    /// Rays that met a body which was under way, and those of them that had been for a tick or more.
    met_under_way: usize,
    met_late: usize,
}

impl Stage {
    fn new(faults: &str, seed: u64, planted: Option<Planted>) -> Stage {
        let mut config = UniverseConfig::new("flight", SERVERS, seed, 100_000);
        config.faults = faults.parse::<Faults>().expect("faults have these names");
        if faults == LOSSY {
            // So far away that bodies are under way for some ticks.
            let (latency_ns, jitter_ns) = (25_000_000, 10_000_000);
            let (loss, duplication, reordering) = (0.1, 0.05, 0.05);
            config.link = Some(LinkModel { latency_ns, jitter_ns, loss, duplication, reordering, bandwidth: None });
        }
        config.planted = planted;
        config.checked = false;
        let world = world(seed);
        let universe = Universe::of_world(config, world.clone()).expect("a good universe");
        let (seen, asked, answered) = Default::default();
        Stage { universe, world: Arc::new(world), seen, asked, answered, refused: 0, rng: Rng::stream(seed, 77) }
    }

    /// One tick of everybody; takes down what every server is.
    fn advance(&mut self) {
        let seen = &mut self.seen;
        self.universe.advance_watching(&mut |node: &Node| {
            let part = node.contribution(node.whole_draft()).into_part();
            let owned = node.hosted().map(|(nid, _)| nid).collect();
            let of_tick = seen.entry(node.now()).or_default();
            // One that was taken for dead goes on for a while, and nobody hears it.
            if of_tick.get(&node.region()).is_none_or(|seen| seen.epoch <= node.epoch()) {
                of_tick.insert(node.region(), Seen { epoch: node.epoch(), part, owned });
            }
        });
        for hits in self.universe.clients_mut()[0].take_hits() {
            let (asked, queries) = self.asked.remove(&hits.seq.expect("a number")).expect("each is answered once");
            assert!(self.universe.tick().since(asked) <= ANSWERED_WITHIN, "an answer took too long");
            self.answered.push((hits, queries));
        }
        for refused in self.universe.clients_mut()[0].take_answers() {
            let reason = refused.outcome.expect_err("only questions are asked");
            assert!(reason.contains("under way") || reason.contains("loaded"), "{reason}");
            assert!(self.asked.remove(&refused.seq.expect("a number")).is_some());
            self.refused += 1;
        }
    }

    fn ask(&mut self, queries: Vec<Query>) {
        let client = &mut self.universe.clients_mut()[0];
        let text = client.query_servers(queries.clone(), QueryFilter::default());
        let seq = client.last_seq();
        self.asked.insert(seq, (self.universe.tick(), queries));
        self.universe.say(0, text);
    }

    /// From one end of the box to the other, through all three regions.
    fn ray(&mut self) -> Query {
        let sense = if self.rng.chance(0.5) { 1.0 } else { -1.0 };
        let (from, to) = (self.end(-sense), self.end(sense));
        // They begin in different regions, or those in the middle would hardly ever be met.
        let begin = self.rng.unit() * 0.3;
        Query::Ray { origin: from.lerp(to, begin), direction: to - from, max: (to - from).length() * 1.5 }
    }

    fn end(&mut self, sense: f32) -> Vec3 {
        let place = self.rng.point(INSIDE * -0.95, INSIDE * 0.95);
        Vec3 { x: sense * 0.99 * INSIDE.x, ..place }
    }

    fn other(&mut self) -> Query {
        let ends = (self.end(-1.0), self.end(1.0));
        let place = ends.0.lerp(ends.1, self.rng.unit());
        match self.rng.below(3) {
            0 => Query::Cast { shape: Shape::ball(0.3), pose: Pose::at(place), direction: ends.1 - place, max: 40.0 },
            // Everything there is: also what is under way.
            1 => Query::Overlap { shape: Shape::ball(90.0), pose: Pose::IDENTITY },
            _ => Query::Nearest { position: place, max: 20.0 },
        }
    }

    /// Asks until there are so many rays, and waits for every answer.
    fn run(mut self, rays: usize) -> Tally {
        (0..120).for_each(|_| self.advance());
        for _ in 0..rays / BATCH {
            let mut queries: Vec<Query> = (0..BATCH).map(|_| self.ray()).collect();
            queries.extend((0..3).map(|_| self.other()));
            self.ask(queries);
            (0..EVERY).for_each(|_| self.advance());
        }
        for _ in 0..ANSWERED_WITHIN {
            self.advance();
        }
        assert!(self.asked.is_empty(), "{} messages were never answered", self.asked.len());
        self.judge(None)
    }

    /// Asks everything again in one world; `without` leaves the bodies of a region out of that.
    fn judge(&self, without: Option<RegionId>) -> Tally {
        let mut tally = Tally { refused: self.refused, ..Tally::default() };
        for (hits, queries) in &self.answered {
            if hits.missing.as_ref().is_none_or(|missing| !missing.is_empty()) {
                tally.incomplete += 1;
                continue;
            }
            let truth = self.truth(hits.tick, without);
            let mut one_world = PhysicsWorld::new(&self.world, 1);
            one_world.insert(Group::of(truth.members.clone())).expect("bodies that exist");
            for (query, answer) in queries.iter().zip(&hits.answers) {
                let right = truth.agrees(&one_world, query, answer);
                tally.wrong += usize::from(!right);
                if let QueryAnswer::Ray(hit) = answer {
                    tally.rays += 1;
                    let Some(hit) = hit else { continue };
                    if let Some(region) = truth.owners.get(&hit.nid) {
                        *tally.met.entry(*region).or_default() += 1;
                    }
                    tally.met_under_way += usize::from(truth.under_way.contains_key(&hit.nid));
                    tally.met_late += usize::from(truth.under_way.get(&hit.nid).is_some_and(|ticks| *ticks > 0));
                } else {
                    tally.others += 1;
                }
            }
        }
        tally
    }

    /// Every body after a tick.
    fn truth(&self, tick: Tick, without: Option<RegionId>) -> Truth {
        let seen = &self.seen[&tick];
        let whole = self.whole(tick);
        let mut truth = Truth { members: whole.members().to_vec(), ..Truth::default() };
        for (region, seen) in seen {
            truth.owners.extend(seen.owned.iter().map(|nid| (*nid, *region)));
        }
        for member in truth.members.iter_mut().filter(|member| !truth.owners.contains_key(&member.nid)) {
            let (since, given) = self.given_away(tick, member.nid);
            truth.under_way.insert(member.nid, tick.since(since));
            *member = self.alone(given, tick.since(since), member.nid);
        }
        truth.members.retain(|member| without.is_none() || truth.owners.get(&member.nid) != without.as_ref());
        truth
    }

    fn whole(&self, tick: Tick) -> Checkpoint {
        let seen = &self.seen[&tick];
        let parts: Vec<Part> = seen.values().map(|seen| seen.part.clone()).collect();
        let regions: Vec<RegionId> = (0..SERVERS).map(RegionId).collect();
        Checkpoint::assemble(self.world.clone(), &regions, &parts)
            .unwrap_or_else(|error| panic!("an answer said to be whole, but at {tick}: {error}"))
    }

    /// The group of a body that is under way at a tick, as it was given away and when.
    fn given_away(&self, tick: Tick, nid: Nid) -> (Tick, Group) {
        let given = self.seen[&tick].values().flat_map(|seen| seen.part.given_away());
        let epoch = |epochs: &[u32], group: &Group| {
            group.members.iter().zip(epochs).find(|(member, _)| member.nid == nid).map(|(_, epoch)| *epoch)
        };
        let of_body = given.filter_map(|(since, epochs, group)| Some((epoch(&epochs, &group)?, since, group)));
        let (_, since, group) = of_body.max_by_key(|(epoch, ..)| *epoch).expect("it is under way");
        (since, group)
    }

    /// Where a body comes to in some ticks, when its group goes on by itself.
    fn alone(&self, group: Group, ticks: u64, nid: Nid) -> Member {
        let member = group.members.iter().find(|member| member.nid == nid).expect("a body of this group").clone();
        let mut world = PhysicsWorld::new(&self.world, 1);
        world.insert(group).expect("bodies that exist");
        (0..ticks).for_each(|_| _ = world.step());
        Member { motion: world.motion(nid).expect("it is there"), ..member }
    }
}

/// All bodies of one tick.
#[derive(Default)]
struct Truth {
    members: Vec<Member>,
    owners: BTreeMap<Nid, RegionId>,
    /// Bodies under way, and for how many ticks.
    under_way: BTreeMap<Nid, u64>,
}

impl Truth {
    fn agrees(&self, world: &PhysicsWorld, query: &Query, answer: &QueryAnswer) -> bool {
        let same = |told: Option<(Nid, f32)>, is: Option<(Nid, f32)>| match (told, is) {
            (None, None) => true,
            // Which of two bodies at the same distance is nearer depends on the last bit.
            (Some(told), Some(is)) => (told.1 - is.1).abs() < SAME_M && (told.0 == is.0 || told.1 == is.1),
            _ => false,
        };
        match (query, answer) {
            (Query::Ray { origin, direction, max }, QueryAnswer::Ray(hit)) => {
                let is = world.ray_cast(*origin, *direction, *max, Filter::SOLIDS);
                same(hit.map(|hit| (hit.nid, hit.distance)), is.map(|hit| (hit.nid, hit.distance)))
            }
            (Query::Cast { shape, pose, direction, max }, QueryAnswer::Cast(hit)) => {
                let is = world.shape_cast(shape, *pose, *direction, *max, Filter::SOLIDS);
                // Shapes meet where an iteration ends, so the last digits depend on the path to it.
                let close = hit.zip(is).is_some_and(|(hit, is)| (hit.distance - is.distance).abs() < 1e-3);
                close || (hit.is_none() && is.is_none())
            }
            (Query::Overlap { shape, pose }, QueryAnswer::Overlap(told)) => {
                let is = world.overlap(shape, *pose, Filter::SOLIDS);
                told.bodies[..] == is[..is.len().min(OVERLAP_BODIES_MAX)] && told.total == is.len() as u64
            }
            (Query::Nearest { position, max }, QueryAnswer::Nearest(near)) => {
                let is = world.nearest(*position, *max, Filter::SOLIDS);
                same(near.map(|near| (near.nid, near.distance)), is.map(|near| (near.nid, near.distance)))
            }
            _ => false,
        }
    }
}

#[test]
fn rays_through_three_regions_meet_what_they_would_in_one_world() {
    let tally = Stage::new("none", 3, None).run(RAYS);
    println!("{tally:?}");
    assert_eq!((tally.rays, tally.wrong, tally.incomplete), (RAYS, 0, 0), "{tally:?}");
    assert!(tally.met.len() == 3 && tally.met.values().all(|met| *met > 50), "{tally:?}");
    assert!(tally.others > 100, "{tally:?}");
}

#[test]
fn the_same_where_frames_are_lost_doubled_and_late() {
    let tally = Stage::new(LOSSY, 5, None).run(2 * RAYS);
    println!("{tally:?}");
    assert_eq!(tally.wrong, 0, "{tally:?}");
    assert!(tally.rays >= 2 * RAYS * 9 / 10, "{tally:?}");
    assert!(tally.met_under_way > 10 && tally.met_late > 5, "bodies under way have to be met: {tally:?}");
}

#[test]
fn answers_a_tick_late_are_noticed() {
    let tally = Stage::new("none", 3, Some(Planted::LateAnswers)).run(100);
    assert!(tally.wrong > 10, "{tally:?}");
}

#[test]
fn answers_without_the_bodies_under_way_are_noticed() {
    let tally = Stage::new(LOSSY, 5, Some(Planted::AnswersWithoutUnderWay)).run(RAYS);
    assert!(tally.wrong > 0, "{tally:?}");
}

#[test]
fn a_region_that_is_left_out_is_noticed() {
    let mut stage = Stage::new("none", 3, None);
    (0..60).for_each(|_| stage.advance());
    for _ in 0..8 {
        let queries = (0..BATCH).map(|_| stage.ray()).collect();
        stage.ask(queries);
        (0..EVERY).for_each(|_| stage.advance());
    }
    (0..30).for_each(|_| stage.advance());
    assert_eq!((stage.judge(None).wrong, stage.judge(None).rays), (0, 8 * BATCH));
    for region in 0..SERVERS {
        assert!(stage.judge(Some(RegionId(region))).wrong > 0, "without region {region}");
    }
}

#[test]
fn while_servers_die_and_stall_every_question_is_answered_and_says_what_it_lacks() {
    let mut incomplete = 0;
    for (faults, seed) in [("crash", 3), ("stall,partition", 4), (MUCH, 6), (MUCH, 13)] {
        let mut stage = Stage::new(faults, seed, None);
        // The plan of faults is made for the length of the run.
        stage.universe = {
            let mut config = UniverseConfig::new("flight", SERVERS, seed, 600);
            config.faults = faults.parse().expect("faults have these names");
            config.checked = false;
            Universe::of_world(config, (*stage.world).clone()).expect("a good universe")
        };
        let tally = stage.run(2_000);
        println!("{faults}: {tally:?}");
        assert_eq!(tally.wrong, 0, "{faults}: {tally:?}");
        assert!(tally.rays > 500, "{faults}: {tally:?}");
        incomplete += tally.incomplete;
    }
    assert!(incomplete > 0, "some region must have been missing at some time");
}

/// A mirror is made of the same bodies in another way.
#[test]
fn a_mirror_of_that_tick_says_the_same() {
    let mut stage = Stage::new("none", 9, None);
    (0..40).for_each(|_| stage.advance());
    let queries: Vec<Query> = (0..200).map(|_| stage.ray()).collect();
    stage.ask(queries);
    (0..20).for_each(|_| stage.advance());
    let [(hits, queries)] = &stage.answered[..] else { panic!("one answer") };
    assert_eq!((hits.missing.as_deref(), hits.age < 4), (Some(&[][..]), true), "{} ticks old", hits.age);
    let mut mirror = QueryMirror::new(&stage.world, 1);
    for (key, member) in (0..).zip(stage.truth(hits.tick, None).members) {
        mirror.insert(key, member.nid, &member.desc, member.motion.pose).expect("bodies that exist");
    }
    for (query, answer) in queries.iter().zip(&hits.answers) {
        let (Query::Ray { origin, direction, max }, QueryAnswer::Ray(hit)) = (query, answer) else { panic!("rays") };
        let is = mirror.ray_cast(*origin, *direction, *max, Filter::SOLIDS);
        assert_eq!(hit.map(|hit| (hit.nid, hit.distance)), is.map(|is| (is.nid, is.distance)));
    }
}
