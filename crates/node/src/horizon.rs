//! How far ahead a server must look, from what the world promises.
//!
//! A body that is given away at tick `b` is among its new neighbours `n` ticks later at most: the gap to the next
//! decision, the way to the wire, the wire and the difference of the clocks, in whole ticks. Whoever is not given away
//! at `b` must therefore be unable to touch before `b + n`, when the next decision takes effect. Two bodies found apart
//! in one step cannot act on each other in the next, so looking `n - 1` ticks ahead is enough.

use nimbus_model::{Tolerances, World};
use nimbus_space::PartitionMap;
use serde::{Deserialize, Serialize};

use crate::announce::largest_of;
use crate::config::{AuraConfig, Reach};

/// Gaps below this count as touching: the engine acts on what is as close as 0.02 m.
pub(crate) const TOUCH_M: f32 = 0.03;

/// What a world's tolerances mean in ticks and metres.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Horizon {
    /// Ticks until a body given away is among its new neighbours.
    pub legs: u64,
    /// Length of a tick, seconds.
    pub tick_s: f32,
    /// Greatest speed, m/s.
    pub speed: f32,
    /// Acceleration of free fall, m/s2.
    pub gravity: f32,
    /// Every reach is multiplied by this.
    pub scale: f32,
    /// Set for the original formula: the reach of every aura, metres.
    pub fixed_m: Option<f32>,
}

impl Horizon {
    /// The horizon of a world.
    pub fn new(world: &World, aura: &AuraConfig) -> Horizon {
        let tick_s = 1.0 / world.tick_hz.max(1) as f32;
        let Tolerances { speed, latency_ms, frame_ms } = world.tolerances;
        let frame_ms = frame_ms + aura.send_every.saturating_sub(1) as f32 * tick_s * 1e3;
        let in_ticks = |ms: f32| (f64::from(ms) / (f64::from(tick_s) * 1e3) - 1e-6).ceil().max(1.0) as u64;
        let fixed_m = (aura.reach == Reach::Tolerance).then(|| {
            let delay = in_ticks(2.0 * frame_ms + latency_ms);
            speed * (3 * delay - 1) as f32 * tick_s * aura.scale
        });
        Horizon {
            legs: in_ticks(frame_ms + aura.compute_ms + latency_ms + aura.skew_ms),
            tick_s,
            speed,
            gravity: world.gravity.length(),
            scale: aura.scale,
            fixed_m,
        }
    }

    /// How far ahead a decision looks, ticks.
    pub fn look_ahead(&self) -> u64 {
        self.legs - 1
    }

    /// The farthest that two bodies inside the promises can be apart and still have to come together at once, metres:
    /// the size of an aura beyond its body.
    pub fn depth_m(&self) -> f32 {
        let ours = self.speed * self.tick_s * (3 * self.legs - 2) as f32;
        self.fixed_m.unwrap_or(ours)
    }

    /// The least width of a region, metres: two of the largest auras. A body must not be near two opposite boundaries at
    /// once.
    pub fn width_min(world: &World, aura: &AuraConfig) -> f32 {
        2.0 * (Horizon::new(world, aura).depth_m() + largest_of(world))
    }

    /// The least width of a region that a planner may leave, metres: as [`Horizon::width_min`], but for bodies as large as
    /// the world allows, because clients may add them.
    pub fn planned_width_min(world: &World, aura: &AuraConfig) -> f32 {
        let allowed = 2.0 * Horizon::new(world, aura).depth_m() + 4.0 * world.radius_max;
        Horizon::width_min(world, aura).max(allowed)
    }

    /// Why a world cannot be run on this partition, in words for whoever laid it out; `None` when it can: no region may
    /// be narrower than [`Horizon::width_min`].
    pub fn layout_problem(world: &World, aura: &AuraConfig, map: &PartitionMap) -> Option<String> {
        let least = Horizon::width_min(world, aura);
        let narrowest = map.narrowest();
        (map.regions().len() > 1 && narrowest < least).then(|| {
            format!(
                "a region is {narrowest:.1} m wide; at a speed of {} m/s and bodies of up to {:.1} m it must be at least \
                 {least:.1} m: make regions wider or fewer, or lower tolerances.speed",
                world.tolerances.speed,
                largest_of(world),
            )
        })
    }

    /// What one body may cover in some ticks when nothing near it is faster than `speed`, and `gain` is what its own
    /// drive adds every second.
    pub(crate) fn reach(&self, speed: f32, gain: f32, ticks: u64) -> f32 {
        let (ticks, tick_s) = (ticks as f32, self.tick_s);
        // What is gained in one tick is there for all that follow.
        (speed * ticks + gain * tick_s * ticks * (ticks + 1.0) / 2.0) * tick_s * self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn horizon(speed: f32, latency_ms: f32, frame_ms: f32) -> Horizon {
        let mut world = World::new("test");
        world.tolerances = Tolerances { speed, latency_ms, frame_ms };
        Horizon::new(&world, &AuraConfig::default())
    }

    #[test]
    fn legs_are_whole_ticks_rounded_up() {
        assert_eq!(horizon(32.0, 2.0, 8.33).legs, 1);
        assert_eq!(horizon(32.0, 2.0, 15.0).legs, 2);
        assert_eq!(horizon(32.0, 16.0, 15.0).legs, 2);
        assert_eq!(horizon(32.0, 2.0, 33.33).legs, 3);
    }

    #[test]
    fn auras_are_smaller_than_the_original_formula_makes_them() {
        let mut world = World::new("test");
        for (speed, latency_ms, frame_ms) in [(16.0, 2.0, 15.0), (48.0, 16.0, 15.0), (32.0, 2.0, 33.33)] {
            world.tolerances = Tolerances { speed, latency_ms, frame_ms };
            let ours = Horizon::new(&world, &AuraConfig::default()).depth_m();
            let original = Horizon::new(&world, &AuraConfig { reach: Reach::Tolerance, ..AuraConfig::default() });
            assert!(ours < original.depth_m(), "{ours} against {}", original.depth_m());
        }
    }

    #[test]
    fn sending_less_often_looks_further_ahead() {
        let world = World::new("test");
        let rare = Horizon::new(&world, &AuraConfig { send_every: 4, ..AuraConfig::default() });
        assert!(rare.legs > Horizon::new(&world, &AuraConfig::default()).legs + 1);
    }
}
