//! What gateways want to hear, and what they are told accordingly.
//!
//! Where a gateway has somebody who looks, it is told of motion at every tick; elsewhere of each body now and then, so that
//! it is never wrong about where a body is by more than a second. That changes nothing here: it is in no log, and a server
//! that takes over tells everything until it has heard the wishes anew.
//!
//! Touches go by lane, for certain. So who hears of them is part of the log, and lasts until the gateway wants no more.

use nimbus_model::{Nid, Tick};
use nimbus_wire::{Address, GatewayId, Item, Places, TOUCHES_MAX, Touch, Touches, Wish};
use std::collections::BTreeMap;

use crate::config::Planted;
use crate::contact_events::{Contact, ContactKind};
use crate::feed::BIRTHS_UNDER_WAY_MAX;
use crate::inbox::Input;
use crate::node::Node;

/// A wish that was not said again for this long no longer limits anything: three seconds at 60 Hz.
const STALE_TICKS: u64 = 180;
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
        let listens = |gateway: &GatewayId| match self.wishes.get(gateway) {
            Some(known) => known.wish.touches,
            None => self.listeners.contains_key(gateway),
        };
        let listeners: Vec<GatewayId> = self.config.gateways.iter().copied().filter(listens).collect();
        (!listeners.iter().eq(self.listeners.keys())).then_some(Input::Listeners(listeners))
    }

    /// From now on these gateways hear of touches, and no others.
    pub(crate) fn follow_listeners(&mut self, listeners: &[GatewayId]) {
        self.listeners.retain(|gateway, _| listeners.contains(gateway));
        for gateway in listeners {
            self.listeners.entry(*gateway).or_insert(0);
        }
        let wanted = self.wants_contacts();
        self.physics.report_contacts(wanted);
    }

    /// Notes a touch for gateways that want to hear of it.
    pub(crate) fn note_touch(&mut self, Contact { tick, one, two, kind }: Contact) {
        if self.listeners.is_empty() || (self.config.planted == Some(Planted::LateTouches) && tick < self.now) {
            return;
        }
        if self.touched.touches.len() < TOUCHES_MAX {
            self.touched.touches.push(Touch { tick, one, two, began: kind == ContactKind::Began });
        } else {
            self.touched.left_out += 1;
        }
    }

    /// Tells gateways that want to know which touches began and ended in this tick.
    pub(crate) fn tell_touches(&mut self) {
        let touched = std::mem::take(&mut self.touched);
        if touched == Touches::default() {
            return;
        }
        for (gateway, left_out) in &mut self.listeners {
            let to = Address::Gateway(*gateway);
            if self.outbox.waiting(to) >= BIRTHS_UNDER_WAY_MAX {
                self.counters.feed_dropped += 1;
                *left_out += touched.touches.len() as u64 + touched.left_out;
                continue;
            }
            let left_out = std::mem::take(left_out) + touched.left_out;
            self.outbox.push(to, self.now, Item::Touches(Touches { left_out, touches: touched.touches.clone() }));
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
    fn only_gateways_that_watch_have_wishes() {
        let mut node = node();
        let (from, to) = (Address::Gateway(GatewayId(9)), Address::Region(RegionId(0)));
        let content = Content::Wish(Wish { motion: Places::Within(vec![]), touches: true });
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
