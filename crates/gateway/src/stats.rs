//! When the figures of the world go out to clients.

use nimbus_model::Tick;
use nimbus_wire::client::{ToClient, WorldStats};

use crate::Message;

/// The latest figures and when they were last sent.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    latest: WorldStats,
    sent: Tick,
}

impl Stats {
    /// Figures of a world that just began, until the shell gives better ones.
    pub(crate) fn of_new_world(scene: &str, era: u16, now: Tick) -> Stats {
        let latest = WorldStats { tick: now, scene: scene.to_owned(), era, speed: 1.0, ..WorldStats::default() };
        Stats { latest, sent: now }
    }

    pub(crate) fn set(&mut self, stats: WorldStats) {
        self.latest = stats;
    }

    /// The message, when half a second of ticks has passed since the last one.
    pub(crate) fn due(&mut self, now: Tick, tick_hz: u32) -> Option<Message> {
        if now.since(self.sent) < u64::from(tick_hz / 2).max(1) {
            return None;
        }
        self.sent = now;
        Some(self.message())
    }

    /// The message, whatever the time.
    pub(crate) fn message(&self) -> Message {
        ToClient::Stats(self.latest.clone()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_go_out_twice_a_second() {
        let mut stats = Stats::of_new_world("rain", 1, Tick(100));
        let sent: Vec<u64> = (100..=220).filter(|t| stats.due(Tick(*t), 60).is_some()).collect();
        assert_eq!(sent, [130, 160, 190, 220]);
        assert!(stats.due(Tick(220), 60).is_none(), "a tick that is run again does not send again");
    }
}
