//! Gateways that come and go. Each start of a gateway has a number of its own, so a lane never has to be mended: the
//! lane of one that is gone is dropped with all that waits on it, and a new one is told everything from the beginning.

use nimbus_wire::{Address, GatewayId};

use crate::inbox::Input;
use crate::node::Node;

impl Node {
    /// Says which gateways watch, from the next tick on. It enters the log, so a backup tells the same ones.
    pub fn set_gateways(&mut self, mut gateways: Vec<GatewayId>) {
        gateways.sort_unstable();
        gateways.dedup();
        self.watchers = Some(gateways);
    }

    /// Who watches, when that is news.
    pub(crate) fn watchers_input(&mut self) -> Option<Input> {
        let watchers = self.watchers.take()?;
        (watchers != self.config.gateways).then_some(Input::Gateways(watchers))
    }

    /// Forgets gateways that are gone, and has newcomers told of every body that is here.
    pub(crate) fn follow_gateways(&mut self, gateways: &[GatewayId]) {
        let former = std::mem::replace(&mut self.config.gateways, gateways.to_vec());
        for gone in former.iter().filter(|known| !gateways.contains(known)) {
            let address = Address::Gateway(*gone);
            self.outbox.close(address);
            self.inbox.close(address);
            self.asked.close(*gone);
            self.peer_epochs.remove(&address);
            self.untold.retain(|(gateway, _)| gateway != gone);
            self.wishes.remove(gone);
            self.listeners.remove(gone);
        }
        for new in gateways.iter().filter(|gateway| !former.contains(gateway)) {
            self.untold.extend(self.hosted.iter().map(|(nid, _)| (*new, nid)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NodeConfig;
    use nimbus_model::{BodyDesc, Nid, Pose, RegionId, Shape, Tick, Vec3, Velocity, World};
    use nimbus_space::PartitionMap;
    use nimbus_wire::{Content, Frame, Item, LaneFrame};
    use std::collections::BTreeSet;
    use std::sync::Arc;

    fn node() -> Node {
        let mut world = World::new("watched");
        world.add_ground(50.0, 50.0);
        for i in 0..9 {
            let place = Vec3::new(i as f32 * 2.0 - 8.0, 1.0, 0.0);
            world.add(BodyDesc::dynamic(Shape::ball(0.4)), Pose::at(place), Velocity::ZERO);
        }
        let map = PartitionMap::from_layout(&world.layout).unwrap();
        let config = NodeConfig { gateways: vec![GatewayId(1)], log: true, ..NodeConfig::new(RegionId(0)) };
        Node::new(config, Arc::new(world), 1, map, Tick(0))
    }

    /// Bodies that each gateway is told of in what goes out.
    fn told(node: &mut Node, gateway: GatewayId) -> BTreeSet<Nid> {
        let mut frames = Vec::new();
        node.emit(&mut frames);
        let to_it = frames.into_iter().filter(|frame| frame.to == Address::Gateway(gateway));
        let items = to_it.flat_map(|frame| match frame.content {
            Content::Lane(lane) => lane.items,
            _ => Vec::new(),
        });
        items.filter_map(|(_, item)| if let Item::Hosted { nid, .. } = item { Some(nid) } else { None }).collect()
    }

    #[test]
    fn a_gateway_that_comes_is_told_everything_and_one_that_goes_nothing() {
        let mut node = node();
        node.tick(Tick(1));
        assert_eq!(told(&mut node, GatewayId(1)).len(), 9);
        node.set_gateways(vec![GatewayId(2), GatewayId(2)]);
        node.tick(Tick(2));
        assert_eq!(told(&mut node, GatewayId(2)).len(), 9);
        let mut frames = Vec::new();
        for tick in 3..20 {
            node.tick(Tick(tick));
            node.emit(&mut frames);
        }
        assert!(frames.iter().all(|frame| frame.to != Address::Gateway(GatewayId(1))), "nobody is there any more");
        // What the former one had got, it can no longer say.
        let ack = Content::Lane(LaneFrame { ack: 5, ..LaneFrame::default() });
        let (from, to) = (Address::Gateway(GatewayId(1)), Address::Region(RegionId(0)));
        let void = node.counters().frames_void;
        node.handle(Frame { from, to, era: 1, epoch: 1, tick: Tick(19), content: ack });
        assert_eq!(node.counters().frames_void, void + 1);
    }

    #[test]
    fn who_watches_is_in_the_log() {
        let mut first = node();
        let mut again = node();
        for tick in 1..8 {
            if tick == 3 {
                first.set_gateways(vec![GatewayId(7)]);
            }
            first.tick(Tick(tick));
            first.take_log().iter().for_each(|entry| again.replay(entry));
        }
        assert_eq!(told(&mut first, GatewayId(7)).len(), 9);
        assert_eq!(told(&mut again, GatewayId(7)).len(), 9);
    }
}
