//! The log: what took effect at each tick. A snapshot and the log that follows it are the whole truth about a server.

use nimbus_model::{Tick, coding};
use serde::{Deserialize, Serialize};

use crate::inbox::Input;

/// Everything that took effect at one tick, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TickLog {
    /// The tick. A gap to the one before means that tick numbers were skipped.
    pub tick: Tick,
    /// What took effect, in order.
    pub inputs: Vec<Input>,
}

impl TickLog {
    /// A tick as its record has it, for whoever keeps or replays one; none when the bytes are not a tick.
    pub fn decode(bytes: &[u8]) -> Option<TickLog> {
        coding::read(bytes).ok()
    }

    /// The tick as bytes.
    pub fn encode(&self) -> Vec<u8> {
        coding::write(self)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Change, Node, NodeConfig};
    use nimbus_model::{Layout, RegionId, Tick, World};
    use nimbus_space::PartitionMap;
    use std::sync::Arc;

    #[test]
    fn what_is_to_come_is_in_the_log_before_it_comes() {
        let mut world = World::new("log");
        world.layout = Layout::columns(2, 100.0);
        let world = Arc::new(world);
        let map = PartitionMap::from_layout(&world.layout).unwrap();
        let next = map.with_ranks(&[RegionId(1), RegionId(0)], Tick(10)).unwrap();
        let config = NodeConfig { log: true, ..NodeConfig::new(RegionId(0)) };
        let mut node = Node::new(config, world, 1, map, Tick(0));
        // As a backup has it that was given everything before anybody knew of the change.
        let mut copy = Node::restore(&node.snapshot()).unwrap();
        assert!(node.schedule(Change::Map(next.clone())));
        for tick in 1..15 {
            node.tick(Tick(tick));
            node.take_log().iter().for_each(|entry| copy.replay(entry));
            let expected: &[Change] = if tick < 10 { &[Change::Map(next.clone())] } else { &[] };
            assert_eq!((node.changes.as_slice(), copy.changes.as_slice()), (expected, expected), "tick {tick}");
            assert_eq!((node.map() == &next, copy.map() == &next), (tick >= 10, tick >= 10), "tick {tick}");
        }
    }
}
