//! A cluster of real processes on a bad network, one of which is cut off for a while: others take over, and every body
//! is there exactly once all the time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::disallowed_methods, reason = "real processes take real time")]

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const BODIES: usize = 40;
const NODES: [&str; 3] = ["node-0", "node-1", "node-2"];
/// A machine with much else to do takes its time.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a process is cut off, and how soon its regions must be served elsewhere.
const CUT: Duration = Duration::from_secs(3);
const HEALED_MAX: Duration = Duration::from_secs(2);

/// Balls roll over two seams all the time.
const WORLD: &str = r#"
name = "marbles"
about = "Balls that roll across the seams between three servers."
radius_max = 1.0

[kill_box]
min = [-900.0, -20.0, -900.0]
max = [900.0, 100.0, 900.0]

[layout]
kind = "columns"
count = 3
width = 200.0

[[bodies]]
name = "ground"
kind = "static"
shape = { cuboid = { half = [800.0, 1.0, 800.0] } }
position = [0.0, -1.0, 0.0]

[[bodies]]
name = "in"
shape = { ball = { radius = 0.4 } }
position = [-120.0, 0.4, -10.0]
velocity = [2.0, 0.0, 0.0]
repeat = { count = [10, 1, 2], spacing = [2.0, 1.0, 4.0] }

[[bodies]]
name = "out"
shape = { ball = { radius = 0.4 } }
position = [80.0, 0.4, -10.0]
velocity = [2.0, 0.0, 0.0]
repeat = { count = [10, 1, 2], spacing = [2.0, 1.0, 4.0] }
"#;

const RELAY: &str = r#"
[relay]
seed = 4
delay_ms = 2
jitter_ms = 1
loss = 0.01
duplicate = 0.01
reorder = 0.005
"#;

/// What the servers that the roster names say of bodies at one tick.
#[derive(Debug, PartialEq, Eq)]
struct Count {
    /// Bodies that some server owned, or none while they were on their way.
    present: BTreeSet<u64>,
    /// Bodies that two servers owned.
    doubled: BTreeSet<u64>,
}

/// Counts bodies. None unless exactly the servers answer that the roster names, for the tick that was asked for.
fn tally(roster: &BTreeMap<u64, u64>, tick: u64, answers: &[Value]) -> Option<Count> {
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

/// All processes, and what they said.
struct Cluster {
    parent: Child,
    orders: ChildStdin,
    said: Receiver<String>,
    heard: Vec<String>,
    operators: BTreeMap<String, SocketAddr>,
    dir: PathBuf,
}

impl Cluster {
    fn start() -> Cluster {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-relay", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("world.toml"), WORLD).unwrap();
        let (mut udp, mut tcp) = (Vec::new(), Vec::new());
        let mut free_udp = || {
            udp.push(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
            udp.last().unwrap().local_addr().unwrap()
        };
        let mut free_tcp = || {
            tcp.push(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
            tcp.last().unwrap().local_addr().unwrap()
        };
        let mut file = format!("name = \"test\"\nworld = \"world.toml\"\n{RELAY}");
        let mut operators = BTreeMap::new();
        let others = [("coordinator", "coordinator-0"), ("gateway", "gateway-0")];
        for (role, name) in others.into_iter().chain(NODES.map(|name| ("node", name))) {
            let (address, relayed, operator) = (free_udp(), free_udp(), free_tcp());
            file += &format!("[[{role}]]\nname = \"{name}\"\naddress = \"{address}\"\nrelayed = \"{relayed}\"\n");
            file += &format!("operator = \"{operator}\"\n");
            if role == "gateway" {
                file += &format!("http = \"{}\"\n", free_tcp());
            }
            operators.insert(name.to_owned(), operator);
        }
        std::fs::write(dir.join("cluster.toml"), file).unwrap();
        drop((udp, tcp));
        let mut parent = Command::new(env!("CARGO_BIN_EXE_nimbus"))
            .arg("cluster")
            .arg(dir.join("cluster.toml"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = parent.stdin.take().unwrap();
        let lines = BufReader::new(parent.stdout.take().unwrap()).lines();
        let (sender, said) = channel();
        std::thread::Builder::new()
            .spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)))
            .unwrap();
        Cluster { parent, orders, said, heard: Vec::new(), operators, dir }
    }

    fn ask(&self, process: &str, path: &str) -> Option<Value> {
        get(self.operators[process], path)
    }

    /// Waits until something can be told.
    fn until<T>(&mut self, what: &str, look: impl Fn(&Cluster) -> Option<T>) -> T {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Some(found) = look(self) {
                return found;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.heard.extend(self.said.try_iter());
        panic!("waited for: {what}\n{:?}\n{}", self.roster(), self.heard.join("\n"));
    }

    fn roster(&self) -> Option<Value> {
        self.ask("coordinator-0", "/api/roster")
    }

    /// The roster when all nodes are there and every region has a backup that has everything.
    fn settled(&self) -> Option<Value> {
        let roster = self.roster()?;
        let regions = roster["regions"].as_object()?;
        let protected = regions.len() == 3 && regions.values().all(|region| region["protected"] == true);
        let members = roster["processes"].as_object()?.values().filter(|process| is_member(process));
        (protected && members.count() == NODES.len() + 1).then_some(roster)
    }

    /// What a node says of the regions it serves, or believes to: the epoch of each.
    fn serves(&self, node: &str) -> BTreeMap<u64, Value> {
        let page = self.ask(node, "/api/regions").unwrap_or_default();
        let regions = page["regions"].as_array().cloned().unwrap_or_default();
        regions.into_iter().map(|region| (region["region"].as_u64().unwrap(), region)).collect()
    }

    /// Where every body is at one tick; none while servers change.
    fn count(&self) -> Option<Count> {
        let epochs = epochs(&self.roster()?);
        let ticks = NODES.iter().flat_map(|node| self.serves(node).into_values());
        let tick = ticks.filter_map(|region| region["tick"].as_u64()).max()? + 30;
        let path = format!("/api/census?tick={tick}");
        let answers: Vec<Value> = std::thread::scope(|scope| {
            let path = &path;
            let asked = NODES.map(|node| self.operators[node]).map(|node| scope.spawn(move || get(node, path)));
            asked.into_iter().filter_map(|answer| answer.join().unwrap()).collect()
        });
        let answers: Vec<Value> = answers.iter().filter_map(Value::as_array).flatten().cloned().collect();
        tally(&epochs, tick, &answers)
    }

    fn everybody_once(&mut self, when: &str) {
        let count = self.until("a count", Cluster::count);
        assert_eq!((count.present.len(), count.doubled.len()), (BODIES, 0), "{when}: {count:?}");
    }

    fn tell(&mut self, order: &str) {
        writeln!(self.orders, "{order}").unwrap();
        self.orders.flush().unwrap();
    }

    /// What the relay says became of packets.
    fn packets(&mut self) -> BTreeMap<String, u64> {
        self.tell("counts");
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Ok(line) = self.said.recv_timeout(Duration::from_millis(100)) {
                let counts = line.strip_prefix("relay: passed ").map(|counts| format!("passed {counts}"));
                self.heard.push(line);
                if let Some(counts) = counts {
                    let pairs = counts.split(", ").filter_map(|pair| pair.split_once(' '));
                    return pairs.map(|(what, count)| (what.to_owned(), count.parse().unwrap())).collect();
                }
            }
        }
        panic!("the relay says nothing\n{}", self.heard.join("\n"));
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

/// What a page says, if all is well.
fn get(address: SocketAddr, path: &str) -> Option<Value> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    if head.starts_with("HTTP/1.1 200") { serde_json::from_str(body).ok() } else { None }
}

fn is_member(process: &Value) -> bool {
    process["standing"] == "Up"
}

/// The epoch of every region.
fn epochs(roster: &Value) -> BTreeMap<u64, u64> {
    let regions = roster["regions"].as_object().unwrap();
    regions.iter().map(|(region, is)| (region.parse().unwrap(), is["epoch"].as_u64().unwrap())).collect()
}

/// Who serves a region.
fn server(roster: &Value, region: u64) -> (String, u64) {
    let number = roster["regions"][region.to_string()]["server"].as_u64().unwrap();
    (roster["processes"][number.to_string()]["name"].as_str().unwrap().to_owned(), number)
}

#[test]
fn a_process_that_is_cut_off_is_replaced_and_every_body_is_there_once() {
    let mut cluster = Cluster::start();
    cluster.until("every region to be protected", Cluster::settled);
    cluster.everybody_once("on a bad network");
    let before = cluster.until("every region to be protected", Cluster::settled);
    // The one in the middle has seams with both others.
    let (victim, number) = server(&before, 1);
    let lost: Vec<u64> = epochs(&before).into_keys().filter(|region| server(&before, *region).1 == number).collect();

    let kept = |cluster: &Cluster| -> Vec<(Value, Value)> {
        cluster.serves(&victim).values().map(|facts| (facts["epoch"].clone(), facts["kept"].clone())).collect()
    };
    let kept_before = kept(&cluster);
    cluster.until("its backups to keep what it does", |cluster| (kept(cluster) != kept_before).then_some(()));

    cluster.tell(&format!("cut {victim} 60000"));
    let since = Instant::now();
    let replaced = cluster.until("its regions to be served by others", |cluster| {
        let roster = cluster.roster()?;
        let is_served = |region: &u64| {
            let ((name, _), epoch) = (server(&roster, *region), epochs(&roster)[region]);
            let serves = cluster.serves(&name);
            let facts = serves.get(region).filter(|facts| facts["epoch"] == epoch)?;
            (name != victim && facts["tick"].as_u64()? > facts["began_after"].as_u64()?).then_some(())
        };
        lost.iter().all(|region| is_served(region).is_some()).then_some(roster)
    });
    let took = since.elapsed();
    let arrived = |cluster: &Cluster| -> u64 {
        let others = NODES.iter().filter(|node| **node != victim).flat_map(|node| cluster.serves(node).into_values());
        others.filter_map(|facts| facts["arrived"].as_u64()).sum()
    };
    let (first, arrived_before) = (kept(&cluster), arrived(&cluster));
    assert_eq!(first.len(), lost.len(), "it still believes that it serves");
    cluster.everybody_once("while one is cut off");
    std::thread::sleep(CUT.saturating_sub(since.elapsed()));
    let crossed = arrived(&cluster).saturating_sub(arrived_before);
    assert!(crossed > 0, "bodies cross seams while one is cut off");
    assert_eq!(kept(&cluster), first, "nobody keeps what it does, so nothing that it grants counts");
    assert!(epochs(&replaced).iter().all(|(region, epoch)| *epoch >= epochs(&before)[region]));
    cluster.tell("heal");
    let cut = since.elapsed();

    let after = cluster.until("it to be back as somebody new", |cluster| {
        let roster = cluster.settled()?;
        let processes = roster["processes"].as_object()?.clone();
        let mut back = processes.iter().filter(|(_, process)| is_member(process) && process["name"] == victim.as_str());
        back.any(|(new, _)| *new != number.to_string()).then_some(roster)
    });
    let back = since.elapsed() - cut;
    cluster.everybody_once("afterwards");
    assert_eq!(epochs(&after).len(), 3);
    let packets = cluster.packets();
    println!(
        "served elsewhere after {took:?}, {crossed} bodies crossed meanwhile, cut off for {cut:?}, back after {back:?}; {packets:?}"
    );
    assert!(took < HEALED_MAX, "served elsewhere after {took:?}");
    let share = |what: &str| packets[what] as f64 / (packets["passed"] + packets["lost"]) as f64;
    assert!((0.005..0.02).contains(&share("lost")) && (0.005..0.02).contains(&share("duplicated")), "{packets:?}");
    assert!(packets["cut"] > 0 && packets["reordered"] > 0, "{packets:?}");
}

#[test]
fn the_count_notices_what_is_doubled_missing_or_of_another_time() {
    let census = |region: u64, epoch: u64, tick: u64, owned: &[u64], in_flight: &[u64]| serde_json::json!({ "region": region, "epoch": epoch, "tick": tick, "owned": owned, "in_flight": in_flight });
    let roster = BTreeMap::from([(0, 1), (1, 2)]);
    let zombie = census(1, 1, 9, &[1, 2, 3], &[]);
    let good = [census(0, 1, 9, &[1], &[2]), census(1, 2, 9, &[3], &[]), zombie.clone()];
    let present = BTreeSet::from([1, 2, 3]);
    assert_eq!(tally(&roster, 9, &good), Some(Count { present: present.clone(), doubled: BTreeSet::new() }));
    let doubled = [census(0, 1, 9, &[1, 2], &[]), census(1, 2, 9, &[2, 3], &[])];
    assert_eq!(tally(&roster, 9, &doubled), Some(Count { present, doubled: BTreeSet::from([2]) }));
    let missing = [census(0, 1, 9, &[1], &[]), census(1, 2, 9, &[3], &[])];
    assert_eq!(tally(&roster, 9, &missing).unwrap().present.len(), 2);
    assert_eq!(tally(&roster, 9, &[census(0, 1, 9, &[1], &[]), zombie]), None, "the new server has not answered");
    assert_eq!(tally(&roster, 9, &[census(0, 1, 9, &[1], &[]), census(1, 2, 8, &[3], &[])]), None, "another tick");
}
