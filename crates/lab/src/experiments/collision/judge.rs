//! What was wrong with a run, compared with its control on one server.

use nimbus_node::Factor;
use nimbus_universe::UniverseError;

use super::run::{Record, Setup, on_one_server, on_servers};
use super::scene::{self, Case, Scene};

/// Velocities are compared this long after the contact, when the engine has finished pushing.
const SETTLED_TICKS: u64 = 6;
/// Greatest difference of a velocity after the collision, as a share of the greater speed before or after.
const VELOCITY_SHARE: f32 = 0.01;
/// Rounding, as a share of a tick.
const ROUNDING: f32 = 1e-3;
/// Two bodies that close by less than this in a tick are found by the engine a tick sooner or later depending on when
/// each was put into it, on one server just as well (about half of 160 measured pairs; none of 3,840 faster ones). It
/// looks this far ahead, and reacts somewhere on the way. Metres.
const CREEP_M: f32 = 0.02;

/// What was wrong with a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// The collision came more than one step late. For two spheres that is measured as the original does: depth in
    /// each other when the engine first reacts, over the speed at which they closed; but more than a tick after the
    /// control's is late at any depth, for the depth shrinks again once they have passed each other's middle.
    /// Elsewhere, and when the engine reacted where nobody could look, any tick after the control's is late.
    pub(crate) late: bool,
    /// A body that collided in the control never did.
    pub(crate) missed: bool,
    /// More owners than needed: before the contact more than one hand-over of the pair (the original's measure; in a
    /// corner, a body back with an owner it had left), or more of one body in the whole run than there and back.
    pub(crate) thrashing: bool,
    /// A breach was announced.
    pub(crate) breach: bool,
    /// The contact came at another tick than on one server. Three bodies may differ by one, and two that hardly move by
    /// as long as they take for the last two centimetres.
    pub(crate) wrong_tick: bool,
    /// A velocity after the collision differs by more than 1 %. How cuboids part depends on which of them the engine got
    /// first, even on one server: they must part as in one of the two orders. Not judged with three bodies.
    pub(crate) wrong_velocity: bool,
    /// Late or missed beyond a tolerance, without a breach that names that tolerance at the contact's tick or before;
    /// for a missed collision the tick at which it would have been.
    pub(crate) unannounced: bool,
    /// Bodies lost.
    pub(crate) lost: u32,
    /// Bodies owned twice.
    pub(crate) duplicated: u32,
}

/// Runs a setup and its control, and compares them.
pub(crate) fn judge(setup: &Setup) -> Result<Verdict, UniverseError> {
    let scene = scene::build(setup.case, setup.speed, setup.tolerances, setup.seed);
    let control = on_one_server(&scene, setup)?;
    let record = if setup.alone { on_one_server(&scene, setup)? } else { on_servers(&scene, setup)? };
    let mut verdict = compare(setup, &scene, &record, &control);
    if verdict.wrong_velocity && setup.case == Case::Cuboids {
        let control = in_other_order(scene, setup)?;
        let scene = scene::build(setup.case, setup.speed, setup.tolerances, setup.seed);
        verdict.wrong_velocity = compare(setup, &scene, &record, &control).wrong_velocity;
    }
    Ok(verdict)
}

/// The control with its two bodies given to the engine in the other order.
fn in_other_order(mut scene: Scene, setup: &Setup) -> Result<Record, UniverseError> {
    scene.world.bodies.reverse();
    let mut control = on_one_server(&scene, setup)?;
    control.sights.reverse();
    control.struck.reverse();
    Ok(control)
}

fn compare(setup: &Setup, scene: &Scene, record: &Record, control: &Record) -> Verdict {
    let corner = setup.case == Case::Corner;
    // Three bodies can make one of them faster than any was; what is said of it then is true.
    let until = record.contact().filter(|_| corner).map_or(u64::MAX, |contact| contact - 1);
    let mut verdict = Verdict {
        breach: record.breaches.iter().any(|breach| breach.tick.0 <= until),
        lost: record.lost,
        duplicated: record.duplicated,
        ..Verdict::default()
    };
    // Without a contact on one server there is nothing to compare with; scenes are built so that this cannot be.
    let expected = control.contact().unwrap_or(scene.contact.ceil() as u64);
    verdict.thrashing = is_thrashing(setup, record, record.contact().unwrap_or(expected));
    let both_struck = record.struck.iter().zip(&control.struck).all(|(here, there)| here.is_some() || there.is_none());
    match record.contact() {
        Some(contact) if both_struck => {
            let creeps = (CREEP_M / (scene.closing * scene.world.tick_s())) as u64;
            let slack = u64::from(corner).max(creeps);
            verdict.wrong_tick = contact.abs_diff(expected) > slack;
            let by_depth = record.depth.filter(|_| !corner && setup.case != Case::Cuboids);
            let steps = by_depth.map(|depth| depth / scene.closing * scene.world.tick_hz as f32);
            verdict.late = contact > expected + slack.max(u64::from(steps.is_some()))
                || steps.is_some_and(|steps| steps > 1.0 + ROUNDING);
            verdict.wrong_velocity = !corner && differs(scene, record, contact, control, expected);
        }
        _ => verdict.missed = true,
    }
    if let Some(factor) = setup.exceeded.filter(|_| verdict.late || verdict.missed) {
        let by = record.contact().filter(|_| !verdict.missed).unwrap_or(expected);
        verdict.unannounced = !record.breaches.iter().any(|breach| names(breach.factor, factor) && breach.tick.0 <= by);
    }
    verdict
}

/// True when a breach of one factor says that another is exceeded. A frame takes longer by the difference of clocks, and
/// nothing can tell the one from the other.
fn names(said: Factor, exceeded: Factor) -> bool {
    said == exceeded || (said, exceeded) == (Factor::Latency, Factor::Skew)
}

fn differs(scene: &Scene, record: &Record, contact: u64, control: &Record, expected: u64) -> bool {
    (0..scene.world.bodies.len()).any(|body| {
        let here = record.velocity(body, contact + SETTLED_TICKS);
        let there = control.velocity(body, expected + SETTLED_TICKS);
        let before = scene.world.bodies[body].velocity.linear.length();
        match (here, there) {
            (Some(here), Some(there)) => here.distance(there) > VELOCITY_SHARE * there.length().max(before),
            _ => true,
        }
    })
}

fn is_thrashing(setup: &Setup, record: &Record, contact: u64) -> bool {
    let changes = |until: u64, body: usize| {
        let mut seen = record.sights[body].iter().filter(|sight| sight.tick <= until);
        seen.next().map_or(0, |first| seen.next_back().map_or(0, |last| last.epoch.saturating_sub(first.epoch)))
    };
    let bodies = 0..record.sights.len();
    let most = if setup.case == Case::Corner { 3 } else { 2 };
    if bodies.clone().any(|body| changes(u64::MAX, body) > most) {
        return true;
    }
    if setup.case == Case::Corner {
        return bodies.into_iter().any(|body| {
            let mut owners: Vec<u16> =
                record.sights[body].iter().filter(|sight| sight.tick <= contact).map(|sight| sight.region).collect();
            owners.dedup();
            owners.iter().enumerate().any(|(i, owner)| owners[..i].contains(owner))
        });
    }
    bodies.map(|body| changes(contact, body)).sum::<u32>() > 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::Tolerances;
    use nimbus_node::Policy;

    fn setup(case: Case, policy: Policy, speed: f32, seed: u64) -> Setup {
        let tolerances = Tolerances { speed: 32.0, latency_ms: 2.0, frame_ms: 15.0 };
        Setup { case, policy, speed, seed, ..Setup::at_tolerance(tolerances) }
    }

    #[test]
    fn one_server_is_never_late_and_never_misses() {
        let cases = [Case::HeadOn, Case::Cuboids, Case::Glancing, Case::Masses, Case::Thrust, Case::Corner];
        for case in cases {
            for seed in 0..12 {
                let speed = if case == Case::HeadOn { 1.0 + 8.0 * seed as f32 } else { 32.0 };
                let setup = Setup { alone: true, ..setup(case, Policy::Aura, speed, seed) };
                assert_eq!(judge(&setup).unwrap(), Verdict::default(), "{case:?} {seed}");
            }
        }
    }

    #[test]
    fn depth_is_what_the_places_one_tick_before_say() {
        let mut deepest: f32 = 0.0;
        for seed in 0..20 {
            let setup = setup(Case::HeadOn, Policy::Aura, 32.0, seed);
            let scene = scene::build(setup.case, setup.speed, setup.tolerances, seed);
            let control = on_one_server(&scene, &setup).unwrap();
            let before = (control.contact().unwrap() - 1) as f32 * scene.world.tick_s();
            let place = |i: usize| {
                let body = &scene.world.bodies[i];
                body.pose.position + body.velocity.linear * before
            };
            let depth = 2.0 * scene::RADIUS - place(0).distance(place(1));
            assert!((depth - control.depth.unwrap()).abs() < 1e-3, "{depth} {:?}", control.depth);
            deepest = deepest.max(depth);
        }
        assert!(deepest > 0.3, "chance must reach most of a tick's way: {deepest}");
    }

    /// A body that changes server is new to the engine there. If the order in which the engine got two spheres decided
    /// how they bounce, no run on several servers could be compared with one on one.
    #[test]
    fn the_order_of_two_bodies_decides_nothing_but_how_cuboids_part() {
        let mut parted_otherwise = 0;
        for case in [Case::HeadOn, Case::Cuboids, Case::Glancing, Case::Masses] {
            for seed in 0..24 {
                let setup = setup(case, Policy::Aura, 32.0, seed);
                let build = || scene::build(setup.case, setup.speed, setup.tolerances, seed);
                let one = on_one_server(&build(), &setup).unwrap();
                let other = in_other_order(build(), &setup).unwrap();
                let (a, b) = (one.contact().unwrap(), other.contact().unwrap());
                assert_eq!(a, b, "{case:?} {seed}");
                let differs = differs(&build(), &one, a, &other, b);
                assert!(!differs || case == Case::Cuboids, "{case:?} {seed}");
                parted_otherwise += u32::from(differs);
            }
        }
        assert!(parted_otherwise > 0, "if the engine does not mind, neither need we");
    }

    #[test]
    fn servers_that_know_nothing_of_each_other_are_late() {
        let verdicts: Vec<Verdict> =
            (0..24).map(|seed| judge(&setup(Case::HeadOn, Policy::Exclusive, 32.0, seed)).unwrap()).collect();
        let late = verdicts.iter().filter(|verdict| verdict.late).count();
        let missed = verdicts.iter().filter(|verdict| verdict.missed).count();
        assert!(late > 0 && missed > 0 && late + missed > 16, "{late} late, {missed} missed");
        assert!(verdicts.iter().all(|verdict| verdict.lost + verdict.duplicated == 0 && !verdict.thrashing));
    }

    #[test]
    fn a_failure_beyond_tolerance_that_nobody_announced_is_found() {
        let setup = setup(Case::HeadOn, Policy::Exclusive, 64.0, 1);
        let verdict = judge(&Setup { exceeded: Some(nimbus_node::Factor::Speed), ..setup }).unwrap();
        assert!((verdict.late || verdict.missed) && verdict.unannounced, "{verdict:?}");
    }

    #[test]
    fn bodies_that_a_forgetful_server_loses_are_counted() {
        let lost: u32 = (0..12)
            .map(|seed| judge(&Setup { loss: 0.5, ..setup(Case::HeadOn, Policy::Forgetful, 32.0, seed) }).unwrap().lost)
            .sum();
        assert!(lost > 0);
    }
}
