//! Promises that are void for now, watched. The words are those of the wire, so that metrics, reports and viewers use the
//! same.

use nimbus_model::Nid;
use nimbus_wire::seams::BREACHES_MAX;
pub use nimbus_wire::{Breach, Factor};

use crate::node::Node;
use crate::scene::Scene;

/// Most breaches kept for whoever takes them; what comes on top is counted only.
const KEPT_MAX: usize = 1_024;
/// A neighbour that has not been heard of for so many ticks beyond what is promised is reported.
const SILENCE_TICKS: u64 = 16;

impl Node {
    /// Says that a promise is void.
    pub(crate) fn breach(&mut self, factor: Factor, value: f32, limit: f32, bodies: Vec<Nid>) {
        self.counters.breaches[factor as usize] += 1;
        let (tick, region) = (self.now, self.config.region);
        let breach = Breach { tick, region, factor, value, limit, bodies };
        if self.breaches.len() < KEPT_MAX {
            self.breaches.push(breach.clone());
        }
        self.seam.recent.push_back(breach);
        if self.seam.recent.len() > BREACHES_MAX {
            self.seam.recent.pop_front();
        }
    }

    pub(crate) fn breach_measured(&mut self, factor: Factor, value: f32) {
        let limit = self.limit(factor);
        self.breach(factor, value, limit, Vec::new());
    }

    fn limit(&self, factor: Factor) -> f32 {
        match factor {
            Factor::Speed => self.world.tolerances.speed,
            Factor::Latency => self.world.tolerances.latency_ms + self.config.aura.skew_ms,
            Factor::FrameTime => self.world.tolerances.frame_ms,
            Factor::TimeLost | Factor::ClusterSize | Factor::Silence => 0.0,
        }
    }

    /// The shell's word that the server wakes up now, microseconds on any clock of its own.
    pub fn wake(&mut self, now_us: u64) {
        if self.woke_us > 0 {
            self.measure(Factor::FrameTime, now_us.saturating_sub(self.woke_us));
        }
        self.woke_us = now_us;
    }

    /// The shell's word on the time, microseconds on a clock that all servers share, before it hands over frames or takes
    /// them. Without it nobody can tell how long frames take.
    pub fn set_clock(&mut self, now_us: u64) {
        self.clock_us = now_us;
    }

    /// Judges how long a frame took that was sent at this time.
    pub(crate) fn time_frame(&mut self, sent_us: u64) {
        if sent_us > 0 && self.clock_us > 0 {
            self.measure(Factor::Latency, self.clock_us.saturating_sub(sent_us));
        }
    }

    fn measure(&mut self, factor: Factor, us: u64) {
        if self.map.regions().len() < 2 {
            return;
        }
        let ms = us as f32 / 1e3;
        // Half a microsecond for what is lost in whole ones.
        if ms > self.limit(factor) + 1e-3 {
            self.inbox.measure(factor, ms);
        }
    }

    /// Looks for what is beyond the promises at this tick: bodies near others that are too fast, and silence.
    pub(crate) fn watch_tolerances(&mut self, scene: &Scene) {
        let limit = self.world.tolerances.speed;
        let near = self.horizon.depth_m() + 2.0 * self.seam.largest_m;
        let fast = scene.rows[..scene.own].iter().filter(|row| row.speed > limit * 1.000_1);
        let fast: Vec<(Nid, f32)> = fast
            .filter(|row| self.map.distance_to_boundary(self.config.region, row.position) <= near)
            .map(|row| (row.nid, row.speed))
            .collect();
        if !fast.is_empty() {
            let fastest = fast.iter().map(|(_, speed)| *speed).fold(0.0, f32::max);
            let bodies = fast.iter().take(4).map(|(nid, _)| *nid).collect();
            self.breach(Factor::Speed, fastest, limit, bodies);
        }
        let patience = self.horizon.legs + SILENCE_TICKS;
        let silent = self.map.neighbours(self.config.region).iter().filter_map(|neighbour| {
            let silence = self.now.since(self.seam.foreign.get(&neighbour.region)?.tick);
            (silence > patience).then_some(silence)
        });
        if let Some(longest) = silent.max() {
            self.breach(Factor::Silence, longest as f32, patience as f32, Vec::new());
        }
    }
}
