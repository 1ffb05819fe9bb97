//! How fast a body may be after another one struck it.
//!
//! A light body that a heavy one strikes leaves faster than either came: at up to twice the speed of the heavy one when the
//! two bounce, and with its own speed on top. Looking ahead with the greatest speed around would announce it too late.
//!
//! Let `u` and `v` be the velocities of struck and striker, `M` and `m` the masses of striker and struck, `e` the restitution.
//! Along the normal of the contact the struck body goes from `u` to `u + f (v - u)` with `f = (1 + e) M / (M + m)`, which is
//! below 2. Across it, friction takes it to `u + c (v - u)` with `c` between 0 and `M / (M + m)`. Over all directions of both
//! and all such `c`, its speed is then at most the root of `u^2 + v^2 f / (2 - f)` (by Cauchy's inequality), and at most
//! `u + f v` (by the triangle's). Turning bodies strike with the speed of their surfaces, and a body struck beside its centre
//! takes less of the blow, so speeds of surfaces bound these cases, too.
//!
//! This is one strike. A body that strikes a lighter one, which strikes a still lighter one, needs one more for each.

/// What may strike a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Striker {
    /// Greatest speed of any point of its surface, m/s.
    pub(crate) speed: f32,
    /// Kilograms. Infinite for a kinematic body, and where the mass is not known.
    pub(crate) mass: f32,
    /// How it bounces, 0 to 1.
    pub(crate) restitution: f32,
}

/// What may be struck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Struck {
    /// Greatest speed of any point of its surface, m/s.
    pub(crate) speed: f32,
    /// Kilograms.
    pub(crate) mass: f32,
    /// How it bounces, 0 to 1.
    pub(crate) restitution: f32,
}

/// Greatest speed of a body's centre after one strike, m/s, or without it. Never less than the speed that it has, and never
/// falls when a speed, the striker's mass or a restitution grows.
pub(crate) fn speed_after(struck: Struck, striker: Striker) -> f32 {
    let (u, v) = (struck.speed, striker.speed);
    // The engine takes the mean of both.
    let bounce = (struck.restitution + striker.restitution) / 2.0;
    let both = (striker.mass + struck.mass).max(f32::MIN_POSITIVE);
    let share = if striker.mass.is_finite() { striker.mass / both } else { 1.0 };
    let factor = (1.0 + bounce.clamp(0.0, 1.0)) * share;
    let oblique = if factor < 2.0 { (u * u + v * v * factor / (2.0 - factor)).sqrt() } else { f32::INFINITY };
    oblique.min(u + factor * v)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::Rng;

    fn struck(speed: f32, mass: f32, restitution: f32) -> Struck {
        Struck { speed, mass, restitution }
    }

    fn striker(speed: f32, mass: f32, restitution: f32) -> Striker {
        Striker { speed, mass, restitution }
    }

    #[test]
    fn a_heavy_body_throws_a_light_one_at_twice_its_speed() {
        let light = speed_after(struck(0.0, 1.0, 1.0), striker(10.0, 100.0, 1.0));
        assert!((light - 10.0 * 2.0 * 100.0 / 101.0).abs() < 1e-4, "{light}");
        let met = speed_after(struck(10.0, 1.0, 1.0), striker(10.0, f32::INFINITY, 1.0));
        assert!((met - 30.0).abs() < 1e-4, "its own speed is on top: {met}");
        let dull = speed_after(struck(0.0, 1.0, 0.0), striker(10.0, f32::INFINITY, 0.0));
        assert!((dull - 10.0).abs() < 1e-4, "{dull}");
    }

    #[test]
    fn equals_share_what_they_have() {
        let equal = speed_after(struck(0.0, 2.0, 1.0), striker(8.0, 2.0, 1.0));
        assert!((equal - 8.0).abs() < 1e-4, "{equal}");
        let both = speed_after(struck(6.0, 2.0, 1.0), striker(8.0, 2.0, 1.0));
        assert!((both - 10.0).abs() < 1e-3, "one keeps its speed across and gains the other's along: {both}");
        let light = speed_after(struck(6.0, 100.0, 0.5), striker(8.0, 1.0, 0.5));
        assert!((6.0..6.5).contains(&light), "{light}");
        assert_eq!(speed_after(struck(5.0, 1.0, 1.0), striker(0.0, 1.0, 0.0)), 5.0);
    }

    /// The greatest speed after a strike, found by trying angles of both velocities to the normal, with friction and without.
    fn fastest(u: f32, v: f32, factor: f32, share: f32) -> f32 {
        let angle = |i: u32| (i as f32 * std::f32::consts::TAU / 72.0).sin_cos();
        let mut fastest: f32 = u;
        for (one, two) in (0..72).flat_map(|i| (0..72).map(move |k| (angle(i), angle(k)))) {
            let (own, strikers) = ([one.0 * u, one.1 * u], [two.0 * v, two.1 * v]);
            let along = own[0] + factor * (strikers[0] - own[0]);
            for slid in [0.0, 0.5 * share, share] {
                fastest = fastest.max(along.hypot(own[1] + slid * (strikers[1] - own[1])));
            }
        }
        fastest
    }

    #[test]
    fn no_strike_exceeds_the_bound_and_some_come_near() {
        let mut rng = Rng::new(11);
        for _ in 0..300 {
            let (m, mass) = (rng.between(0.1, 10.0), rng.between(0.1, 200.0));
            let (e, restitution) = (rng.unit(), rng.unit());
            let (u, v) = (rng.between(0.0, 20.0), rng.between(0.0, 20.0));
            let bound = speed_after(struck(u, m, e), striker(v, mass, restitution));
            let share = mass / (m + mass);
            let found = fastest(u, v, (1.0 + (e + restitution) / 2.0) * share, share);
            assert!(found <= bound * (1.0 + 1e-5), "{found} beyond {bound}: {u} {v} {share} {e} {restitution}");
            assert!(found > 0.85 * bound, "{found} far below {bound}: {u} {v} {share} {e} {restitution}");
        }
    }

    #[test]
    fn the_bound_grows_with_everything_that_drives() {
        let mut rng = Rng::new(12);
        for _ in 0..2_000 {
            let one = struck(rng.between(0.0, 20.0), rng.between(0.1, 10.0), rng.unit());
            let two = striker(rng.between(0.0, 20.0), rng.between(0.1, 50.0), rng.unit());
            let bound = speed_after(one, two);
            let more = [
                speed_after(Struck { speed: one.speed * 1.1, ..one }, two),
                speed_after(one, Striker { speed: two.speed * 1.1, ..two }),
                speed_after(one, Striker { mass: two.mass * 1.1, ..two }),
                speed_after(one, Striker { mass: f32::INFINITY, ..two }),
                speed_after(one, Striker { restitution: (two.restitution + 0.1).min(1.0), ..two }),
            ];
            assert!(more.iter().all(|more| *more >= bound - 1e-4), "{bound} {more:?}: {one:?} {two:?}");
            assert!(bound >= one.speed);
        }
    }
}
