//! The one timeline.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};

/// A step of the whole world, numbered globally from zero. Every server holds the same tick at the same time, within
/// a measured skew; every message carries the tick it speaks of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tick(pub u64);

impl Tick {
    /// The tick after this one; the last tick of all follows itself.
    pub const fn next(self) -> Tick {
        Tick(self.0.saturating_add(1))
    }

    /// How many ticks lie between an earlier tick and this one; zero if `earlier` is not earlier.
    pub const fn since(self, earlier: Tick) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<u64> for Tick {
    type Output = Tick;
    fn add(self, ticks: u64) -> Tick {
        Tick(self.0.saturating_add(ticks))
    }
}

impl Sub<u64> for Tick {
    type Output = Tick;
    fn sub(self, ticks: u64) -> Tick {
        Tick(self.0.saturating_sub(ticks))
    }
}

impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
