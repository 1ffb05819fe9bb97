//! Hosts of a test: each has a network of its own, with an address and a cable to one switch.
//!
//! The test runs itself once more in new namespaces. There it is the first process and sits at the switch; a host is a
//! shell that has its own network. The network of the machine is never touched, and when that first process ends, however
//! it does, the kernel ends everything it started and takes the networks away.

use std::io::{BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Set where the test runs inside, to the number of the process outside.
const INSIDE: &str = "NIMBUS_TEST_INSIDE";
/// What a shell says after each order, with how it went.
const DONE: &str = "=== done";

/// Runs a test at a switch of its own: calls `inside` there. Where namespaces are not permitted it says so, and that the
/// test was skipped.
pub(crate) fn at_a_switch(test: &str, inside: impl FnOnce(&Switch)) {
    if let Ok(outside) = std::env::var(INSIDE) {
        return inside(&Switch::new(outside));
    }
    let namespaces = match way_in() {
        Ok(namespaces) => namespaces,
        Err(why) => {
            // Straight to standard error, because the test harness shows nothing of a test that passes.
            _ = writeln!(std::io::stderr(), "skipped {test}: no network namespaces here: {why}");
            return;
        }
    };
    let program = std::env::current_exe().unwrap();
    let outcome = Command::new("unshare")
        .args(namespaces)
        .arg(program)
        .args([test, "--exact", "--nocapture"])
        .env(INSIDE, std::process::id().to_string())
        .output()
        .unwrap();
    let said = [outcome.stdout, outcome.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(outcome.status.success() && said.contains("1 passed"), "{said}");
    println!("{said}");
}

/// Arguments for unshare that give a process its own network and the right to change it; or why there are none.
fn way_in() -> Result<Vec<&'static str>, String> {
    let own = ["--net", "--pid", "--fork", "--kill-child"];
    let mut why = String::new();
    // Root needs no more. Others may be root among their own, where the system lets them.
    for more in [&[][..], &["--user", "--map-root-user"]] {
        let arguments: Vec<&str> = more.iter().chain(&own).copied().collect();
        let wire = "ip link add switch type bridge && ip link add one type veth peer name two && unshare --net true";
        match Command::new("unshare").args(&arguments).args(["sh", "-c", wire]).output() {
            Ok(tried) if tried.status.success() => return Ok(arguments),
            Ok(tried) => why = String::from_utf8_lossy(&tried.stderr).trim().to_owned(),
            Err(error) => why = format!("unshare: {error}"),
        }
    }
    Err(why)
}

/// Where all cables end. The test itself has an address there, too.
pub(crate) struct Switch {
    /// Tells this run of the test from others; inside, numbers of processes do not.
    pub(crate) run: String,
}

impl Switch {
    fn new(outside: String) -> Switch {
        run(&["link", "set", "lo", "up"]);
        run(&["link", "add", "switch", "type", "bridge"]);
        run(&["address", "add", &format!("{}/24", address(1)), "dev", "switch"]);
        run(&["link", "set", "switch", "up"]);
        Switch { run: outside }
    }

    /// Sets up a host with this number in its address.
    pub(crate) fn host(&self, number: u8) -> Host {
        let mut shell = Command::new("unshare")
            .args(["--net", "sh"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let (orders, said) = (shell.stdin.take().unwrap(), BufReader::new(shell.stdout.take().unwrap()));
        let mut host = Host { number, shell, orders, said };
        host.order("ip link set lo up");
        let (cable, pid) = (host.cable(), host.shell.id().to_string());
        run(&["link", "add", &cable, "type", "veth", "peer", "name", "eth0", "netns", &pid]);
        run(&["link", "set", &cable, "master", "switch", "up"]);
        host.order(&format!("ip address add {}/24 dev eth0", address(number)));
        host.order("ip link set eth0 up");
        host
    }

    /// Takes the cable of a host out of the switch.
    pub(crate) fn pull(&self, host: &Host) {
        run(&["link", "set", &host.cable(), "down"]);
    }

    /// Puts it in again.
    pub(crate) fn plug(&self, host: &Host) {
        run(&["link", "set", &host.cable(), "up"]);
    }
}

/// A host with a network of its own.
pub(crate) struct Host {
    number: u8,
    shell: Child,
    orders: ChildStdin,
    said: BufReader<ChildStdout>,
}

impl Host {
    /// Has the host's shell do something, and waits until it has.
    pub(crate) fn order(&mut self, order: &str) {
        writeln!(self.orders, "{order}\necho {DONE} $?").unwrap();
        self.orders.flush().unwrap();
        let outcome = (&mut self.said).lines().map_while(Result::ok).find(|line| line.starts_with(DONE));
        assert_eq!(outcome.as_deref(), Some(&*format!("{DONE} 0")), "host {}: {order}", self.number);
    }

    fn cable(&self) -> String {
        format!("cable{}", self.number)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // What it runs ends with the test.
        _ = self.shell.kill();
        _ = self.shell.wait();
    }
}

/// The address with this number.
pub(crate) fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, number)
}

fn run(arguments: &[&str]) {
    let outcome = Command::new("ip").args(arguments).output().unwrap();
    assert!(outcome.status.success(), "ip {arguments:?}: {}", String::from_utf8_lossy(&outcome.stderr));
}
