//! What it costs to stream a large world to one viewer.

use cpu_time::ThreadTime;
use nimbus_gateway::{Gateway, GatewayConfig, Message, Outputs};
use nimbus_model::{BodyDesc, ClientId, Layout, Motion, Nid, Pose, RegionId, Rng, Shape, Tick, Vec3, Velocity, World};
use nimbus_space::PartitionMap;
use nimbus_wire::client::ClientRole;
use nimbus_wire::{Address, Content, Frame, GatewayId, Item, LaneFrame, STATES_PER_FRAME, StateUpdate};
use std::sync::Arc;

use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::report::{Report, Row, Summary};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "viewer-stream",
    about: "Share of a core that a gateway needs to stream 10,000 moving bodies to one viewer at 60 Hz.",
    run,
};

const BAR: f64 = 0.25;
const BODIES: u32 = 10_000;
const HZ: f64 = 60.0;

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    let ticks = if options.quick { 60 } else { 600 };
    let mut world = World::new("stream");
    world.layout = Layout::columns(1, 200.0);
    let map = PartitionMap::from_layout(&world.layout).map_err(|error| LabError::Failed(error.to_string()))?;
    let config = GatewayConfig { id: GatewayId(0), ..GatewayConfig::default() };
    let mut gateway = Gateway::new(config, Vec::new(), Arc::new(world), 1, map);
    gateway.connect(ClientId(1), ClientRole::Admin).map_err(LabError::Failed)?;
    let frame = |tick, content| {
        let (from, to) = (Address::Region(RegionId(0)), Address::Gateway(GatewayId(0)));
        Frame { from, to, era: 1, epoch: 1, tick, content }
    };
    let desc = Arc::new(BodyDesc::dynamic(Shape::ball(0.3)));
    let hosted = |i: u32| Item::Hosted {
        nid: Nid::of_world(1, i),
        body_epoch: 1,
        desc: desc.clone(),
        motion: Motion::default(),
    };
    let mut outputs = Outputs::default();
    for first in (0..BODIES).step_by(1000) {
        let items = (first..first + 1000).map(|i| (Tick(0), hosted(i))).collect();
        let lane = LaneFrame { ack: 0, first: u64::from(first) + 1, items };
        gateway.handle(frame(Tick(0), Content::Lane(lane)));
        gateway.tick(Tick(1), &mut outputs);
    }
    if gateway.bodies() != BODIES as usize {
        return Err(LabError::Failed(format!("the gateway knows {} bodies, not {BODIES}", gateway.bodies())));
    }

    let mut rng = Rng::new(3);
    let (mut spent, mut bytes) = (0u64, 0usize);
    for t in 2..ticks + 2 {
        let updates: Vec<StateUpdate> = (0..BODIES)
            .map(|i| StateUpdate {
                nid: Nid::of_world(1, i),
                body_epoch: 1,
                pose: Pose::at(rng.point(Vec3::splat(-50.0), Vec3::splat(50.0))),
                velocity: Velocity::ZERO,
            })
            .collect();
        let frames: Vec<Vec<u8>> = updates
            .chunks(STATES_PER_FRAME)
            .map(|chunk| frame(Tick(t), Content::States(chunk.to_vec())).encode())
            .collect();
        let mut outputs = Outputs::default();
        let start = ThreadTime::now();
        for frame in frames.iter().filter_map(|bytes| Frame::decode(bytes).ok()) {
            gateway.handle(frame);
        }
        gateway.tick(Tick(t), &mut outputs);
        spent += start.elapsed().as_nanos() as u64;
        bytes +=
            outputs.messages.iter().map(|(_, m)| if let Message::Binary(b) = m { b.len() } else { 0 }).sum::<usize>();
        progress((t - 1) as f32 / ticks as f32);
    }
    let per_tick_ms = spent as f64 / ticks as f64 / 1e6;
    let share = per_tick_ms * HZ / 1e3;
    let row = Row::new()
        .with("bodies", BODIES)
        .with("gateway_ms_per_tick", per_tick_ms)
        .with("core_share_at_60_hz", share)
        .with("megabit_per_second", bytes as f64 * 8.0 / 1e6 / ticks as f64 * HZ);
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new().with("ticks", ticks).with("bar", BAR),
        rows: vec![row],
        plots: Vec::new(),
        summary: Summary {
            passed: share <= BAR && bytes > 0,
            sentence: format!("Streaming 10,000 bodies at 60 Hz takes {:.1} % of a core (bar 25 %).", 100.0 * share),
        },
    })
}
