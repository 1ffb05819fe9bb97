//! Two servers side by side along `x`, with the seam at zero, and a network the test controls.
#![allow(dead_code, reason = "every test file uses a part of it")]

use nimbus_model::{BodyDesc, Layout, Nid, Pose, RegionId, Shape, Tick, Vec3, Velocity, World};
use nimbus_node::{Node, NodeConfig, Policy};
use nimbus_space::PartitionMap;
use nimbus_wire::{Address, Frame, GatewayId};
use std::sync::Arc;

pub(crate) const LEFT: usize = 0;
pub(crate) const RIGHT: usize = 1;

/// A world without gravity whose two regions meet at `x = 0`.
pub(crate) fn empty_world() -> World {
    let mut world = World::new("pair");
    world.gravity = Vec3::ZERO;
    world.layout = Layout::columns(2, 100.0);
    world
}

/// A ball of half a metre.
pub(crate) fn ball() -> BodyDesc {
    BodyDesc::dynamic(Shape::ball(0.5))
}

pub(crate) fn add_ball(world: &mut World, x: f32, speed: f32) -> Nid {
    let index = world.add(ball(), Pose::at(Vec3::new(x, 0.0, 0.0)), Velocity::linear(Vec3::new(speed, 0.0, 0.0)));
    World::nid(1, index)
}

pub(crate) struct Pair {
    pub(crate) nodes: [Node; 2],
    /// Frames for the gateway, which nobody reads unless the test does.
    pub(crate) to_gateway: Vec<Frame>,
    pub(crate) tick: Tick,
}

impl Pair {
    pub(crate) fn new(world: World, configure: impl Fn(&mut NodeConfig)) -> Pair {
        let map = PartitionMap::from_layout(&world.layout).expect("the layout is good");
        let world = Arc::new(world);
        let node = |region| {
            let mut config = NodeConfig::new(RegionId(region));
            config.gateways = vec![GatewayId(0)];
            config.log = true;
            // The mechanism is what these tests look at; this policy uses it in the simplest way.
            config.policy = Policy::Exclusive;
            configure(&mut config);
            Node::new(config, world.clone(), 1, map.clone(), Tick(0))
        };
        Pair { nodes: [node(0), node(1)], to_gateway: Vec::new(), tick: Tick(0) }
    }

    /// One tick of both; `fate` says how often each frame between them arrives.
    pub(crate) fn tick_with(&mut self, mut fate: impl FnMut(&Frame) -> usize) {
        self.tick = self.tick.next();
        let mut frames = Vec::new();
        for node in &mut self.nodes {
            node.tick(self.tick);
            node.emit(&mut frames);
        }
        for frame in frames {
            let frame = Frame::decode(&frame.encode()).expect("a frame survives");
            match frame.to {
                Address::Region(region) => {
                    for _ in 0..fate(&frame) {
                        self.nodes[usize::from(region.0)].handle(frame.clone());
                    }
                }
                Address::Gateway(_) => self.to_gateway.push(frame),
                Address::Backup(_) => {}
            }
        }
    }

    pub(crate) fn run(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.tick_with(|_| 1);
        }
    }

    pub(crate) fn hosts(&self, nid: Nid) -> [bool; 2] {
        std::array::from_fn(|i| self.nodes[i].motion(nid).is_some())
    }
}
