//! Processes come and go; those that stay find them again.

use nimbus_runtime::mesh::{Delivery, Mesh};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::cast::{Certs, HERE, certs, introduce, name, pair, peer, receive, start, start_as, until, until_connected};

/// Tells [`another_process`] what to be: directory, name, where to listen, its peer and where that is.
const PART: &str = "NIMBUS_MESH_TEST_PART";

/// Not a test by itself: a process that other tests start and kill. It sends back what it gets.
#[test]
fn another_process() {
    let Ok(part) = std::env::var(PART) else { return };
    let part: Vec<&str> = part.split('|').collect();
    let [dir, own, listen, other, at, incarnation] = part[..] else { panic!("{part:?}") };
    let certs = std::mem::ManuallyDrop::new(Certs(dir.into()));
    let incarnation = incarnation.parse().unwrap();
    let mesh = start_as(&certs, own, listen.parse().unwrap(), |hello| hello.incarnation = incarnation);
    introduce(&mesh, &[(other, at.parse().unwrap())]);
    println!("\nlistening on {}", mesh.address());
    // Whoever started this kills it long before.
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(60) {
        if mesh.wait(Duration::from_millis(100)) {
            mesh.drain(|got| {
                mesh.send(&got.from, got.bytes, Delivery::Ordered);
            });
        }
    }
}

struct Other(Child);

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn spawn(certs: &Certs, own: &str, listen: SocketAddr, mesh: &Mesh, other: &str, life: u16) -> (Other, SocketAddr) {
    let part =
        [certs.0.to_str().unwrap(), own, &listen.to_string(), other, &mesh.address().to_string(), &life.to_string()];
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "restart::another_process", "--nocapture"])
        .env(PART, part.join("|"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.find_map(|line| Some(line.ok()?.strip_prefix("listening on ")?.to_owned())).unwrap();
    (Other(child), line.parse().unwrap())
}

fn echo(mesh: &Mesh, who: &str, text: &str) {
    until_connected(mesh, who);
    until("the other side is connected, too", || {
        mesh.send(&name(who), text.as_bytes().to_vec(), Delivery::Ordered);
        mesh.wait(Duration::from_millis(100))
    });
    assert_eq!(receive(mesh).bytes, text.as_bytes());
    mesh.drain(drop);
}

/// Kills a process and starts it again in the same place. Returns how long the others took to find it.
fn kill_and_restart(test: &str, own: &str, other: &str) -> Duration {
    let certs = certs(test, &[own, other]);
    let mesh = start(&certs, own);
    let (process, address) = spawn(&certs, other, HERE, &mesh, own, 1);
    introduce(&mesh, &[(other, address)]);
    echo(&mesh, other, "before");
    drop(process);
    let began = Instant::now();
    let (_process, _) = spawn(&certs, other, address, &mesh, own, 2);
    until("the new life connects", || peer(&mesh, other).incarnation == Some(2));
    let took = began.elapsed();
    echo(&mesh, other, "after");
    assert_eq!(peer(&mesh, other).connections, 2);
    took
}

#[test]
fn a_killed_process_that_is_dialled_is_found_again() {
    let took = kill_and_restart("killed-listener", "node-0", "node-1");
    // It answers what it does not know any more with a reset; nobody waits for the silence to be long enough.
    assert!(took < Duration::from_millis(1_800), "{took:?}");
}

#[test]
fn a_killed_process_that_dials_takes_its_place_again() {
    let took = kill_and_restart("killed-dialer", "node-1", "node-0");
    assert!(took < Duration::from_millis(1_800), "{took:?}");
}

#[test]
fn a_silent_process_is_noticed_and_what_was_for_it_is_counted() {
    let certs = certs("silence", &["node-0", "node-1"]);
    let mesh = start(&certs, "node-0");
    let (process, address) = spawn(&certs, "node-1", HERE, &mesh, "node-0", 1);
    introduce(&mesh, &[("node-1", address)]);
    echo(&mesh, "node-1", "before");
    drop(process);
    until("the silence is noticed", || !peer(&mesh, "node-1").connected);
    let before = peer(&mesh, "node-1").dropped;
    assert!(!mesh.send(&name("node-1"), vec![1], Delivery::Ordered));
    assert_eq!(peer(&mesh, "node-1").dropped, before + 1);
    let reason = format!("{} ms", nimbus_runtime::mesh::IDLE_MS_MAX);
    until("the reason is told", || peer(&mesh, "node-1").last_error.is_some_and(|why| why.contains(&reason)));
}

#[test]
fn a_process_that_stops_says_so() {
    let certs = certs("stops", &["node-0", "node-1"]);
    let (a, b) = pair(&certs, "node-0", "node-1");
    until_connected(&a, "node-1");
    until_connected(&b, "node-0");
    let began = Instant::now();
    a.stop();
    until("node-1 hears it", || !peer(&b, "node-0").connected);
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    until("and why", || peer(&b, "node-0").last_error.is_some_and(|why| why.contains("node-0 stops")));
}

#[test]
fn an_earlier_life_does_not_push_out_a_later_one() {
    let certs = certs("lives", &["node-0", "node-1"]);
    let b = start(&certs, "node-1");
    let late = start_as(&certs, "node-0", HERE, |hello| hello.incarnation = 5);
    introduce(&b, &[("node-0", late.address())]);
    introduce(&late, &[("node-1", b.address())]);
    until_connected(&b, "node-0");
    let early = start_as(&certs, "node-0", HERE, |hello| hello.incarnation = 4);
    introduce(&early, &[("node-1", b.address())]);
    until("the earlier one reads why", || {
        peer(&early, "node-1").last_error.is_some_and(|why| why.contains("incarnation 5"))
    });
    assert_eq!(peer(&b, "node-0").incarnation, Some(5));
    let next = start_as(&certs, "node-0", HERE, |hello| hello.incarnation = 6);
    introduce(&next, &[("node-1", b.address())]);
    until("the next one takes the place", || peer(&b, "node-0").incarnation == Some(6));
}
