//! Promises that are void for now, watched. The words are those of the wire, so that metrics, reports and viewers use the
//! same.

use nimbus_model::{Nid, Tick};
use nimbus_wire::Item;
use nimbus_wire::seams::BREACHES_MAX;
pub use nimbus_wire::{Breach, Factor};

use crate::config::Planted;
use crate::node::Node;
use crate::scene::{Row, Scene};

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
            Factor::Compute => self.horizon.compute_ms_max(),
            Factor::Skew => self.config.aura.skew_ms,
            Factor::Commit => self.horizon.way_ms_max(),
            Factor::Budget => self.bodies_max() as f32,
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

    /// The shell's word that the server waited on purpose until now, for whom it had to hear of.
    pub fn waited(&mut self, now_us: u64) {
        self.woke_us = now_us;
    }

    /// The shell's word on the time, microseconds on a clock that all servers share, before it hands over frames or takes
    /// them. Without it nobody can tell how long frames take.
    pub fn set_clock(&mut self, now_us: u64) {
        self.clock_us = now_us;
    }

    /// True when measured times matter: there are neighbours.
    pub(crate) fn is_measured(&self) -> bool {
        self.map.regions().len() > 1 && self.config.planted != Some(Planted::DeafToTimes)
    }

    /// Takes note of a time that is beyond its limit.
    pub(crate) fn measure(&mut self, factor: Factor, us: u64) {
        if !self.is_measured() {
            return;
        }
        let ms = us as f32 / 1e3;
        // Half a microsecond for what is lost in whole ones.
        if ms > self.limit(factor) + 1e-3 {
            self.inbox.measure(factor, ms);
        }
    }

    /// Looks whether a group was under way for longer than a leg. What it was to touch may be past it then.
    pub(crate) fn time_item(&mut self, said: Tick, item: &Item) {
        let ticks = self.now.since(said);
        let Item::Transfer(transfer) = item else { return };
        if ticks <= self.horizon.promised || !self.is_measured() {
            return;
        }
        // Where words wait for a commit, that is the longer way.
        let factor = if self.config.durable { Factor::Commit } else { Factor::Latency };
        let tick_ms = self.horizon.tick_s * 1e3;
        let ms = |ticks: u64| ticks as f32 * tick_ms;
        let bodies = transfer.claims.iter().take(4).map(|claim| claim.nid).collect();
        self.breach(factor, ms(ticks), ms(self.horizon.promised), bodies);
    }

    /// Looks whether the backup is so far behind that nothing is given away, while bodies of neighbours are near.
    pub(crate) fn watch_backup(&mut self) {
        if self.backup_is_silent() && self.is_measured() && self.counters.ghosts > 0 {
            let behind_ms = self.now.since(self.kept) as f32 * self.horizon.tick_s * 1e3;
            self.breach(Factor::Commit, behind_ms, self.horizon.way_ms_max(), Vec::new());
        }
    }

    /// Looks for what is beyond the promises at this tick: bodies near others that are too fast, and silence.
    pub(crate) fn watch_tolerances(&mut self, scene: &Scene) {
        let limit = self.world.tolerances.speed;
        let near = self.horizon.depth_m() + 2.0 * self.seam.largest_m;
        let fast = scene.rows[..scene.own].iter().filter(|row| row.speed > limit * 1.000_1);
        let fast: Vec<(Nid, f32)> = fast
            .filter(|row| self.map.distance_to_boundary(self.config.region, row.position) <= near)
            .map(|row| (row.nid, self.speed_promised(row)))
            .filter(|(_, speed)| *speed > limit * 1.000_1)
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

    /// The speed of a body that the world's tolerance is about: that of its centre.
    fn speed_promised(&self, row: &Row) -> f32 {
        self.physics.view(row.nid).map_or(row.speed, |body| body.velocity.linear.length())
    }
}
