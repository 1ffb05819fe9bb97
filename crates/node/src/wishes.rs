//! What gateways want to hear, and what they are told accordingly.
//!
//! Where a gateway has somebody who looks, it is told of motion at every tick; elsewhere of each body now and then, so that
//! it is never wrong about where a body is by more than a second. That changes nothing here: it is in no log, and a server
//! that takes over tells everything until it has heard the wishes anew.
//!
//! Touches go by lane, for certain. So who hears of them is part of the log, and lasts until the gateway wants no more.

use nimbus_model::{Nid, Tick};
use nimbus_wire::{Address, GatewayId, Item, Places, TOUCHES_MAX, Touch, Touches, WantedTouches, Wish};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::config::Planted;
use crate::contact_events::{Contact, ContactKind};
use crate::feed::BIRTHS_UNDER_WAY_MAX;
use crate::inbox::Input;
use crate::node::Node;

/// A wish that was not said again for this long no longer limits anything: three seconds at 60 Hz.
const STALE_TICKS: u64 = 180;
/// Touches that wait for a gateway whose lane is full, at most.
const TOUCHES_WAITING_MAX: usize = 16_384;
/// A body that moves where a gateway does not look is told of once in this many ticks.
const NOW_AND_THEN_TICKS: u64 = 64;

/// The latest wish of a gateway.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    /// The gateway's tick when it was said.
    said: Tick,
    /// Ours when it was heard.
    heard: Tick,
    wish: Wish,
}

/// A gateway that hears of touches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Listener {
    of: WantedTouches,
    /// Touches that it has yet to be told of. They wait while its lane is full.
    waiting: Vec<Touch>,
    /// How many of them are of this tick.
    new: usize,
    /// How many it was not told of since the last that it was.
    left_out: u64,
}

impl Listener {
    fn new(of: WantedTouches) -> Listener {
        Listener { of, waiting: Vec::new(), new: 0, left_out: 0 }
    }

    fn note(&mut self, touch: Touch) {
        if self.new < TOUCHES_MAX && self.waiting.len() < TOUCHES_WAITING_MAX {
            self.waiting.push(touch);
            self.new += 1;
        } else {
            self.left_out += 1;
        }
    }
}

impl Node {
    /// Takes a wish from a gateway.
    pub(crate) fn hear_wish(&mut self, from: Address, said: Tick, wish: Wish) {
        match from {
            Address::Gateway(gateway) if self.config.gateways.contains(&gateway) => {
                if self.wishes.get(&gateway).is_none_or(|known| known.said <= said) {
                    self.wishes.insert(gateway, Heard { said, heard: self.now, wish });
                }
            }
            _ => self.counters.frames_void += 1,
        }
    }

    /// Where a gateway wants to be told of motion at every tick.
    pub(crate) fn places_for(&self, gateway: GatewayId) -> &Places {
        match self.wishes.get(&gateway) {
            Some(known) if self.now.since(known.heard) <= STALE_TICKS => &known.wish.motion,
            _ => &Places::Everywhere,
        }
    }

    /// True when it is a body's turn to be told of wherever it is, after ticks since `told`.
    pub(crate) fn is_turn_of(&self, nid: Nid, told: Tick) -> bool {
        let since_turn = self.now.0.wrapping_add(nid.0) % NOW_AND_THEN_TICKS;
        since_turn < self.now.since(told)
    }

    /// True when a gateway hears of touches.
    pub fn tells_touches_to(&self, gateway: GatewayId) -> bool {
        self.listeners.contains_key(&gateway)
    }

    /// Who hears of touches, when that is news.
    pub(crate) fn listeners_input(&self) -> Option<Input> {
        let wanted = |gateway: &GatewayId| match self.wishes.get(gateway) {
            Some(known) => Some(&known.wish.touches).filter(|of| **of != WantedTouches::None),
            None => self.listeners.get(gateway).map(|listener| &listener.of),
        };
        let now = || self.config.gateways.iter().filter_map(|gateway| Some((gateway, wanted(gateway)?)));
        let same = now().eq(self.listeners.iter().map(|(gateway, listener)| (gateway, &listener.of)));
        (!same).then(|| Input::Listeners(now().map(|(gateway, of)| (*gateway, of.clone())).collect()))
    }

    /// From now on these gateways hear of touches, and no others.
    pub(crate) fn follow_listeners(&mut self, listeners: &[(GatewayId, WantedTouches)]) {
        self.listeners.retain(|gateway, _| listeners.iter().any(|(listens, _)| listens == gateway));
        for (gateway, of) in listeners {
            self.listeners.entry(*gateway).or_insert_with(|| Listener::new(of.clone())).of.clone_from(of);
        }
        let wanted = self.wants_contacts();
        self.physics.report_contacts(wanted);
    }

    /// Notes a touch for gateways that want to hear of it.
    pub(crate) fn note_touch(&mut self, Contact { tick, one, two, kind }: Contact) {
        if self.config.planted == Some(Planted::LateTouches) && tick < self.now {
            return;
        }
        for listener in self.listeners.values_mut().filter(|listener| listener.of.concern(one, two)) {
            listener.note(Touch { tick, one, two, began: kind == ContactKind::Began });
        }
    }

    /// Tells gateways that want to know which touches began and ended in this tick, and what had to wait before.
    pub(crate) fn tell_touches(&mut self) {
        for (gateway, listener) in &mut self.listeners {
            let to = Address::Gateway(*gateway);
            listener.new = 0;
            let has_news = !listener.waiting.is_empty() || listener.left_out > 0;
            if !has_news || self.outbox.waiting(to) >= BIRTHS_UNDER_WAY_MAX {
                continue;
            }
            let mut left_out = std::mem::take(&mut listener.left_out);
            let told = std::mem::take(&mut listener.waiting);
            let parts = told.chunks(TOUCHES_MAX).map(<[Touch]>::to_vec).chain(told.is_empty().then(Vec::new));
            for touches in parts {
                let left_out = std::mem::take(&mut left_out);
                self.outbox.push(to, self.now, Item::Touches(Touches { left_out, touches }));
            }
        }
    }
}

/// Wishes by gateway.
pub(crate) type Wishes = BTreeMap<GatewayId, Heard>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NodeConfig;
    use nimbus_model::{Aabb, BodyDesc, Pose, RegionId, Shape, Vec3, Velocity, World};
    use nimbus_space::PartitionMap;
    use nimbus_wire::{Content, Frame};
    use std::collections::BTreeSet;
    use std::sync::Arc;

    const GATEWAY: GatewayId = GatewayId(1);

    /// Nine balls in a row that fall from high above the ground, those further right from higher up.
    fn node() -> Node {
        let mut world = World::new("watched");
        world.add_ground(50.0, 50.0);
        for i in 0..9 {
            let place = Vec3::new(i as f32 * 2.0 - 8.0, 300.0 + 0.1 * i as f32, 0.0);
            world.add(BodyDesc::dynamic(Shape::ball(0.4)), Pose::at(place), Velocity::ZERO);
        }
        let map = PartitionMap::from_layout(&world.layout).unwrap();
        let config = NodeConfig { gateways: vec![GATEWAY], log: true, ..NodeConfig::new(RegionId(0)) };
        Node::new(config, Arc::new(world), 1, map, Tick(0))
    }

    fn wish(node: &mut Node, said: u64, motion: Places, touches: bool) {
        wish_of(node, said, motion, if touches { WantedTouches::All } else { WantedTouches::None });
    }

    fn wish_of(node: &mut Node, said: u64, motion: Places, touches: WantedTouches) {
        let (from, to) = (Address::Gateway(GATEWAY), Address::Region(RegionId(0)));
        let content = Content::Wish(Wish { motion, touches });
        node.handle(Frame { from, to, era: 1, epoch: 1, tick: Tick(said), content });
    }

    /// Bodies that the gateway is told the places of, and touches that it is told.
    fn told(node: &mut Node) -> (BTreeSet<Nid>, Vec<Touch>) {
        let mut frames = Vec::new();
        node.emit(&mut frames);
        let (mut moved, mut touches) = (BTreeSet::new(), Vec::new());
        for frame in frames.into_iter().filter(|frame| frame.to == Address::Gateway(GATEWAY)) {
            match frame.content {
                Content::States(states) => moved.extend(states.iter().map(|state| state.nid)),
                Content::Lane(lane) => touches.extend(lane.items.into_iter().flat_map(|(_, item)| match item {
                    Item::Touches(told) => told.touches,
                    _ => Vec::new(),
                })),
                _ => {}
            }
        }
        (moved, touches)
    }

    fn right_half() -> Places {
        Places::Within(vec![Aabb::new(Vec3::new(0.5, -1e3, -1e3), Vec3::splat(1e3))])
    }

    #[test]
    fn motion_is_told_where_somebody_looks_and_elsewhere_now_and_then() {
        let mut node = node();
        node.tick(Tick(1));
        assert_eq!(told(&mut node).0.len(), 9, "everything, unasked");
        wish(&mut node, 1, right_half(), false);
        let mut seen = BTreeSet::new();
        let mut states = 0;
        for tick in 2..2 + NOW_AND_THEN_TICKS {
            node.tick(Tick(tick));
            let (moved, _) = told(&mut node);
            assert!(moved.len() >= 4, "four are in sight");
            states += moved.len() as u64;
            seen.extend(moved);
        }
        assert_eq!((seen.len(), states), (9, 4 * NOW_AND_THEN_TICKS + 5), "the others once each");
        wish(&mut node, 0, Places::Within(vec![]), false);
        node.tick(Tick(70));
        assert!(told(&mut node).0.len() >= 4, "an older wish changes nothing");
        for tick in 71..=1 + STALE_TICKS {
            node.tick(Tick(tick));
        }
        node.tick(Tick(2 + STALE_TICKS));
        assert_eq!(told(&mut node).0.len(), 9, "a wish that is not said again lapses");
    }

    #[test]
    fn a_server_that_wakes_rarely_leaves_nobody_out() {
        let mut node = node();
        wish(&mut node, 1, Places::Within(vec![]), false);
        let mut seen = BTreeSet::new();
        for tick in 1..=NOW_AND_THEN_TICKS + 3 {
            node.tick(Tick(tick));
            if tick % 7 == 4 {
                seen.extend(told(&mut node).0);
            }
        }
        assert_eq!(seen.len(), 9);
    }

    #[test]
    fn touches_are_told_for_certain_and_who_hears_them_is_in_the_log() {
        let mut first = node();
        let mut again = node();
        let mut touches = Vec::new();
        for tick in 1..=600 {
            if tick == 5 {
                wish(&mut first, 5, Places::Within(vec![]), true);
            }
            first.tick(Tick(tick));
            first.take_log().iter().for_each(|entry| again.replay(entry));
            assert_eq!(first.tells_touches_to(GATEWAY), tick >= 5);
            assert_eq!(again.tells_touches_to(GATEWAY), tick >= 5, "a successor goes on telling");
            if touches.is_empty() {
                touches = told(&mut first).1;
            }
        }
        assert!(touches.iter().any(|touch| touch.began), "a ball has reached the ground");
        assert_eq!(told(&mut again).1[..touches.len()], touches, "and the successor tells the same");
        wish(&mut first, 9, Places::Within(vec![]), false);
        first.tick(Tick(601));
        assert!(!first.tells_touches_to(GATEWAY));
    }

    #[test]
    fn touches_of_named_bodies_are_told_however_many_others_touch() {
        let told_of = |of: WantedTouches| {
            let mut node = node();
            wish_of(&mut node, 1, Places::Within(vec![]), of);
            node.tick(Tick(1));
            let crowd = (0..2 * TOUCHES_MAX as u64).map(|i| (Nid(1_000 + 2 * i), Nid(1_001 + 2 * i)));
            let touches = crowd.chain([(Nid(3), Nid(9_999)), (Nid(2), Nid(7))]);
            node.end_contacts(touches);
            node.tell_touches();
            told(&mut node).1
        };
        let pairs: Vec<(Nid, Nid)> =
            told_of(WantedTouches::of([Nid(7), Nid(3)])).iter().map(|touch| (touch.one, touch.two)).collect();
        assert_eq!(pairs, [(Nid(3), Nid(9_999)), (Nid(2), Nid(7))]);
        assert_eq!(told_of(WantedTouches::All).len(), TOUCHES_MAX);
        assert_eq!(told_of(WantedTouches::None), []);
    }

    #[test]
    fn touches_wait_while_the_lane_of_a_gateway_is_full() {
        let mut node = node();
        wish(&mut node, 1, Places::Within(vec![]), true);
        node.tick(Tick(1));
        let to = Address::Gateway(GATEWAY);
        let died = |i: u64| Item::Died { nid: Nid(5_000 + i), body_epoch: 1 };
        (0..BIRTHS_UNDER_WAY_MAX as u64).for_each(|i| node.outbox.push(to, Tick(1), died(i)));
        let touches = |node: &mut Node| {
            let crowd = (0..TOUCHES_MAX as u64 + 1).map(|i| (Nid(1_000 + 2 * i), Nid(1_001 + 2 * i)));
            node.end_contacts(crowd);
            node.tell_touches();
            let listener = &node.listeners[&GATEWAY];
            (listener.waiting.len(), listener.left_out)
        };
        assert_eq!(touches(&mut node), (TOUCHES_MAX, 1), "so many a tick");
        assert_eq!(touches(&mut node), (2 * TOUCHES_MAX, 2));
        let most = (0..99).map(|_| touches(&mut node)).last().unwrap();
        assert_eq!((most.0, most.1), (TOUCHES_WAITING_MAX, (101 * (TOUCHES_MAX + 1) - TOUCHES_WAITING_MAX) as u64));
        node.outbox.close(to);
        node.tell_touches();
        assert_eq!(node.outbox.waiting(to), TOUCHES_WAITING_MAX / TOUCHES_MAX);
        assert_eq!((node.listeners[&GATEWAY].waiting.len(), node.listeners[&GATEWAY].left_out), (0, 0));
    }

    #[test]
    fn only_gateways_that_watch_have_wishes() {
        let mut node = node();
        let (from, to) = (Address::Gateway(GatewayId(9)), Address::Region(RegionId(0)));
        let content = Content::Wish(Wish { motion: Places::Within(vec![]), touches: WantedTouches::All });
        node.handle(Frame { from, to, era: 1, epoch: 1, tick: Tick(1), content });
        assert_eq!(node.counters().frames_void, 1);
        wish(&mut node, 1, Places::Within(vec![]), true);
        node.tick(Tick(1));
        assert!(node.tells_touches_to(GATEWAY) && !node.tells_touches_to(GatewayId(9)));
        node.set_gateways(vec![]);
        node.tick(Tick(2));
        assert!(!node.tells_touches_to(GATEWAY));
    }
}
