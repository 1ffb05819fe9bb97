//! Clients that listen hear of every touch that servers tell of, once, and of no other.

use nimbus_client::TouchNews;
use nimbus_model::{RegionId, Tick};
use nimbus_node::{Contact, ContactKind, ContactTick};
use std::collections::BTreeMap;

use super::{Broken, Scene};

const RULE: &str = "heard touches";
/// What happened so shortly before the end may be on its way.
const UNDER_WAY_TICKS: u64 = 60;
/// More examples say nothing new.
const EXAMPLES_MAX: usize = 4;

/// When a region began to tell the gateway, and whether that stands whoever serves it next.
#[derive(Clone, Copy)]
struct Since {
    tick: Tick,
    is_certain: bool,
}

#[derive(Default)]
pub(super) struct HeardTouches {
    since: BTreeMap<RegionId, Since>,
    /// What each touch was told of by servers, and heard of by the client, when it began or ended.
    touches: BTreeMap<TouchNews, (u32, u32)>,
    left_out: u64,
}

impl HeardTouches {
    /// A region tells the gateway of touches, or does not. A successor may not know that it should, as long as nobody but its
    /// predecessor did; from then on it must.
    pub(super) fn look(&mut self, region: RegionId, tells: bool, now: Tick, certain: Tick) {
        if tells {
            let since = self.since.entry(region).or_insert(Since { tick: now, is_certain: false });
            since.is_certain |= certain >= since.tick;
        } else if self.since.get(&region).is_some_and(|since| !since.is_certain) {
            self.since.remove(&region);
        }
    }

    /// Another world is loaded; what is on its way from the last one is void. A region may have begun to tell after that tick,
    /// before anybody noticed the load.
    pub(super) fn begin_anew(&mut self, tick: Tick) {
        self.touches.clear();
        self.since.values_mut().for_each(|since| since.tick = since.tick.max(tick));
    }

    /// A server told of touches.
    pub(super) fn observe(&mut self, region: RegionId, told: &ContactTick) {
        self.left_out += told.left_out;
        if self.since.get(&region).is_some_and(|since| told.tick > since.tick) {
            for &Contact { tick, one, two, kind } in &told.contacts {
                let began = kind == ContactKind::Began;
                self.touches.entry(TouchNews { tick, one, two, began }).or_default().0 += 1;
            }
        }
    }

    /// A client heard of touches.
    pub(super) fn hear(&mut self, heard: Vec<TouchNews>, left_out: u64) {
        self.left_out += left_out;
        for touch in heard {
            self.touches.entry(touch).or_default().1 += 1;
        }
    }

    /// How many touches were told of and heard.
    #[cfg(test)]
    fn heard(&self) -> usize {
        self.touches.values().filter(|(told, heard)| *told > 0 && *heard > 0).count()
    }

    pub(super) fn conclude(&self, scene: &Scene<'_>, broken: &mut Vec<Broken>) {
        self.compare(scene.tick, broken);
    }

    fn compare(&self, end: Tick, broken: &mut Vec<Broken>) {
        // After touches were left out nothing is promised, and that is said.
        let Some(since) = self.since.values().map(|since| since.tick).max().filter(|_| self.left_out == 0) else {
            return;
        };
        let counts = |touch: &TouchNews| touch.tick > since && touch.tick + UNDER_WAY_TICKS < end;
        let wrong = self.touches.iter().filter(|(touch, (told, heard))| counts(touch) && told != heard);
        broken.extend(wrong.take(EXAMPLES_MAX).map(|(touch, (told, heard))| {
            Broken(RULE, format!("{touch:?} was told of {told} times and heard of {heard} times"))
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::Nid;

    #[test]
    fn touches_that_are_missed_or_heard_twice_are_noticed() {
        let contact = |tick| Contact { tick: Tick(tick), one: Nid(1), two: Nid(2), kind: ContactKind::Began };
        let news = |tick| TouchNews { tick: Tick(tick), one: Nid(1), two: Nid(2), began: true };
        let mut rule = HeardTouches::default();
        let told = |tick| ContactTick { tick: Tick(tick), contacts: vec![contact(tick)], left_out: 0 };
        rule.observe(RegionId(0), &told(3));
        rule.look(RegionId(0), true, Tick(5), Tick(5));
        [7, 8, 9, 990].iter().for_each(|tick| rule.observe(RegionId(0), &told(*tick)));
        rule.hear(vec![news(7), news(8), news(8)], 0);
        let mut broken = Vec::new();
        rule.compare(Tick(1_000), &mut broken);
        assert_eq!((broken.len(), rule.heard()), (2, 2), "8 was heard twice and 9 never; 990 may be on its way");
        rule.look(RegionId(0), false, Tick(999), Tick(999));
        broken.clear();
        rule.compare(Tick(1_000), &mut broken);
        assert_eq!(broken.len(), 2, "a successor must go on telling");
        rule.hear(Vec::new(), 1);
        broken.clear();
        rule.compare(Tick(1_000), &mut broken);
        assert!(broken.is_empty(), "nothing is promised once something was left out");
    }

    #[test]
    fn a_load_does_not_make_anybody_tell_earlier() {
        let contact = |tick| Contact { tick: Tick(tick), one: Nid(1), two: Nid(2), kind: ContactKind::Began };
        let mut rule = HeardTouches::default();
        rule.look(RegionId(0), true, Tick(212), Tick(212));
        rule.begin_anew(Tick(95));
        for tick in [102, 220] {
            let contacts = vec![contact(tick)];
            rule.observe(RegionId(0), &ContactTick { tick: Tick(tick), contacts, left_out: 0 });
        }
        let mut broken = Vec::new();
        rule.compare(Tick(1_000), &mut broken);
        assert_eq!(broken.len(), 1, "220 was not heard; at 102 nobody had asked yet");
    }
}
