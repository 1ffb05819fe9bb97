//! A relay between sockets.

use super::*;
use std::net::UdpSocket;

const MS: Duration = Duration::from_millis(1);

/// Three sockets: two that are known as processes, and a stranger.
struct Sockets {
    process: UdpSocket,
    other: UdpSocket,
    stranger: UdpSocket,
    front: SocketAddr,
    relay: Relay,
}

fn name(name: &str) -> ProcessName {
    ProcessName::new(name).unwrap()
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(500 * MS)).unwrap();
    socket
}

fn start(impairment: Impairment) -> Sockets {
    let (process, other, stranger) = (socket(), socket(), socket());
    let address = |socket: &UdpSocket| socket.local_addr().unwrap();
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let config = RelayConfig {
        fronts: vec![FrontConfig { name: name("node-1"), listen, process: address(&process) }],
        known: BTreeMap::from([(address(&process), name("node-1")), (address(&other), name("node-0"))]),
        conditions: Conditions::new(impairment, Vec::new()).unwrap(),
    };
    let relay = Relay::start(config).unwrap();
    Sockets { process, other, stranger, front: relay.listens()[&name("node-1")], relay }
}

/// Everything that comes until nothing does, and from where.
fn heard(socket: &UdpSocket) -> Vec<(u32, SocketAddr)> {
    let mut buffer = [0; 100];
    let next = || {
        socket.recv_from(&mut buffer).ok().map(|(n, from)| (u32::from_be_bytes(buffer[..n].try_into().unwrap()), from))
    };
    std::iter::from_fn(next).collect()
}

fn send(socket: &UdpSocket, to: SocketAddr, numbers: impl IntoIterator<Item = u32>) {
    for number in numbers {
        socket.send_to(&number.to_be_bytes(), to).unwrap();
    }
}

#[test]
fn relay_keeps_apart_who_sends_and_brings_answers_back() {
    let sockets = start(Impairment { delay: 20 * MS, jitter: 10 * MS, ..Impairment::default() });
    let clock = Clock::start();
    send(&sockets.other, sockets.front, 0..100);
    let came = heard(&sockets.process);
    assert!(clock.now() >= 20 * MS);
    assert!(came.iter().map(|(number, _)| *number).eq(0..100), "in order, each once: {came:?}");
    send(&sockets.stranger, sockets.front, [7]);
    let (_, stranger) = heard(&sockets.process)[0];
    let other = came[0].1;
    assert_ne!(other, stranger);
    send(&sockets.process, other, [1]);
    send(&sockets.process, stranger, [2]);
    assert_eq!(heard(&sockets.other), [(1, sockets.front)]);
    assert_eq!(heard(&sockets.stranger), [(2, sockets.front)]);
    assert_eq!(sockets.relay.counts(), RelayCounts { passed: 103, ..RelayCounts::default() });
}

#[test]
fn relay_loses_doubles_and_reorders_as_its_counts_say() {
    let sockets = start(Impairment { loss: 0.2, duplicate: 0.2, reorder: 0.2, ..Impairment::default() });
    send(&sockets.other, sockets.front, 0..300);
    let came: Vec<u32> = heard(&sockets.process).iter().map(|(number, _)| *number).collect();
    let counts = sockets.relay.counts();
    assert_eq!(came.len() as u64, counts.passed + counts.duplicated);
    assert_eq!(counts.passed + counts.lost, 300);
    assert!(
        [counts.lost, counts.duplicated, counts.reordered].iter().all(|count| (30..90).contains(count)),
        "{counts}"
    );
    assert!(!came.is_sorted());
    let mut each = came.clone();
    each.sort_unstable();
    each.dedup();
    assert_eq!(each.len() as u64, counts.passed);
}

#[test]
fn relay_cuts_whom_it_knows_by_the_address_they_send_from() {
    let sockets = start(Impairment::default());
    // The one that dials is cut off, not the one that the relay is in front of.
    sockets.relay.cut(name("node-0"), 60_000 * MS).unwrap();
    assert_eq!(sockets.relay.cut_off(), [name("node-0")]);
    send(&sockets.other, sockets.front, 0..10);
    send(&sockets.stranger, sockets.front, [7]);
    assert_eq!(heard(&sockets.process).len(), 1, "the stranger's");
    sockets.relay.heal();
    send(&sockets.other, sockets.front, 0..10);
    assert_eq!(heard(&sockets.process).len(), 10);
    assert_eq!(sockets.relay.counts(), RelayCounts { passed: 11, cut: 10, ..RelayCounts::default() });
}

#[test]
fn relay_says_which_address_it_cannot_have() {
    let sockets = start(Impairment::default());
    let taken = FrontConfig { name: name("node-2"), listen: sockets.front, process: sockets.front };
    let conditions = Conditions::new(Impairment::default(), Vec::new()).unwrap();
    let refused = Relay::start(RelayConfig { fronts: vec![taken], known: BTreeMap::new(), conditions });
    assert!(refused.err().unwrap().to_string().contains(&sockets.front.to_string()));
}
