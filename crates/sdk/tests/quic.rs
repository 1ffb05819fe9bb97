//! Programs that come over QUIC: what they see, whom they trust, and how they move on.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use nimbus_runtime::access::{Access, Secret};
use nimbus_runtime::certs::{CertFiles, CertsRequest, make_certs};
use nimbus_runtime::mesh::{ProcessName, Role};
use nimbus_runtime::{Clock, GatewayAt, QuicCertificate, QuicConfig, QuicPort, Web};
use nimbus_sdk::{
    AskError, ClientRole, ConnectError, Connection, Event, Fingerprint, Options, Pose, Shape, Spawn, Trust, Vec3, Watch,
};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use support::{HOST, World, bodies, moved, until};

/// The address of a gateway for programs, and the certificate that it has.
fn door(web: &Web) -> (String, Fingerprint) {
    let door = web.quic().expect("it takes QUIC");
    (format!("quic://{}", door.address), door.sha256.parse().unwrap())
}

fn trusting(pins: &[Fingerprint]) -> Options {
    Options { trust: Trust::Pinned(pins.to_vec()), ..Options::default() }
}

fn get(web: &Web, path: &str) -> String {
    let mut stream = TcpStream::connect(web.address()).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn refusal(world: &World, address: &str, options: Options) -> ConnectError {
    world.run("an error", Connection::connect(address, options)).err().expect("no connection")
}

#[test]
fn over_quic_a_program_sees_throws_and_asks() {
    let world = World::start("crossing", 2);
    let (web, _) = world.gateway(0, Access::Open);
    let (address, pin) = door(&web);
    assert_eq!(web.quic().unwrap().address, web.address(), "both ports have one number");
    let connection = world.connect(&address, trusting(&[pin]));
    assert_eq!(connection.gateway(), address);
    world.run("every body", bodies(&connection, world.bodies));
    world.run("a hand-over", until(&connection, |event| matches!(event, Event::HandedOver { .. })));

    let place = Vec3::new(1.0, 3.0, 1.0);
    let ball = Spawn::new(Shape::ball(0.3), place, Vec3::ZERO);
    let nid = world.run("a ball", connection.spawn(ball)).unwrap();
    world.run("every body and the ball", bodies(&connection, world.bodies + 1));
    let everywhere = world.run("an overlap", connection.overlap(Shape::ball(90.0), Pose::at(place))).unwrap();
    assert!(everywhere.bodies.contains(&nid), "{everywhere:?}");
    assert_eq!(world.run("an answer", connection.inspect(nid)).unwrap().nid, nid);

    let told = get(&web, "/api/quic");
    assert!(told.contains(&format!("\"port\":{}", web.address().port())) && told.contains(&pin.to_string()), "{told}");
    let metrics = get(&web, "/metrics");
    assert!(metrics.contains("\nnimbus_gateway_quic_clients 1\n"), "{metrics}");
    world.run("the goodbye", connection.close());
    world.run("that it is noticed", async {
        while !get(&web, "/metrics").contains("\nnimbus_gateway_quic_clients 0\n") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    world.stop();
    web.stop();
}

#[test]
fn over_quic_a_program_watches_a_packed_part_of_the_world() {
    let world = World::start("crossing", 2);
    let (web, _) = world.gateway(0, Access::Open);
    let (address, pin) = door(&web);
    let connection = world.connect(&address, Options { only_watched: true, ..trusting(&[pin]) });
    std::thread::park_timeout(Duration::from_millis(300));
    assert_eq!(connection.look(|client| client.len()), 0, "nothing is watched yet");
    let watch = Watch { packed: true, hz: 60, ..Watch::around(Vec3::new(0.0, 3.0, 0.0), 500.0) };
    assert_eq!(world.run("a view", connection.watch(watch)), Ok(()));
    world.run("every body", bodies(&connection, world.bodies));
    world.run("motion", async {
        let places = || connection.look(|client| client.bodies().map(|body| body.pose.position).collect::<Vec<_>>());
        let before = places();
        let moved = |now: &[Vec3]| now.iter().zip(&before).filter(|(a, b)| a.distance(**b) > 0.5).count();
        while moved(&places()) < 3 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    drop(connection);
    world.stop();
    web.stop();
}

#[test]
fn over_quic_tokens_decide_and_a_ticket_brings_a_program_to_another_gateway() {
    let world = World::start("tower", 1);
    let secret = Secret::new(b"not a secret, but of sufficient length").unwrap();
    // Nothing but the first address is known to the program; the gateway tells where the other one is.
    let listening = [(); 2].map(|()| Web::listen(HOST, 0).unwrap());
    let all: Vec<GatewayAt> = listening
        .iter()
        .map(|listening| GatewayAt { http: listening.address(), quic: listening.quic().map(|door| door.address) })
        .collect();
    let [first, second] = listening.map(|listening| {
        listening.serve_among(world.cluster.handle(), Access::guarded(secret.clone(), None), all.clone())
    });
    let ((one, pin_one), (two, pin_two)) = (door(&first), door(&second));
    let with = |token: Option<&str>| Options { token: token.map(str::to_owned), ..trusting(&[pin_one, pin_two]) };

    let stranger = refusal(&world, &one, with(None));
    assert!(matches!(&stranger, ConnectError::Refused { status: 401, reason, .. } if reason.contains("token")));
    let forged = refusal(&world, &one, with(Some("v1.admin.1.2.3")));
    assert!(matches!(&forged, ConnectError::Refused { status: 403, reason, .. } if reason.contains("not valid")));

    let token = secret.issue(ClientRole::Builder, Duration::from_secs(60), Clock::unix_us() / 1_000_000).unwrap();
    let connection = world.connect(&one, with(Some(&token)));
    world.run("every body", bodies(&connection, world.bodies));
    let again = refusal(&world, &one, with(Some(&token)));
    assert!(matches!(&again, ConnectError::Refused { status: 403, reason, .. } if reason.contains("used before")));

    first.stop();
    let lost = world.run("the loss", until(&connection, |event| matches!(event, Event::Lost { .. })));
    assert!(matches!(&lost, Event::Lost { reason } if reason.contains("shutting down")), "{lost:?}");
    let back = world.run("the other gateway", moved(&connection));
    assert!(matches!(back, Event::Connected { role: ClientRole::Builder, .. }), "{back:?}");
    assert_eq!(connection.gateway(), two);
    world.run("every body again", bodies(&connection, world.bodies));
    let refused = world.run("a refusal", connection.pause(true)).unwrap_err();
    assert!(matches!(&refused, AskError::Refused(reason) if reason.contains("admin")), "{refused}");

    drop(connection);
    world.stop();
    second.stop();
}

#[test]
fn a_world_that_ends_says_so_over_quic() {
    let world = World::start("tower", 1);
    let (web, _) = world.gateway(0, Access::Open);
    let (address, pin) = door(&web);
    let connection = world.connect(&address, trusting(&[pin]));
    let World { cluster, runtime, .. } = world;
    cluster.stop().unwrap();
    let lost = runtime.block_on(until(&connection, |event| matches!(event, Event::Lost { .. })));
    assert!(matches!(&lost, Event::Lost { reason } if reason.contains("shutting down")), "{lost:?}");
    drop(connection);
    web.stop();
}

#[test]
fn who_is_not_trusted_is_left_and_the_error_says_what_to_set() {
    let world = World::start("tower", 1);
    let (web, _) = world.gateway(0, Access::Open);
    let (address, pin) = door(&web);
    let wrong = Fingerprint([7; 32]);
    for options in [Options::default(), trusting(&[wrong]), trusting(&[])] {
        let error = refusal(&world, &address, options);
        assert!(matches!(error, ConnectError::Untrusted { .. }), "{error}");
        assert!(error.to_string().contains("Options::trust"), "{error}");
    }
    let error = refusal(&world, &address, Options { trust: Trust::Ca("no PEM".into()), ..Options::default() });
    assert!(matches!(error, ConnectError::Untrusted { .. }), "{error}");
    // By name there are several places to try, of which only one answers.
    let named = address.replace("127.0.0.1", "localhost");
    for options in [trusting(&[wrong, pin]), Options { trust: Trust::InsecureAnything, ..Options::default() }] {
        drop(world.connect(&named, options));
    }
    world.stop();
    web.stop();
}

#[test]
fn the_certificate_of_a_cluster_is_trusted_by_its_ca() {
    let dir = std::env::temp_dir().join(format!("nimbus-sdk-quic-{}", std::process::id()));
    let name = ProcessName::new("gateway-0").unwrap();
    let request = CertsRequest { processes: vec![(name.clone(), Role::Gateway)], hosts: vec!["127.0.0.1".to_owned()] };
    make_certs(&dir, &request).unwrap();
    let certificate = Some(QuicCertificate::load(&dir, &name).unwrap());
    let ca = std::fs::read_to_string(CertFiles::new(&dir).ca()).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();

    let world = World::start("tower", 1);
    let quic = QuicConfig { port: QuicPort::At(0), certificate };
    let web = Web::listen_with(HOST, 0, quic).unwrap().serve(world.cluster.handle(), Access::Open);
    let (address, _) = door(&web);
    let trust = Trust::Ca(ca);
    let connection = world.connect(&address, Options { trust: trust.clone(), ..Options::default() });
    world.run("every body", bodies(&connection, world.bodies));
    drop(connection);
    let named = address.replace("127.0.0.1", "localhost");
    let error = refusal(&world, &named, Options { trust, ..Options::default() });
    assert!(matches!(error, ConnectError::Untrusted { .. }), "the certificate is for another name: {error}");
    world.stop();
    web.stop();
}

#[test]
fn a_gateway_without_quic_has_no_door() {
    let world = World::start("tower", 1);
    let quic = QuicConfig { port: QuicPort::Off, certificate: None };
    let web = Web::listen_with(HOST, 0, quic).unwrap().serve(world.cluster.handle(), Access::Open);
    assert_eq!(web.quic(), None);
    assert!(get(&web, "/api/quic").starts_with("HTTP/1.1 404"));
    let address = format!("quic://{}", web.address());
    let attempt = Duration::from_millis(500);
    let error = refusal(&world, &address, Options { attempt, trust: Trust::InsecureAnything, ..Options::default() });
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    world.stop();
    web.stop();
}
