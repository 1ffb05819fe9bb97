//! A cluster on hosts with networks of their own, one of which loses its cable for a while: others take over, every body
//! is there once, nothing that the lost one grants counts, and it comes back as somebody new.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::disallowed_methods, reason = "real processes take real time")]

mod support;

use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use support::log_lines::{self, TakenOver, Told};
use support::rack::{self, Host, Switch};
use support::{PATIENCE, count, get, is_member, region_epochs, server};

const ROWS: u16 = 16;
const IN_ROW: u16 = 14;
const BODIES: usize = ROWS as usize * IN_ROW as usize;
const NODES: [&str; 3] = ["node-0", "node-1", "node-2"];
/// The number of the first host, which has the coordinator and the gateway; nodes have those after it.
const HEAD: u8 = 10;
/// How long a cable is out, and how soon regions must be served elsewhere.
const OUT: Duration = Duration::from_secs(3);
const HEALED_MAX: Duration = Duration::from_secs(2);

/// Rows of balls that roll apart from each other out of the region in the middle, one every sixteenth of a second, so that
/// whoever serves it is about to give some away whenever it is cut off.
fn world() -> String {
    let mut world = r#"
name = "stream"
about = "Rows of balls that roll across a seam one after the other."
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
"#
    .to_owned();
    for row in 0..ROWS {
        let (x, z) = (-99.0 + 0.25 * f64::from(row * 5 % ROWS), 4.0 * f64::from(row));
        world += &format!(
            "[[bodies]]\nname = \"row {row}\"\nshape = {{ ball = {{ radius = 0.4 }} }}\nposition = [{x:.2}, 0.4, {z:.1}]\n\
             velocity = [-4.0, 0.0, 0.0]\nrepeat = {{ count = [{IN_ROW}, 1, 1], spacing = [4.0, 1.0, 1.0] }}\n"
        );
    }
    world
}

/// The hosts and what they run.
struct Site<'a> {
    switch: &'a Switch,
    hosts: BTreeMap<String, Host>,
    operators: BTreeMap<String, SocketAddr>,
    dir: PathBuf,
}

impl Site<'_> {
    fn start(switch: &Switch) -> Site<'_> {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-hosts", switch.run));
        let mut site = Site { switch, hosts: BTreeMap::new(), operators: BTreeMap::new(), dir };
        let places = [("coordinator-0", HEAD, 7800), ("gateway-0", HEAD, 7801)];
        let nodes = NODES.into_iter().zip(HEAD + 1..).map(|(name, number)| (name, number, 7800));
        let mut file = String::from("name = \"site\"\nworld = \"world.toml\"\n");
        let mut certs = Command::new(env!("CARGO_BIN_EXE_nimbus"));
        certs.arg("certs").arg(site.dir.join("certs"));
        for (name, number, port) in places.into_iter().chain(nodes) {
            let (role, at) = (role(name), |port| SocketAddr::new(rack::address(number).into(), port));
            let (address, operator) = (at(port), at(port + 100));
            file += &format!("[[{role}]]\nname = \"{name}\"\naddress = \"{address}\"\noperator = \"{operator}\"\n");
            if role == "gateway" {
                file += &format!("http = \"{}\"\n", at(7777));
            }
            certs.args([&format!("--{role}"), name, "--host", &address.ip().to_string()]);
            site.operators.insert(name.to_owned(), operator);
        }
        assert!(certs.output().unwrap().status.success());
        for (host, number, processes) in [("head", HEAD, &["coordinator-0", "gateway-0"][..])]
            .into_iter()
            .chain(NODES.iter().zip(HEAD + 1..).map(|(name, number)| (*name, number, std::slice::from_ref(name))))
        {
            let machine = site.machine(host, processes, &file);
            let mut host_shell = switch.host(number);
            host_shell.order(&format!("cd '{}'", machine.display()));
            for name in processes {
                host_shell.order(&service(name));
            }
            site.hosts.insert(host.to_owned(), host_shell);
        }
        site
    }

    /// The files of a machine: only what its own processes need.
    fn machine(&self, host: &str, processes: &[&str], file: &str) -> PathBuf {
        let machine = self.dir.join(host);
        std::fs::create_dir_all(machine.join("certs")).unwrap();
        std::fs::write(machine.join("cluster.toml"), file).unwrap();
        std::fs::write(machine.join("world.toml"), world()).unwrap();
        let own = processes.iter().flat_map(|name| [format!("{name}.pem"), format!("{name}.key")]);
        for name in own.chain(["ca.pem".to_owned()]) {
            std::fs::copy(self.dir.join("certs").join(&name), machine.join("certs").join(&name)).unwrap();
        }
        machine
    }

    fn ask(&self, process: &str, path: &str) -> Option<Value> {
        get(self.operators[process], path)
    }

    fn roster(&self) -> Option<Value> {
        self.ask("coordinator-0", "/api/roster")
    }

    /// The roster when all nodes are there and every region has a backup that has everything.
    fn settled(&self) -> Option<Value> {
        let roster = self.roster()?;
        let regions = roster["regions"].as_object()?;
        let protected = regions.len() == NODES.len() && regions.values().all(|region| region["protected"] == true);
        let members = roster["processes"].as_object()?.values().filter(|process| is_member(process)).count();
        (protected && members == NODES.len() + 1).then_some(roster)
    }

    fn until<T>(&self, what: &str, look: impl Fn(&Self) -> Option<T>) -> T {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Some(found) = look(self) {
                return found;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("waited for: {what}\nlast seen: {:?}\n{}", self.roster(), self.said());
    }

    /// What a node says of a region that it serves.
    fn serves(&self, node: &str, region: u64) -> Option<Value> {
        let page = self.ask(node, "/api/regions")?;
        page["regions"].as_array()?.iter().find(|facts| facts["region"] == region).cloned()
    }

    /// What nodes turned away: frames of senders that have no business, and connections.
    fn rejected(&self, nodes: &[&str]) -> u64 {
        let pages = nodes.iter().filter_map(|node| self.ask(node, "/api/regions"));
        let sum =
            |page: &Value| page["misplaced_frames"].as_u64().unwrap() + page["refused_connections"].as_u64().unwrap();
        pages.map(|page| sum(&page)).sum()
    }

    fn everybody_once(&self, nodes: &[&str], when: &str) {
        let nodes: Vec<SocketAddr> = nodes.iter().map(|node| self.operators[*node]).collect();
        let count = self.until("a count", |site| count(&site.roster()?, &nodes));
        assert_eq!((count.present.len(), count.doubled.len()), (BODIES, 0), "{when}: {count:?}");
    }

    /// What all processes said of hand-overs.
    fn told(&self) -> Vec<Told> {
        let logs = self.operators.keys().map(|name| self.dir.join(host_of(name)).join(format!("{name}.log")));
        logs.flat_map(|log| log_lines::read(&std::fs::read_to_string(log).unwrap())).collect()
    }

    /// What all processes said besides.
    fn said(&self) -> String {
        let files = self
            .operators
            .keys()
            .flat_map(|name| ["out", "log"].map(|kind| self.dir.join(host_of(name)).join(format!("{name}.{kind}"))));
        let said = files.map(|file| std::fs::read_to_string(file).unwrap_or_default()).collect::<String>();
        said.lines().filter(|line| !line.contains(" nimbus::handover: ")).map(|line| format!("{line}\n")).collect()
    }
}

impl Drop for Site<'_> {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn role(name: &str) -> &str {
    name.rsplit_once('-').unwrap().0
}

fn host_of(name: &str) -> &str {
    if name.starts_with("node") { name } else { "head" }
}

/// Runs a process and starts it again when it ends, as the service manager of a machine does.
fn service(name: &str) -> String {
    let nimbus = env!("CARGO_BIN_EXE_nimbus");
    let start = format!("'{nimbus}' {} --config cluster.toml --name {name} --log nimbus::handover", role(name));
    format!("(while :; do {start}; echo \"{name}: ended with $?\"; sleep 0.2; done) >>{name}.out 2>>{name}.log &")
}

/// A way to cut a host off.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// Packets vanish on the way.
    Cable,
    /// The host has no network any more, so sending fails there.
    Interface,
}

impl Cut {
    fn begin(self, switch: &Switch, host: &mut Host) {
        match self {
            Cut::Cable => switch.pull(host),
            Cut::Interface => host.order("ip link set eth0 down"),
        }
    }

    fn end(self, switch: &Switch, host: &mut Host) {
        match self {
            Cut::Cable => switch.plug(host),
            Cut::Interface => host.order("ip link set eth0 up"),
        }
    }
}

/// Cuts off the host of whoever serves the region in the middle, which has seams with both others.
/// Returns how often it tried to do what is no longer its business, as far as anybody knows.
fn cut_off(site: &mut Site, cut: Cut) -> u64 {
    let before = site.until("every region to be protected", Site::settled);
    let (victim, number) = server(&before, 1);
    let others: Vec<&str> = NODES.into_iter().filter(|node| *node != victim).collect();
    let epochs = region_epochs(&before);
    let lost: Vec<u64> = epochs.keys().copied().filter(|region| server(&before, *region).1 == number).collect();
    let rejected = site.rejected(&others);

    cut.begin(site.switch, site.hosts.get_mut(&victim).unwrap());
    let since = Instant::now();
    let taken = site.until("its regions to be served by others", |site| {
        let roster = site.roster()?;
        let served = |region: &u64| {
            let ((name, _), epoch) = (server(&roster, *region), region_epochs(&roster)[region]);
            let facts = site.serves(Some(name.as_str()).filter(|name| *name != victim)?, *region)?;
            let after = facts["began_after"].as_u64()?;
            let runs = facts["epoch"] == epoch && facts["tick"].as_u64()? > after;
            runs.then(|| TakenOver { region: format!("r{region}"), former: epochs[region], after })
        };
        lost.iter().map(served).collect::<Option<Vec<TakenOver>>>()
    });
    let took = since.elapsed();
    site.everybody_once(&others, "while a host is cut off");
    assert!(site.ask(&victim, "/api/regions").is_none(), "it can be reached");
    std::thread::sleep(OUT.saturating_sub(since.elapsed()));
    cut.end(site.switch, site.hosts.get_mut(&victim).unwrap());
    let out = since.elapsed();

    site.until("it to be back as somebody new", |site| {
        let roster = site.settled()?;
        let processes = roster["processes"].as_object()?.clone();
        let mut back = processes.iter().filter(|(_, process)| is_member(process) && process["name"] == victim.as_str());
        back.any(|(new, _)| *new != number.to_string()).then_some(())
    });
    let back = since.elapsed() - out;
    site.everybody_once(&NODES, "afterwards");
    let told = site.told();
    let void: usize = taken.iter().map(|taken| log_lines::void_grants(&told, taken).len()).sum();
    let rejected = site.rejected(&others).saturating_sub(rejected);
    println!(
        "{cut:?}: {victim} cut off for {out:?}, its {} regions served elsewhere after {took:?}, back after {back:?}; it granted \
         {void} bodies in vain, {rejected} of its frames or connections were turned away",
        taken.len()
    );
    for taken in &taken {
        assert_eq!(log_lines::stale_adopted(&told, taken).len(), 0, "what it granted counted: {told:?}");
    }
    assert!(took < HEALED_MAX, "served elsewhere after {took:?}");
    void as u64 + rejected
}

/// Cuts off the host of the coordinator and the gateway: nodes go on among themselves.
fn cut_off_head(site: &Site) {
    let before = site.until("every region to be protected", Site::settled);
    let tick = |site: &Site| {
        let pages = NODES.iter().filter_map(|node| site.ask(node, "/api/regions"));
        let regions = pages.flat_map(|page| page["regions"].as_array().cloned().unwrap_or_default());
        regions.filter_map(|region| region["tick"].as_u64()).min().unwrap()
    };
    site.switch.pull(&site.hosts["head"]);
    let (since, first) = (Instant::now(), tick(site));
    std::thread::sleep(OUT);
    let ran = tick(site).saturating_sub(first);
    site.switch.plug(&site.hosts["head"]);
    let out = since.elapsed();
    let after = site.until("the coordinator to be back", Site::settled);
    let back = since.elapsed() - out;
    site.everybody_once(&NODES, "after the coordinator was cut off");
    let (before, after) = (region_epochs(&before), region_epochs(&after));
    let moved = after.iter().filter(|(region, epoch)| before[region] != **epoch).count();
    println!(
        "coordinator cut off for {out:?}: {ran} ticks meanwhile, all protected {back:?} afterwards, {moved} regions with \
         another server"
    );
    assert!(ran > 60, "nodes waited for the coordinator: {ran} ticks");
}

#[test]
fn a_host_without_its_cable_is_replaced_and_comes_back_with_namespaces() {
    rack::at_a_switch("a_host_without_its_cable_is_replaced_and_comes_back_with_namespaces", |switch| {
        let mut site = Site::start(switch);
        site.until("every region to be protected", Site::settled);
        site.everybody_once(&NODES, "in the beginning");
        site.until("a body to be followed from host to host", |site| {
            (!log_lines::followed(&site.told()).is_empty()).then_some(())
        });
        let tried = cut_off(&mut site, Cut::Cable) + cut_off(&mut site, Cut::Interface);
        assert!(tried > 0, "nothing came too late, so it is no wonder that none of it was taken");
        cut_off_head(&site);
        let told = site.told();
        assert_eq!(log_lines::impossible(&told).len(), 0, "{told:?}");
    });
}
