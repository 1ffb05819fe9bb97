//! Impacts that run through bodies: one is struck, strikes the next, and so on.
//!
//! An impact goes from body to body faster than any of them moves: by a body and a gap in the time that closing the gap
//! takes. Around a body everything may be at rest until it is struck. So this is a search in time for the earliest moment at
//! which each body may be struck, and for the speed that it may have then, starting from everything that moves.
//!
//! Impacts run through what is at rest or slow. What nothing has made faster yet flies on as it does; what was made faster
//! may go anywhere. A strike hands on
//! `(1 + e) M / (M + m)` of the striker's speed, with the masses of both and the restitution. Along any round of strikes that
//! comes back to where it began the product of these shares is at most 1, so nothing is stirred up by going to and fro. What
//! a body keeps of its own motion besides is not counted: one strike from nearby is, elsewhere.

use nimbus_model::{Extent, Vec3};
use nimbus_wire::Strike;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::grid::Grid;
use crate::horizon::TOUCH_M;
use crate::strike::{Striker, Struck, speed_after};

/// What is slower, m/s, strikes nothing: in time it moves nothing by more than the margin of a touch. A speed that grows by
/// no more is not followed again.
const WORTH_M_S: f32 = 0.25;

/// Impacts run through what is no faster than this, m/s. What moves is counted as fast as it is, wherever it is looked at.
const STILL_M_S: f32 = 1.0;

/// A body as impacts see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body {
    /// The room it takes however it turns in time.
    pub(crate) extent: Extent,
    /// Where it flies as long as nothing strikes it; `None` when only its speed is known.
    pub(crate) velocity: Option<Vec3>,
    /// How it strikes; `speed` is that of its centre.
    pub(crate) strike: Strike,
    /// What joints hold together has the same number and moves as one.
    pub(crate) linkage: Option<usize>,
}

impl Body {
    fn is_still(&self) -> bool {
        self.strike.speed + self.strike.spin <= STILL_M_S
    }

    /// How far it may be from where its velocity takes it after so many seconds, metres.
    fn astray(&self, impact: Impact, at: f32) -> f32 {
        match (self.velocity, impact.struck) {
            (None, _) => at * impact.speed,
            (Some(_), Some((_, since_us))) => (at - since_us as f32 * 1e-6).max(0.0) * impact.speed,
            (Some(_), None) => 0.0,
        }
    }
}

/// How far ahead impacts are followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Within {
    /// Seconds.
    pub(crate) seconds: f32,
    /// No body is made faster than this, m/s.
    pub(crate) speed: f32,
    /// What two bodies may gain on each other in that time, m/s.
    pub(crate) gain: f32,
    /// Greatest distance from the position of a body to its surface, metres.
    pub(crate) largest_m: f32,
}

/// What impacts may do to a body.
#[derive(Clone, Copy, Debug)]
struct Impact {
    /// Greatest speed of its centre, m/s.
    speed: f32,
    /// The row that strikes it, and when it may first be struck, microseconds from now.
    struck: Option<(u32, u32)>,
    /// The speed with which it was followed.
    followed: f32,
}

/// What impacts may do to every row, as far as they were followed. The buffers stay.
#[derive(Clone, Debug, Default)]
pub(crate) struct Impacts {
    impacts: Vec<Impact>,
    /// When a row may begin to strike others, microseconds from now, earliest first.
    due: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Impacts {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.impacts.clear();
    }

    /// Follows all impacts among bodies whose positions are in the grid under the same rows.
    pub(crate) fn follow(&mut self, bodies: &[Body], grid: &Grid, linkages: &[&[u32]], within: Within) {
        self.impacts.clear();
        if !bodies.iter().any(Body::is_still) {
            return;
        }
        self.impacts.extend(bodies.iter().map(|body| Impact {
            speed: body.strike.speed,
            struck: None,
            followed: f32::NEG_INFINITY,
        }));
        self.due.clear();
        let moving = bodies.iter().enumerate().filter(|(_, body)| body.strike.speed + body.strike.spin > WORTH_M_S);
        self.due.extend(moving.map(|(row, _)| Reverse((0, row as u32))));
        let mut fastest = self.impacts.iter().map(|impact| impact.speed).fold(0.0, f32::max);
        while let Some(Reverse((at_us, row))) = self.due.pop() {
            let (by, impact, at) = (bodies[row as usize], self.impacts[row as usize], at_us as f32 * 1e-6);
            if impact.followed >= impact.speed {
                continue;
            }
            self.impacts[row as usize].followed = impact.speed;
            let left = (within.seconds - at).max(0.0);
            let drift = at * (by.strike.speed + fastest);
            // It makes nothing faster than twice as fast as itself.
            let slower = fastest.min(2.0 * (impact.speed + by.strike.spin));
            let range = TOUCH_M + drift + (impact.speed + slower + within.gain) * left + within.largest_m;
            let (impacts, due) = (&mut self.impacts, &mut self.due);
            grid.for_each_in(&by.extent.bounds.grown(range), |other| {
                let (body, known) = (bodies[other as usize], impacts[other as usize]);
                let closing = impact.speed + known.speed + within.gain;
                let far = TOUCH_M + closing * left + at * (by.strike.speed + known.speed);
                if other == row
                    || !body.is_still()
                    || known.speed > slower
                    || by.extent.bounds.gap(&body.extent.bounds) > far
                {
                    return;
                }
                let flies = if impact.struck.is_none() { by.velocity } else { None };
                let aims = if known.struck.is_none() { body.velocity } else { None };
                let wait = match flies.zip(aims) {
                    Some((flies, aims)) => meeting(&by.extent, &body.extent, flies - aims, within.gain, left),
                    None => {
                        let moved = |body: &Body| body.extent.moved(body.velocity.unwrap_or(Vec3::ZERO) * at);
                        let astray = by.astray(impact, at) + body.astray(known, at);
                        let gap = (moved(&by).gap(&moved(&body)) - TOUCH_M - astray).max(0.0);
                        let is_struck = known.struck.is_some_and(|(_, since)| since <= at_us);
                        let meets = if is_struck { known.speed } else { body.strike.speed };
                        let wait = gap / (impact.speed + meets + within.gain).max(f32::MIN_POSITIVE);
                        (wait <= left).then_some(wait)
                    }
                };
                let Some(wait) = wait else { return };
                // Its own spin strikes once: what it strikes after it was struck itself is counted with that strike.
                let spin = if impact.struck.is_none() { by.strike.spin } else { 0.0 };
                let after = handed_on(body.strike, impact.speed, spin, by.strike).min(within.speed);
                let held = body.linkage.map_or(&[][..], |at| linkages[at]);
                for &other in [other].iter().chain(held) {
                    let (known, then) = (&mut impacts[other as usize], at_us.saturating_add((wait * 1e6) as u32));
                    let faster = after > known.speed + WORTH_M_S;
                    let earlier =
                        after + WORTH_M_S > known.speed && known.struck.is_some_and(|(_, before)| then < before);
                    if other != row && (faster || earlier) {
                        let first = known.struck.map_or(then, |(_, before)| before.min(then));
                        let followed = if faster { known.followed } else { f32::NEG_INFINITY };
                        *known = Impact { speed: known.speed.max(after), struck: Some((row, first)), followed };
                        due.push(Reverse((then, other)));
                        fastest = fastest.max(after);
                    }
                }
            });
        }
    }

    /// Greatest speed that impacts may give the centre of a row in time, m/s; zero where nothing strikes it.
    pub(crate) fn speed(&self, row: u32) -> f32 {
        self.impacts.get(row as usize).filter(|impact| impact.struck.is_some()).map_or(0.0, |impact| impact.speed)
    }

    /// The row that strikes a row.
    pub(crate) fn striker(&self, row: u32) -> Option<u32> {
        Some(self.impacts.get(row as usize)?.struck?.0)
    }
}

/// When two bodies that fly on as they do, one with this velocity relative to the other, may touch, seconds from now; `None`
/// when not in so many seconds. Each may be astray by what they gain.
fn meeting(one: &Extent, two: &Extent, velocity: Vec3, gain: f32, seconds: f32) -> Option<f32> {
    let between = one.bounds.centre() - two.bounds.centre();
    let apart = one.reach() + two.reach() + TOUCH_M + 0.5 * gain * seconds;
    let (speed_sq, towards, gap) =
        (velocity.length_squared(), -between.dot(velocity), between.length_squared() - apart * apart);
    if gap <= 0.0 {
        return Some(0.0);
    }
    let within = towards * towards - speed_sq * gap;
    if towards <= 0.0 || within < 0.0 {
        return None;
    }
    let at = gap / (towards + within.sqrt());
    (at <= seconds).then_some(at)
}

/// Greatest speed that a body at rest takes from another one, whose centre moves at `speed` and whose surface at `spin`
/// besides. What is pushed for longer may become faster: that counts where bodies are near.
fn handed_on(own: Strike, speed: f32, spin: f32, by: Strike) -> f32 {
    let still = Struck { speed: 0.0, mass: own.mass, restitution: own.restitution };
    let restitution = by.restitution;
    speed_after(still, Striker { speed, mass: by.mass, restitution })
        + speed_after(still, Striker { speed: spin, mass: by.spin_mass, restitution })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::{Aabb, Vec3};

    const WITHIN: Within = Within { seconds: 5.0 / 60.0, speed: 32.0, gain: 0.0, largest_m: 0.4 };

    fn ball(x: f32, speed: f32, mass: f32, restitution: f32) -> Body {
        let extent = Extent { bounds: Aabb::around(Vec3::X * x, Vec3::splat(0.4)), axis: Vec3::ZERO, radius: 0.4 };
        let strike = Strike { speed, mass, restitution, spin: 0.0, spin_mass: mass };
        Body { extent, velocity: Some(Vec3::X * speed), strike, linkage: None }
    }

    /// A ball that comes from the left towards `count` others at rest, so far apart.
    fn row(speed: f32, count: usize, gap: f32, restitution: f32) -> Vec<Body> {
        let place = |i: usize| i as f32 * (0.8 + gap);
        (0..=count).map(|i| ball(place(i), if i == 0 { speed } else { 0.0 }, 1.0, restitution)).collect()
    }

    fn follow(bodies: &[Body], linkages: &[&[u32]]) -> Impacts {
        let mut grid = Grid::default();
        grid.build(bodies.iter().map(|body| (body.extent.bounds.centre(), body.strike.speed)));
        let mut impacts = Impacts::default();
        impacts.follow(bodies, &grid, linkages, WITHIN);
        impacts
    }

    #[test]
    fn an_impact_runs_along_a_row_as_far_as_time_allows() {
        let impacts = follow(&row(18.0, 30, 0.15, 1.0), &[]);
        // 1.5 m of gaps in the time, and the margin of a touch at each: 18 * 5 / 60 / (0.15 - 0.03) = 12.5 balls.
        let reached: Vec<u32> = (1..31).filter(|row| impacts.speed(*row) > 0.0).collect();
        assert_eq!(reached, (1..=12).collect::<Vec<u32>>());
        assert!(reached.iter().all(|row| (impacts.speed(*row) - 18.0).abs() < 1e-3));
        let chain: Vec<u32> = std::iter::successors(Some(12), |row| impacts.striker(*row)).take(13).collect();
        assert_eq!(chain, (0..=12).rev().collect::<Vec<u32>>(), "back to the first");
    }

    #[test]
    fn what_hardly_bounces_ends_it_soon() {
        let impacts = follow(&row(18.0, 30, 0.0, 0.1), &[]);
        let speeds: Vec<f32> = (1..31).map(|row| impacts.speed(row)).take_while(|speed| *speed > 0.0).collect();
        assert!((speeds[0] - 9.9).abs() < 0.01 && (5..12).contains(&speeds.len()), "{speeds:?}");
    }

    #[test]
    fn nothing_is_stirred_up_by_strikes_to_and_fro() {
        for masses in [[1.0, 1.0, 1.0], [1.0, 50.0, 3.0], [0.1, 0.2, 90.0]] {
            let near = |i: usize| ball(0.85 * i as f32, if i == 0 { 10.0 } else { 0.0 }, masses[i], 1.0);
            let impacts = follow(&[near(0), near(1), near(2)], &[]);
            assert!(impacts.speed(0) <= 10.0, "what began it gains nothing: {masses:?}, {}", impacts.speed(0));
        }
    }

    #[test]
    fn light_bodies_behind_heavy_ones_fly_off_fast_but_never_faster_than_the_world_allows() {
        let bodies = [ball(0.0, 10.0, 100.0, 1.0), ball(0.9, 0.0, 10.0, 1.0), ball(1.8, 0.0, 1.0, 1.0)];
        let impacts = follow(&bodies, &[]);
        let speeds = [1, 2].map(|row| impacts.speed(row));
        assert!((speeds[0] - 18.2).abs() < 0.1 && speeds[1] == 32.0, "{speeds:?}");
    }

    #[test]
    fn all_of_a_linkage_moves_when_one_of_it_is_struck() {
        let mut bodies = row(18.0, 1, 0.15, 1.0);
        bodies.extend([ball(9.0, 0.0, 1.0, 1.0), ball(10.0, 0.0, 1.0, 1.0), ball(14.0, 0.0, 1.0, 1.0)]);
        bodies[1].linkage = Some(0);
        bodies[2].linkage = Some(0);
        let impacts = follow(&bodies, &[&[1, 2]]);
        let speeds = [1, 2, 3, 4].map(|row| impacts.speed(row) > 17.0);
        assert_eq!(speeds, [true, true, true, false], "what the far end strikes flies, too");
    }

    #[test]
    fn what_flies_past_strikes_nothing_unless_its_way_is_not_known() {
        let mut bodies = row(18.0, 3, 0.3, 1.0);
        bodies[0].velocity = Some(Vec3::Y * 18.0);
        let impacts = follow(&bodies, &[]);
        assert!((0..4).all(|row| impacts.speed(row) == 0.0));
        bodies[0].velocity = None;
        let impacts = follow(&bodies, &[]);
        assert!((1..4).all(|row| impacts.speed(row) > 17.0));
    }

    #[test]
    fn two_on_their_way_meet_when_they_do() {
        let at = |x: f32, y: f32| ball(x, 0.0, 1.0, 1.0).extent.moved(Vec3::Y * y);
        let meets = |one: Extent, speed: f32| meeting(&one, &at(0.0, 0.0), Vec3::X * speed, 0.0, 1.0);
        let gap = |seconds: Option<f32>| seconds.map(|seconds| (seconds * 1e3).round());
        assert_eq!(gap(meets(at(-2.83, 0.0), 4.0)), Some(500.0));
        assert_eq!(gap(meets(at(-2.83, 0.0), -4.0)), None, "away");
        assert_eq!(gap(meets(at(-2.83, 0.9), 4.0)), None, "past");
        assert_eq!(gap(meets(at(-9.0, 0.0), 4.0)), None, "not in time");
        assert_eq!(gap(meets(at(-0.7, 0.0), -4.0)), Some(0.0), "already");
    }

    #[test]
    fn bodies_at_rest_strike_nothing() {
        let impacts = follow(&row(0.0, 5, 0.0, 1.0), &[]);
        assert!((0..6).all(|row| impacts.speed(row) == 0.0 && impacts.striker(row).is_none()));
    }
}
