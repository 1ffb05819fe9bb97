//! A partition is in force from its own tick on, everywhere: no two servers at one tick go by different ones, unless one
//! could not hear of it in time.

use nimbus_model::Tick;
use nimbus_node::{Change, Node};
use std::collections::VecDeque;

use super::{Broken, Scene};

const RULE: &str = "one partition";
/// Partitions further back than this many are in force nowhere.
const KEPT: usize = 64;

/// A partition that was announced.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Announced {
    at: Tick,
    epoch: u32,
    /// It comes with a world, and replaces whatever was there.
    loads: bool,
}

pub(super) struct OnePartition {
    announced: VecDeque<Announced>,
}

impl Default for OnePartition {
    fn default() -> Self {
        OnePartition { announced: VecDeque::from([Announced { at: Tick(0), epoch: 1, loads: true }]) }
    }
}

impl OnePartition {
    /// A change of the whole world is announced.
    pub(super) fn observe(&mut self, change: &Change) {
        let announced = match change {
            Change::Statics { .. } => return,
            Change::Map(map) => Announced { at: map.effective(), epoch: map.epoch(), loads: false },
            Change::Load { at, map, .. } => {
                self.announced.retain(|earlier| earlier.loads || earlier.at < *at);
                Announced { at: *at, epoch: map.epoch(), loads: true }
            }
        };
        let place = self.announced.partition_point(|earlier| earlier.at <= announced.at);
        self.announced.insert(place, announced);
        if self.announced.len() > KEPT {
            self.announced.pop_front();
        }
    }

    pub(super) fn inspect(&self, scene: &Scene<'_>, broken: &mut Vec<Broken>) {
        let heard = |node: &&&Node| !scene.recovery.regions[usize::from(node.region().0)].behind;
        for node in scene.nodes.iter().filter(heard) {
            let (epoch, now) = (node.map().epoch(), node.now());
            if let Some(expected) = self.in_force(now).filter(|expected| *expected != epoch) {
                let what = format!("{} goes by partition {epoch} at tick {now}, not by {expected}", node.region());
                broken.push(Broken(RULE, what));
            }
        }
    }

    fn in_force(&self, now: Tick) -> Option<u32> {
        let due = self.announced.iter().take_while(|announced| announced.at <= now);
        due.fold(None, |epoch, next| match epoch {
            Some(epoch) if !next.loads => Some(next.epoch.max(epoch)),
            _ => Some(next.epoch),
        })
    }
}

/// In the end nobody has yet to hear of a change.
pub(super) fn conclude(scene: &Scene<'_>, broken: &mut Vec<Broken>) {
    for (i, _) in scene.recovery.regions.iter().enumerate().filter(|(_, region)| region.behind) {
        broken.push(Broken(RULE, format!("r{i} was never told of a change")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::Layout;
    use nimbus_space::PartitionMap;

    #[test]
    fn the_newest_partition_whose_tick_has_come_is_in_force() {
        let map = PartitionMap::from_layout(&Layout::columns(2, 100.0)).unwrap();
        let mut checker = OnePartition::default();
        checker.observe(&Change::Map(map.succeed(Tick(50))));
        checker.observe(&Change::Map(map.succeed(Tick(50)).succeed(Tick(40))));
        assert_eq!([39, 40, 50, 90].map(|tick| checker.in_force(Tick(tick))), [1, 3, 3, 3].map(Some));
    }
}
