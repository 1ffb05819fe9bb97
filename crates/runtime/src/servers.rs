//! The servers of one process: a thread for each region, linked in memory.

use nimbus_model::{Mixer, RegionId, Tick, World};
use nimbus_node::{AuraConfig, Change, ContactTick, Horizon, Node, NodeConfig, Policy};
use nimbus_space::{LayoutError, PartitionMap};
use nimbus_wire::GatewayId;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;
use tokio::sync::mpsc::Receiver;

use crate::doors::Doors;
use crate::errand::Errands;
use crate::guard::{Guard, KillSwitch, Threads, lock};
use crate::links::{LinkEnd, Links};
use crate::memory;
use crate::node_thread::{NodeEnd, NodeThread};
use crate::pace::Pace;
use crate::play::Play;
use crate::reading::{Gauge, Reading};
use crate::recording::{Recorder, RecordingError, Start, Written};

/// Most servers in one process.
pub const SERVERS_MAX: usize = 64;

/// The gateway of a process.
pub const GATEWAY: GatewayId = GatewayId(0);

/// What servers are started with.
pub struct ServersConfig {
    /// The world.
    pub world: Arc<World>,
    /// At least this many servers, with regions from zero up; those that the world's map does not name have no place.
    pub servers: u16,
    /// Whether they report to the process's gateway.
    pub gateway: bool,
    /// Who should own what.
    pub policy: Policy,
    /// How the aura policy judges, and what is promised of computing, clocks and backups.
    pub aura: AuraConfig,
    /// Write the run to this file.
    pub record: Option<PathBuf>,
    /// Every server has a backup in this process, and may be killed: see [`Servers::kill`]. Only in real time, and not
    /// with a recording, which would have to forget what a killed server did last.
    pub durable: bool,
    /// Tell here what begins and ceases to touch. A server never waits for a full channel: what does not fit is dropped
    /// and counted, and then the turns of a pair may not be right.
    pub contacts: Option<SyncSender<(RegionId, ContactTick)>>,
    /// The game that they play.
    pub play: Option<Play>,
    /// Most bodies that one server hosts; by the machine's memory unless told.
    pub bodies_per_region: Option<u32>,
}

impl ServersConfig {
    /// As many servers as the world has regions, without gateway and recording.
    pub fn new(world: impl Into<Arc<World>>) -> ServersConfig {
        let (world, policy) = (world.into(), Policy::default());
        let (record, contacts, play) = (None, None, None);
        let aura = AuraConfig::PROCESSES;
        let (durable, bodies_per_region) = (false, None);
        ServersConfig {
            world,
            servers: 1,
            gateway: false,
            policy,
            aura,
            record,
            durable,
            contacts,
            play,
            bodies_per_region,
        }
    }
}

/// Why servers cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The world cannot be cut into regions.
    #[error("the world `{name}` cannot be cut into regions: {source}")]
    Layout {
        /// The world.
        name: String,
        /// Why not.
        source: LayoutError,
    },
    /// A region is too narrow for what the world promises.
    #[error("the world `{name}` cannot be run like this: {problem}")]
    Narrow {
        /// The world.
        name: String,
        /// What is wrong, and what to change.
        problem: String,
    },
    /// The world has more bodies than may be.
    #[error("the world `{name}` is beyond its budget: {problem}")]
    Budget {
        /// The world.
        name: String,
        /// What is wrong, and what to change.
        problem: String,
    },
    /// Too many for one process.
    #[error("{0} servers are too many for one process; ask for at most {SERVERS_MAX}")]
    TooMany(usize),
    /// The recording cannot be made.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The machine gives no more threads.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// Servers that run.
pub struct Servers {
    pace: Arc<Pace>,
    links: Links,
    regions: Vec<RegionId>,
    gauges: Vec<Gauge>,
    doors: Doors,
    threads: Threads,
    /// Keeps the backups, where there are any.
    guard: Option<(JoinHandle<()>, KillSwitch)>,
    recorder: Option<Recorder>,
}

/// How a run ended.
#[derive(Clone, Debug, Default)]
pub struct RunEnd {
    /// Every server, in order of region.
    pub nodes: Vec<NodeEnd>,
    /// Servers that failed on the way. Their threads have said why.
    pub died: Vec<RegionId>,
    /// The recording, when there was one.
    pub written: Option<Written>,
}

impl RunEnd {
    /// One number for the state of all servers.
    pub fn combined_hash(&self) -> u64 {
        combine(self.nodes.iter().map(|node| (node.region, node.hash)))
    }
}

/// One number for the states of all servers, given in order of region.
pub fn combine(hashes: impl IntoIterator<Item = (RegionId, u64)>) -> u64 {
    let mut mixer = Mixer::new();
    for (region, hash) in hashes {
        mixer.word(u64::from(region.0));
        mixer.word(hash);
    }
    mixer.finish()
}

/// The partition a world starts with, and the regions that need a server, if processes with backups can run it that are
/// held to the usual.
pub fn first_map(world: &World, servers: u16) -> Result<(PartitionMap, Vec<RegionId>), StartError> {
    first_map_under(world, servers, &AuraConfig::PROCESSES.with_commits(true))
}

/// The same for servers that are held to this.
pub fn first_map_under(
    world: &World,
    servers: u16,
    aura: &AuraConfig,
) -> Result<(PartitionMap, Vec<RegionId>), StartError> {
    let map = PartitionMap::from_layout(&world.layout)
        .map_err(|source| StartError::Layout { name: world.name.clone(), source })?;
    if let Some(problem) = Horizon::layout_problem(world, aura, &map) {
        return Err(StartError::Narrow { name: world.name.clone(), problem });
    }
    let over = world.over_budget().map(|over| over.to_string());
    over.or_else(|| memory::crowded_start(world, &map, world.budget.region_max() as usize))
        .map_or(Ok(()), |problem| Err(StartError::Budget { name: world.name.clone(), problem }))?;
    let mut regions: Vec<RegionId> = map.regions().iter().copied().chain((0..servers).map(RegionId)).collect();
    regions.sort_unstable();
    regions.dedup();
    if regions.len() > SERVERS_MAX {
        return Err(StartError::TooMany(regions.len()));
    }
    Ok((map, regions))
}

impl Servers {
    /// Starts them. `pace` gets the number of servers and makes the ticks due, from tick 1 on. Also returns the end of
    /// the gateway's link.
    pub fn start(
        config: ServersConfig,
        pace: impl FnOnce(usize) -> Pace,
    ) -> Result<(Servers, LinkEnd, PartitionMap), StartError> {
        let aura = config.aura.with_commits(config.durable);
        let (map, regions) = first_map_under(&config.world, config.servers, &aura)?;
        let bodies_max =
            config.bodies_per_region.map_or_else(|| memory::bodies_max(regions.len()), |most| most as usize);
        if let Some(problem) = memory::crowded_start(&config.world, &map, bodies_max) {
            return Err(StartError::Budget { name: config.world.name.clone(), problem });
        }
        let configs: Vec<NodeConfig> = regions
            .iter()
            .map(|region| NodeConfig {
                gateways: if config.gateway { vec![GATEWAY] } else { Vec::new() },
                policy: config.policy,
                aura,
                bodies_max,
                log: config.record.is_some(),
                durable: config.durable,
                contacts: config.contacts.is_some(),
                game: config.play.as_ref().map(|play| play.rules.clone()),
                ..NodeConfig::new(*region)
            })
            .collect();
        let start = Start { nodes: configs, world: config.world, era: 1, map: map.clone(), at: Tick(0) };
        let recorder = config.record.map(|path| Recorder::create(&path, &start)).transpose()?;
        let nodes: Vec<Node> = start
            .nodes
            .iter()
            .map(|node| Node::new(node.clone(), start.world.clone(), start.era, map.clone(), start.at))
            .collect();
        let (links, mut ends) = Links::new(&regions, GATEWAY);
        let gateway_end = ends.pop().expect("the gateway's end is the last");
        let mut servers = Servers {
            pace: Arc::new(pace(regions.len())),
            links,
            gauges: regions.iter().map(|region| Gauge::new(*region)).collect(),
            regions,
            doors: Doors::default(),
            threads: Threads::default(),
            guard: None,
            recorder,
        };
        // Doors come first: a server that takes over has its own opened anew.
        let doors: Vec<Receiver<Change>> = servers.regions.iter().map(|region| servers.doors.add(*region)).collect();
        let mut errands = Vec::new();
        if config.durable {
            let Servers { gauges, links, pace, doors, threads, .. } = &servers;
            let (guard, switch, its) =
                Guard::new(gauges, links, pace, doors, threads, (&config.contacts, &config.play));
            let thread = std::thread::Builder::new().name("guard".to_owned()).spawn(move || guard.run())?;
            (servers.guard, errands) = (Some((thread, switch)), its);
        }
        errands.resize_with(servers.regions.len(), Errands::default);
        let parts = nodes.into_iter().zip(ends).zip(doors).zip(errands);
        for (runner, (((node, inbox), changes), errands)) in parts.enumerate() {
            let thread = NodeThread {
                runner,
                pace: servers.pace.clone(),
                links: servers.links.clone(),
                inbox,
                changes,
                errands,
                gauge: servers.gauges[runner].clone(),
                recorder: servers.recorder.as_ref().map(Recorder::handle),
                contacts: config.contacts.clone(),
                play: config.play.clone(),
                node,
            };
            let name = format!("server {}", servers.regions[runner]);
            let thread = std::thread::Builder::new().name(name).spawn(move || Some(thread.run()))?;
            lock(&servers.threads).insert(servers.regions[runner], thread);
        }
        Ok((servers, gateway_end, map))
    }

    /// When ticks are due.
    pub fn pace(&self) -> &Arc<Pace> {
        &self.pace
    }

    /// Where frames are handed in.
    pub fn links(&self) -> &Links {
        &self.links
    }

    /// The regions that have a server, in order.
    pub fn regions(&self) -> &[RegionId] {
        &self.regions
    }

    /// A way to give every server a change of the whole world.
    pub fn doors(&self) -> Doors {
        self.doors.clone()
    }

    /// Ends the server of a region at once, without a word, as a process that dies. Its backup takes over half a second
    /// later. Refused with a reason when that is not possible.
    pub fn kill(&self, region: RegionId) -> Result<(), String> {
        self.kill_switch().ok_or("servers cannot be killed here; `nimbus demo` lets you")?.kill(region)
    }

    pub(crate) fn kill_switch(&self) -> Option<&KillSwitch> {
        self.guard.as_ref().map(|(_, switch)| switch)
    }

    /// Where the servers show themselves.
    pub fn gauges(&self) -> &[Gauge] {
        &self.gauges
    }

    /// What the servers show of themselves.
    pub fn readings(&self) -> Vec<Reading> {
        self.gauges.iter().map(Gauge::read).collect()
    }

    /// Ends the run and completes the recording.
    pub fn stop(self) -> Result<RunEnd, RecordingError> {
        self.pace.stop();
        self.join()
    }

    /// Waits until the pace has ended the run, and completes the recording.
    pub fn join(self) -> Result<RunEnd, RecordingError> {
        let mut end = RunEnd::default();
        if let Some((guard, _)) = self.guard {
            // One that panicked has said so on its way.
            _ = guard.join();
        }
        let threads = std::mem::take(&mut *lock(&self.threads));
        for (region, thread) in threads {
            match thread.join() {
                Ok(Some(node)) => end.nodes.push(node),
                Ok(None) | Err(_) => end.died.push(region),
            }
        }
        end.written = self.recorder.map(Recorder::finish).transpose()?;
        Ok(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_scenes::SceneParams;

    #[test]
    fn every_scene_is_wide_enough_for_processes_with_backups() {
        for scene in nimbus_scenes::all() {
            for servers in [2, 4, 9] {
                let world = nimbus_scenes::build(scene.name, &SceneParams::on(servers)).unwrap();
                let problem = first_map(&world, servers).err().map(|error| error.to_string());
                assert_eq!(problem, None, "{} on {servers}", scene.name);
            }
        }
    }

    #[test]
    fn what_servers_are_held_to_decides_how_wide_regions_must_be() {
        let mut world = World::new("narrow");
        world.layout = nimbus_model::Layout::columns(3, 12.0);
        assert!(first_map(&world, 1).is_ok());
        let slow = AuraConfig { compute_ms: 60.0, ..AuraConfig::PROCESSES };
        let refused = first_map_under(&world, 1, &slow).unwrap_err().to_string();
        assert!(refused.contains("12.0 m wide") && refused.contains("6 ticks ahead"), "{refused}");
    }
}
