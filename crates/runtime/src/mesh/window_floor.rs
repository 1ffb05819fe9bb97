//! How much a connection may have under way: as CUBIC says, but never less than a floor.
//!
//! CUBIC takes every loss for a full link. Where a fifth of the packets is lost for another reason, it is down to two packets a
//! round trip, and a region's records reach its backup at some 20 KB/s: nothing is ever committed. Processes of a cluster send as much
//! as the world brings about and no more, so a connection may always send what the receiver has room for anyway. A link that is
//! really full makes round trips longer, and with them the floor is a lower rate.

use quinn::congestion::{Controller, ControllerFactory, ControllerMetrics, CubicConfig};
use quinn_proto::RttEstimator;
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// Makes controllers with a floor.
pub(super) struct WindowFloor {
    /// Bytes under way that are always allowed.
    pub(super) floor: u64,
}

impl ControllerFactory for WindowFloor {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        Box::new(Floored { cubic: Arc::new(CubicConfig::default()).build(now, mtu), floor: self.floor })
    }
}

struct Floored {
    cubic: Box<dyn Controller>,
    floor: u64,
}

impl Controller for Floored {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.cubic.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.cubic.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest_acked: Option<u64>) {
        self.cubic.on_end_acks(now, in_flight, app_limited, largest_acked);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        self.cubic.on_congestion_event(now, sent, is_persistent, lost_bytes);
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.cubic.on_mtu_update(mtu);
    }

    fn window(&self) -> u64 {
        self.cubic.window().max(self.floor)
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = self.cubic.metrics();
        metrics.congestion_window = self.window();
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Floored { cubic: self.cubic.clone_box(), floor: self.floor })
    }

    fn initial_window(&self) -> u64 {
        self.cubic.initial_window().max(self.floor)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the controller takes the times of its shell")]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn losses_take_the_window_to_the_floor_and_no_further() {
        let began = Instant::now();
        let at = |ms: u64| began + Duration::from_millis(ms);
        let windows = |floor: u64| -> Vec<u64> {
            let mut controller = Arc::new(WindowFloor { floor }).build(began, 1_200);
            (0..100)
                .map(|i| {
                    controller.on_congestion_event(at(40 * i + 20), at(40 * i), i % 10 == 9, 1_200);
                    controller.window()
                })
                .collect()
        };
        assert!(windows(0).last() < Some(&5_000), "CUBIC by itself gives way: {:?}", windows(0).last());
        assert!(windows(65_536).iter().all(|window| *window == 65_536));
        let copy = Arc::new(WindowFloor { floor: 65_536 }).build(began, 1_200).clone_box();
        assert_eq!((copy.window(), copy.initial_window()), (65_536, 65_536));
    }
}
