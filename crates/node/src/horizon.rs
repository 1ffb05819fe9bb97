//! How far ahead a server must look, from what the world promises.
//!
//! A body that is given away at tick `b` is among its new neighbours `n` ticks later at most: the gap to the next
//! decision, the time from the wake-up until frames are sent, the way, and the difference of the clocks, in whole ticks.
//! With backups the way is that of the commit: to the sender's backup, which stores it, and from there to the receiver. Whoever is not given away
//! at `b` must therefore be unable to touch before `b + n`, when the next decision takes effect. Two bodies found apart
//! in one step cannot act on each other in the next, so looking `n - 1` ticks ahead is enough.

use nimbus_model::{Tolerances, World};
use nimbus_space::PartitionMap;
use serde::{Deserialize, Serialize};

use crate::announce::largest_of;
use crate::config::{AuraConfig, Reach};
use crate::leg_times::LegTimes;

/// Gaps below this count as touching: the engine acts on what is as close as 0.02 m.
pub(crate) const TOUCH_M: f32 = 0.03;

/// A server whose times exceed their promises looks this many legs further ahead at the most. More would gather ever more
/// bodies on a server that is late already.
const LEGS_MORE_MAX: u64 = 1;

/// What a world's tolerances mean in ticks and metres.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Horizon {
    /// Ticks until a body given away is among its new neighbours: as promised, or as measured if that is more.
    pub legs: u64,
    /// Ticks that the tolerances allow for that. The same at every server of a world.
    pub promised: u64,
    /// What a leg is made of at tolerance.
    parts: LegParts,
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

/// What a leg is made of, milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct LegParts {
    /// From one decision to the next.
    frame_ms: f32,
    /// From a wake-up until its frames are sent.
    compute_ms: f32,
    /// From the sender to the receiver, by way of the sender's backup if it has one.
    way_ms: f32,
    /// Difference of clocks.
    skew_ms: f32,
}

impl LegParts {
    fn of(world: &World, aura: &AuraConfig) -> LegParts {
        let Tolerances { latency_ms, frame_ms, .. } = world.tolerances;
        let rarely_ms = aura.send_every.saturating_sub(1) as f32 * tick_s(world) * 1e3;
        // To the backup, which stores it, and from there to the receiver. What goes there directly is sooner.
        let way_ms = if aura.commits { 2.0 * latency_ms + aura.store_ms } else { latency_ms };
        let (compute_ms, skew_ms) = (aura.compute_ms, aura.skew_ms);
        LegParts { frame_ms: frame_ms + rarely_ms, compute_ms, way_ms, skew_ms }
    }

    fn sum_ms(&self) -> f32 {
        self.frame_ms + self.compute_ms + self.way_ms + self.skew_ms
    }
}

fn tick_s(world: &World) -> f32 {
    1.0 / world.tick_hz.max(1) as f32
}

/// Whole ticks, rounded up, at least one.
fn in_ticks(ms: f32, tick_s: f32) -> u64 {
    (f64::from(ms) / (f64::from(tick_s) * 1e3) - 1e-6).ceil().max(1.0) as u64
}

impl Horizon {
    /// The horizon of a world.
    pub fn new(world: &World, aura: &AuraConfig) -> Horizon {
        let (tick_s, speed) = (tick_s(world), world.tolerances.speed);
        let parts = LegParts::of(world, aura);
        let fixed_m = (aura.reach == Reach::Tolerance).then(|| {
            let delay = in_ticks(2.0 * parts.frame_ms + world.tolerances.latency_ms, tick_s);
            speed * (3 * delay - 1) as f32 * tick_s * aura.scale
        });
        let promised = in_ticks(parts.sum_ms(), tick_s);
        let (gravity, scale) = (world.gravity.length(), aura.scale);
        Horizon { legs: promised, promised, parts, tick_s, speed, gravity, scale, fixed_m }
    }

    /// Goes by measured times where they exceed their tolerances. `fits` says whether regions are wide enough for a horizon.
    pub(crate) fn follow(&mut self, times: &LegTimes, fits: impl Fn(&Horizon) -> bool) {
        let LegParts { frame_ms, compute_ms, way_ms, skew_ms } = self.parts;
        let measured = LegParts {
            frame_ms,
            compute_ms: compute_ms.max(times.compute_ms),
            way_ms: way_ms.max(times.commit_ms),
            skew_ms: skew_ms.max(times.skew_ms),
        };
        let needed = in_ticks(measured.sum_ms(), self.tick_s);
        self.legs = needed.clamp(self.promised, self.promised + LEGS_MORE_MAX);
        if self.legs > self.promised && !fits(self) {
            self.legs = self.promised;
        }
    }

    /// The longest that a wake-up may compute before it sends, milliseconds: its tolerance, and what rounding to whole ticks
    /// leaves over.
    pub(crate) fn compute_ms_max(&self) -> f32 {
        let spare_ms = self.promised as f32 * self.tick_s * 1e3 - self.parts.sum_ms();
        self.parts.compute_ms + spare_ms.max(0.0)
    }

    /// The longest that words may take to receivers, milliseconds: by way of the backup where there is one.
    pub(crate) fn way_ms_max(&self) -> f32 {
        self.parts.way_ms
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
        Horizon::new(world, aura).needs_width(largest_of(world))
    }

    /// The same for a horizon and the largest radius of a body.
    pub(crate) fn needs_width(&self, largest_m: f32) -> f32 {
        2.0 * (self.depth_m() + largest_m)
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
                "a region is {narrowest:.1} m wide; at a speed of {} m/s, {} ticks ahead and with bodies of up to {:.1} m \
                 it must be at least {least:.1} m: make regions wider or fewer, or lower tolerances.speed",
                world.tolerances.speed,
                Horizon::new(world, aura).legs,
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
    fn the_commit_leg_counts_where_there_are_backups() {
        let world = World::new("test");
        let kept = AuraConfig::default().with_commits(true);
        assert_eq!(Horizon::new(&world, &AuraConfig::default()).legs, 2, "28 + 4 ms");
        assert_eq!(Horizon::new(&world, &kept).legs, 3, "28 + 2 * 4 ms");
        let slow_store = AuraConfig { store_ms: 15.0, ..kept };
        assert_eq!(Horizon::new(&world, &slow_store).legs, 4, "28 + 2 * 4 + 15 ms");
        assert!(Horizon::width_min(&world, &kept) > Horizon::width_min(&world, &AuraConfig::default()));
    }

    #[test]
    fn compute_and_skew_are_parts_of_a_leg() {
        let world = World::new("test");
        let legs = |compute_ms, skew_ms| {
            Horizon::new(&world, &AuraConfig { compute_ms, skew_ms, ..AuraConfig::default() }).legs
        };
        assert_eq!([legs(0.0, 0.0), legs(1.0, 0.3), legs(1.0, 0.4), legs(0.0, 2.0), legs(19.0, 0.0)], [2, 2, 3, 3, 4]);
    }

    #[test]
    fn measured_times_beyond_their_promise_lengthen_a_leg_by_one_where_regions_are_wide_enough() {
        let mut horizon = horizon(32.0, 4.0, 28.0);
        let times = |compute_ms| LegTimes { compute_ms, ..LegTimes::default() };
        let mut follow = |compute_ms: f32, wide: bool| {
            horizon.follow(&times(compute_ms), |_| wide);
            horizon.legs
        };
        assert_eq!([follow(1.0, true), follow(2.0, true), follow(500.0, true)], [2, 3, 3]);
        assert_eq!([follow(2.0, false), follow(f32::NAN, true), follow(f32::INFINITY, true)], [2, 2, 3]);
        assert_eq!(follow(0.0, true), 2, "and back");
        assert!((horizon.compute_ms_max() - 1.333).abs() < 0.01, "{}", horizon.compute_ms_max());
    }

    #[test]
    fn sending_less_often_looks_further_ahead() {
        let world = World::new("test");
        let rare = Horizon::new(&world, &AuraConfig { send_every: 4, ..AuraConfig::default() });
        assert!(rare.legs > Horizon::new(&world, &AuraConfig::default()).legs + 1);
    }
}
