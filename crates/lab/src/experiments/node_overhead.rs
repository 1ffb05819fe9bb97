//! What a server and a gateway cost beside the physics step.

use cpu_time::ThreadTime;
use nimbus_gateway::{Gateway, GatewayConfig, Outputs};
use nimbus_model::{ClientId, RegionId, Tick};
use nimbus_node::{Node, NodeConfig};
use nimbus_physics::PhysicsWorld;
use nimbus_scenes::SceneParams;
use nimbus_space::PartitionMap;
use nimbus_wire::client::ClientRole;
use nimbus_wire::{Address, Frame, GatewayId};
use std::sync::Arc;

use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::plot::{Plot, Series};
use crate::report::{Report, Row, Summary};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "node-overhead",
    about: "CPU of server and gateway outside the engine's step, as a share of that step, at 4,000 bodies.",
    run,
};

const BAR: f64 = 0.05;
const BODIES: usize = 4_000;
const BLOCK_TICKS: u64 = 16;
/// Ticks at the start of a block that are not counted.
const WARM_TICKS: u64 = 4;

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    let blocks = if options.quick { 4 } else { 32 };
    // One server: hand-overs make the engine's own step dearer, which is another experiment's business.
    let mut world = nimbus_scenes::build("rain", &SceneParams { servers: 1, seed: 7, scale: 4.0 })
        .map_err(|error| LabError::Failed(error.to_string()))?;
    // The rain stops when there is enough of it: births are not what is measured.
    let volumes = world.injections.len();
    world.injections.iter_mut().for_each(|injection| injection.count = (BODIES / volumes) as u32);
    let map = PartitionMap::from_layout(&world.layout).map_err(|error| LabError::Failed(error.to_string()))?;
    let world = Arc::new(world);
    let gateway_id = GatewayId(0);
    let mut config = NodeConfig::new(RegionId(0));
    config.gateways = vec![gateway_id];
    let mut node = Node::new(config, world.clone(), 1, map.clone(), Tick(0));
    let mut gateway =
        Gateway::new(GatewayConfig { id: gateway_id, ..GatewayConfig::default() }, Vec::new(), world.clone(), 1, map);
    gateway.connect(ClientId(1), ClientRole::Admin).map_err(LabError::Failed)?;

    let mut tick = Tick(0);
    let seconds = world.injections.iter().map(|i| i.count as f32 / i.per_second).fold(0.0, f32::max);
    let warm_up = Tick((seconds * world.tick_hz as f32) as u64 + 60);
    while tick < warm_up {
        tick = tick.next();
        wake(&mut node, &mut gateway, tick);
        progress(0.5 * tick.0 as f32 / warm_up.0 as f32);
    }
    if node.hosted_count() < BODIES * 9 / 10 {
        return Err(LabError::Failed(format!("the scene has only {} bodies", node.hosted_count())));
    }
    let (mut bare, mut beside, mut gateway_ns) = (Vec::new(), Vec::new(), Vec::new());
    for block in 0..blocks {
        // The same world from the same state, stepped with nothing around it, tick by tick in turn with the server:
        // both do the same physics. Both start from a snapshot, because a restored world lies closer together in memory
        // and is faster than one that has grown.
        // Where exactly it lies is luck and worth a few percent, so there are many blocks and the two take turns at being
        // restored first.
        let snapshots = (node.snapshot(), node.physics().snapshot());
        let restore_copy = || PhysicsWorld::restore(&snapshots.1).map_err(|error| LabError::Failed(error.to_string()));
        let early = if block % 2 == 0 { Some(restore_copy()?) } else { None };
        node = Node::restore(&snapshots.0).map_err(|error| LabError::Failed(error.to_string()))?;
        let mut copy = early.map_or_else(restore_copy, Ok)?;
        for t in 0..BLOCK_TICKS + WARM_TICKS {
            tick = tick.next();
            let mut step = || {
                let start = ThreadTime::now();
                copy.step_bare();
                start.elapsed().as_nanos() as f64
            };
            let first = (t % 2 == 0).then(&mut step);
            let (node_ns, g) = wake(&mut node, &mut gateway, tick);
            let bare_ns = first.unwrap_or_else(step);
            if t >= WARM_TICKS {
                bare.push(bare_ns);
                beside.push(node_ns as f64 - bare_ns);
                gateway_ns.push(g as f64);
            }
        }
        progress(0.5 + 0.5 * (block + 1) as f32 / blocks as f32);
    }
    let (samples, bare, beside, gateway_ns) = (bare.len(), median(bare), median(beside), median(gateway_ns));
    let outside = (beside.max(0.0) + gateway_ns) / bare;
    let row = Row::new()
        .with("bodies", node.hosted_count())
        .with("awake", node.awake_count())
        .with("bare_step_ms", bare / 1e6)
        .with("node_beside_step_ms", beside / 1e6)
        .with("gateway_ms", gateway_ns / 1e6)
        .with("outside_share", outside);
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new()
            .with("scene", "rain")
            .with("samples", samples)
            .with("bar", BAR)
            .not_judging("share", options.quick),
        rows: vec![row],
        plots: vec![
            Plot::bars(
                "time",
                "Where a tick goes",
                "",
                "ms",
                ["step", "server beside it", "gateway"].map(String::from).to_vec(),
            )
            .with(Series::new("median", vec![[0.0, bare / 1e6], [1.0, beside / 1e6], [2.0, gateway_ns / 1e6]])),
        ],
        summary: Summary {
            // Where worlds lie in memory moves four blocks by more than they are away from the bar.
            passed: options.quick || outside <= BAR,
            sentence: format!(
                "Server and gateway spend {:.1} % of a step outside it (bar 5 %).{}",
                100.0 * outside,
                if options.quick { " Too short to judge." } else { "" }
            ),
        },
    })
}

/// The middle of many measurements: a thread that is interrupted now and then does not move it.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
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
