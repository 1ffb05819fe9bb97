//! How far auras reach for given tolerances: ours, and by the original formula.

use nimbus_model::{Tolerances, World};
use nimbus_node::{AuraConfig, Horizon};

/// The greatest radius that our aura of a body can have, metres.
pub(crate) fn aura_radius(body: f32, tolerances: &Tolerances, aura: &AuraConfig, tick_hz: u32) -> f32 {
    let mut world = World::new("");
    world.tolerances = *tolerances;
    world.tick_hz = tick_hz;
    body + aura.scale * Horizon::new(&world, aura).depth_m()
}

/// The radius that the original formula gives, metres.
pub(crate) fn original_aura_radius(body: f32, tolerances: &Tolerances, tick_hz: u32) -> f32 {
    let n = ticks(2.0 * tolerances.frame_ms + tolerances.latency_ms, tick_hz);
    body + tolerances.speed * (3 * n - 1) as f32 / tick_hz as f32
}

fn ticks(ms: f32, tick_hz: u32) -> u32 {
    (ms * tick_hz as f32 / 1000.0).ceil().max(1.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_reach_less_far_than_the_original() {
        for (frame_ms, latency_ms, ours, original) in
            [(15.0, 2.0, 4, 5), (15.0, 8.0, 4, 8), (15.0, 16.0, 4, 8), (8.33, 2.0, 1, 5), (33.33, 2.0, 7, 14)]
        {
            let tolerances = Tolerances { speed: 60.0, latency_ms, frame_ms };
            assert_eq!(aura_radius(1.0, &tolerances, &AuraConfig::default(), 60), 1.0 + ours as f32);
            assert_eq!(original_aura_radius(1.0, &tolerances, 60), 1.0 + original as f32);
        }
    }
}
