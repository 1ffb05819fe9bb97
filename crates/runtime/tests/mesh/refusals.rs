//! Who must not take part does not, and gets to read why.

use nimbus_runtime::certs::CertFiles;
use nimbus_runtime::mesh::{ClusterName, HELLO_BYTES, Hello, Identity, Mesh, PeerConfig, Role};
use nimbus_wire::{FRAME_BYTES_MAX, PROTOCOL_VERSION};
use std::collections::BTreeMap;
use std::fs;

use crate::cast::{Certs, HERE, certs, hello, introduce, name, peer, start, start_as, until, until_connected};
use crate::stranger::{Stranger, connect};

/// What accepts a hello.
const WELCOME: u8 = 0xa5;

/// Lets two processes know each other where one of them says something else of itself, and returns what each reads.
fn mismatch(certs: &Certs, change: impl FnOnce(&mut Hello)) -> [String; 2] {
    let (a, b) = (start(certs, "node-0"), start_as(certs, "node-1", HERE, change));
    introduce(&b, &[("node-0", a.address())]);
    introduce(&a, &[("node-1", b.address())]);
    let mut read = [String::new(), String::new()];
    until("both sides read why", || {
        assert!(!peer(&a, "node-1").connected && !peer(&b, "node-0").connected);
        let why = [peer(&a, "node-1").last_error, b.stats().last_refusal.or(peer(&b, "node-0").last_error)];
        read = why.map(Option::unwrap_or_default);
        read.iter().all(|why| !why.is_empty())
    });
    assert!(a.stats().refusals + b.stats().refusals > 0);
    assert_eq!((peer(&a, "node-1").connections, peer(&b, "node-0").connections), (0, 0));
    read
}

#[test]
fn another_version_is_refused_and_both_are_named() {
    let certs = certs("version", &["node-0", "node-1"]);
    let theirs = PROTOCOL_VERSION + 1;
    for why in mismatch(&certs, |hello| hello.version = theirs) {
        for part in [format!("version {PROTOCOL_VERSION}"), format!("version {theirs}")] {
            assert!(why.contains(&part) && why.contains("node-0") && why.contains("node-1"), "{why}");
        }
    }
}

#[test]
fn another_cluster_is_refused_and_both_are_named() {
    let certs = certs("cluster", &["node-0", "node-1"]);
    for why in mismatch(&certs, |hello| hello.cluster = ClusterName::new("other").unwrap()) {
        assert!(why.contains("`test`") && why.contains("`other`"), "{why}");
    }
}

#[test]
fn a_process_of_another_ca_is_refused() {
    let (ours, theirs) = (certs("ca", &["node-0", "node-1"]), certs("ca-too", &["node-0", "node-1"]));
    let (a, b) = (start(&ours, "node-0"), start(&theirs, "node-1"));
    introduce(&a, &[("node-1", b.address())]);
    introduce(&b, &[("node-0", a.address())]);
    until("node-0 does not trust node-1", || a.stats().refusals >= 2);
    let why = peer(&a, "node-1").last_error.unwrap();
    assert!(why.contains("certificate") && !peer(&a, "node-1").connected, "{why}");
    assert_eq!(peer(&a, "node-1").connections + peer(&b, "node-0").connections, 0);
}

/// The dialer trusts the other side, but has a certificate of another CA itself. To it, TLS looks complete before the
/// other side has looked at the certificate.
#[test]
fn a_connection_that_seemed_to_succeed_is_refused_all_the_same() {
    let (ours, theirs) = (certs("late", &["node-0", "node-1"]), certs("late-too", &["node-0"]));
    let b = start(&ours, "node-1");
    let cheat = name("node-0");
    let both = crate::cast::empty("late-both");
    fs::create_dir_all(&both.0).unwrap();
    let (from, ca, into) = (CertFiles::new(&theirs.0), CertFiles::new(&ours.0), CertFiles::new(&both.0));
    fs::copy(from.certificate(&cheat), into.certificate(&cheat)).unwrap();
    fs::copy(from.key(&cheat), into.key(&cheat)).unwrap();
    fs::copy(ca.ca(), into.ca()).unwrap();
    introduce(&b, &[("node-0", HERE)]);
    assert!(Identity::load(&both.0, &cheat).is_err(), "an honest process notices by itself");
    for shown in [Some((both.0.as_path(), "node-0")), None] {
        let before = b.stats().refusals;
        let identity = Identity::load(&theirs.0, &cheat).unwrap();
        let why = match connect(&both.0, shown, ("node-1.node.nimbus", b.address()), b"nimbus") {
            Ok(mut stranger) => {
                stranger.say(&hello(&identity).encode());
                stranger.end()
            }
            Err(error) => error.to_string(),
        };
        assert!(why.contains("certificate") || why.contains("handshake"), "{why}");
        until("it is counted", || b.stats().refusals > before);
        assert!(!peer(&b, "node-0").connected && peer(&b, "node-0").connections == 0);
    }
}

#[test]
fn a_mesh_that_seemed_to_connect_shows_as_refused() {
    let certs = certs("seemed", &["node-0", "node-1"]);
    let (a, b) = (start(&certs, "node-0"), start(&certs, "node-1"));
    // TLS succeeds, but node-1 does not expect anybody.
    introduce(&a, &[("node-1", b.address())]);
    until("node-0 reads why", || peer(&a, "node-1").last_error.is_some());
    let stats = peer(&a, "node-1");
    assert!(!stats.connected && stats.connections == 0 && stats.rtt.is_none());
    let why = stats.last_error.unwrap();
    assert!(why.contains("refused by the other side") && why.contains("node-0 is not expected by node-1"), "{why}");
    until("it is counted", || b.stats().last_refusal.is_some_and(|why| why.contains("not expected")));
}

#[test]
fn another_role_is_refused() {
    let certs = certs("role", &["gateway-0", "node-0"]);
    let expecting = |mesh: &Mesh, who: &str, role, address| {
        mesh.set_peers(BTreeMap::from([(name(who), PeerConfig { role, address: Some(address) })]));
    };
    // The dialer expects another role, so TLS itself refuses.
    let (a, b) = (start(&certs, "gateway-0"), start(&certs, "node-0"));
    expecting(&a, "node-0", Role::Coordinator, b.address());
    expecting(&b, "gateway-0", Role::Gateway, a.address());
    until("gateway-0 refuses", || a.stats().refusals > 0);
    assert!(!peer(&a, "node-0").connected && peer(&b, "gateway-0").connections == 0);
    // The other side expects another role, from before the dialer would be welcome.
    expecting(&b, "gateway-0", Role::Node, a.address());
    expecting(&a, "node-0", Role::Node, b.address());
    until("gateway-0 reads why", || peer(&a, "node-0").last_error.is_some_and(|why| why.contains("expects a node")));
    until("it is counted", || b.stats().refusals > 0);
    assert_eq!(peer(&a, "node-0").connections + peer(&b, "gateway-0").connections, 0);
}

fn knock(certs: &Certs, who: &str, at: &Mesh) -> Stranger {
    connect(&certs.0, Some((&certs.0, who)), ("node-1.node.nimbus", at.address()), b"nimbus").unwrap()
}

#[test]
fn a_gateway_cannot_say_that_it_is_a_node() {
    let certs = certs("claims", &["gateway-0", "node-0", "node-1"]);
    let b = start(&certs, "node-1");
    introduce(&b, &[("node-0", HERE), ("gateway-0", HERE)]);
    let gateway = hello(&Identity::load(&certs.0, &name("gateway-0")).unwrap());
    for claim in [
        Hello { role: Role::Node, ..gateway.clone() },
        Hello { name: name("node-0"), ..gateway.clone() },
        Hello { role: Role::Node, name: name("node-0"), ..gateway.clone() },
    ] {
        let before = b.stats().refusals;
        let mut stranger = knock(&certs, "gateway-0", &b);
        stranger.say(&claim.encode());
        stranger.say(&[WELCOME]);
        let why = stranger.end();
        assert!(why.contains("its certificate is for the gateway `gateway-0`"), "{why}");
        until("it is counted", || b.stats().refusals > before);
        assert!(b.stats().peers.iter().all(|peer| peer.connections == 0));
    }
    let mut stranger = knock(&certs, "gateway-0", &b);
    stranger.say(&gateway.encode());
    stranger.say(&[WELCOME]);
    until_connected(&b, "gateway-0");
    assert_eq!(stranger.hear(HELLO_BYTES + 1)[HELLO_BYTES], WELCOME);
}

#[test]
fn nonsense_instead_of_a_hello_is_refused() {
    let certs = certs("nonsense", &["node-0", "node-1"]);
    let b = start(&certs, "node-1");
    introduce(&b, &[("node-0", HERE)]);
    let good = hello(&Identity::load(&certs.0, &name("node-0")).unwrap()).encode();
    let mut bad_role = good;
    bad_role[9] = 77;
    let mut bad_name = good;
    bad_name[HELLO_BYTES - 1] = b'x';
    let mut oversized = good.to_vec();
    oversized.extend([b'x'; 100_000]);
    let cases: [(&[u8], &str); 5] = [
        (&[b'?'; HELLO_BYTES], "not those of a nimbus process"),
        (&bad_role, "not those of a nimbus process"),
        (&bad_name, "not those of a nimbus process"),
        (&oversized, "more than a hello"),
        (&good[..HELLO_BYTES / 2], "did not say hello"),
    ];
    for (bytes, expected) in cases {
        let mut stranger = knock(&certs, "node-0", &b);
        stranger.say(bytes);
        let _ = stranger.send.finish();
        let why = stranger.end();
        assert!(why.contains(expected), "{why}");
    }
    until("all are counted", || b.stats().refusals == cases.len() as u64);
    assert_eq!(peer(&b, "node-0").connections, 0);
}

#[test]
fn another_protocol_is_refused() {
    let certs = certs("alpn", &["node-0", "node-1"]);
    let b = start(&certs, "node-1");
    introduce(&b, &[("node-0", HERE)]);
    let met = connect(&certs.0, Some((&certs.0, "node-0")), ("node-1.node.nimbus", b.address()), b"h3");
    assert!(met.is_err());
    until("it is counted", || b.stats().refusals == 1);
}

#[test]
fn who_is_silent_is_turned_away_and_holds_nobody_up() {
    let certs = certs("silent", &["node-0", "node-1"]);
    let (a, b) = (start(&certs, "node-0"), start(&certs, "node-1"));
    let silent = knock(&certs, "node-0", &b);
    introduce(&b, &[("node-0", a.address())]);
    introduce(&a, &[("node-1", b.address())]);
    until_connected(&b, "node-0");
    until("the silent one is turned away", || b.stats().refusals == 1);
    assert!(b.stats().last_refusal.unwrap().contains("in time") && peer(&b, "node-0").connected);
    drop(silent);
}

#[test]
fn a_peer_that_breaks_the_rules_is_cut_off() {
    let certs = certs("rules", &["node-0", "node-1"]);
    let b = start(&certs, "node-1");
    introduce(&b, &[("node-0", HERE)]);
    let good = hello(&Identity::load(&certs.0, &name("node-0")).unwrap());
    let mut stranger = knock(&certs, "node-0", &b);
    stranger.say(&good.encode());
    stranger.say(&[WELCOME]);
    stranger.say(&(FRAME_BYTES_MAX as u32 + 1).to_le_bytes());
    let why = stranger.end();
    assert!(why.contains("longer than any may be"), "{why}");
    until("it shows", || !peer(&b, "node-0").connected);
    assert_eq!((peer(&b, "node-0").connections, b.try_recv()), (1, None));
}
