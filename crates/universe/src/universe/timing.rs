//! The times that servers take: how long their frames are, how long they compute, how far their clocks are apart.

use nimbus_model::Tick;

use super::Universe;
use crate::network::Nanos;

/// A frame time is never further from its target than this many standard deviations.
const SIGMAS_MAX: f32 = 3.0;

impl Universe {
    /// What the clock of a server shows.
    pub(super) fn clock_of(&self, i: usize) -> Nanos {
        self.now + self.ahead_ns(i)
    }

    /// The last tick that is due by the clock of a server.
    pub(super) fn due_at(&self, i: usize) -> Tick {
        Tick(self.clock_of(i).saturating_sub(self.start) / self.tick_ns())
    }

    /// When a server wakes next that has just run what is due.
    pub(super) fn next_wake(&mut self, i: usize, due: Tick) -> Nanos {
        match self.config.frame_ns {
            Some(frame) => self.now + self.frame_time(frame),
            None => (self.wake_time(due.next()) + self.phases[i]).saturating_sub(self.ahead_ns(i)).max(self.now + 1),
        }
    }

    fn ahead_ns(&self, i: usize) -> Nanos {
        let skew_ns = self.config.skew_ns;
        if (i % 2 == 1) == (skew_ns > 0) { skew_ns.unsigned_abs() } else { 0 }
    }

    /// One frame time: the sum of twelve draws is as good as normally distributed.
    fn frame_time(&mut self, target: Nanos) -> Nanos {
        let sigma = self.config.frame_sigma_ns as f32;
        if sigma == 0.0 {
            return target;
        }
        loop {
            let sigmas = (0..12).map(|_| self.rng.unit()).sum::<f32>() - 6.0;
            if sigmas.abs() <= SIGMAS_MAX {
                return target.saturating_add_signed((sigmas * sigma) as i64).max(1);
            }
        }
    }
}
