//! Two durable servers with backups.
#![allow(dead_code, reason = "every test file uses a part of it")]

use nimbus_model::{Nid, Origin, RegionId, World};
use nimbus_node::{Backup, NodeConfig};
use nimbus_wire::{Address, Frame};

use crate::pair::{Pair, add_ball, empty_world};

/// Two durable servers and their backups on a network that delivers between two ticks.
pub(crate) struct Cluster {
    pub(crate) pair: Pair,
    pub(crate) backups: [Backup; 2],
}

impl Cluster {
    /// With one ball.
    pub(crate) fn new(x: f32, speed: f32) -> (Cluster, Nid) {
        let mut world = empty_world();
        let nid = add_ball(&mut world, x, speed);
        (Cluster::of(world, |_| {}), nid)
    }

    /// With a world.
    pub(crate) fn of(world: World, configure: impl Fn(&mut NodeConfig)) -> Cluster {
        let durable = |config: &mut NodeConfig| {
            config.durable = true;
            config.snapshot_ticks = 50;
            config.gateways.clear();
            configure(config);
        };
        let pair = Pair::new(world, durable);
        let rules = pair.nodes[0].rules().cloned();
        let backup = |region| Backup::new(RegionId(region), 1, 1, None).with_rules(rules.clone());
        Cluster { backups: [backup(0), backup(1)], pair }
    }

    /// One tick; `fate` says whether a frame arrives.
    pub(crate) fn tick(&mut self, fate: impl Fn(&Frame) -> bool) {
        let tick = self.pair.tick.next();
        self.pair.tick = tick;
        let mut frames = Vec::new();
        for node in &mut self.pair.nodes {
            node.tick(tick);
            node.emit(&mut frames);
        }
        let mut answers = Vec::new();
        for frame in frames.into_iter().filter(&fate) {
            match frame.to {
                Address::Backup(region) => self.backups[usize::from(region.0)].handle(frame, &mut answers),
                Address::Region(region) => self.pair.nodes[usize::from(region.0)].handle(frame),
                Address::Gateway(_) => self.pair.to_gateway.push(frame),
            }
        }
        for frame in answers.into_iter().filter(&fate) {
            if let Address::Region(region) = frame.to {
                self.pair.nodes[usize::from(region.0)].handle(frame);
            }
        }
    }

    /// Some ticks.
    pub(crate) fn run(&mut self, ticks: u64, fate: impl Fn(&Frame) -> bool) {
        for _ in 0..ticks {
            self.tick(&fate);
        }
    }

    /// The backup takes over; `life` is that of the one that follows it.
    pub(crate) fn promote(&mut self, i: usize, life: u32) {
        let epoch = self.pair.nodes[i].epoch() + 1;
        let empty = Backup::new(RegionId(i as u16), life, epoch, None).with_rules(self.pair.nodes[i].rules().cloned());
        let sealed = std::mem::replace(&mut self.backups[i], empty);
        self.pair.nodes[i] = sealed.promote(epoch, Origin(100 + life as u16)).expect("it is seeded");
    }
}
