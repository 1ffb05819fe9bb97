//! Processes for tests: certificates in a directory of their own, and meshes that know each other.

use nimbus_runtime::certs::{CertsRequest, make_certs};
use nimbus_runtime::mesh::{
    ClusterName, Hello, Identity, Mesh, MeshConfig, PeerConfig, PeerStats, ProcessName, Received, Role,
};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Long enough for any machine; tests that pass do not wait for it.
const PATIENCE: Duration = Duration::from_secs(20);

/// Some address of this host.
pub(crate) const HERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A directory of certificates that is removed in the end.
pub(crate) struct Certs(pub(crate) PathBuf);

impl Drop for Certs {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn name(text: &str) -> ProcessName {
    text.parse().unwrap()
}

/// The role that a name begins with.
pub(crate) fn role(name: &str) -> Role {
    Role::ALL.into_iter().find(|role| name.starts_with(role.as_str())).unwrap()
}

/// A fresh directory for a test.
pub(crate) fn empty(test: &str) -> Certs {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-mesh-{test}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    Certs(dir)
}

/// Certificates of a CA of the test's own.
pub(crate) fn certs(test: &str, names: &[&str]) -> Certs {
    let certs = empty(test);
    make_certs(&certs.0, &request(names)).unwrap();
    certs
}

pub(crate) fn request(names: &[&str]) -> CertsRequest {
    let processes = names.iter().map(|text| (name(text), role(text))).collect();
    CertsRequest { processes, hosts: vec!["localhost".to_owned(), "127.0.0.1".to_owned()] }
}

pub(crate) fn hello(identity: &Identity) -> Hello {
    Hello::new(ClusterName::new("test").unwrap(), identity, 1)
}

pub(crate) fn start(certs: &Certs, who: &str) -> Mesh {
    start_as(certs, who, HERE, |_| {})
}

/// Starts a process that says something else of itself.
pub(crate) fn start_as(certs: &Certs, who: &str, listen: SocketAddr, change: impl FnOnce(&mut Hello)) -> Mesh {
    let identity = Identity::load(&certs.0, &name(who)).unwrap();
    let mut hello = hello(&identity);
    change(&mut hello);
    Mesh::start(MeshConfig { listen, identity, hello }).unwrap()
}

/// Tells a process where others are.
pub(crate) fn introduce(mesh: &Mesh, others: &[(&str, SocketAddr)]) {
    let config = |text: &str, address| (name(text), PeerConfig { role: role(text), address: Some(address) });
    mesh.set_peers(others.iter().map(|(text, address)| config(text, *address)).collect());
}

/// Two processes that know each other, not necessarily connected yet.
pub(crate) fn pair(certs: &Certs, first: &str, second: &str) -> (Mesh, Mesh) {
    let (a, b) = (start(certs, first), start(certs, second));
    // The first makes the connection. The second knows it by then, so that nothing is refused on the way.
    introduce(&b, &[(first, a.address())]);
    introduce(&a, &[(second, b.address())]);
    (a, b)
}

pub(crate) fn peer(mesh: &Mesh, who: &str) -> PeerStats {
    mesh.stats().peers.into_iter().find(|peer| peer.name == name(who)).unwrap()
}

/// Waits for something, or says what did not happen.
pub(crate) fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let began = Instant::now();
    while !happened() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn until_connected(mesh: &Mesh, who: &str) {
    until(&format!("{who} connects; {:?}", mesh.stats()), || peer(mesh, who).connected);
}

pub(crate) fn receive(mesh: &Mesh) -> Received {
    assert!(mesh.wait(PATIENCE), "nothing arrives");
    mesh.try_recv().unwrap()
}
