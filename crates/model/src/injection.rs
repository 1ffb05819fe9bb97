//! Bodies that a world adds while it runs.

use glam::{Quat, Vec3};
use serde::{Deserialize, Serialize};
use std::ops::Range;

use crate::{Aabb, BodyDesc, Pose, Rng, Tick, Velocity};

/// One kind of body an injection may make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// How often it is picked relative to the other choices.
    pub weight: u32,
    /// The body.
    pub body: BodyDesc,
}

/// A volume in which bodies appear at a steady rate.
///
/// The `k`-th body of an injection is the same in every run of the same seed, on any number of servers: it is a pure
/// function of seed, injection and `k`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Injection {
    /// Where bodies appear, uniformly.
    pub volume: Aabb,
    /// How many a second.
    pub per_second: f32,
    /// When the first one appears.
    pub start: Tick,
    /// How many in all; [`Injection::ENDLESS`] for one that goes on.
    pub count: u32,
    /// Lowest velocity per axis.
    pub velocity_min: Vec3,
    /// Highest velocity per axis.
    pub velocity_max: Vec3,
    /// Whether bodies start turned at random.
    pub turned: bool,
    /// What may appear; at least one choice with a weight above zero.
    pub choices: Vec<Choice>,
}

impl Injection {
    /// The count of an injection that goes on for as long as the world runs: so many that ids of 64 such injections still fit
    /// into 32 bits, 69 days at ten bodies a second. Only the budgets of regions limit it.
    pub const ENDLESS: u32 = 60_000_000;

    /// How many bodies it adds in all; none when it goes on for as long as the world runs.
    pub fn finite_count(&self) -> Option<u32> {
        (self.count < Injection::ENDLESS).then_some(self.count)
    }

    /// Ordinals of the bodies that appear at `tick`.
    pub fn due(&self, tick: Tick, tick_hz: u32) -> Range<u32> {
        let made_before = |ticks: u64| {
            let count = (ticks as f64 * f64::from(self.per_second) / f64::from(tick_hz)).floor();
            count.min(f64::from(self.count)) as u32
        };
        if tick < self.start {
            return 0..0;
        }
        let age = tick.since(self.start);
        made_before(age)..made_before(age + 1)
    }

    /// The `ordinal`-th body of the `index`-th injection of a world with this seed.
    pub fn body(&self, seed: u64, index: usize, ordinal: u32) -> (&BodyDesc, Pose, Velocity) {
        let mut rng = Rng::stream(seed, ((index as u64) << 32) | u64::from(ordinal));
        let total: u64 = self.choices.iter().map(|c| u64::from(c.weight)).sum();
        let mut pick = rng.below(total.max(1));
        let choice = self
            .choices
            .iter()
            .find(|c| {
                let here = pick < u64::from(c.weight);
                pick = pick.saturating_sub(u64::from(c.weight));
                here
            })
            .unwrap_or(&self.choices[0]);
        let position = rng.point(self.volume.min, self.volume.max);
        let linear = rng.point(self.velocity_min, self.velocity_max);
        let rotation = if self.turned { random_rotation(&mut rng) } else { Quat::IDENTITY };
        (&choice.body, Pose { position, rotation }, Velocity::linear(linear))
    }
}

/// A rotation drawn by rejection, without trigonometry, so that it is the same on every platform.
fn random_rotation(rng: &mut Rng) -> Quat {
    loop {
        let q = Quat::from_xyzw(
            rng.between(-1.0, 1.0),
            rng.between(-1.0, 1.0),
            rng.between(-1.0, 1.0),
            rng.between(-1.0, 1.0),
        );
        let length = q.length_squared();
        if length > 0.01 && length < 1.0 {
            return q.normalize();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    fn rain() -> Injection {
        Injection {
            volume: Aabb::new(Vec3::ZERO, Vec3::ONE),
            per_second: 37.0,
            start: Tick(5),
            count: 100,
            velocity_min: -Vec3::ONE,
            velocity_max: Vec3::ONE,
            turned: true,
            choices: vec![
                Choice { weight: 0, body: BodyDesc::dynamic(Shape::ball(9.0)) },
                Choice { weight: 3, body: BodyDesc::dynamic(Shape::ball(1.0)) },
                Choice { weight: 1, body: BodyDesc::dynamic(Shape::ball(2.0)) },
            ],
        }
    }

    #[test]
    fn every_ordinal_appears_exactly_once() {
        let injection = rain();
        let seen: Vec<u32> = (0..600).flat_map(|t| injection.due(Tick(t), 60)).collect();
        assert_eq!(seen, (0..100).collect::<Vec<_>>());
        assert_eq!(injection.due(Tick(4), 60), 0..0);
    }

    #[test]
    fn choices_follow_their_weights() {
        let injection = rain();
        let mut counts = [0; 3];
        for k in 0..4000 {
            let (body, pose, _) = injection.body(1, 0, k);
            assert!(pose.is_valid());
            let i = injection.choices.iter().position(|c| &c.body == body).unwrap();
            counts[i] += 1;
        }
        assert_eq!(counts[0], 0, "a weight of zero never appears");
        assert!((2800..3200).contains(&counts[1]), "{counts:?}");
    }
}
