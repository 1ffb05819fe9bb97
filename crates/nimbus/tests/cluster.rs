//! A cluster of real processes over real sockets: it comes up, and nothing is lost when one of them is killed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::disallowed_methods, reason = "real processes take real time")]

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Bodies of the world; none of them ever leaves it.
const BODIES: u64 = 40;
/// A machine with much else to do takes its time.
const PATIENCE: Duration = Duration::from_secs(60);

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
    dir: PathBuf,
}

impl Cluster {
    fn start(name: &str, nodes: usize) -> Cluster {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("world.toml"), WORLD).unwrap();
        let http = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let sockets: Vec<UdpSocket> =
            (0..nodes + 2).map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()).collect();
        let mut addresses = sockets.iter().map(|socket| socket.local_addr().unwrap());
        let mut file = String::from("name = \"test\"\nworld = \"world.toml\"\n");
        let mut add = |role: &str, name: String, more: String| {
            let address = addresses.next().unwrap();
            file += &format!("[[{role}]]\nname = \"{name}\"\naddress = \"{address}\"\n{more}\n");
        };
        add("coordinator", "coordinator-0".to_owned(), String::new());
        (0..nodes).for_each(|i| add("node", format!("node-{i}"), String::new()));
        add("gateway", "gateway-0".to_owned(), format!("http = \"{http}\""));
        std::fs::write(dir.join("cluster.toml"), file).unwrap();
        drop(sockets);
        let mut parent = Command::new(env!("CARGO_BIN_EXE_nimbus"))
            .arg("cluster")
            .arg(dir.join("cluster.toml"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(parent.stdout.take().unwrap()).lines();
        let (sender, said) = channel();
        std::thread::Builder::new()
            .spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)))
            .unwrap();
        Cluster { parent, said, heard: Vec::new(), http, dir }
    }

    /// What `/api/world` says, if it answers.
    fn world(&self) -> Option<Value> {
        let mut stream = TcpStream::connect(self.http).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        let request = format!("GET /api/world HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.http);
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
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

    /// Kills the process that serves a region, as it said, without a warning.
    fn kill_server_of(&mut self, region: &str) -> String {
        self.heard.extend(self.said.try_iter());
        let says = format!(": serves {region} in epoch");
        let line = self.heard.iter().rev().find(|line| line.contains(&says)).unwrap();
        let name = line.split(':').next().unwrap().to_owned();
        let config = self.dir.join("cluster.toml");
        let wanted = [config.to_str().unwrap(), "--name", &name];
        let killed = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            let command = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            let found = command.contains(&wanted.join("\0"));
            found && Command::new("kill").arg("-9").arg(entry.file_name()).status().unwrap().success()
        });
        assert!(killed, "{name} runs");
        name
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

fn epochs(world: &Value) -> Vec<u64> {
    world["nodes"].as_array().unwrap().iter().map(|node| node["epoch"].as_u64().unwrap()).collect()
}

fn tick(world: &Value) -> u64 {
    world["nodes"].as_array().unwrap().iter().map(|node| node["tick"].as_u64().unwrap()).min().unwrap_or(0)
}

fn owned(world: &Value) -> u64 {
    world["nodes"].as_array().unwrap().iter().map(|node| node["bodies"].as_u64().unwrap()).sum()
}

#[test]
fn a_killed_server_is_replaced_and_every_body_is_there() {
    let mut cluster = Cluster::start("cluster", 3);
    let first = cluster.until("every body is shown", |world| world["bodies"] == BODIES && owned(world) == BODIES);
    assert_eq!(epochs(&first), [1, 1]);
    // Long enough for the backups to have everything, and for balls to cross.
    let crossed = cluster.until("balls have crossed the seam", |world| {
        world["nodes"][1]["migrations"].as_u64().is_some_and(|arrived| arrived >= 4)
    });
    cluster.kill_server_of("r1");
    let after = tick(&crossed);
    let replaced = cluster.until("its region is served in the next epoch", |world| {
        epochs(world) == [1, 2] && tick(world) > after + 120 && owned(world) == BODIES
    });
    assert_eq!(replaced["bodies"], BODIES, "{replaced}");
    // The other one, too, by now perhaps served by the same process.
    cluster.kill_server_of("r0");
    let after = tick(&replaced);
    let last = cluster.until("both regions have had another server", |world| {
        let [zero, one] = epochs(world)[..] else { return false };
        zero == 2 && one >= 2 && tick(world) > after + 120 && owned(world) == BODIES
    });
    assert_eq!(last["bodies"], BODIES, "{last}");
}
