//! A cluster of real processes with an etcd of its own and two coordinators: whichever is killed, every body lives on.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::disallowed_methods, reason = "real processes take real time")]

use nimbus::client::Client;
use nimbus::model::Nid;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tungstenite::Message;

/// Bodies of the world; none of them ever leaves it.
const BODIES: usize = 40;
/// A machine with much else to do takes its time.
const PATIENCE: Duration = Duration::from_secs(60);
const NODES: usize = 3;

const WORLD: &str = r#"
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

/// All processes, and what they said.
struct Cluster {
    parent: Child,
    said: Receiver<String>,
    heard: Vec<String>,
    http: SocketAddr,
    etcd: SocketAddr,
    /// Where the coordinators answer operators.
    operators: [SocketAddr; 2],
    dir: PathBuf,
}

impl Cluster {
    fn start() -> Cluster {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-etcd", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("world.toml"), WORLD).unwrap();
        let listeners = [(); 4].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        let [http, etcd, zero, one] = listeners.each_ref().map(|listener| listener.local_addr().unwrap());
        let sockets: Vec<UdpSocket> =
            (0..NODES + 3).map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()).collect();
        let mut addresses = sockets.iter().map(|socket| socket.local_addr().unwrap());
        let mut file = format!("name = \"test\"\nworld = \"world.toml\"\n[etcd]\nendpoints = [\"http://{etcd}\"]\n");
        let mut add = |role: &str, name: String, more: String| {
            let address = addresses.next().unwrap();
            file += &format!("[[{role}]]\nname = \"{name}\"\naddress = \"{address}\"\n{more}\n");
        };
        let operators = [zero, one];
        for (i, operator) in operators.iter().enumerate() {
            add("coordinator", format!("coordinator-{i}"), format!("operator = \"{operator}\""));
        }
        (0..NODES).for_each(|i| add("node", format!("node-{i}"), String::new()));
        add("gateway", "gateway-0".to_owned(), format!("http = \"{http}\""));
        std::fs::write(dir.join("cluster.toml"), file).unwrap();
        drop((sockets, listeners));
        let mut parent = Command::new(env!("CARGO_BIN_EXE_nimbus"))
            .arg("cluster")
            .arg(dir.join("cluster.toml"))
            .arg("--etcd")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(parent.stdout.take().unwrap()).lines();
        let (sender, said) = channel();
        std::thread::Builder::new()
            .spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)))
            .unwrap();
        Cluster { parent, said, heard: Vec::new(), http, etcd, operators, dir }
    }

    /// What `/api/world` says, if it answers.
    fn world(&self) -> Option<Value> {
        get(self.http, "/api/world")
    }

    /// Waits until a coordinator, whether it leads or not, knows that every backup has everything.
    fn until_protected(&self, coordinator: &str) {
        let operator = self.operators[usize::from(coordinator == "coordinator-1")];
        let end = Instant::now() + PATIENCE;
        loop {
            let roster = get(operator, "/api/roster");
            let regions = roster.as_ref().and_then(|roster| roster["regions"].as_object());
            if regions.is_some_and(|regions| regions.values().all(|region| region["protected"] == true)) {
                return;
            }
            assert!(Instant::now() < end, "not all regions are protected: {roster:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until the world is as it should be.
    fn until(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        let mut last = None;
        while Instant::now() < end {
            last = self.world().or(last);
            if let Some(world) = last.as_ref().filter(|world| is(world)) {
                return world.clone();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        self.heard.extend(self.said.try_iter());
        panic!("waited for: {what}\nlast seen: {last:?}\n{}", self.heard.join("\n"));
    }

    /// Waits until somebody says something with these words, and returns the first who does.
    fn until_said(&mut self, words: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(line) = self.heard.iter().find(|line| line.contains(words)) {
                return line.split(':').next().unwrap().to_owned();
            }
            match self.said.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => self.heard.push(line),
                Err(_) => panic!("nobody said `{words}`:\n{}", self.heard.join("\n")),
            }
        }
    }

    /// Sends a signal to the process that has these words in its command.
    fn signal(&self, signal: &str, words: &[&str]) {
        let sent = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            let command = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            let found = command.contains(&words.join("\0"));
            found && Command::new("kill").args(["-s", signal]).arg(entry.file_name()).status().unwrap().success()
        });
        assert!(sent, "{words:?} runs");
    }

    /// Kills a process of the cluster without a warning.
    fn kill(&self, name: &str) {
        self.signal("KILL", &[self.dir.join("cluster.toml").to_str().unwrap(), "--name", name]);
    }

    /// The ids of all bodies, as a client that comes now sees them.
    fn ids(&self) -> BTreeSet<Nid> {
        let stream = TcpStream::connect(self.http).unwrap();
        let (mut socket, _) = tungstenite::client(format!("ws://{}/ws", self.http), stream).unwrap();
        let mut client = Client::new();
        let end = Instant::now() + PATIENCE;
        while client.len() < BODIES {
            assert!(Instant::now() < end, "a client sees {} bodies", client.len());
            match socket.read().unwrap() {
                Message::Text(text) => client.handle_text(&text),
                Message::Binary(bytes) => client.handle_binary(&bytes),
                _ => {}
            }
        }
        client.bodies().map(|body| body.nid).collect()
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

/// What somebody answers, if anything.
fn get(from: SocketAddr, path: &str) -> Option<Value> {
    let mut stream = TcpStream::connect(from).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {from}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
}

fn epochs(world: &Value) -> Vec<u64> {
    world["nodes"].as_array().unwrap().iter().map(|node| node["epoch"].as_u64().unwrap()).collect()
}

fn tick(world: &Value) -> u64 {
    world["nodes"].as_array().unwrap().iter().map(|node| node["tick"].as_u64().unwrap()).min().unwrap_or(0)
}

fn is_whole(world: &Value) -> bool {
    let owned = |node: &Value| node["bodies"].as_u64().unwrap();
    let nodes = world["nodes"].as_array().unwrap();
    world["bodies"] == BODIES && nodes.iter().map(owned).sum::<u64>() == BODIES as u64
}

#[test]
fn with_etcd_a_second_coordinator_takes_over() {
    let mut cluster = Cluster::start();
    let first = cluster.until("every body is shown", is_whole);
    assert_eq!(epochs(&first), [1, 1]);
    let ids = cluster.ids();
    let leader = cluster.until_said("Leads { term: 1 }");
    let other = if leader == "coordinator-0" { "coordinator-1" } else { "coordinator-0" };

    // The coordinator that leads. No body notices, and no region changes its server.
    let killed = Instant::now();
    cluster.kill(&leader);
    assert_eq!(cluster.until_said("Leads { term: 2 }"), other);
    println!("{other} leads {} ms after {leader} was killed", killed.elapsed().as_millis());
    let before = tick(&first);
    let second = cluster.until("time goes on", |world| tick(world) > before + 120 && is_whole(world));
    assert_eq!(epochs(&second), [1, 1], "nobody took over from a node");
    assert_eq!(cluster.ids(), ids);

    // etcd does nothing for a while. Bodies do not notice that either, and then there is a leader again.
    let endpoint = format!("http://{}", cluster.etcd);
    let etcd = ["--listen-client-urls", &endpoint];
    cluster.signal("STOP", &etcd);
    assert!(cluster.until_said("does not answer").starts_with("coordinator-"));
    let before = tick(&second);
    let third = cluster.until("time goes on", |world| tick(world) > before + 120 && is_whole(world));
    assert_eq!(epochs(&third), [1, 1]);
    cluster.signal("CONT", &etcd);
    let leader = cluster.until_said("Leads { term: 3 }");
    // A region whose backup lacks something waits for its server.
    cluster.until_protected(other);

    // A node. Whoever leads now has its backup take over.
    let server = cluster.until_said(": serves r1 in epoch 1");
    cluster.kill(&server);
    let before = tick(&third);
    let last = cluster.until("its region is served in the next epoch", |world| {
        epochs(world)[1] == 2 && tick(world) > before + 120 && is_whole(world)
    });
    assert_eq!(cluster.until_said("Served { region: RegionId(1), epoch: 2"), leader, "{last}");
    assert_eq!(cluster.ids(), ids);
}
