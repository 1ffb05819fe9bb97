//! Rotations as few numbers: the three smallest components, or the turn from another rotation.
//!
//! Both ends of a stream must come to the same bits, so there is nothing here but the four operations and the square root,
//! in double precision and in a fixed order: every machine agrees on those.

/// A unit quaternion, x y z w.
pub(super) type Turn = [f64; 4];

/// No rotation.
pub(super) const STILL: Turn = [0.0, 0.0, 0.0, 1.0];

/// The greatest magnitude of a component that is not the largest.
const SMALL_MAX: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// Below this cosine of half the angle a turn is no longer told as a difference: 150 degrees.
const LEAP_COSINE: f64 = 0.25;

/// `a` after `b`.
pub(super) fn product(a: Turn, b: Turn) -> Turn {
    [
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
        a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    ]
}

/// At unit length; [`STILL`] if it has none.
pub(super) fn unit(q: Turn) -> Turn {
    let length = (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]).sqrt();
    if length > 1e-6 && length.is_finite() { q.map(|c| c / length) } else { STILL }
}

/// The turn that leads from one rotation to another, as its axis times the tangent of half its angle, which needs no
/// trigonometry and is close to half the angle. `None` when it is too far for that.
pub(super) fn turn_between(from: Turn, to: Turn) -> Option<[f64; 3]> {
    let way = product(to, [-from[0], -from[1], -from[2], from[3]]);
    let way = if way[3] < 0.0 { way.map(|c| -c) } else { way };
    (way[3] >= LEAP_COSINE).then(|| [way[0] / way[3], way[1] / way[3], way[2] / way[3]])
}

/// A rotation after such a turn.
pub(super) fn turned(from: Turn, by: [f64; 3]) -> Turn {
    unit(product([by[0], by[1], by[2], 1.0], from))
}

/// Which component is largest, and the three others, in order, with the largest made positive.
pub(super) fn smallest_three(q: Turn) -> (usize, [f64; 3]) {
    let mut largest = 0;
    for i in 1..4 {
        if q[i].abs() > q[largest].abs() {
            largest = i;
        }
    }
    let sign = if q[largest] < 0.0 { -1.0 } else { 1.0 };
    (largest, others(largest).map(|i| sign * q[i]))
}

/// The rotation of which these are the three smallest components.
pub(super) fn from_smallest_three(largest: usize, three: [f64; 3]) -> Turn {
    let mut q = STILL;
    for (i, value) in others(largest).into_iter().zip(three) {
        q[i] = value;
    }
    let rest = 1.0 - three[0] * three[0] - three[1] * three[1] - three[2] * three[2];
    q[largest & 3] = rest.max(0.0).sqrt();
    unit(q)
}

fn others(largest: usize) -> [usize; 3] {
    [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]][largest & 3]
}

/// A grid of components from `-max` to `max`.
#[derive(Clone, Copy, Debug)]
pub(super) struct ComponentGrid {
    /// Steps from the middle to the end.
    pub(super) steps: u32,
    max: f64,
}

impl ComponentGrid {
    /// For the three smallest; a turn by an angle changes no component by more than half of it.
    pub(super) fn of_three(step_rad: f64) -> ComponentGrid {
        ComponentGrid { steps: (SMALL_MAX / (step_rad / 2.0)).ceil() as u32, max: SMALL_MAX }
    }

    /// For all four.
    pub(super) fn of_four(step_rad: f64) -> ComponentGrid {
        ComponentGrid { steps: (2.0 / step_rad).ceil() as u32, max: 1.0 }
    }

    /// Bits of a component.
    pub(super) fn width(&self) -> u32 {
        32 - (2 * self.steps).leading_zeros()
    }

    /// The step next to a component, counted from the lower end.
    pub(super) fn step(&self, component: f64) -> u32 {
        let steps = f64::from(self.steps);
        ((component / self.max * steps).round().clamp(-steps, steps) + steps) as u32
    }

    /// The component at a step; `None` beyond the end.
    pub(super) fn component(&self, step: u32) -> Option<f64> {
        let steps = f64::from(self.steps);
        (step <= 2 * self.steps).then(|| (f64::from(step) - steps) / steps * self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Degrees between two rotations.
    fn degrees_between(a: Turn, b: Turn) -> f64 {
        let way = product(a, [-b[0], -b[1], -b[2], b[3]]);
        let sine = (way[0] * way[0] + way[1] * way[1] + way[2] * way[2]).sqrt();
        (2.0 * sine.atan2(way[3].abs())).to_degrees()
    }

    fn any_turn() -> impl Strategy<Value = Turn> {
        [-1.0..1.0f64, -1.0..1.0f64, -1.0..1.0f64, -1.0..1.0f64].prop_map(unit)
    }

    proptest! {
        #[test]
        fn three_components_on_their_grid_are_enough(q in any_turn(), step_deg in 0.05..2.0f64) {
            let grid = ComponentGrid::of_three(step_deg.to_radians());
            let (largest, three) = smallest_three(q);
            let steps = three.map(|c| grid.step(c));
            prop_assert!(steps.iter().all(|&s| s < 1 << grid.width()));
            let back = from_smallest_three(largest, steps.map(|s| grid.component(s).unwrap()));
            prop_assert!(degrees_between(q, back) <= 1.8 * step_deg, "{} {step_deg}", degrees_between(q, back));
        }

        #[test]
        fn a_turn_leads_from_one_rotation_to_the_other(a in any_turn(), b in any_turn()) {
            if let Some(turn) = turn_between(a, b) {
                prop_assert!(degrees_between(turned(a, turn), b) < 1e-5);
            } else {
                prop_assert!(degrees_between(a, b) > 150.0);
            }
        }
    }

    #[test]
    fn what_is_no_rotation_becomes_one() {
        assert_eq!(unit([0.0; 4]), STILL);
        assert_eq!(unit([f64::NAN; 4]), STILL);
        assert_eq!(ComponentGrid::of_three(0.01).component(u32::MAX), None);
    }
}
