//! Real worlds behind real sockets: what a program sees, asks and lives through.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use nimbus_runtime::Clock;
use nimbus_runtime::access::{Access, Secret};
use nimbus_sdk::{
    AskError, ClientRole, ConnectError, Connection, Event, Nid, Options, Overlay, Pose, Shape, Spawn, Vec3, Watch,
};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use support::{HOST, World, bodies, moved, until};

fn ball(position: Vec3) -> Spawn {
    Spawn::new(Shape::ball(0.3), position, Vec3::ZERO)
}

#[test]
fn a_program_sees_throws_asks_and_outlives_its_gateway() {
    let world = World::start("crossing", 2);
    let (first, one) = world.gateway(0, Access::Open);
    let (second, two) = world.gateway(0, Access::Open);
    let connection = world.connect(&one, Options { gateways: vec![two.clone()], ..Options::default() });
    assert_eq!((connection.gateway(), connection.is_live()), (one.clone(), true));

    world.run("every body", bodies(&connection, world.bodies));
    let handed = |event: &Event| matches!(event, Event::HandedOver { .. });
    world.run("a hand-over", until(&connection, handed));

    let nid = throw_and_ask(&world, &connection);
    assert_eq!(world.run("overlays", connection.subscribe(&[Overlay::Auras])), Ok(()));

    // The gateway dies; the other one shows the same world.
    first.stop();
    world.run("the loss", until(&connection, |event| matches!(event, Event::Lost { .. })));
    world.run("another gateway", moved(&connection));
    assert_eq!(connection.gateway(), two);
    world.run("every body again", bodies(&connection, world.bodies + 1));
    assert!(connection.body(nid).is_some(), "the ball is the same one");
    assert_eq!(world.run("a push", connection.impulse(nid, Vec3::Y)), Ok(()));
    let auras = async {
        while connection.look(|client| client.auras().count()) == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    world.run("auras: what was chosen is chosen again", auras);

    world.run("the goodbye", connection.close());
    world.stop();
    second.stop();
}

/// Throws a ball, pushes it, looks at it and finds it by every kind of question.
fn throw_and_ask(world: &World, connection: &Connection) -> Nid {
    let place = Vec3::new(1.0, 3.0, 1.0);
    let nid = world.run("a ball", connection.spawn(ball(place))).unwrap();
    world.run("its birth", async {
        while connection.body(nid).is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert_eq!(world.run("a push", connection.impulse(nid, Vec3::Y * 0.1)), Ok(()));
    let card = world.run("a card", connection.inspect(nid)).unwrap();
    assert_eq!(card.nid, nid);

    let refused = world.run("a refusal", connection.despawn(Nid::new(nimbus_model::Origin(999), 1))).unwrap_err();
    assert!(matches!(&refused, AskError::Refused(reason) if !reason.is_empty()), "{refused:?}");

    let ground = world.run("a ray", connection.ray(Vec3::new(0.0, 0.5, 60.0), Vec3::NEG_Y, 10.0)).unwrap();
    assert!(ground.is_none_or(|hit| hit.distance < 10.0));
    let near = world.run("what is nearest", connection.nearest(place, 500.0)).unwrap().expect("some body");
    assert!(connection.body(near.nid).is_some(), "{near:?}");
    let everywhere = world.run("an overlap", connection.overlap(Shape::ball(90.0), Pose::at(place))).unwrap();
    assert!(everywhere.total >= 2 && everywhere.bodies.contains(&nid), "{everywhere:?}");
    let fall = connection.cast(Shape::ball(0.2), Pose::at(place + Vec3::Y * 20.0), Vec3::NEG_Y, 100.0);
    assert!(world.run("a cast", fall).unwrap().is_some());
    nid
}

#[test]
fn motion_is_shown_smoothly_and_a_little_late() {
    let world = World::start("crossing", 2);
    let (web, address) = world.gateway(0, Access::Open);
    let connection = world.connect(&address, Options::default());
    world.run("every body", bodies(&connection, world.bodies));
    let watched = world.run("something in motion", async {
        loop {
            let before = connection.poses_at(connection.now());
            tokio::time::sleep(Duration::from_millis(300)).await;
            let after = connection.poses_at(connection.now());
            let moved = before.iter().zip(&after).find(|(a, b)| {
                let away = a.pose.position.distance(b.pose.position);
                a.body.nid == b.body.nid && (0.3..3.0).contains(&away)
            });
            if let Some((placed, _)) = moved {
                return placed.body.nid;
            }
        }
    });
    // At a frame every few milliseconds nothing may move by more than a fast body does.
    let steps = world.run("a second of frames", async {
        let (mut steps, mut last) = (Vec::new(), None);
        for _ in 0..100 {
            let now = connection.now();
            let Some(pose) = connection.pose_at(watched, now) else { break };
            if let Some((then, place)) = last.replace((now, pose.position)) {
                steps.push((pose.position.distance(place), (now - then).as_secs_f32()));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        steps
    });
    assert!(steps.iter().filter(|(away, _)| *away > 0.0).count() > steps.len() / 2, "{steps:?}");
    let fastest = steps.iter().map(|(away, passed)| away / passed.max(0.005)).fold(0.0, f32::max);
    assert!(fastest < 60.0, "{fastest} m/s: {steps:?}");
    assert!(connection.delay() > Duration::from_millis(10) && connection.delay() <= Duration::from_millis(400));
    drop(connection);
    world.stop();
    web.stop();
}

#[test]
fn with_a_ticket_a_program_comes_back_as_what_it_was() {
    let world = World::start("tower", 1);
    let secret = Secret::new(b"not a secret, but of sufficient length").unwrap();
    let guarded = || Access::guarded(secret.clone(), None);
    let (first, one) = world.gateway(0, guarded());
    let (second, two) = world.gateway(0, guarded());

    let stranger = world.run("a refusal", Connection::connect(&one, Options::default())).err().unwrap();
    assert!(matches!(stranger, ConnectError::Refused { status: 401, .. }), "{stranger}");

    let token = secret.issue(ClientRole::Builder, Duration::from_secs(60), Clock::unix_us() / 1_000_000).unwrap();
    let options = Options { token: Some(token), gateways: vec![two.clone()], ..Options::default() };
    let connection = world.connect(&one, options);
    world.run("every body", bodies(&connection, world.bodies));
    first.stop();
    world.run("the loss", until(&connection, |event| matches!(event, Event::Lost { .. })));
    let back = world.run("the other gateway", moved(&connection));
    assert!(matches!(back, Event::Connected { role: ClientRole::Builder, .. }), "{back:?}");
    assert_eq!(connection.gateway(), two);

    // What a builder may not do is refused; what it may is done.
    world.run("every body again", bodies(&connection, world.bodies));
    let refused = world.run("a refusal", connection.pause(true)).unwrap_err();
    assert!(matches!(&refused, AskError::Refused(reason) if reason.contains("admin")), "{refused}");
    let nid = world.run("a ball", connection.spawn(ball(Vec3::new(3.0, 9.0, 3.0)))).unwrap();
    assert_eq!(world.run("its end", connection.despawn(nid)), Ok(()));
    world.run("its death", until(&connection, |event| *event == Event::Died { nid }));
    world.stop();
    second.stop();
}

#[test]
fn a_gateway_that_comes_back_is_found_again_and_meanwhile_nothing_hangs() {
    let world = World::start("tower", 1);
    let (web, address) = world.gateway(0, Access::Open);
    let port = web.address().port();
    let connection = world.connect(&address, Options::default());
    world.run("every body", bodies(&connection, world.bodies));
    web.stop();
    world.run("the loss", until(&connection, |event| matches!(event, Event::Lost { .. })));
    assert!(!connection.is_live());
    assert_eq!(world.run("a push", connection.reset()), Err(AskError::Lost));
    assert_eq!(connection.poses_at(connection.now()).len(), world.bodies, "what was seen last is kept");
    let (web, _) = world.gateway(port, Access::Open);
    world.run("the same gateway", moved(&connection));
    world.run("every body again", bodies(&connection, world.bodies));
    world.stop();
    web.stop();
}

#[test]
fn who_watches_a_corner_is_told_of_nothing_else_at_the_next_gateway() {
    let world = World::start("crossing", 2);
    let (first, one) = world.gateway(0, Access::Open);
    let (second, two) = world.gateway(0, Access::Open);
    let connection = world.connect(&one, Options { gateways: vec![two], ..Options::default() });
    world.run("every body", bodies(&connection, world.bodies));

    // The corner that has the body farthest from all others.
    let places = connection.look(|client| client.bodies().map(|body| body.pose.position).collect::<Vec<_>>());
    let middle = places.iter().sum::<Vec3>() / places.len() as f32;
    let eye = places.iter().copied().max_by(|a, b| a.distance(middle).total_cmp(&b.distance(middle))).unwrap();
    let range = eye.distance(middle) / 2.0;
    assert_eq!(world.run("a view", connection.watch(Watch::around(eye, range))), Ok(()));
    world.run("that others leave", until(&connection, |event| matches!(event, Event::OutOfSight { .. })));

    first.stop();
    world.run("the other gateway", moved(&connection));
    let watched = async {
        let mut born = Vec::new();
        let all = until(&connection, |event| {
            if let Event::Born { nid } = event {
                let place = connection.body(*nid).map(|body| body.pose.position);
                born.push(place.map_or(0.0, |place| place.distance(eye)));
            }
            false
        });
        _ = tokio::time::timeout(Duration::from_secs(2), all).await;
        born
    };
    let born = world.run("what is in the corner", watched);
    assert!(!born.is_empty() && born.len() < world.bodies, "{} of {} bodies", born.len(), world.bodies);
    // What is seen lingers, and has moved since.
    assert!(born.iter().all(|away| *away < range * 1.2 + 5.0), "{born:?} m away, and not {range}");
    drop(connection);
    world.stop();
    second.stop();
}

/// Passes bytes on between a program and a gateway until it is told to freeze: then nothing moves and nothing ends.
struct Relay {
    address: String,
    frozen: Arc<AtomicBool>,
}

impl Relay {
    fn to(gateway: SocketAddr) -> Relay {
        let listener = TcpListener::bind((HOST, 0)).unwrap();
        let address = format!("ws://{}/ws", listener.local_addr().unwrap());
        let frozen = Arc::new(AtomicBool::new(false));
        let is_frozen = frozen.clone();
        spawn(move || {
            let program = listener.accept().unwrap().0;
            let gateway = TcpStream::connect(gateway).unwrap();
            let (back, there) = (gateway.try_clone().unwrap(), program.try_clone().unwrap());
            let is_frozen_too = is_frozen.clone();
            spawn(move || pass_on(program, gateway, &is_frozen));
            spawn(move || pass_on(back, there, &is_frozen_too));
        });
        Relay { address, frozen }
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, frozen: &AtomicBool) {
    let mut bytes = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        while frozen.load(Ordering::Relaxed) {
            std::thread::park_timeout(Duration::from_millis(50));
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().spawn(work).unwrap();
}

#[test]
fn a_gateway_that_says_nothing_any_more_is_left() {
    let world = World::start("tower", 1);
    let (web, direct) = world.gateway(0, Access::Open);
    let relay = Relay::to(web.address());
    let silence = Duration::from_millis(1500);
    let options = Options { gateways: vec![direct.clone()], silence, ..Options::default() };
    let connection = world.connect(&relay.address, options);
    assert_eq!(connection.gateway(), relay.address);
    world.run("every body", bodies(&connection, world.bodies));
    relay.frozen.store(true, Ordering::Relaxed);
    let lost = world.run("the loss", until(&connection, |event| matches!(event, Event::Lost { .. })));
    assert!(matches!(&lost, Event::Lost { reason } if reason.contains("no word")), "{lost:?}");
    world.run("the other way", moved(&connection));
    assert_eq!(connection.gateway(), direct);
    drop(connection);
    relay.frozen.store(false, Ordering::Relaxed);
    world.stop();
    web.stop();
}

#[test]
fn who_cannot_connect_is_told_why() {
    let world = World::start("tower", 1);
    let (web, good) = world.gateway(0, Access::Open);
    // A port that was free a moment ago.
    let nobody = TcpListener::bind((HOST, 0)).unwrap().local_addr().unwrap();
    let dead = format!("ws://{nobody}/ws");
    let error = world.run("an error", Connection::connect(&dead, Options::default())).err().unwrap();
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    let error = world.run("an error", Connection::connect("http://x", Options::default())).err().unwrap();
    assert!(error.to_string().contains("ws://"), "{error}");
    let connection = world.connect(&dead, Options { gateways: vec![good.clone()], ..Options::default() });
    assert_eq!(connection.gateway(), good, "the next of the list");
    drop(connection);
    world.stop();
    web.stop();
}
