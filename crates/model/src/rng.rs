//! Randomness that is threaded through constructors, never ambient.

use glam::Vec3;
use serde::{Deserialize, Serialize};

/// A small splittable generator (the SplitMix64 sequence). Not for secrets; for repeatable choices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// The generator of this seed.
    pub const fn new(seed: u64) -> Rng {
        Rng { state: seed }
    }

    /// An independent generator named by `stream`; the same seed and stream give the same numbers however much has
    /// been drawn elsewhere.
    pub fn stream(seed: u64, stream: u64) -> Rng {
        let mut rng = Rng::new(seed ^ stream.wrapping_mul(0xd605_bbb5_8c8a_bbfd));
        rng.next_u64();
        rng
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A whole number from 0 up to, not including, `limit` (which must be above 0).
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(limit)) >> 64) as u64
    }

    /// A number from 0 up to, not including, 1.
    pub fn unit(&mut self) -> f32 {
        (self.next_u64() >> 40) as f32 / (1u64 << 24) as f32
    }

    /// A number from `low` up to `high`.
    pub fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }

    /// A point of the box between two corners.
    pub fn point(&mut self, low: Vec3, high: Vec3) -> Vec3 {
        Vec3::new(self.between(low.x, high.x), self.between(low.y, high.y), self.between(low.z, high.z))
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f32) -> bool {
        self.unit() < p
    }
}
