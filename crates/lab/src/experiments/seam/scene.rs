//! Pairs of balls that fly at each other and meet at the boundary, each pair on a lane of its own; and when they meet on one
//! server.

use nimbus_model::{Aabb, BodyDesc, BodySpawn, Layout, Nid, Pose, Rng, Shape, Tolerances, Vec3, Velocity, World};
use nimbus_node::ContactKind;
use nimbus_universe::{Universe, UniverseConfig};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::experiment::LabError;

/// What the world promises. A machine with two cores and other things to do wakes threads late now and then, so the frame
/// time is three ticks.
pub(in crate::experiments) const TOLERANCES: Tolerances = Tolerances { speed: 16.0, latency_ms: 20.0, frame_ms: 50.0 };
const RADIUS: f32 = 1.0;
/// Distance of lanes, metres: far more than two of these balls cover in the legs that are promised.
const SPACING: f32 = 12.0;
/// Lanes side by side.
const ABREAST: u32 = 25;
/// Width of a region, metres.
const WIDTH: f32 = 600.0;
/// The first pair meets after so many ticks, when everything has settled.
const FIRST_TICKS: f32 = 240.0;
/// Pairs that meet deep inside a region, on one server whatever happens: their contacts say when the world began, and
/// whether that server has skipped ticks. Half of them are in each region.
const INSIDE: u32 = 8;
/// How far inside.
const DEPTH: f32 = 150.0;
/// A pair meets at most so far from the boundary.
const OFF: f32 = 1.0;

/// The world of a point.
pub(in crate::experiments) struct Pairs {
    pub(in crate::experiments) world: World,
    /// How many pairs meet at the boundary; those inside come after them.
    count: u32,
    /// When the last of them has met, ticks.
    pub(in crate::experiments) last: u64,
}

impl Pairs {
    /// So many pairs, which meet one after another within so many ticks.
    pub(in crate::experiments) fn new(count: u32, within_ticks: f32, seed: u64) -> Pairs {
        let mut rng = Rng::stream(seed, 7);
        let mut world = World::new("seam");
        world.seed = seed;
        world.gravity = Vec3::ZERO;
        world.tolerances = TOLERANCES;
        world.radius_max = RADIUS + 0.1;
        world.kill_box = Aabb::around(Vec3::ZERO, Vec3::splat(1_500.0));
        world.layout = Layout::columns(2, WIDTH);
        let ball = BodyDesc::dynamic(Shape::ball(RADIUS));
        let ball = Arc::new(BodyDesc { friction: 0.0, restitution: 1.0, can_sleep: false, gravity_scale: 0.0, ..ball });
        for i in 0..count + INSIDE {
            let (y, z) = ((i / ABREAST) as f32 * SPACING, (i % ABREAST) as f32 * SPACING);
            let inside = if i % 2 == 0 { DEPTH } else { -DEPTH };
            let middle = if i < count { rng.between(-OFF, OFF) } else { inside };
            let s = (FIRST_TICKS + rng.unit() * within_ticks) * world.tick_s();
            for side in [-1.0, 1.0] {
                let speed = TOLERANCES.speed - 0.01 - rng.unit();
                let position = Vec3::new(middle + side * (RADIUS + speed * s), y, z);
                let velocity = Velocity { linear: Vec3::X * (-side * speed), ..Velocity::default() };
                world.bodies.push(BodySpawn { desc: ball.clone(), pose: Pose::at(position), velocity });
            }
        }
        Pairs { world, count, last: (FIRST_TICKS + within_ticks).ceil() as u64 + 2 }
    }

    /// The two of every pair in an era, with whether they meet inside a region.
    pub(in crate::experiments) fn of(&self, era: u16) -> impl Iterator<Item = ((Nid, Nid), bool)> {
        let count = self.count;
        (0..count + INSIDE).map(move |i| ((World::nid(era, 2 * i), World::nid(era, 2 * i + 1)), i >= count))
    }

    /// When every pair meets on one server, by the tick of the world.
    pub(in crate::experiments) fn alone(&self) -> Result<Vec<u64>, LabError> {
        let failed = |error: &dyn std::fmt::Display| LabError::Failed(error.to_string());
        let mut config = UniverseConfig::new("seam", 1, 1, 1 << 32);
        (config.clients, config.checked, config.contacts) = (0, false, true);
        let world = nimbus_scenes::on_one_server(&self.world);
        let mut universe = Universe::of_world(config, world).map_err(|error| failed(&error))?;
        while universe.tick().0 < self.last + 10 {
            universe.advance();
        }
        let mut began: BTreeMap<(Nid, Nid), u64> = BTreeMap::new();
        for (_, contact) in &universe.outcome().contacts {
            if contact.kind == ContactKind::Began {
                began.entry((contact.one, contact.two)).or_insert(contact.tick.0);
            }
        }
        let ticks = self.of(1).map(|(pair, _)| began.remove(&pair));
        let ticks: Option<Vec<u64>> = ticks.collect();
        let ticks = ticks.ok_or_else(|| failed(&"a pair does not meet on one server"))?;
        if let Some((pair, tick)) = began.first_key_value() {
            return Err(failed(&format!("{pair:?} meet at {tick}, and are no pair")));
        }
        Ok(ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_meets_when_it_should_and_nothing_else_does() {
        let pairs = Pairs::new(30, 120.0, 3);
        let ticks = pairs.alone().unwrap();
        assert_eq!(ticks.len(), 38);
        assert!(ticks.iter().all(|tick| (238..=pairs.last).contains(tick)), "{ticks:?}");
        assert!(ticks.iter().max().unwrap() - ticks.iter().min().unwrap() > 60, "not all at once: {ticks:?}");
    }
}
