//! A cluster of real processes of this host for a test: started, watched, given signals, ended.

#![allow(dead_code, reason = "every test uses a part of it")]

pub(crate) mod log_lines;
pub(crate) mod rack;

use nimbus::client::{Client, Hits, Query, QueryFilter};
use nimbus::model::{Nid, Tick};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tungstenite::{Message, WebSocket};

/// A machine with much else to do takes its time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Forty balls, none of which ever leaves the world, that roll across the seam between two servers.
pub(crate) const MARBLES: &str = r#"
name = "marbles"
about = "Balls that roll across the seam between two servers."
radius_max = 1.0

[kill_box]
min = [-900.0, -20.0, -900.0]
max = [900.0, 100.0, 900.0]

[layout]
kind = "columns"
count = 2
width = 200.0

[[bodies]]
name = "ground"
kind = "static"
shape = { cuboid = { half = [800.0, 1.0, 800.0] } }
position = [0.0, -1.0, 0.0]

[[bodies]]
name = "ball"
shape = { ball = { radius = 0.4 } }
position = [-20.0, 0.4, -10.0]
velocity = [2.0, 0.0, 0.0]
repeat = { count = [10, 1, 4], spacing = [4.0, 1.0, 4.0] }
"#;

/// What is to run.
pub(crate) struct Plan<'a> {
    /// Tells the directories of tests apart.
    pub(crate) name: &'a str,
    /// The world's file; without one `head` names a scene.
    pub(crate) world: Option<&'a str>,
    /// Lines for the beginning of the cluster's file.
    pub(crate) head: String,
    pub(crate) coordinators: usize,
    pub(crate) nodes: usize,
    /// Whether every process is behind a relay.
    pub(crate) relayed: bool,
    /// More arguments for `nimbus cluster`.
    pub(crate) arguments: &'a [&'a str],
}

/// All processes, and what they said.
pub(crate) struct Cluster {
    parent: Child,
    orders: Option<ChildStdin>,
    said: Receiver<String>,
    pub(crate) heard: Vec<String>,
    /// Where clients come in.
    pub(crate) http: SocketAddr,
    /// Where each process answers operators.
    pub(crate) operators: BTreeMap<String, SocketAddr>,
    dir: PathBuf,
}

/// Addresses that are free now, held until everybody has one.
#[derive(Default)]
pub(crate) struct Free {
    udp: Vec<UdpSocket>,
    tcp: Vec<TcpListener>,
}

impl Free {
    pub(crate) fn udp(&mut self) -> SocketAddr {
        self.udp.push(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        self.udp.last().unwrap().local_addr().unwrap()
    }

    pub(crate) fn tcp(&mut self) -> SocketAddr {
        self.tcp.push(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        self.tcp.last().unwrap().local_addr().unwrap()
    }
}

impl Cluster {
    /// Starts all processes of a plan, with a gateway.
    pub(crate) fn start(plan: &Plan, free: Free) -> Cluster {
        Cluster::start_writing(plan, free, Stdio::inherit())
    }

    /// Starts all processes of a plan, and writes what they say on standard error to `errors`.
    pub(crate) fn start_writing(plan: &Plan, mut free: Free, errors: Stdio) -> Cluster {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{}", std::process::id(), plan.name));
        std::fs::create_dir_all(&dir).unwrap();
        let mut file = String::from("name = \"test\"\n");
        if let Some(world) = plan.world {
            std::fs::write(dir.join("world.toml"), world).unwrap();
            file += "world = \"world.toml\"\n";
        }
        file += &plan.head;
        let coordinators = (0..plan.coordinators).map(|i| ("coordinator", format!("coordinator-{i}")));
        let nodes = (0..plan.nodes).map(|i| ("node", format!("node-{i}")));
        let http = free.tcp();
        let mut operators = BTreeMap::new();
        for (role, name) in coordinators.chain(nodes).chain([("gateway", "gateway-0".to_owned())]) {
            let (address, operator) = (free.udp(), free.tcp());
            file += &format!("[[{role}]]\nname = \"{name}\"\naddress = \"{address}\"\noperator = \"{operator}\"\n");
            if plan.relayed {
                file += &format!("relayed = \"{}\"\n", free.udp());
            }
            if role == "gateway" {
                file += &format!("http = \"{http}\"\n");
            }
            operators.insert(name, operator);
        }
        std::fs::write(dir.join("cluster.toml"), file).unwrap();
        drop(free);
        let mut parent = Command::new(env!("CARGO_BIN_EXE_nimbus"))
            .arg("cluster")
            .arg(dir.join("cluster.toml"))
            .args(plan.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .unwrap();
        let orders = parent.stdin.take();
        let lines = BufReader::new(parent.stdout.take().unwrap()).lines();
        let (sender, said) = channel();
        std::thread::Builder::new()
            .spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)))
            .unwrap();
        Cluster { parent, orders, said, heard: Vec::new(), http, operators, dir }
    }

    /// The certificate of the CA that `nimbus cluster` made.
    pub(crate) fn ca(&self) -> String {
        std::fs::read_to_string(self.dir.join("certs/ca.pem")).unwrap()
    }

    /// What an operator is told by a process, if it answers.
    pub(crate) fn ask(&self, process: &str, path: &str) -> Option<Value> {
        get(self.operators[process], path)
    }

    /// The roster as the first coordinator has it.
    pub(crate) fn roster(&self) -> Option<Value> {
        self.ask("coordinator-0", "/api/roster")
    }

    /// Waits until something can be told.
    pub(crate) fn until<T>(&mut self, what: &str, look: impl Fn(&Cluster) -> Option<T>) -> T {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Some(found) = look(self) {
                return found;
            }
            std::thread::sleep(Duration::from_millis(30));
        }
        self.heard.extend(self.said.try_iter());
        let seen = (get(self.http, "/api/world"), self.roster());
        panic!("waited for: {what}\nlast seen: {seen:?}\n{}", self.heard.join("\n"));
    }

    /// Waits until what the gateway shows of the world is as it should be.
    pub(crate) fn until_world(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        self.until(what, |cluster| get(cluster.http, "/api/world").filter(|world| is(world)))
    }

    /// Waits until every region has a backup that has everything, as a coordinator knows.
    pub(crate) fn until_protected(&mut self, coordinator: &str) -> Value {
        self.until("every region to be protected", |cluster| {
            let roster = cluster.ask(coordinator, "/api/roster")?;
            let regions = roster["regions"].as_object()?;
            let protected = !regions.is_empty() && regions.values().all(|region| region["protected"] == true);
            protected.then_some(roster)
        })
    }

    /// The next line that a process says, unless none comes for a while.
    pub(crate) fn next_line(&mut self, patience: Duration) -> Option<String> {
        let line = self.said.recv_timeout(patience).ok()?;
        self.heard.push(line.clone());
        Some(line)
    }

    /// Waits until somebody says something with these words, and returns the first who does.
    pub(crate) fn until_said(&mut self, words: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(line) = self.heard.iter().find(|line| line.contains(words)) {
                return line.split(':').next().unwrap().to_owned();
            }
            let left = end.saturating_duration_since(Instant::now());
            assert!(self.next_line(left).is_some(), "nobody said `{words}`:\n{}", self.heard.join("\n"));
        }
    }

    /// Who serves a region, by the last one who said so.
    pub(crate) fn server_of(&mut self, region: &str) -> String {
        self.heard.extend(self.said.try_iter());
        let says = format!(": serves {region} in epoch");
        let line = self.heard.iter().rev().find(|line| line.contains(&says)).unwrap();
        line.split(':').next().unwrap().to_owned()
    }

    /// Sends a signal to the process that has these words in its command.
    pub(crate) fn signal(&self, signal: &str, words: &[&str]) {
        let sent = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            let command = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            let found = command.contains(&words.join("\0"));
            found && Command::new("kill").args(["-s", signal]).arg(entry.file_name()).status().unwrap().success()
        });
        assert!(sent, "{words:?} runs");
    }

    /// Kills a process of the cluster without a warning.
    pub(crate) fn kill(&self, name: &str) {
        self.signal("KILL", &[self.dir.join("cluster.toml").to_str().unwrap(), "--name", name]);
    }

    /// Says something on the standard input of `nimbus cluster`.
    pub(crate) fn tell(&mut self, order: &str) {
        let orders = self.orders.as_mut().unwrap();
        writeln!(orders, "{order}").unwrap();
        orders.flush().unwrap();
    }

    /// Where every body is at one tick that all servers of the roster have answered for; none while servers change.
    pub(crate) fn count(&self, roster: &Value) -> Option<Count> {
        let nodes = self.operators.iter().filter(|(name, _)| name.starts_with("node"));
        count(roster, &nodes.map(|(_, node)| *node).collect::<Vec<_>>())
    }

    /// A client that comes in now.
    pub(crate) fn viewer(&self) -> Viewer {
        Viewer::connect(self.http)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Asked nicely, so that it ends its processes; whoever does not listen is not waited for.
        _ = Command::new("kill").arg("-INT").arg(self.parent.id().to_string()).status();
        _ = self.parent.wait();
        _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// A client of the cluster, as a browser is one.
pub(crate) struct Viewer {
    socket: WebSocket<TcpStream>,
    pub(crate) client: Client,
    asked: u64,
}

impl Viewer {
    /// A client of the gateway at this address.
    pub(crate) fn connect(http: SocketAddr) -> Viewer {
        let stream = TcpStream::connect(http).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (socket, _) = tungstenite::client(format!("ws://{http}/ws"), stream).unwrap();
        Viewer { socket, client: Client::new(), asked: 0 }
    }

    /// Takes what comes until the client is as it should be.
    pub(crate) fn until(&mut self, what: &str, is: impl Fn(&Client) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is(&self.client) {
            assert!(Instant::now() < end, "a client waited for: {what}; it sees {} bodies", self.client.len());
            self.take();
        }
    }

    /// Gives a command and waits for the answer.
    pub(crate) fn command(&mut self, mut command: Value) -> Result<(), String> {
        self.asked += 1;
        command["seq"] = self.asked.into();
        self.socket.send(Message::text(command.to_string())).unwrap();
        loop {
            let Some(said) = self.take() else { continue };
            match said["type"].as_str() {
                Some("done") if said["seq"] == self.asked => return Ok(()),
                Some("refused") if said["seq"] == self.asked => return Err(said["reason"].to_string()),
                _ => {}
            }
        }
    }

    /// Asks the gateway what is where.
    pub(crate) fn ask(&mut self, queries: Vec<Query>) {
        let text = self.client.query(queries, QueryFilter::default());
        self.socket.send(Message::text(text)).unwrap();
    }

    /// Asks every server what is where, after this tick if one is named.
    pub(crate) fn ask_servers(&mut self, at: Option<Tick>, queries: Vec<Query>) {
        let filter = QueryFilter::default();
        let text = match at {
            Some(at) => self.client.query_servers_at(at, queries, filter),
            None => self.client.query_servers(queries, filter),
        };
        self.socket.send(Message::text(text)).unwrap();
    }

    /// Takes what comes until so many questions are answered.
    pub(crate) fn until_hits(&mut self, count: usize) -> Vec<Hits> {
        let end = Instant::now() + PATIENCE;
        let mut hits = Vec::new();
        while hits.len() < count {
            let refused = self.client.take_answers();
            assert!(refused.is_empty() && Instant::now() < end, "{} of {count} answers; {refused:?}", hits.len());
            self.take();
            hits.extend(self.client.take_hits());
        }
        hits
    }

    /// The ids of all bodies that it sees.
    pub(crate) fn ids(&self) -> BTreeSet<Nid> {
        self.client.bodies().map(|body| body.nid).collect()
    }

    /// Takes the next message.
    pub(crate) fn take(&mut self) -> Option<Value> {
        match self.socket.read().unwrap() {
            Message::Text(text) => {
                self.client.handle_text(&text);
                serde_json::from_str(&text).ok()
            }
            Message::Binary(bytes) => {
                self.client.handle_binary(&bytes);
                None
            }
            _ => None,
        }
    }
}

/// What the servers that the roster names say of bodies at one tick.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Count {
    /// Bodies that some server owned, or none while they were on their way.
    pub(crate) present: BTreeSet<u64>,
    /// Bodies that two servers owned.
    pub(crate) doubled: BTreeSet<u64>,
}

/// Where every body is at one tick that all servers of the roster have answered for, if they are on these nodes; none
/// while servers change.
pub(crate) fn count(roster: &Value, nodes: &[SocketAddr]) -> Option<Count> {
    let regions = nodes.iter().filter_map(|node| get(*node, "/api/regions"));
    let ticks = regions.flat_map(|page| page["regions"].as_array().cloned().unwrap_or_default());
    let newest = ticks.filter_map(|region| region["tick"].as_u64()).max()?;
    // While time stands still nobody gets any further.
    let still = roster["timeline"]["paces"].as_array()?.last()?["permille"] == 0;
    let tick = if still { newest } else { newest + 30 };
    let path = format!("/api/census?tick={tick}");
    let answers: Vec<Value> = std::thread::scope(|scope| {
        let path = &path;
        let asked: Vec<_> = nodes.iter().map(|node| scope.spawn(move || get(*node, path))).collect();
        asked.into_iter().filter_map(|answer| answer.join().unwrap()).collect()
    });
    let answers: Vec<Value> = answers.iter().filter_map(Value::as_array).flatten().cloned().collect();
    tally(&region_epochs(roster), tick, &answers)
}

/// Counts bodies. None unless exactly the servers answer that the roster names, for the tick that was asked for.
pub(crate) fn tally(roster: &BTreeMap<u64, u64>, tick: u64, answers: &[Value]) -> Option<Count> {
    let (mut seen, mut under_way) = (BTreeSet::new(), BTreeSet::new());
    let mut count = Count { present: BTreeSet::new(), doubled: BTreeSet::new() };
    let ids = |list: &Value| list.as_array().into_iter().flatten().filter_map(Value::as_u64).collect::<Vec<u64>>();
    for answer in answers {
        let region = answer["region"].as_u64()?;
        if roster.get(&region) != answer["epoch"].as_u64().as_ref() {
            continue;
        }
        if answer["tick"] != tick || !seen.insert(region) {
            return None;
        }
        for id in ids(&answer["owned"]) {
            if !count.present.insert(id) {
                count.doubled.insert(id);
            }
        }
        under_way.extend(ids(&answer["in_flight"]));
    }
    count.present.extend(under_way);
    roster.keys().eq(&seen).then_some(count)
}

/// The epoch of every region of a roster.
pub(crate) fn region_epochs(roster: &Value) -> BTreeMap<u64, u64> {
    let regions = roster["regions"].as_object().unwrap();
    regions.iter().map(|(region, is)| (region.parse().unwrap(), is["epoch"].as_u64().unwrap())).collect()
}

/// True while a process of a roster has not gone.
pub(crate) fn is_member(process: &Value) -> bool {
    process["standing"] == "Up"
}

/// Who serves a region of a roster.
pub(crate) fn server(roster: &Value, region: u64) -> (String, u64) {
    let number = roster["regions"][region.to_string()]["server"].as_u64().unwrap();
    (roster["processes"][number.to_string()]["name"].as_str().unwrap().to_owned(), number)
}

/// What a page says, if all is well.
pub(crate) fn get(address: SocketAddr, path: &str) -> Option<Value> {
    let (is_well, body) = page(address, path)?;
    if is_well { serde_json::from_str(&body).ok() } else { None }
}

/// Whether a page says that all is well, and its text; none when nobody answers.
pub(crate) fn page(address: SocketAddr, path: &str) -> Option<(bool, String)> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.starts_with("HTTP/1.1 200"), body.to_owned()))
}

/// The epoch of every server that a gateway shows.
pub(crate) fn epochs(world: &Value) -> Vec<u64> {
    world["nodes"].as_array().unwrap().iter().map(|node| node["epoch"].as_u64().unwrap()).collect()
}

/// The tick that every server has, as a gateway shows it.
pub(crate) fn tick(world: &Value) -> u64 {
    world["nodes"].as_array().unwrap().iter().map(|node| node["tick"].as_u64().unwrap()).min().unwrap_or(0)
}

/// True when the gateway and the servers together have so many bodies.
pub(crate) fn is_whole(world: &Value, bodies: u64) -> bool {
    let owned = |node: &Value| node["bodies"].as_u64().unwrap();
    world["bodies"] == bodies && world["nodes"].as_array().unwrap().iter().map(owned).sum::<u64>() == bodies
}
