//! Where bodies are to be shown at a moment: their tracks, and the head that runs along all of them.

use nimbus_model::{Nid, Pose, Tick, Vec3};
use std::collections::BTreeMap;
use std::time::Duration;

use crate::playhead::Playhead;
use crate::track::{Moment, Sight, Track};

/// Servers may be so many ticks apart. A body that was not mentioned for longer, while others were, lies still.
const SERVERS_APART_TICKS: f64 = 3.0;

/// How motion is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaybackConfig {
    /// How far behind the newest state to show; none follows the jitter of the network.
    pub delay: Option<Duration>,
    /// The most that jitter may make of it.
    pub delay_max: Duration,
    /// For how long a body goes on with its last velocities when no state comes; then it waits.
    pub extrapolation: Duration,
    /// How long it takes to lead a body back to where it really is.
    pub correction: Duration,
    /// A body that is farther from where it really is jumps there, metres.
    pub jump: f32,
}

impl Default for PlaybackConfig {
    fn default() -> PlaybackConfig {
        PlaybackConfig {
            delay: None,
            delay_max: Duration::from_millis(400),
            extrapolation: Duration::from_millis(250),
            correction: Duration::from_millis(120),
            jump: 5.0,
        }
    }
}

/// The motion of every body.
#[derive(Clone, Debug)]
pub(crate) struct Playback {
    config: PlaybackConfig,
    playhead: Playhead,
    tracks: BTreeMap<Nid, Track>,
    /// The newest tick of a state, and the newest before that: who was not mentioned then had not moved.
    prior: f64,
    latest: f64,
    /// The newest tick that anything came of.
    heard: f64,
    now: Duration,
    /// How long a tick of the world takes, seconds, and what bends the way of whatever falls in it, m/s2.
    tick_s: f64,
    gravity: Vec3,
    /// The gateway does not tell of every body at every tick: who is not mentioned may have moved.
    pub(crate) is_sparse: bool,
}

impl Playback {
    pub(crate) fn new(config: PlaybackConfig) -> Playback {
        let (prior, latest, heard, now) = (0.0, 0.0, 0.0, Duration::ZERO);
        Playback {
            config,
            playhead: Playhead::new(),
            tracks: BTreeMap::new(),
            prior,
            latest,
            heard,
            now,
            tick_s: 1.0 / 60.0,
            gravity: Vec3::ZERO,
            is_sparse: false,
        }
    }

    /// A world with this gravity, m/s2, was loaded.
    pub(crate) fn restart(&mut self, gravity: Vec3) {
        self.gravity = gravity;
        self.playhead.restart();
        self.tracks.clear();
        (self.prior, self.latest, self.heard) = (0.0, 0.0, 0.0);
    }

    /// The world has so many ticks in a second of its own, which pass at this speed.
    pub(crate) fn run_at(&mut self, tick_hz: u32, speed: f64, paused: bool) {
        let tick_hz = f64::from(tick_hz.max(1));
        self.tick_s = 1.0 / tick_hz;
        self.playhead.run_at(tick_hz * speed, paused);
    }

    pub(crate) fn create(&mut self, nid: Nid, pose: Pose) {
        self.tracks.insert(nid, Track::new(self.latest, pose));
    }

    pub(crate) fn destroy(&mut self, nid: Nid) {
        self.tracks.remove(&nid);
    }

    /// A message with states of this tick begins.
    pub(crate) fn arrived(&mut self, tick: Tick, now: Duration) {
        let tick = tick.0 as f64;
        if tick > self.latest {
            self.prior = if self.playhead.latest().is_none() { tick - 1.0 } else { self.latest };
            self.latest = tick;
        }
        self.heard(Tick(tick as u64));
        self.playhead.arrived(tick, now, &self.config);
    }

    /// The world has come to this tick, whether anything moved or not.
    pub(crate) fn heard(&mut self, tick: Tick) {
        self.heard = self.heard.max(tick.0 as f64);
    }

    /// Where a body was at a tick.
    pub(crate) fn place(&mut self, nid: Nid, tick: Tick, sight: Sight) {
        let moment = self.moment();
        let tick = tick.0 as f64;
        // A server may be a tick behind the others; its bodies rested until the tick before the one it speaks of.
        let rested_until = if self.is_sparse { f64::NEG_INFINITY } else { self.prior.min(tick - 1.0) };
        if let Some(track) = self.tracks.get_mut(&nid) {
            track.place(tick, sight, rested_until, &moment);
        }
    }

    /// Moves on to this moment.
    pub(crate) fn advance(&mut self, now: Duration) {
        self.now = now;
        self.playhead.advance(now, &self.config);
    }

    /// Where to show a body at the moment that was moved on to.
    pub(crate) fn pose(&mut self, nid: Nid) -> Option<Pose> {
        let moment = self.moment();
        self.tracks.get_mut(&nid).map(|track| track.pose(&moment))
    }

    /// The tick that is shown, with a fraction; none before the first state.
    pub(crate) fn head(&self) -> Option<f64> {
        self.playhead.head()
    }

    pub(crate) fn delay(&self) -> Duration {
        self.playhead.delay()
    }

    pub(crate) fn jitter(&self) -> Duration {
        self.playhead.jitter()
    }

    fn moment(&self) -> Moment {
        let extrapolation = self.config.extrapolation.as_secs_f64() * self.playhead.pace();
        Moment {
            head: self.playhead.head().unwrap_or(self.latest),
            now_s: self.now.as_secs_f64(),
            heard: self.heard,
            // A gateway does not repeat where a body is while that cannot be told from where it was said to be. So one that
            // went on by itself for as long as it may, without a word, is where it was told of last.
            quiet_ticks: if self.is_sparse { extrapolation.max(SERVERS_APART_TICKS) } else { SERVERS_APART_TICKS },
            is_sparse: self.is_sparse,
            extrapolation,
            correction_s: self.config.correction.as_secs_f64(),
            jump: self.config.jump,
            tick_s: self.tick_s,
            gravity: self.gravity,
        }
    }
}

#[cfg(test)]
#[path = "playback_tests.rs"]
mod tests;
