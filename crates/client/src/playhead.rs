//! Which moment of the world to show: a little behind the newest state, and as little as the network allows.
//!
//! States come late by different amounts. A line through the arrivals says how fast the world's ticks pass and when each
//! state would have come with nothing in its way; how much later they really came is the jitter. The head runs behind
//! that line by the time between two states and the lateness that all but a few keep to, so that nearly every state is
//! there before it is needed. Pace and delay are measured, because a loaded server runs slower than it promised and a
//! network changes while one plays.

use std::collections::VecDeque;
use std::time::Duration;

use crate::playback::PlaybackConfig;

/// Arrivals older than this do not count.
const WINDOW_S: f64 = 2.0;
/// Arrivals that are kept; two seconds at 120 states a second.
const ARRIVALS_MAX: usize = 256;
/// A silence longer than this, such as a pause or a world at rest, starts the measurement of the pace anew.
const SILENCE_S: f64 = 0.6;
/// Fewer arrivals, or arrivals within less time, say nothing about the pace.
const ARRIVALS_MIN: usize = 8;
const SPAN_MIN_S: f64 = 0.2;
/// Nothing is later than this.
const LATENESS_MAX_S: f64 = 10.0;
/// The share of states that is to be there in time.
const IN_TIME: f64 = 0.97;
/// Room for the uneven steps of whoever draws.
const MARGIN_S: f64 = 0.004;
/// How fast the delay shrinks when the network gets better; it grows at once.
const SHRINK_PER_S: f64 = 0.03;
/// How much faster or slower than the world the head may run to get to its place, and how soon it should be there.
const HURRY_MAX: f64 = 0.2;
const CATCH_UP_S: f64 = 0.25;
/// Farther from its place than this, the head jumps.
const JUMP_S: f64 = 0.5;
/// Longest step of one call.
const STEP_MAX_S: f64 = 0.25;

/// A straight line through the arrivals.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Tick and time at which the earliest of them would have come.
    tick: f64,
    at_s: f64,
    /// How long a tick takes.
    tick_s: f64,
    /// How many ticks lie between two states.
    interval: f64,
    /// How late all but a few came.
    lateness_s: f64,
}

/// The moment that is shown, and why.
#[derive(Clone, Debug)]
pub(crate) struct Playhead {
    nominal_hz: f64,
    paused: bool,
    arrivals: VecDeque<(f64, f64)>,
    line: Option<Line>,
    latest: Option<f64>,
    head: Option<f64>,
    shown_s: f64,
    delay_s: f64,
}

impl Playhead {
    pub(crate) fn new() -> Playhead {
        Playhead {
            nominal_hz: 60.0,
            paused: false,
            arrivals: VecDeque::new(),
            line: None,
            latest: None,
            head: None,
            shown_s: 0.0,
            delay_s: 0.0,
        }
    }

    /// A world was loaded: its ticks have nothing to do with those before. How uneven the network is, it still knows.
    pub(crate) fn restart(&mut self) {
        self.arrivals.clear();
        (self.line, self.latest, self.head) = (None, None, None);
    }

    /// Ticks pass at this rate from now on, as far as it was promised.
    pub(crate) fn run_at(&mut self, ticks_per_s: f64, paused: bool) {
        let ticks_per_s = if ticks_per_s.is_finite() { ticks_per_s.clamp(0.1, 10_000.0) } else { 60.0 };
        if (self.nominal_hz, self.paused) != (ticks_per_s, paused) {
            (self.nominal_hz, self.paused) = (ticks_per_s, paused);
            self.arrivals.clear();
            self.line = None;
        }
    }

    /// A state of this tick came.
    pub(crate) fn arrived(&mut self, tick: f64, now: Duration, config: &PlaybackConfig) {
        if self.latest.is_some_and(|latest| tick <= latest) {
            return;
        }
        let at = now.as_secs_f64();
        if self.arrivals.back().is_some_and(|(_, last)| at - last > SILENCE_S || at < *last) {
            self.arrivals.clear();
        }
        self.latest = Some(tick);
        self.arrivals.push_back((tick, at));
        while self.arrivals.len() > ARRIVALS_MAX || self.arrivals.front().is_some_and(|(_, old)| at - old > WINDOW_S) {
            self.arrivals.pop_front();
        }
        let line = self.fit();
        let wanted = line.interval * line.tick_s + line.lateness_s + MARGIN_S;
        self.delay_s = match config.delay {
            Some(fixed) => fixed.as_secs_f64(),
            None => {
                let calmer = self.delay_s - SHRINK_PER_S * line.interval * line.tick_s;
                wanted.max(calmer).min(config.delay_max.as_secs_f64())
            }
        };
        self.line = Some(line);
        if self.head.is_none() {
            self.head = Some(tick - self.delay_s / line.tick_s);
        }
    }

    /// Moves the head to where it should be at this moment.
    pub(crate) fn advance(&mut self, now: Duration, config: &PlaybackConfig) {
        let at = now.as_secs_f64();
        let passed = (at - self.shown_s).clamp(0.0, STEP_MAX_S);
        self.shown_s = at;
        let (Some(head), Some(latest)) = (self.head, self.latest) else { return };
        let Some(line) = self.line.filter(|_| !self.paused) else {
            // Time stands still, so nothing more will come: show how it ended.
            self.head = Some(latest.min(head + passed * self.nominal_hz));
            return;
        };
        let pace = 1.0 / line.tick_s;
        let target = line.tick + (at - line.at_s - self.delay_s) * pace;
        let evenly = head + pace * passed;
        let behind_s = (target - evenly) / pace;
        let moved = if behind_s.abs() > JUMP_S {
            target
        } else {
            evenly + pace * passed * (behind_s / CATCH_UP_S).clamp(-HURRY_MAX, HURRY_MAX)
        };
        self.head = Some(moved.min(latest + config.extrapolation.as_secs_f64() * pace));
    }

    /// The tick that is shown, with a fraction.
    pub(crate) fn head(&self) -> Option<f64> {
        self.head
    }

    /// The newest tick that a state came of.
    pub(crate) fn latest(&self) -> Option<f64> {
        self.latest
    }

    /// How far the head keeps behind a state that comes in time.
    pub(crate) fn delay(&self) -> Duration {
        Duration::from_secs_f64(self.delay_s)
    }

    /// How late all but a few states come.
    pub(crate) fn jitter(&self) -> Duration {
        Duration::from_secs_f64(self.line.map_or(0.0, |line| line.lateness_s))
    }

    /// How many ticks pass in a second.
    pub(crate) fn pace(&self) -> f64 {
        self.line.map_or(self.nominal_hz, |line| 1.0 / line.tick_s)
    }

    /// The least-squares line through the arrivals, moved to the earliest of them.
    fn fit(&self) -> Line {
        let (first, last) = (self.arrivals.front().copied(), self.arrivals.back().copied());
        let (Some(first), Some(last)) = (first, last) else {
            return Line { tick: 0.0, at_s: 0.0, tick_s: 1.0 / self.nominal_hz, interval: 1.0, lateness_s: 0.0 };
        };
        let count = self.arrivals.len() as f64;
        let points = || self.arrivals.iter().map(|(tick, at)| (tick - first.0, at - first.1));
        let nominal = 1.0 / self.nominal_hz;
        let (mean_tick, mean_at) = points().fold((0.0, 0.0), |(x, y), (tick, at)| (x + tick / count, y + at / count));
        let mut tick_s = nominal;
        let is_measured = self.arrivals.len() >= ARRIVALS_MIN && last.1 - first.1 >= SPAN_MIN_S;
        if is_measured {
            let (mut both, mut square) = (0.0, 0.0);
            for (tick, at) in points() {
                both += (tick - mean_tick) * (at - mean_at);
                square += (tick - mean_tick) * (tick - mean_tick);
            }
            // A burst after a stall must not look like a world that ran away; ticks from outside may be any.
            let slope = both / square;
            tick_s = if slope.is_finite() { slope.clamp(nominal / 16.0, nominal * 20.0) } else { nominal };
        }
        let mut late: Vec<f64> = points().map(|(tick, at)| at - tick * tick_s).collect();
        late.sort_by(f64::total_cmp);
        let earliest = late[0];
        let in_time = late[((count * IN_TIME).ceil() as usize).clamp(1, late.len()) - 1];
        let gaps = (count - 1.0).max(1.0);
        Line {
            tick: first.0,
            at_s: first.1 + earliest,
            tick_s,
            interval: ((last.0 - first.0) / gaps).max(1.0),
            // Against a pace that was only promised, every state of a slow server would be late.
            lateness_s: if is_measured { (in_time - earliest).min(LATENESS_MAX_S) } else { 0.0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME_S: f64 = 1.0 / 60.0;

    fn at(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    /// Feeds ticks at a rate, each late by what `late` says, and draws a frame after each.
    fn play(playhead: &mut Playhead, ticks: std::ops::Range<u32>, hz: f64, late: impl Fn(u32) -> f64) {
        let config = PlaybackConfig::default();
        let mut clock: f64 = playhead.shown_s;
        for tick in ticks {
            clock = clock.max(f64::from(tick) / hz + late(tick));
            playhead.arrived(f64::from(tick), at(clock), &config);
            playhead.advance(at(clock), &config);
        }
    }

    #[test]
    fn an_even_network_costs_little_more_than_a_state() {
        let mut playhead = Playhead::new();
        play(&mut playhead, 1..300, 60.0, |_| 0.05);
        let delay = playhead.delay().as_secs_f64();
        assert!((FRAME_S..FRAME_S + 0.01).contains(&delay), "{delay}");
        assert!(playhead.jitter() < at(0.001));
        assert!((playhead.pace() - 60.0).abs() < 0.5, "{}", playhead.pace());
    }

    #[test]
    fn the_delay_follows_the_jitter_up_at_once_and_down_slowly() {
        let mut playhead = Playhead::new();
        play(&mut playhead, 1..120, 60.0, |_| 0.0);
        let calm = playhead.delay();
        play(&mut playhead, 120..240, 60.0, |tick| if tick % 7 == 0 { 0.08 } else { 0.0 });
        let rough = playhead.delay();
        assert!(rough > calm + at(0.06), "{calm:?} then {rough:?}");
        play(&mut playhead, 240..420, 60.0, |_| 0.0);
        let later = playhead.delay();
        assert!(later < rough && later > calm, "{later:?} after three calm seconds");
        play(&mut playhead, 420..900, 60.0, |_| 0.0);
        assert!(playhead.delay() < calm + at(0.005));
    }

    #[test]
    fn a_slow_server_is_followed_at_its_own_pace() {
        let mut playhead = Playhead::new();
        play(&mut playhead, 1..200, 20.0, |_| 0.0);
        assert!((playhead.pace() - 20.0).abs() < 0.5, "{}", playhead.pace());
        let behind = 199.0 - playhead.head().unwrap();
        assert!((0.5..2.0).contains(&behind), "{behind} ticks behind");
    }

    #[test]
    fn the_head_never_turns_back_and_never_runs_away() {
        let (mut playhead, config) = (Playhead::new(), PlaybackConfig::default());
        play(&mut playhead, 1..60, 60.0, |tick| f64::from(tick % 5) * 0.01);
        let mut last = playhead.head().unwrap();
        for frame in 0..120 {
            playhead.advance(at(1.0 + f64::from(frame) * FRAME_S), &config);
            let head = playhead.head().unwrap();
            assert!(head >= last, "{last} to {head}");
            last = head;
        }
        let limit = 59.0 + config.extrapolation.as_secs_f64() * playhead.pace();
        assert!(last <= limit + 1e-6, "{last} is beyond {limit}");
    }

    #[test]
    fn a_pause_shows_how_it_ended_and_a_new_world_begins_anew() {
        let (mut playhead, config) = (Playhead::new(), PlaybackConfig::default());
        play(&mut playhead, 1..60, 60.0, |_| 0.0);
        playhead.run_at(60.0, true);
        for frame in 0..60 {
            playhead.advance(at(1.0 + f64::from(frame) * FRAME_S), &config);
        }
        assert_eq!(playhead.head(), Some(59.0));
        playhead.restart();
        assert_eq!((playhead.head(), playhead.latest()), (None, None));
    }
}
