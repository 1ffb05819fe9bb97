//! A small world on many servers or on one, over a quiet network that keeps every promise, and what was seen there.

use nimbus_client::Answer;
use nimbus_model::{BodyDesc, Layout, Nid, Pose, RegionId, Shape, Tick, Vec3, Velocity, World};
use nimbus_node::{Node, Policy};
use nimbus_universe::{LinkModel, Outcome, Universe, UniverseConfig};
use std::collections::BTreeMap;

/// A change of velocity above this is a push or a hit, m/s.
const NOTICED: f32 = 1e-3;

/// A world without gravity, cut along `x` into regions that meet at zero when there are two.
pub(crate) fn world(count: u16) -> World {
    let mut world = World::new("edge");
    world.gravity = Vec3::ZERO;
    world.layout = Layout::columns(count, 60.0);
    world
}

/// A smooth ball that keeps its speed when it bounces.
pub(crate) fn ball(radius: f32) -> BodyDesc {
    BodyDesc { restitution: 1.0, friction: 0.0, can_sleep: false, ..BodyDesc::dynamic(Shape::ball(radius)) }
}

/// Adds a ball of half a metre and returns its id.
pub(crate) fn add_ball(world: &mut World, position: Vec3, velocity: Vec3) -> Nid {
    add(world, ball(0.5), position, velocity)
}

pub(crate) fn add(world: &mut World, desc: BodyDesc, position: Vec3, velocity: Vec3) -> Nid {
    World::nid(1, world.add(desc, Pose::at(position), Velocity::linear(velocity)))
}

/// What was seen of one body.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Life {
    /// The first tick after which a server had it.
    pub(crate) first_seen: u64,
    /// Where it was then.
    pub(crate) first_place: Vec3,
    /// The ticks after which its velocity was seen to be another, and where it was then.
    pub(crate) changes: Vec<(u64, Vec3)>,
    /// Its owners, by the epoch of their reign.
    pub(crate) owners: BTreeMap<u32, RegionId>,
    velocity: Vec3,
}

impl Life {
    /// The ticks at which its velocity changed.
    pub(crate) fn hits(&self) -> Vec<u64> {
        self.changes.iter().map(|(tick, _)| *tick).collect()
    }

    /// How fast it was when last seen.
    pub(crate) fn velocity(&self) -> Vec3 {
        self.velocity
    }
}

/// A running world and what was seen of it.
pub(crate) struct Stage {
    pub(crate) universe: Universe,
    pub(crate) lives: BTreeMap<Nid, Life>,
}

impl Stage {
    /// A world as it is laid out, with one client who watches.
    pub(crate) fn new(world: World, seed: u64, ticks: u64) -> Stage {
        Stage::with(world, seed, ticks, |_| {})
    }

    pub(crate) fn with(world: World, seed: u64, ticks: u64, configure: impl Fn(&mut UniverseConfig)) -> Stage {
        let mut config = UniverseConfig::new("edge", 1, seed, ticks);
        config.policy = Policy::Aura;
        config.link = Some(LinkModel::default());
        configure(&mut config);
        let universe = Universe::of_world(config, world).expect("the world can be laid out");
        Stage { universe, lives: BTreeMap::new() }
    }

    /// The same on servers that wake as rarely, over links as slow, as the world's promises allow.
    pub(crate) fn at_tolerance(world: World, seed: u64, ticks: u64) -> Stage {
        let nanos = |ms: f32| (f64::from(ms) * 1e6) as u64;
        let (frame_ns, latency_ns) = (nanos(world.tolerances.frame_ms), nanos(world.tolerances.latency_ms));
        Stage::with(world, seed, ticks, |config| {
            config.frame_ns = Some(frame_ns);
            config.link = Some(LinkModel { latency_ns, ..LinkModel::default() });
        })
    }

    /// Lets time pass up to a tick.
    pub(crate) fn until(&mut self, tick: u64) {
        while self.universe.tick() < Tick(tick) {
            let lives = &mut self.lives;
            self.universe.advance_watching(&mut |node: &Node| {
                for (nid, epoch) in node.hosted() {
                    let Some(motion) = node.motion(nid) else { continue };
                    let (velocity, now) = (motion.velocity.linear, node.now().0);
                    let life = lives.entry(nid).or_insert_with(|| Life {
                        first_seen: now,
                        first_place: motion.pose.position,
                        velocity,
                        ..Life::default()
                    });
                    life.owners.insert(epoch, node.region());
                    if velocity.distance(life.velocity) > NOTICED {
                        life.changes.push((now, motion.pose.position));
                    }
                    life.velocity = velocity;
                }
            });
        }
    }

    /// The client asks for something.
    pub(crate) fn ask(&mut self, write: impl FnOnce(&mut nimbus_client::Client) -> String) {
        let text = write(&mut self.universe.clients_mut()[0]);
        self.universe.say(0, text);
    }

    /// What the client was answered since the last call.
    pub(crate) fn answers(&mut self) -> Vec<Answer> {
        self.universe.clients_mut()[0].take_answers()
    }

    /// The server that owns a body at this moment.
    pub(crate) fn owner(&self, nid: Nid) -> Option<&Node> {
        self.universe.nodes().iter().find(|node| node.motion(nid).is_some())
    }

    /// How many bodies all servers own.
    pub(crate) fn owned(&self) -> usize {
        self.universe.nodes().iter().map(Node::hosted_count).sum()
    }

    /// One of the counters, over all servers.
    pub(crate) fn count(&self, of: impl Fn(&nimbus_node::Counters) -> u64) -> u64 {
        self.universe.nodes().iter().map(|node| of(node.counters())).sum()
    }

    /// Lets everything settle and asserts that no rule of the cluster was broken; promises are for the caller to judge.
    pub(crate) fn finish(self, case: &str) -> Outcome {
        let outcome = self.universe.run(|_| {});
        let broken: Vec<String> = outcome.violations.iter().map(ToString::to_string).collect();
        assert!(broken.is_empty(), "{case}: {}", broken.join("\n"));
        outcome
    }

    /// The same, and asserts that every promise was kept.
    pub(crate) fn finish_promised(self, case: &str) -> Outcome {
        let outcome = self.finish(case);
        assert_eq!(outcome.breaches.first(), None, "{case}: no promise is void");
        outcome
    }
}

/// Asserts that every body is hit at the same ticks on many servers as on one, and leaves with the same velocity.
pub(crate) fn assert_same(one: &Stage, many: &Stage, hits: usize, case: &str) {
    let struck = one.lives.values().filter(|life| !life.changes.is_empty()).count();
    assert_eq!(struck, hits, "{case}: bodies that are hit on one server");
    assert!(one.lives.keys().eq(many.lives.keys()), "{case}: the same bodies live");
    for (nid, alone) in &one.lives {
        let life = &many.lives[nid];
        assert_eq!(alone.hits(), life.hits(), "{case}: {nid} is hit at the same ticks");
        let off = alone.velocity().distance(life.velocity());
        assert!(off < 1e-2, "{case}: {nid} ends with {} and {}", alone.velocity(), life.velocity());
    }
}
