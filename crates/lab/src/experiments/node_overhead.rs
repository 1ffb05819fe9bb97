//! What a server and a gateway cost beside the physics step.

use cpu_time::ThreadTime;
use nimbus_gateway::{Gateway, GatewayConfig, Outputs};
use nimbus_model::{ClientId, RegionId, Tick};
use nimbus_node::{Node, NodeConfig};
use nimbus_physics::PhysicsWorld;
use nimbus_scenes::SceneParams;
use nimbus_space::PartitionMap;
use nimbus_wire::{Address, Frame, GatewayId};
use std::sync::Arc;

use crate::experiment::{Experiment, LabError, Options};
use crate::report::{Report, Row, Summary};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "node-overhead",
    about: "CPU of server and gateway outside the engine's step, as a share of that step, at 4,000 bodies.",
    run,
};

const BAR: f64 = 0.05;
const BODIES: usize = 4_000;

fn run(options: &Options, progress: &mut dyn FnMut(f32)) -> Result<Report, LabError> {
    let samples = if options.quick { 10 } else { 60 };
    // Two regions, so that the policy has a boundary to watch; the second one's bodies only make it realistic.
    let world = nimbus_scenes::build("rain", &SceneParams { servers: 2, seed: 7, scale: 4.0 })
        .map_err(|error| LabError::Failed(error.to_string()))?;
    let map = PartitionMap::from_layout(&world.layout).map_err(|error| LabError::Failed(error.to_string()))?;
    let world = Arc::new(world);
    let gateway_id = GatewayId(0);
    let mut config = NodeConfig::new(RegionId(0));
    config.gateways = vec![gateway_id];
    let mut node = Node::new(config, world.clone(), 1, map.clone(), Tick(0));
    let mut gateway =
        Gateway::new(GatewayConfig { id: gateway_id, ..GatewayConfig::default() }, Vec::new(), world, 1, map);
    gateway.connect(ClientId(1)).map_err(LabError::Failed)?;

    let mut tick = Tick(0);
    while node.hosted_count() < BODIES {
        tick = tick.next();
        wake(&mut node, &mut gateway, tick);
        progress(0.5 * node.hosted_count() as f32 / BODIES as f32);
        if tick > Tick(20_000) {
            return Err(LabError::Failed("the scene never reached the number of bodies".to_owned()));
        }
    }
    let (mut bare, mut node_ns, mut gateway_ns) = (0u64, 0u64, 0u64);
    for sample in 0..samples {
        tick = tick.next();
        let mut copy =
            PhysicsWorld::restore(&node.physics().snapshot()).map_err(|error| LabError::Failed(error.to_string()))?;
        // The first step after a restore fills caches that a running world has; it is not counted.
        let mut second =
            PhysicsWorld::restore(&node.physics().snapshot()).map_err(|error| LabError::Failed(error.to_string()))?;
        second.step_bare();
        let start = ThreadTime::now();
        copy.step_bare();
        bare += start.elapsed().as_nanos() as u64;
        let (n, g) = wake(&mut node, &mut gateway, tick);
        node_ns += n;
        gateway_ns += g;
        progress(0.5 + 0.5 * (sample + 1) as f32 / samples as f32);
    }
    let per_tick = |ns: u64| ns as f64 / samples as f64 / 1e6;
    let outside = (node_ns.saturating_sub(bare) + gateway_ns) as f64 / bare as f64;
    let row = Row::new()
        .with("bodies", node.hosted_count())
        .with("awake", node.awake_count())
        .with("bare_step_ms", per_tick(bare))
        .with("node_ms", per_tick(node_ns))
        .with("gateway_ms", per_tick(gateway_ns))
        .with("outside_share", outside);
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new().with("scene", "rain").with("samples", samples).with("bar", BAR),
        rows: vec![row],
        summary: Summary {
            passed: outside <= BAR,
            sentence: format!("Server and gateway spend {:.1} % of a step outside it (bar 5 %).", 100.0 * outside),
        },
    })
}

/// One wake-up of both; returns what each cost, nanoseconds.
fn wake(node: &mut Node, gateway: &mut Gateway, tick: Tick) -> (u64, u64) {
    let start = ThreadTime::now();
    node.tick(tick);
    let mut frames = Vec::new();
    node.emit(&mut frames);
    let sent: Vec<Vec<u8>> = frames.iter().filter(|f| matches!(f.to, Address::Gateway(_))).map(Frame::encode).collect();
    let node_ns = start.elapsed().as_nanos() as u64;

    let start = ThreadTime::now();
    for frame in sent.iter().filter_map(|bytes| Frame::decode(bytes).ok()) {
        gateway.handle(frame);
    }
    let mut outputs = Outputs::default();
    gateway.tick(tick, &mut outputs);
    let gateway_ns = start.elapsed().as_nanos() as u64;
    for frame in outputs.frames {
        node.handle(frame);
    }
    node.take_events();
    (node_ns, gateway_ns)
}
