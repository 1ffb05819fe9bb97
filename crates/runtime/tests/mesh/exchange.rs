//! Frames get where they should, and what does not is counted.

use nimbus_runtime::mesh::{
    Delivery, INBOX_FRAMES_MAX, LATEST_BYTES_MAX, LATEST_FRAMES_MAX, Mesh, ORDERED_FRAMES_MAX, Role,
};
use nimbus_wire::FRAME_BYTES_MAX;
use std::time::{Duration, Instant};

use crate::cast::{certs, introduce, name, pair, peer, receive, start, until, until_connected};

#[test]
fn ordered_frames_arrive_in_order_both_ways() {
    let certs = certs("ordered", &["node-0", "node-1"]);
    let (a, b) = pair(&certs, "node-0", "node-1");
    until_connected(&a, "node-1");
    until_connected(&b, "node-0");
    for at in 0..500u32 {
        let bytes = at.to_le_bytes().repeat(1 + at as usize % 300);
        assert!(a.send(&name("node-1"), bytes.clone(), Delivery::Ordered));
        assert!(b.send(&name("node-0"), bytes, Delivery::Ordered));
    }
    for (mesh, from) in [(&a, "node-1"), (&b, "node-0")] {
        for at in 0..500u32 {
            let got = receive(mesh);
            assert_eq!((got.from, got.role, got.incarnation), (name(from), Role::Node, 1));
            assert_eq!(got.bytes, at.to_le_bytes().repeat(1 + at as usize % 300));
        }
        until("all is counted", || peer(mesh, from).sent + peer(mesh, from).received == 1_000);
        let stats = peer(mesh, from);
        assert_eq!((stats.sent, stats.received, stats.dropped, stats.lost, stats.unread), (500, 500, 0, 0, 0));
        assert_eq!(stats.sent_bytes, stats.received_bytes);
        assert!(stats.rtt.unwrap() < Duration::from_secs(1) && stats.connections == 1);
        assert_eq!((mesh.stats().refusals, stats.last_error), (0, None));
    }
}

#[test]
fn three_processes_talk_each_with_each() {
    let names = ["coordinator-0", "gateway-0", "node-0"];
    let certs = certs("three", &names);
    let meshes: Vec<Mesh> = names.iter().map(|name| start(&certs, name)).collect();
    let everybody: Vec<_> = names.into_iter().zip(meshes.iter().map(Mesh::address)).collect();
    for mesh in &meshes {
        // The own name may be among them.
        introduce(mesh, &everybody);
        assert_eq!(mesh.stats().peers.len(), 2);
    }
    for (mesh, own) in meshes.iter().zip(names) {
        for other in names.into_iter().filter(|other| *other != own) {
            until_connected(mesh, other);
            assert!(mesh.send(&name(other), own.as_bytes().to_vec(), Delivery::Ordered));
        }
    }
    for (mesh, own) in meshes.iter().zip(names) {
        let mut got: Vec<_> = (0..2).map(|_| receive(mesh)).map(|got| (got.from, got.role, got.bytes)).collect();
        got.sort();
        let expected: Vec<_> = names.into_iter().filter(|other| *other != own).collect();
        for ((from, role, bytes), other) in got.into_iter().zip(expected) {
            assert_eq!((from, role, bytes), (name(other), crate::cast::role(other), other.as_bytes().to_vec()));
        }
    }
}

#[test]
fn updates_of_any_size_arrive() {
    let certs = certs("updates", &["gateway-0", "node-0"]);
    let (a, b) = pair(&certs, "gateway-0", "node-0");
    until_connected(&b, "gateway-0");
    for length in [0, 1, 1_000, 1_300, 5_000, 300_000] {
        let bytes: Vec<u8> = (0..length).map(|at| (at / 7) as u8).collect();
        // Datagrams may get lost, and an update may be out of date before a slow machine has it all on its way.
        until(&format!("an update of {length} bytes arrives; {:?}", b.stats()), || {
            assert!(b.send(&name("gateway-0"), bytes.clone(), Delivery::Latest));
            a.wait(Duration::from_millis(500)) && a.try_recv().unwrap().bytes == bytes
        });
        a.drain(drop);
    }
    assert!(!b.send(&name("gateway-0"), vec![0; LATEST_BYTES_MAX + 1], Delivery::Latest));
    assert_eq!(peer(&b, "gateway-0").dropped, 1);
}

#[test]
fn the_longest_frame_arrives() {
    let certs = certs("longest", &["node-0", "node-1"]);
    let (a, b) = pair(&certs, "node-0", "node-1");
    until_connected(&a, "node-1");
    assert!(a.send(&name("node-1"), vec![7; FRAME_BYTES_MAX], Delivery::Ordered));
    assert!(!a.send(&name("node-1"), vec![7; FRAME_BYTES_MAX + 1], Delivery::Ordered));
    assert_eq!(receive(&b).bytes, vec![7; FRAME_BYTES_MAX]);
}

#[test]
fn what_finds_no_room_is_dropped_and_counted_without_waiting() {
    let certs = certs("full", &["node-0", "node-1"]);
    let (a, b) = pair(&certs, "node-0", "node-1");
    assert!(!a.send(&name("nobody"), vec![1], Delivery::Ordered));
    assert_eq!(a.stats().unaddressed, 1);
    until_connected(&a, "node-1");
    until_connected(&b, "node-0");

    // Faster than any network: the queues fill up. In order, the new ones are refused; of the others the oldest go.
    let began = Instant::now();
    let many = 20 * ORDERED_FRAMES_MAX;
    let frame = bytes::Bytes::from(vec![1; 60_000]);
    let ordered = (0..many).filter(|_| a.send(&name("node-1"), frame.clone(), Delivery::Ordered)).count();
    let latest =
        (0..20 * LATEST_FRAMES_MAX).filter(|_| a.send(&name("node-1"), frame.clone(), Delivery::Latest)).count();
    assert!(began.elapsed() < Duration::from_secs(3), "sending does not wait: {:?}", began.elapsed());
    assert!(ordered < many && latest == 20 * LATEST_FRAMES_MAX, "{ordered} {latest}");
    let dropped = peer(&a, "node-1").dropped;
    assert!(dropped > (many - ordered) as u64, "{dropped}");

    // Nobody looks at b's inbox. It fills up, too, and the connection lasts.
    until("all is sent", || {
        let stats = peer(&a, "node-1");
        stats.sent + stats.lost + stats.dropped == (many + 20 * LATEST_FRAMES_MAX) as u64
    });
    for _ in 0..INBOX_FRAMES_MAX + 10 {
        until("there is room", || a.send(&name("node-1"), vec![2], Delivery::Ordered));
    }
    until("the inbox is full", || peer(&b, "node-0").unread > 0);
    assert!(peer(&a, "node-1").connected && peer(&b, "node-0").connections == 1);
}

#[test]
fn who_is_no_longer_named_is_let_go() {
    let certs = certs("let-go", &["node-0", "node-1"]);
    let (a, b) = pair(&certs, "node-0", "node-1");
    until_connected(&a, "node-1");
    until_connected(&b, "node-0");
    introduce(&b, &[]);
    until("node-0 is told", || peer(&a, "node-1").last_error.is_some_and(|why| why.contains("not expected")));
    assert!(!peer(&a, "node-1").connected && b.stats().peers.is_empty() && b.stats().refusals > 0);
    introduce(&b, &[("node-0", a.address())]);
    until_connected(&a, "node-1");
    introduce(&a, &[]);
    until("node-1 is told", || peer(&b, "node-0").last_error.is_some_and(|why| why.contains("no more to do")));
    assert!(!peer(&b, "node-0").connected);
}
