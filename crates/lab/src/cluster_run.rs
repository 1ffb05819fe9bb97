//! A cluster of real processes of this host, for experiments that kill them.

#![allow(clippy::disallowed_methods, reason = "real processes take real time")]

use nimbus_control::Roster;
use nimbus_model::{Nid, RegionId, Tick, World, world_file};
use nimbus_scenes::SceneParams;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::experiment::LabError;

/// How long anything may take before it is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is to run.
#[derive(Clone, Debug)]
pub(crate) struct ClusterPlan {
    /// The scene, its size, and its number of regions.
    pub(crate) scene: &'static str,
    pub(crate) scale: f32,
    pub(crate) regions: u16,
    /// How many nodes.
    pub(crate) nodes: usize,
    /// More lines for the cluster's file.
    pub(crate) more: String,
}

/// Which processes there are beside the coordinator.
#[derive(Clone, Copy, Debug)]
struct Cast {
    nodes: usize,
    gateways: usize,
    /// Whether a relay is between all of them.
    relayed: bool,
}

impl ClusterPlan {
    fn cast(&self, relayed: bool) -> Cast {
        Cast { nodes: self.nodes, gateways: 1, relayed }
    }

    pub(crate) fn world(&self) -> Result<World, LabError> {
        let params = SceneParams { servers: self.regions, seed: 1, scale: self.scale };
        let world = nimbus_scenes::build(self.scene, &params);
        world.map_err(|error| LabError::Failed(format!("there is no such scene: {error}")))
    }

    fn scene_lines(&self) -> String {
        format!("scene = \"{}\"\nscale = {:?}\nregions = {}", self.scene, self.scale, self.regions)
    }
}

/// A region as the node that serves it tells.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct RegionFacts {
    pub(crate) region: RegionId,
    pub(crate) epoch: u32,
    pub(crate) tick: Tick,
    pub(crate) began_after: Option<Tick>,
    pub(crate) began_us: Option<u64>,
    pub(crate) lost_ticks: u64,
    pub(crate) look_us: u64,
    pub(crate) bodies: u64,
    pub(crate) awake: u64,
    pub(crate) arrived: u64,
    pub(crate) arrival_ticks: [u64; 8],
    pub(crate) ticks_in_transit: u64,
    pub(crate) body_ticks: u64,
}

/// What a node tells about itself.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct NodeFacts {
    /// Frames of those who serve their region no more, and connections of those who are no members.
    pub(crate) misplaced_frames: u64,
    pub(crate) refused_connections: u64,
    pub(crate) regions: Vec<RegionFacts>,
}

#[derive(Clone, Debug, Deserialize)]
struct Census {
    region: RegionId,
    tick: Tick,
    owned: Vec<Nid>,
    in_flight: Vec<Nid>,
}

/// Where every body was after one tick.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count {
    /// The tick.
    pub(crate) tick: Tick,
    /// Bodies that exactly one server owned, or none while they were on their way.
    pub(crate) present: BTreeSet<Nid>,
    /// Bodies that two servers owned.
    pub(crate) doubled: BTreeSet<Nid>,
}

/// A cluster that runs; it ends when dropped.
pub(crate) struct ClusterRun {
    parent: Child,
    dir: PathBuf,
    /// Where each process answers operators.
    operators: BTreeMap<String, SocketAddr>,
    /// Where the gateway serves clients, if there is one.
    pub(crate) http: Option<SocketAddr>,
    pub(crate) world: World,
}

impl ClusterRun {
    /// Starts all its processes with this program.
    pub(crate) fn start(plan: &ClusterPlan) -> Result<ClusterRun, LabError> {
        let (world, scene) = (plan.world()?, plan.scene_lines());
        ClusterRun::launch(world, &format!("{scene}\n{}", plan.more), plan.cast(false), &[], |_| Ok(()))
    }

    /// Starts them where another cluster left a world.
    pub(crate) fn start_restored(plan: &ClusterPlan, world: World, checkpoint: &str) -> Result<ClusterRun, LabError> {
        let scene = plan.scene_lines();
        let restore = ["--restore", checkpoint];
        ClusterRun::launch(world, &format!("{scene}\n{}", plan.more), plan.cast(false), &restore, |_| Ok(()))
    }

    /// The same with a relay between all processes, so that they can be cut off.
    pub(crate) fn start_relayed(plan: &ClusterPlan) -> Result<ClusterRun, LabError> {
        let world = plan.world()?;
        let head = format!("{}\n{}\n[relay]\nseed = 1", plan.scene_lines(), plan.more);
        ClusterRun::launch(world, &head, plan.cast(true), &[], |_| Ok(()))
    }

    /// Starts nodes for a world that is no scene, without a gateway: what is measured is theirs alone.
    pub(crate) fn start_nodes(world: World, nodes: usize, more: &str) -> Result<ClusterRun, LabError> {
        let text = world_file::write(&world);
        let head = format!("world = \"world.toml\"\n{more}");
        let cast = Cast { nodes, gateways: 0, relayed: false };
        ClusterRun::launch(world, &head, cast, &[], |dir| std::fs::write(dir.join("world.toml"), text))
    }

    /// Starts nodes and a gateway for a world that is no scene.
    pub(crate) fn start_world(world: World, nodes: usize, more: &str) -> Result<ClusterRun, LabError> {
        let text = world_file::write(&world);
        let head = format!("world = \"world.toml\"\n{more}");
        let cast = Cast { nodes, gateways: 1, relayed: false };
        ClusterRun::launch(world, &head, cast, &[], |dir| std::fs::write(dir.join("world.toml"), text))
    }

    /// The same with a relay between all processes, which is as these lines of its table say.
    pub(crate) fn start_world_relayed(
        world: World,
        nodes: usize,
        more: &str,
        relay: &str,
    ) -> Result<ClusterRun, LabError> {
        let text = world_file::write(&world);
        let head = format!("world = \"world.toml\"\n{more}\n[relay]\n{relay}");
        let cast = Cast { nodes, gateways: 1, relayed: true };
        ClusterRun::launch(world, &head, cast, &[], |dir| std::fs::write(dir.join("world.toml"), text))
    }

    fn launch(
        world: World,
        head: &str,
        cast: Cast,
        arguments: &[&str],
        prepare: impl FnOnce(&Path) -> std::io::Result<()>,
    ) -> Result<ClusterRun, LabError> {
        let failed = |what: &str, error: &dyn std::fmt::Display| LabError::Failed(format!("{what}: {error}"));
        let dir = std::env::temp_dir().join(format!("nimbus-lab-{}-{}", std::process::id(), unix_us()));
        std::fs::create_dir_all(&dir).map_err(|error| failed("cannot make a directory", &error))?;
        prepare(&dir).map_err(|error| failed("cannot write the world", &error))?;
        let (text, operators, http) = describe(head, cast).map_err(|error| failed("cannot find free ports", &error))?;
        std::fs::write(dir.join("cluster.toml"), text).map_err(|error| failed("cannot write the file", &error))?;
        let log = File::create(dir.join("log")).map_err(|error| failed("cannot write a log", &error))?;
        let errors = log.try_clone().map_err(|error| failed("cannot write a log", &error))?;
        let program = std::env::current_exe().map_err(|error| failed("cannot find this program", &error))?;
        let parent = Command::new(program)
            .arg("cluster")
            .arg(dir.join("cluster.toml"))
            .args(arguments)
            .stdin(if cast.relayed { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::from(log))
            .stderr(Stdio::from(errors))
            .spawn()
            .map_err(|error| failed("cannot start a cluster", &error))?;
        Ok(ClusterRun { parent, dir, operators, http, world })
    }

    /// What the processes have said, the last lines.
    pub(crate) fn log_tail(&self) -> String {
        let text = std::fs::read_to_string(self.dir.join("log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }

    /// The roster, if the coordinator answers.
    pub(crate) fn roster(&self) -> Option<Roster> {
        self.ask("coordinator-0", "/api/roster")
    }

    /// What a node tells about itself, if it answers.
    pub(crate) fn node(&self, name: &str) -> Option<NodeFacts> {
        self.ask(name, "/api/regions")
    }

    /// Every region that anybody serves, by what its server tells.
    pub(crate) fn regions(&self) -> Vec<RegionFacts> {
        let nodes = self.operators.keys().filter(|name| name.starts_with("node"));
        nodes.filter_map(|name| self.node(name)).flat_map(|node| node.regions).collect()
    }

    /// Where every body is after one tick; none while servers change.
    pub(crate) fn count(&self, roster: &Roster) -> Option<Count> {
        self.count_ahead(roster, 30)
    }

    /// The same after a tick that is so far ahead: far enough that all hear of it in time, and near enough to wait for.
    pub(crate) fn count_ahead(&self, roster: &Roster, ticks: u64) -> Option<Count> {
        let regions = self.regions();
        let newest = regions.iter().map(|region| region.tick).max()?;
        let at = newest.0 + ticks;
        let path = format!("/api/census?tick={at}");
        let (mut count, mut seen, mut under_way) = (Count::default(), BTreeSet::new(), BTreeSet::new());
        let answers: Vec<Census> = std::thread::scope(|scope| {
            let nodes = self.operators.keys().filter(|name| name.starts_with("node"));
            let asked: Vec<_> =
                nodes.map(|name| scope.spawn(|| self.ask::<Vec<Census>>(name, &path).unwrap_or_default())).collect();
            asked.into_iter().flat_map(|answer| answer.join().unwrap_or_default()).collect()
        });
        for census in answers {
            count.tick = census.tick;
            if census.tick.0 != at || !seen.insert(census.region) {
                return None;
            }
            for nid in census.owned {
                if !count.present.insert(nid) {
                    count.doubled.insert(nid);
                }
            }
            under_way.extend(census.in_flight);
        }
        count.present.extend(under_way);
        let wanted: BTreeSet<RegionId> = roster.held().map(|(region, _)| region).collect();
        (seen == wanted).then_some(count)
    }

    /// The same, asked again until it can be told.
    pub(crate) fn until_counted(&self) -> Result<Count, LabError> {
        self.until("a count of all bodies", || self.count(&self.roster()?))
    }

    /// The bodies that the world has brought into being up to a tick.
    pub(crate) fn born(&self, upto: Tick) -> BTreeSet<Nid> {
        let mut born: BTreeSet<Nid> = self.world.owned_bodies().map(|(i, _)| World::nid(1, i)).collect();
        for (i, injection) in self.world.injections.iter().enumerate() {
            for tick in 1..=upto.0 {
                let due = injection.due(Tick(tick), self.world.tick_hz);
                born.extend(due.map(|ordinal| self.world.injected_nid(1, i, ordinal)));
            }
        }
        born
    }

    /// Waits until something can be told.
    pub(crate) fn until<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> Result<T, LabError> {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = look() {
                return Ok(found);
            }
            if Instant::now() > end {
                let log = self.log_tail();
                return Err(LabError::Failed(format!("waited in vain for {what}; the cluster said last:\n{log}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until every region has a server and a backup that has everything.
    pub(crate) fn until_protected(&self, nodes: usize) -> Result<Roster, LabError> {
        self.until("every region to be protected", || {
            let roster = self.roster()?;
            let settled = !roster.regions.is_empty()
                && roster.regions.values().all(|region| region.protected && region.lost.is_none())
                && roster.members().filter(|(_, member)| member.name.starts_with("node")).count() == nodes;
            settled.then_some(roster)
        })
    }

    /// Cuts a process off from all others for a while; only where there is a relay between them.
    pub(crate) fn cut(&mut self, name: &str, time: Duration) -> Result<(), LabError> {
        let told = self.parent.stdin.as_mut().map(|orders| writeln!(orders, "cut {name} {}", time.as_millis()));
        match told {
            Some(Ok(())) => Ok(()),
            _ => Err(LabError::Failed("there is no relay to cut processes off".to_owned())),
        }
    }

    /// Sends a signal to a process, `KILL` or `STOP` for example. Says when, microseconds of the calendar.
    pub(crate) fn signal(&self, name: &str, signal: &str) -> Result<u64, LabError> {
        let pid = self.until(&format!("{name} to run"), || self.pid(name))?;
        let at = unix_us();
        let sent = Command::new("kill").arg(format!("-{signal}")).arg(pid.to_string()).status();
        match sent {
            Ok(status) if status.success() => Ok(at),
            _ => Err(LabError::Failed(format!("cannot send {signal} to {name}"))),
        }
    }

    pub(crate) fn pid(&self, name: &str) -> Option<u32> {
        let config = self.dir.join("cluster.toml");
        let wanted = format!("{}\0--name\0{name}\0", config.display());
        let entries = std::fs::read_dir("/proc").ok()?.flatten();
        entries
            .filter(|entry| {
                std::fs::read(entry.path().join("cmdline"))
                    .is_ok_and(|line| String::from_utf8_lossy(&line).ends_with(&wanted))
            })
            .find_map(|entry| entry.file_name().to_str()?.parse().ok())
    }

    /// The names of the nodes.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = &str> {
        self.operators.keys().map(String::as_str).filter(|name| name.starts_with("node"))
    }

    pub(crate) fn ask<T: DeserializeOwned>(&self, process: &str, path: &str) -> Option<T> {
        serde_json::from_str(&self.text(process, path)?).ok()
    }

    /// Every body that the gateway knows.
    pub(crate) fn bodies(&self) -> Result<BTreeSet<Nid>, LabError> {
        let ask = || self.ask::<Vec<(Nid, RegionId)>>("gateway-0", "/api/bodies");
        Ok(self.until("the gateway to tell what it knows", ask)?.into_iter().map(|(nid, _)| nid).collect())
    }

    /// Orders something of a process and waits for the answer.
    pub(crate) fn order<T: DeserializeOwned>(&self, process: &str, path: &str) -> Result<T, LabError> {
        let failed = |why: &str| LabError::Failed(format!("{process} does not do {path}: {why}"));
        let address = self.operators.get(process).ok_or_else(|| failed("it is not there"))?;
        let answer = exchange(*address, "POST", path, PATIENCE).ok_or_else(|| failed("it does not answer"))?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| failed("that is no answer"))?;
        if !head.starts_with("HTTP/1.1 200") {
            return Err(failed(body.trim()));
        }
        serde_json::from_str(body).map_err(|error| failed(&error.to_string()))
    }

    /// A page for operators as it is.
    pub(crate) fn text(&self, process: &str, path: &str) -> Option<String> {
        get(*self.operators.get(process)?, path)
    }
}

impl Drop for ClusterRun {
    fn drop(&mut self) {
        // Asked nicely, so that it ends its processes.
        _ = Command::new("kill").arg("-INT").arg(self.parent.id().to_string()).status();
        _ = self.parent.wait();
        if std::env::var_os("NIMBUS_LAB_KEEP").is_none() {
            _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}

/// Microseconds of the calendar.
pub(crate) fn unix_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_micros() as u64)
}

/// The body of a page, if there is an answer that says all is well.
fn get(address: SocketAddr, path: &str) -> Option<String> {
    let answer = exchange(address, "GET", path, Duration::from_secs(5))?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.starts_with("HTTP/1.1 200").then(|| body.to_owned())
}

/// The cluster's file, with ports that are free now, where processes answer operators, and where the gateway serves.
fn describe(head: &str, cast: Cast) -> std::io::Result<(String, BTreeMap<String, SocketAddr>, Option<SocketAddr>)> {
    let mut held: (Vec<UdpSocket>, Vec<TcpListener>) = Default::default();
    let mut udp = || {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = socket.local_addr();
        held.0.push(socket);
        address
    };
    let mut text = format!("name = \"lab\"\n{head}\n");
    let (mut operators, mut http) = (BTreeMap::new(), None);
    let nodes = (0..cast.nodes).map(|i| ("node", format!("node-{i}")));
    let gateways = (0..cast.gateways).map(|i| ("gateway", format!("gateway-{i}")));
    for (role, name) in [("coordinator", "coordinator-0".to_owned())].into_iter().chain(gateways).chain(nodes) {
        let mut tcp = || {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let address = listener.local_addr();
            held.1.push(listener);
            address
        };
        let (address, operator) = (udp()?, tcp()?);
        // Writing to a string cannot fail.
        _ = writeln!(text, "[[{role}]]\nname = \"{name}\"\naddress = \"{address}\"\noperator = \"{operator}\"");
        if cast.relayed {
            _ = writeln!(text, "relayed = \"{}\"", udp()?);
        }
        if role == "gateway" {
            let address = tcp()?;
            http = Some(address);
            _ = writeln!(text, "http = \"{address}\"");
        }
        operators.insert(name, operator);
    }
    Ok((text, operators, http))
}

/// Waits.
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// True where processes can be killed and found again.
pub(crate) fn is_possible() -> bool {
    Path::new("/proc/self/cmdline").exists()
}

/// What a process answers operators, head and all.
fn exchange(address: SocketAddr, method: &str, path: &str, patience: Duration) -> Option<String> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_millis(300)).ok()?;
    stream.set_read_timeout(Some(patience)).ok()?;
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close");
    write!(stream, "{head}\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}
