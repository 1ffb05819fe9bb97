//! Times that a leg is made of, as the shell measures them: how long a wake-up computes until its frames go out, how far
//! clocks are apart, how long a backup takes to have what it is sent.
//!
//! A server looks as far ahead as these times demand, so they enter a tick as inputs of the log. They do so rarely: a time
//! that rises counts at once, one that falls only after a while.

use serde::{Deserialize, Serialize};

use crate::breach::Factor;
use crate::config::Planted;
use crate::inbox::Input;
use crate::node::Node;

/// A time that is lower for so many measurements counts as lower.
const WINDOW: u32 = 240;
/// Times count in steps of this many milliseconds, rounded up.
const STEP_MS: f32 = 0.5;

/// The times that count at present, milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LegTimes {
    /// From a wake-up until its frames are sent.
    pub compute_ms: f32,
    /// Difference of clocks, as far as it is certain.
    pub skew_ms: f32,
    /// From sending a record until the backup is known to have it.
    pub commit_ms: f32,
}

/// One measured time with hysteresis.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    level_ms: f32,
    /// The longest in this window, and how many measurements that has had.
    longest_ms: f32,
    measurements: u32,
}

impl Meter {
    fn note(&mut self, ms: f32) {
        let ms = (ms / STEP_MS).ceil() * STEP_MS;
        self.level_ms = self.level_ms.max(ms);
        self.longest_ms = self.longest_ms.max(ms);
        self.measurements += 1;
        if self.measurements >= WINDOW {
            *self = Meter { level_ms: self.longest_ms, ..Meter::default() };
        }
    }
}

/// What the shell has measured. No part of the state: what counts enters by the log.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meters {
    compute: Meter,
    skew: Meter,
    commit: Meter,
}

impl Meters {
    fn levels(&self) -> LegTimes {
        let Meters { compute, skew, commit } = self;
        LegTimes { compute_ms: compute.level_ms, skew_ms: skew.level_ms, commit_ms: commit.level_ms }
    }
}

impl Node {
    /// The shell's word that so many microseconds have passed since the wake-up, now that frames are about to be sent: to be
    /// said before [`Node::emit`].
    pub fn computed(&mut self, us: u64) {
        self.meters.compute.note(us as f32 / 1e3);
        self.measure(Factor::Compute, us);
    }

    /// The longest that a wake-up may compute before it sends, milliseconds of world time; none where there are no neighbours.
    pub fn compute_ms_max(&self) -> Option<f32> {
        self.is_measured().then(|| self.horizon.compute_ms_max())
    }

    /// Judges how long a frame took that was sent at this time by the clock of its sender. One that arrives before it was
    /// sent shows by how much the clocks differ at the least.
    pub(crate) fn time_frame(&mut self, sent_us: u64) {
        if sent_us == 0 || self.clock_us == 0 {
            return;
        }
        let early_us = sent_us.saturating_sub(self.clock_us);
        self.meters.skew.note(early_us as f32 / 1e3);
        self.measure(Factor::Skew, early_us);
        self.measure(Factor::Latency, self.clock_us.saturating_sub(sent_us));
    }

    /// Judges how long the backup has taken to have something.
    pub(crate) fn time_commit(&mut self, us: u64) {
        if self.config.planted == Some(Planted::NoCommitLeg) {
            return;
        }
        self.meters.commit.note(us as f32 / 1e3);
        self.measure(Factor::Commit, us);
    }

    /// The times that count from now on, when that is news.
    pub(crate) fn times_input(&self) -> Option<Input> {
        let levels = self.meters.levels();
        (self.is_measured() && levels != self.leg_times).then_some(Input::Times(levels))
    }

    /// Looks as far ahead as these times demand.
    pub(crate) fn go_by(&mut self, times: LegTimes) {
        self.leg_times = times;
        self.fit_horizon();
    }

    /// Looks as far ahead as measured times demand and regions allow.
    pub(crate) fn fit_horizon(&mut self) {
        let (width, largest) = (self.map.narrowest(), self.seam.largest_m);
        self.horizon.follow(&self.leg_times, |horizon| horizon.needs_width(largest) <= width);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::Backup;
    use crate::config::NodeConfig;
    use nimbus_model::{Aabb, Extent, Layout, Nid, RegionId, Tick, Vec3, World};
    use nimbus_space::PartitionMap;
    use nimbus_wire::{Address, Aura, AuraFrame, Content, Frame};
    use std::sync::Arc;

    /// The first of two servers with a tolerance of 28 ms for frames and 4 ms for latency: 2 ticks, and 3 with a backup.
    fn server(change: impl FnOnce(&mut NodeConfig)) -> Node {
        let mut world = World::new("legs");
        world.layout = Layout::columns(2, 200.0);
        let map = PartitionMap::from_layout(&world.layout).unwrap();
        let mut config = NodeConfig { log: true, ..NodeConfig::new(RegionId(0)) };
        change(&mut config);
        Node::new(config, Arc::new(world), 1, map, Tick(0))
    }

    fn said(node: &mut Node, factor: Factor) -> Vec<(f32, f32)> {
        let all = node.take_breaches();
        all.iter().filter(|breach| breach.factor == factor).map(|breach| (breach.value, breach.limit)).collect()
    }

    #[test]
    fn a_server_that_computes_for_too_long_says_so_and_looks_further_ahead_and_so_does_its_replay() {
        let mut node = server(|_| {});
        let mut copy = Node::restore(&node.snapshot()).unwrap();
        let mut legs = Vec::new();
        for tick in 1..=2 * u64::from(WINDOW) + 2 {
            node.computed(if tick == 3 { 2_000 } else { 500 });
            node.tick(Tick(tick));
            node.take_log().iter().for_each(|entry| copy.replay(entry));
            assert_eq!((copy.horizon, copy.leg_times), (node.horizon, node.leg_times), "tick {tick}");
            legs.push(node.horizon.legs);
        }
        legs.dedup();
        assert_eq!(legs, [2, 3, 2]);
        let breaches = said(&mut node, Factor::Compute);
        assert_eq!(breaches.len(), 1, "one wake-up was too long");
        assert_eq!(said(&mut copy, Factor::Compute), breaches);
        let (value, limit) = breaches[0];
        assert!(value == 2.0 && (limit - 1.333).abs() < 0.01, "{value} {limit}");
    }

    #[test]
    fn what_fits_into_whole_ticks_is_no_breach() {
        let mut node = server(|config| config.aura.compute_ms = 4.0);
        for tick in 1..20 {
            node.computed(17_000);
            node.tick(Tick(tick));
        }
        assert_eq!((node.horizon.legs, node.take_breaches().len()), (3, 0), "28 + 4 + 17 ms are 49 of 50");
    }

    #[test]
    fn regions_that_are_too_narrow_for_a_longer_leg_keep_the_promised_one() {
        let mut world = World::new("narrow");
        world.layout = Layout::columns(2, 1.0);
        let least = crate::Horizon::width_min(&world, &crate::AuraConfig::default());
        world.layout = Layout::columns(3, least + 0.1);
        let map = PartitionMap::from_layout(&world.layout).unwrap();
        let mut node = Node::new(NodeConfig::new(RegionId(0)), Arc::new(world), 1, map, Tick(0));
        node.computed(9_000);
        node.tick(Tick(1));
        assert_eq!((node.horizon.legs, said(&mut node, Factor::Compute).len()), (2, 1));
    }

    /// The neighbour tells of these bodies, in a frame that was sent and arrives at these times.
    fn hear(node: &mut Node, (sent_us, clock_us): (u64, u64), auras: Vec<Aura>) {
        let tick = auras.first().map_or(Tick(0), |aura| aura.tick);
        let frame = AuraFrame { sent_us, auras, ..AuraFrame::default() };
        let (from, to) = (Address::Region(RegionId(1)), Address::Region(RegionId(0)));
        node.set_clock(clock_us);
        node.handle(Frame { from, to, era: 1, epoch: 1, tick, content: Content::Auras(frame) });
    }

    #[test]
    fn a_frame_that_comes_before_it_was_sent_shows_that_clocks_differ() {
        let mut node = server(|config| config.aura.skew_ms = 1.0);
        hear(&mut node, (50_000, 49_500), Vec::new());
        node.tick(Tick(1));
        assert_eq!(said(&mut node, Factor::Skew), [], "half a millisecond is allowed");
        hear(&mut node, (90_000, 86_000), Vec::new());
        node.tick(Tick(2));
        assert_eq!((said(&mut node, Factor::Skew), node.horizon.legs), (vec![(4.0, 1.0)], 3));
        hear(&mut node, (100_000, 105_500), Vec::new());
        node.tick(Tick(3));
        assert_eq!(said(&mut node, Factor::Latency), [(5.5, 5.0)], "the tolerance and the difference of clocks");
    }

    /// Runs a server with a backup to which the way takes this long, there and back.
    fn with_backup(node: &mut Node, way_us: u64, ticks: u64) {
        let mut backup = Backup::new(RegionId(0), 1, 1, None);
        let mut answers: Vec<(u64, Frame)> = Vec::new();
        for tick in 1..=ticks {
            let now = tick * 16_667;
            let (due, later) = answers.into_iter().partition(|(at, _)| *at <= now);
            answers = later;
            for (at, frame) in due {
                node.set_clock(at);
                node.handle(frame);
            }
            node.tick(Tick(tick));
            node.set_clock(now);
            let (mut frames, mut said) = (Vec::new(), Vec::new());
            node.emit(&mut frames);
            for frame in frames.into_iter().filter(|frame| matches!(frame.to, Address::Backup(_))) {
                backup.handle(frame, &mut said);
            }
            answers.extend(said.into_iter().map(|frame| (now + way_us, frame)));
        }
    }

    #[test]
    fn a_backup_that_takes_longer_than_promised_is_said_to_and_one_that_does_not_is_not() {
        let mut node = server(|config| config.durable = true);
        assert_eq!(node.horizon.legs, 3);
        with_backup(&mut node, 8_000, 60);
        assert_eq!((node.take_breaches(), node.leg_times.commit_ms), (Vec::new(), 8.0));
        let mut node = server(|config| config.durable = true);
        with_backup(&mut node, 20_000, 60);
        assert!(said(&mut node, Factor::Commit).iter().all(|(value, limit)| *value > 16.0 && *limit == 8.0));
        assert!(node.counters().breaches[Factor::Commit as usize] > 40 && node.leg_times.commit_ms == 20.0);
    }

    #[test]
    fn a_backup_that_never_answers_is_a_breach() {
        let run = |bodies: u64| {
            let mut node = server(|config| config.durable = true);
            for tick in 1..30 {
                let extent = Extent::boxed(Aabb::around(Vec3::X * 2.0, Vec3::ONE));
                let (host, seen, strike) = (RegionId(1), Tick(tick - 1), crate::scene::STRIKE_NONE);
                let aura = |nid| Aura {
                    nid: Nid(nid),
                    host,
                    tick: seen,
                    extent,
                    speed: 1.0,
                    strike,
                    sweeps: false,
                    anchored: false,
                };
                hear(&mut node, (tick, tick), (0..bodies).map(aura).collect());
                node.tick(Tick(tick));
                node.emit(&mut Vec::new());
            }
            said(&mut node, Factor::Commit).len()
        };
        assert_eq!((run(1), run(0)), (29 - 8, 0), "from when it counts as silent, and when anything is near");
    }

    #[test]
    fn who_does_not_listen_to_measured_times_says_nothing_of_them() {
        let mut node = server(|config| {
            (config.planted, config.durable) = (Some(Planted::DeafToTimes), true);
        });
        with_backup(&mut node, 60_000, 60);
        node.computed(90_000);
        node.tick(Tick(61));
        assert_eq!((node.take_breaches(), node.horizon.legs), (Vec::new(), 3));
    }

    #[test]
    fn a_time_that_rises_counts_at_once_and_one_that_falls_after_a_while() {
        let mut meter = Meter::default();
        meter.note(2.1);
        assert_eq!(meter.level_ms, 2.5);
        meter.note(9.0);
        assert_eq!(meter.level_ms, 9.0);
        let mut levels = Vec::new();
        for _ in 0..2 * WINDOW {
            meter.note(1.0);
            levels.push(meter.level_ms);
        }
        levels.dedup();
        assert_eq!(levels, [9.0, 1.0], "down once, and not to and fro");
    }
}
