//! How much of its time the simulator spends on anything but physics.

use cpu_time::ThreadTime;
use nimbus_model::Tick;
use nimbus_physics::PhysicsWorld;
use nimbus_universe::{Universe, UniverseConfig};

use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::plot::{Plot, Series};
use crate::report::{Report, Row, Summary};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "universe-speed",
    about: "Speed of the whole simulated cluster against the bare engine stepping the same worlds.",
    run,
};

const BAR: f64 = 0.7;
const BLOCK_TICKS: u64 = 20;

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    let (warm_up, blocks) = if options.quick { (300, 5) } else { (900, 15) };
    let mut rows = Vec::new();
    let servers = [1u16, 4];
    for (i, &count) in servers.iter().enumerate() {
        let mut config = UniverseConfig::new("rain", count, 7, warm_up + blocks * BLOCK_TICKS);
        config.checked = false;
        let mut universe = Universe::new(config).map_err(|error| LabError::Failed(error.to_string()))?;
        while universe.tick() < Tick(warm_up) {
            universe.advance();
        }
        let (mut bare_ns, mut whole_ns) = (0u64, 0u64);
        for block in 0..blocks {
            // The same worlds from the same state, stepped with nothing around them.
            let mut worlds = copies(&universe)?;
            let start = ThreadTime::now();
            for _ in 0..BLOCK_TICKS {
                worlds.iter_mut().for_each(PhysicsWorld::step_bare);
            }
            bare_ns += start.elapsed().as_nanos() as u64;
            let start = ThreadTime::now();
            for _ in 0..BLOCK_TICKS {
                universe.advance();
            }
            whole_ns += start.elapsed().as_nanos() as u64;
            progress((i as f32 + (block + 1) as f32 / blocks as f32) / servers.len() as f32);
        }
        let bodies: usize = universe.nodes().iter().map(|node| node.hosted_count()).sum();
        let per_tick = |ns: u64| ns as f64 / (blocks * BLOCK_TICKS) as f64 / 1e6;
        rows.push(
            Row::new()
                .with("servers", count)
                .with("bodies", bodies)
                .with("bare_ms_per_tick", per_tick(bare_ns))
                .with("universe_ms_per_tick", per_tick(whole_ns))
                .with("speed_ratio", bare_ns as f64 / whole_ns as f64),
        );
    }
    let worst = rows.iter().filter_map(|row| row.get("speed_ratio")?.as_f64()).fold(f64::INFINITY, f64::min);
    let ratios = (0..).map(f64::from).zip(&rows).filter_map(|(i, row)| Some([i, row.get("speed_ratio")?.as_f64()?]));
    let plot = Plot::bars(
        "speed",
        "Speed of the universe against the bare engine",
        "servers",
        "ratio",
        servers.map(|count| count.to_string()).to_vec(),
    )
    .with(Series::new("universe", ratios.collect()))
    .with_level("bar", BAR);
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new().with("scene", "rain").with("warm_up_ticks", warm_up).with("bar", BAR),
        rows,
        plots: vec![plot],
        summary: Summary {
            passed: worst >= BAR,
            sentence: format!("The universe runs at {worst:.2} of the bare engine's speed or better (bar {BAR})."),
        },
    })
}

fn copies(universe: &Universe) -> Result<Vec<PhysicsWorld>, LabError> {
    let copy = |node: &nimbus_node::Node| {
        PhysicsWorld::restore(&node.physics().snapshot()).map_err(|error| LabError::Failed(error.to_string()))
    };
    universe.nodes().iter().map(copy).collect()
}
