//! What a server needs in memory beside the engine's own.

use nimbus_model::{RegionId, Tick};
use nimbus_node::{Node, NodeConfig};
use nimbus_physics::PhysicsWorld;
use nimbus_scenes::SceneParams;
use nimbus_space::PartitionMap;
use nimbus_wire::GatewayId;
use std::sync::Arc;

use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::plot::{Plot, Series};
use crate::report::{Report, Row, Summary};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "node-memory",
    about: "Memory of a server beyond the engine's own, with about 2,400 bodies.",
    run,
};

const BAR_MB: f64 = 100.0;
const TICKS: u64 = 900;

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    let copies = if options.quick { 2 } else { 6 };
    let world = nimbus_scenes::build("rain", &SceneParams { servers: 1, seed: 7, scale: 1.0 })
        .map_err(|error| LabError::Failed(error.to_string()))?;
    let map = PartitionMap::from_layout(&world.layout).map_err(|error| LabError::Failed(error.to_string()))?;
    let world = Arc::new(world);
    let mut config = NodeConfig::new(RegionId(0));
    // A gateway that never answers makes the server hold everything it ever said: the worst case.
    config.gateways = vec![GatewayId(0)];

    let resident_mb = || resident_bytes().map(|bytes| bytes as f64 / 1e6);
    let before = resident_mb()?;
    let mut nodes = Vec::new();
    for i in 0..copies {
        let mut node = Node::new(config.clone(), world.clone(), 1, map.clone(), Tick(0));
        for tick in 1..=TICKS {
            node.tick(Tick(tick));
            node.emit(&mut Vec::new());
            node.take_events();
            progress((i as f32 + tick as f32 / TICKS as f32) / (copies as f32 + 1.0));
        }
        nodes.push(node);
    }
    let with_nodes = resident_mb()?;
    let mut worlds = Vec::new();
    for node in &nodes {
        let snapshot = node.physics().snapshot();
        let mut world = PhysicsWorld::restore(&snapshot).map_err(|error| LabError::Failed(error.to_string()))?;
        drop(snapshot);
        world.step_bare();
        worlds.push(world);
    }
    let with_worlds = resident_mb()?;
    progress(1.0);
    let node_mb = (with_nodes - before) / copies as f64;
    let engine_mb = (with_worlds - with_nodes) / copies as f64;
    let beyond = node_mb - engine_mb;
    let row = Row::new()
        .with("bodies", nodes[0].hosted_count())
        .with("node_mb", node_mb)
        .with("engine_mb", engine_mb)
        .with("beyond_engine_mb", beyond);
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new().with("scene", "rain").with("copies", copies).with("bar_mb", BAR_MB),
        rows: vec![row],
        plots: vec![
            Plot::bars("memory", "Memory of a server", "", "MB", vec!["engine".into(), "beyond it".into()])
                .with(Series::new("one server", vec![[0.0, engine_mb], [1.0, beyond]]))
                .with_level("bar for what is beyond", BAR_MB),
        ],
        summary: Summary {
            passed: beyond <= BAR_MB,
            sentence: format!("A server needs {beyond:.1} MB beyond the engine's {engine_mb:.1} MB (bar {BAR_MB} MB)."),
        },
    })
}

/// Resident memory of this process, from the kernel's own count.
fn resident_bytes() -> Result<u64, LabError> {
    let failed = |what: String| LabError::Failed(format!("resident memory cannot be read here: {what}"));
    let text = std::fs::read_to_string("/proc/self/statm").map_err(|error| failed(error.to_string()))?;
    let pages: u64 = text.split_whitespace().nth(1).and_then(|n| n.parse().ok()).ok_or_else(|| failed(text.clone()))?;
    Ok(pages * 4096)
}
