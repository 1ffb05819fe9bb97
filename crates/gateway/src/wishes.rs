//! What a gateway asks regions to tell it of, by what its clients look at.
//!
//! What is new it asks for at once, in place of all that it asked for before. What is merely needed no longer it goes on asking for
//! for a while, so that clients who come and go do not make it change its mind at every tick. What it wants is said again every
//! now and then: regions come and go, and a wish may be lost.

use nimbus_model::{Aabb, Tick, Vec3};
use nimbus_wire::{Places, WISH_BOXES_MAX, WantedTouches, Wish};

/// A wish is said again after this many ticks: twice a second at 60 Hz.
const AGAIN_TICKS: u64 = 30;
/// What is no longer needed is still wanted for this many ticks: two seconds at 60 Hz.
const LINGER_TICKS: u64 = 120;
/// Further than a body comes before a new wish has reached everybody, metres.
const MARGIN_M: f32 = 4.0;
/// Boxes end at multiples of this share of a view's range, so that a step of the eye does not change them.
const STEP: f32 = 0.25;

/// What regions tell whoever has not said what it wants.
const UNSAID: Wish = Wish { motion: Places::Everywhere, touches: WantedTouches::None };

/// What was wished for, and when.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    said: Option<(Tick, Wish)>,
    /// The last tick at which all that was said is needed.
    needed: Tick,
}

impl Wishes {
    /// What to say to every region now, if anything, when this is needed.
    pub(crate) fn due(&mut self, now: Tick, needed: Wish) -> Option<Wish> {
        if self.said.is_none() && needed == UNSAID {
            return None;
        }
        let (said_at, wish) = match self.said.take() {
            Some((at, said)) if covers(&said, &needed) => {
                if covers(&needed, &said) {
                    self.needed = now;
                }
                let lingers = now.since(self.needed) < LINGER_TICKS;
                if lingers { (Some(at), said) } else { (None, needed) }
            }
            _ => (None, needed),
        };
        if said_at.is_none() {
            self.needed = now;
        }
        let again = said_at.is_none_or(|at| now.since(at) >= AGAIN_TICKS);
        let at = if again { now } else { said_at.unwrap_or(now) };
        self.said = Some((at, wish.clone()));
        again.then_some(wish)
    }
}

/// True when whoever is told the first is told all of the second.
fn covers(one: &Wish, other: &Wish) -> bool {
    let motion = match (&one.motion, &other.motion) {
        (Places::Everywhere, _) => true,
        (Places::Within(_), Places::Everywhere) => false,
        (Places::Within(boxes), Places::Within(others)) => {
            others.iter().all(|other| boxes.iter().any(|within| within.union(other) == *within))
        }
    };
    motion && one.touches.covers(&other.touches)
}

/// Everything that an eye may see that reaches so far, and a little more.
pub(crate) fn around(eye: Vec3, range_m: f32) -> Aabb {
    let step = (range_m * STEP).max(1.0);
    let reach = Aabb::around(eye, Vec3::splat(range_m)).grown(MARGIN_M);
    Aabb::new((reach.min / step).floor() * step, (reach.max / step).ceil() * step)
}

/// As few boxes as a wish may have, which hold all of these.
pub(crate) fn few(all: impl IntoIterator<Item = Aabb>) -> Vec<Aabb> {
    let volume = |of: &Aabb| (of.max - of.min).element_product();
    let mut few: Vec<Aabb> = Vec::new();
    for new in all {
        if few.iter().any(|known| known.union(&new) == *known) {
            continue;
        }
        few.retain(|known| known.union(&new) != new);
        if few.len() < WISH_BOXES_MAX {
            few.push(new);
            continue;
        }
        let growth = |known: &Aabb| volume(&known.union(&new)) - volume(known);
        if let Some(nearest) = few.iter_mut().min_by(|a, b| growth(a).total_cmp(&growth(b))) {
            *nearest = nearest.union(&new);
        }
    }
    few
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(boxes: Vec<Aabb>) -> Wish {
        Wish { motion: Places::Within(boxes), touches: WantedTouches::None }
    }

    #[test]
    fn more_is_asked_for_at_once_and_less_after_a_while() {
        let mut wishes = Wishes::default();
        assert_eq!(wishes.due(Tick(1), UNSAID), None, "everything is told unasked");
        let (here, there) = (around(Vec3::ZERO, 10.0), around(Vec3::X * 100.0, 10.0));
        assert_eq!(wishes.due(Tick(1), within(vec![here])), Some(within(vec![here])));
        assert_eq!(wishes.due(Tick(2), within(vec![here])), None);
        let both = within(vec![here, there]);
        assert_eq!(wishes.due(Tick(3), both.clone()), Some(both.clone()));
        assert_eq!(wishes.due(Tick(4), within(vec![there])), None, "it lingers");
        assert_eq!(wishes.due(Tick(40), within(vec![there])), Some(both.clone()), "and is said again");
        assert_eq!(wishes.due(Tick(50), both.clone()), None, "needed once more");
        assert_eq!(wishes.due(Tick(169), within(vec![])), Some(both.clone()));
        assert_eq!(wishes.due(Tick(170), within(vec![])), Some(within(vec![])));
        let touches = Wish { touches: WantedTouches::All, ..within(vec![]) };
        assert_eq!(wishes.due(Tick(171), touches.clone()), Some(touches));
        assert_eq!(wishes.due(Tick(172), UNSAID), Some(UNSAID), "touches are not wanted any more, motion is");
    }

    #[test]
    fn a_small_step_of_the_eye_changes_nothing() {
        let home = around(Vec3::new(2.0, 0.5, 3.0), 20.0);
        assert_eq!(around(Vec3::new(2.2, 0.4, 3.1), 20.0), home);
        assert!(home.holds(Vec3::new(22.0, 0.0, 0.0)) && !home.holds(Vec3::new(40.0, 0.0, 0.0)));
    }

    #[test]
    fn many_views_become_few_boxes_that_hold_them_all() {
        let views: Vec<Aabb> = (0..200).map(|i| around(Vec3::new(i as f32 * 7.0, 0.0, (i % 9) as f32), 12.0)).collect();
        let few = few(views.clone());
        assert!(few.len() <= WISH_BOXES_MAX);
        assert!(views.iter().all(|view| few.iter().any(|within| within.union(view) == *within)));
        let volume: f32 = few.iter().map(|within| (within.max - within.min).element_product()).sum();
        assert!(volume < 0.5 * 1400.0 * 200.0 * 200.0, "{volume}");
    }
}
