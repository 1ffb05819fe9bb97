//! Motion over a network that is late and uneven, in virtual time, against the truth.

use super::*;
use nimbus_model::{Quat, Rng, Vec3};

const HZ: f64 = 60.0;
const BODY: Nid = Nid(7);

/// A body on a circle, 16 m/s fast, turning.
fn truth(tick: f64) -> Pose {
    let angle = (tick / HZ * std::f64::consts::PI) as f32;
    let position = Vec3::new(5.0 * angle.cos(), 1.0, 5.0 * angle.sin());
    Pose::at(position).turned(Quat::from_rotation_y(-angle))
}

fn tell(playback: &mut Playback, tick: Tick, pose: Pose) {
    playback.place(BODY, tick, Sight { pose, at_rest: false });
}

/// What was seen: how far from the truth of the tick that was shown, how rough, how far behind.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    error_max: f32,
    error_mean: f32,
    /// Greatest change of the step from one frame to the next, metres.
    jerk_max: f32,
    behind_mean_s: f64,
}

/// Shows twelve seconds at 60 frames a second and judges all but the first three. `late` says how late a tick comes; what
/// was sent earlier never comes later, as on a stream.
fn watch(config: PlaybackConfig, mut late: impl FnMut(u32) -> f64) -> Seen {
    let mut playback = Playback::new(config);
    playback.run_at(60, 1.0, false);
    playback.create(BODY, truth(0.0));
    let mut arrivals: Vec<(u32, f64)> = Vec::new();
    for tick in 1..=(12 * 60) {
        let before = arrivals.last().map_or(0.0, |(_, at)| *at);
        arrivals.push((tick, before.max(f64::from(tick) / HZ + late(tick))));
    }
    let mut arrivals = arrivals.into_iter().peekable();
    let (mut seen, mut places, mut judged) = (Seen::default(), Vec::new(), 0.0);
    for frame in 0..(11 * 60) {
        let now = f64::from(frame) / 60.0 + 0.003;
        while let Some((tick, at)) = arrivals.next_if(|(_, at)| *at <= now) {
            let tick = Tick(u64::from(tick));
            playback.arrived(tick, Duration::from_secs_f64(at));
            tell(&mut playback, tick, truth(tick.0 as f64));
        }
        playback.advance(Duration::from_secs_f64(now));
        let (Some(head), Some(pose)) = (playback.head(), playback.pose(BODY)) else { continue };
        if frame < 3 * 60 {
            continue;
        }
        judged += 1.0;
        let error = pose.position.distance(truth(head).position);
        seen.error_max = seen.error_max.max(error);
        seen.error_mean += error;
        seen.behind_mean_s += now - head / HZ;
        places.push(pose.position);
    }
    seen.error_mean /= judged as f32;
    seen.behind_mean_s /= judged;
    seen.jerk_max = places.windows(3).map(|p| (p[2] - p[1] * 2.0 + p[0]).length()).fold(0.0, f32::max);
    seen
}

fn jittery(seed: u64, up_to_s: f32) -> impl FnMut(u32) -> f64 {
    let mut rng = Rng::new(seed);
    move |_| 0.03 + f64::from(rng.between(0.0, up_to_s))
}

#[test]
fn motion_is_true_and_smooth_although_states_come_unevenly() {
    for seed in 1..=8 {
        let seen = watch(PlaybackConfig::default(), jittery(seed, 0.06));
        assert!(seen.error_max < 0.005 && seen.error_mean < 0.002, "seed {seed}: {seen:?}");
        assert!(seen.jerk_max < 0.03, "seed {seed}: {seen:?}");
        assert!(seen.behind_mean_s < 0.15, "seed {seed}: {seen:?}");
        // Without a delay nearly everything that is shown is a guess.
        let guessed = watch(PlaybackConfig { delay: Some(Duration::ZERO), ..Default::default() }, jittery(seed, 0.06));
        assert!(guessed.error_mean > seen.error_mean * 30.0, "seed {seed}: {guessed:?} against {seen:?}");
    }
}

#[test]
fn a_calm_network_is_shown_with_less_delay() {
    let calm = watch(PlaybackConfig::default(), jittery(1, 0.002));
    let rough = watch(PlaybackConfig::default(), jittery(1, 0.1));
    assert!(calm.behind_mean_s < 0.065, "{calm:?}");
    assert!(rough.behind_mean_s > calm.behind_mean_s + 0.05, "{rough:?} against {calm:?}");
    assert!(rough.error_mean < 0.002, "{rough:?}");
}

#[test]
fn a_stall_is_bridged_without_a_jump() {
    // A fifth of a second nothing comes, then everything at once; every two seconds.
    let stalls =
        |tick: u32| if (6..18).contains(&(tick % 120)) { 0.03 + f64::from(18 - tick % 120) / HZ } else { 0.03 };
    let seen = watch(PlaybackConfig::default(), stalls);
    assert!(seen.error_max < 0.4 && seen.jerk_max < 0.2, "{seen:?}");
    // Who does not go on by itself stands still, and then runs.
    let still = PlaybackConfig { extrapolation: Duration::ZERO, delay: Some(Duration::ZERO), ..Default::default() };
    let stood = watch(still, stalls);
    assert!(stood.jerk_max > seen.jerk_max, "{stood:?} against {seen:?}");
}

#[test]
fn a_body_that_comes_to_rest_is_shown_where_it_lies() {
    let mut playback = Playback::new(PlaybackConfig::default());
    playback.create(BODY, Pose::IDENTITY);
    let at = |tick: u32| Duration::from_secs_f64(f64::from(tick) / HZ);
    for tick in 1..=60 {
        playback.arrived(Tick(u64::from(tick)), at(tick));
        tell(&mut playback, Tick(u64::from(tick)), Pose::at(Vec3::X * tick as f32 * 0.1));
        playback.advance(at(tick));
    }
    // From now on it is not mentioned, though others are.
    for tick in 61..=120 {
        playback.arrived(Tick(u64::from(tick)), at(tick));
        playback.advance(at(tick));
        playback.pose(BODY);
    }
    let shown = playback.pose(BODY).unwrap().position;
    assert!(shown.distance(Vec3::X * 6.0) < 1e-3, "{shown}");
}

#[test]
fn a_body_that_is_pushed_after_a_rest_starts_from_where_it_lay() {
    let mut playback = Playback::new(PlaybackConfig::default());
    playback.create(BODY, Pose::IDENTITY);
    let at = |tick: u32| Duration::from_secs_f64(f64::from(tick) / HZ);
    let mut last = 0.0f32;
    for tick in 1..=90 {
        playback.arrived(Tick(u64::from(tick)), at(tick));
        if tick > 60 {
            tell(&mut playback, Tick(u64::from(tick)), Pose::at(Vec3::X * (tick - 60) as f32 * 0.1));
        }
        playback.advance(at(tick));
        let x = playback.pose(BODY).unwrap().position.x;
        assert!(x >= last - 1e-4 && x - last < 0.2, "{last} to {x} at {tick}");
        last = x;
    }
    assert!(last > 2.5, "{last}");
}

/// What is shown of a body to a client that watches, with 20 states a second: the tick that is shown, and the place. `told` says
/// what is in the state of a tick. Figures come twice a second besides.
fn shown_when(seconds: u32, truth: impl Fn(f64) -> Vec3, told: impl Fn(u32) -> Told) -> Vec<(f64, Vec3)> {
    let mut playback = Playback::new(PlaybackConfig::default());
    playback.is_sparse = true;
    playback.restart(Vec3::Y * -9.81);
    playback.run_at(60, 1.0, false);
    playback.create(BODY, Pose::at(truth(0.0)));
    let mut shown = Vec::new();
    for tick in 1..=seconds * 60 {
        let now = Duration::from_secs_f64(f64::from(tick) / HZ);
        let told = told(tick);
        if told != Told::Nothing && tick % 3 == 0 {
            playback.arrived(Tick(u64::from(tick)), now);
        }
        if told == Told::Body && tick % 3 == 0 {
            tell(&mut playback, Tick(u64::from(tick)), Pose::at(truth(f64::from(tick))));
        }
        if tick % 30 == 0 {
            playback.heard(Tick(u64::from(tick) - 10));
        }
        // Frames fall between ticks.
        playback.advance(now + Duration::from_millis(7));
        if tick > 60 {
            shown.push((playback.head().unwrap(), playback.pose(BODY).unwrap().position));
        }
    }
    shown
}

/// What the gateway says in a tick.
#[derive(Clone, Copy, PartialEq)]
enum Told {
    Body,
    /// Others are told of, and the body is not.
    Others,
    Nothing,
}

/// The same of a body that is in every state.
fn shown_of(seconds: u32, truth: impl Fn(f64) -> Vec3) -> Vec<(f64, Vec3)> {
    shown_when(seconds, truth, |_| Told::Body)
}

#[test]
fn a_body_that_falls_is_shown_where_it_was() {
    let truth = |tick: f64| {
        let s = tick / HZ;
        Vec3::new(2.0 * s as f32, (30.0 * s - 4.905 * s * s) as f32, 0.0)
    };
    for (head, place) in shown_of(6, truth) {
        let off = place.distance(truth(head));
        assert!(off < 1e-3, "{off} m off at {head}");
    }
}

#[test]
fn a_body_that_bounces_is_never_shown_beneath_the_floor() {
    for speed in [0.3, 1.0, 2.0, 4.0, 7.5] {
        let flight = 2.0 * speed / 9.81;
        let truth = |tick: f64| {
            let s = (tick / HZ) % flight;
            Vec3::Y * (speed * s - 4.905 * s * s).max(0.0) as f32
        };
        for (head, place) in shown_of(6, truth) {
            assert!(place.y >= -1e-5, "{} at {head}, {speed} m/s", place.y);
        }
    }
}

#[test]
fn a_body_that_stops_is_not_shown_beyond() {
    for stop in 0..12 {
        // Against a wall, after sliding, and on the floor, at every phase between two states.
        let at = 90.0 + f64::from(stop) * 0.5;
        let left_s = move |tick: f64| (at - tick).max(0.0) / HZ;
        let hits_wall = move |tick: f64| Vec3::NEG_X * (3.0 * left_s(tick)) as f32;
        let slides = move |tick: f64| Vec3::NEG_X * (2.5 * left_s(tick) * left_s(tick)) as f32;
        let falls = move |tick: f64| Vec3::Y * (4.0 * left_s(tick) - 4.905 * left_s(tick) * left_s(tick)) as f32;
        for (head, place) in shown_of(3, hits_wall).into_iter().chain(shown_of(3, slides)) {
            assert!(place.x <= 1e-5, "{} at {head} of {at}", place.x);
        }
        for (head, place) in shown_of(3, falls) {
            assert!(place.y >= -1e-5, "{} at {head} of {at}", place.y);
        }
    }
}

#[test]
fn a_body_that_stops_and_is_not_mentioned_again_is_shown_where_it_lies() {
    // It hits a wall at 3 m/s. Where it came to lie is said once.
    let truth = |tick: f64| Vec3::NEG_X * (3.0 * (120.0 - tick).max(0.0) / HZ) as f32;
    for then in [Told::Others, Told::Nothing] {
        let shown = shown_when(4, truth, |tick| if tick <= 120 { Told::Body } else { then });
        let (_, last) = shown.last().unwrap();
        assert!(last.x.abs() < 1e-4, "{} m inside the wall for good", last.x);
        let step_max = shown.windows(2).map(|two| (two[1].1 - two[0].1).length()).fold(0.0, f32::max);
        assert!(step_max < 0.2, "it is led back: {step_max} m in a frame");
        let when = shown.iter().rposition(|(_, place)| place.x > 0.01).unwrap();
        // Half a second, and at most another half until the next figures where nothing else is said.
        let soon = if then == Told::Others { 150 } else { 180 };
        assert!(60 + when < soon, "until tick {}", 60 + when);
    }
}

#[test]
fn a_slow_body_that_is_sent_rarely_is_not_seen_to_go_back() {
    // A millimetre is what can be told apart here; it is sent as often as it has gone that far.
    for every in [6, 12, 18, 27] {
        let truth = move |tick: f64| Vec3::X * (tick / f64::from(every) * 0.001) as f32;
        let shown = shown_when(6, truth, |tick| if tick % every == 0 { Told::Body } else { Told::Others });
        for (head, place) in shown {
            let off = place.distance(truth(head));
            assert!(off < 0.0011, "{off} m off at {head}, sent every {every} ticks");
        }
    }
}

#[test]
fn a_fast_body_that_there_are_no_bytes_for_never_goes_back() {
    for every in [9, 15, 18, 24, 30] {
        let truth = |tick: f64| Vec3::X * (10.0 * tick / HZ) as f32;
        let shown = shown_when(6, truth, |tick| if tick % every == 0 { Told::Body } else { Told::Others });
        for two in shown.windows(2) {
            let step = two[1].1.x - two[0].1.x;
            assert!(step > -1e-4, "{step} m at {}, sent every {every} ticks", two[1].0);
        }
    }
}

#[test]
fn a_slow_timeline_does_not_make_bodies_stand_still() {
    // At a tenth of the speed the window is a tick and a half, and states are three ticks apart.
    let mut playback = Playback::new(PlaybackConfig::default());
    playback.is_sparse = true;
    playback.run_at(60, 0.1, false);
    playback.create(BODY, Pose::IDENTITY);
    let mut last = 0.0;
    for frame in 1..=1200u32 {
        let now = Duration::from_secs_f64(f64::from(frame) / 60.0);
        let tick = u64::from(frame / 10);
        if frame % 30 == 0 {
            playback.arrived(Tick(tick), now);
        }
        // Every third state has word of it.
        if frame % 90 == 0 {
            tell(&mut playback, Tick(tick), Pose::at(Vec3::X * tick as f32 * 0.1));
        }
        playback.advance(now);
        let x = playback.pose(BODY).unwrap().position.x;
        assert!(frame < 360 || x - last > -1e-4, "{last} to {x} at {frame}");
        last = x;
    }
}
