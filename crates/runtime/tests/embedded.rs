//! A whole world in one process, seen through its web server by real clients.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use nimbus_client::{Client, Hits, Query, QueryAnswer, QueryFilter};
use nimbus_model::{Aabb, Nid, Pose, RegionBox, RegionId, Shape, Tick, Vec3};
use nimbus_runtime::access::Access;
use nimbus_runtime::{Clock, EmbeddedCluster, EmbeddedConfig, RunEnd, Scenes, Web};
use nimbus_scenes::SceneParams;
use nimbus_wire::client::{SceneInfo, Spawn, StaticSpawn, WorldStats};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use tungstenite::{Message, WebSocket};

/// Long enough for a loaded machine; nothing waits that long when all is well.
const PATIENCE: Duration = Duration::from_secs(20);

/// A scene without the bodies that it adds later, so that bodies can be counted.
fn build(scene: &str, servers: u16) -> Result<nimbus_model::World, String> {
    let world = nimbus_scenes::build(scene, &SceneParams::on(servers)).map_err(|error| error.to_string())?;
    Ok(nimbus_model::World { injections: Vec::new(), ..world })
}

struct World {
    cluster: EmbeddedCluster,
    web: Web,
}

impl World {
    fn start(scene: &str, servers: u16) -> World {
        World::start_with(scene, servers, false)
    }

    fn start_with(scene: &str, servers: u16, durable: bool) -> World {
        let world = build(scene, servers).unwrap();
        let list = nimbus_scenes::all().iter();
        let list = list.map(|scene| SceneInfo { name: scene.name.to_owned(), about: scene.about.to_owned() }).collect();
        let scenes = Scenes { list, build: Arc::new(build) };
        let config = EmbeddedConfig { servers, scenes, durable, ..EmbeddedConfig::new(world) };
        let cluster = EmbeddedCluster::start(config).unwrap();
        let web = Web::listen(IpAddr::from([127, 0, 0, 1]), 0).unwrap().serve(cluster.handle(), Access::Open);
        World { cluster, web }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.web.address()).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn stats(&self) -> WorldStats {
        let answer = self.get("/api/world");
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }

    fn wait(&self, what: &str, holds: impl Fn(&WorldStats) -> bool) -> WorldStats {
        let clock = Clock::start();
        loop {
            let stats = self.stats();
            if holds(&stats) {
                return stats;
            }
            assert!(clock.now() < PATIENCE, "waited in vain for: {what}; {stats:?}");
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    fn stop(self) -> RunEnd {
        let clock = Clock::start();
        let end = self.cluster.stop().unwrap();
        self.web.stop();
        assert!(clock.now() < Duration::from_secs(2), "ending took {:?}", clock.now());
        assert_eq!(end.died, []);
        end
    }
}

struct Viewer {
    socket: WebSocket<TcpStream>,
    client: Client,
    goodbye: Option<String>,
}

impl Viewer {
    fn connect(address: SocketAddr) -> Viewer {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let url = format!("ws://{address}/ws");
        let mut attempt = tungstenite::client(url, stream);
        let socket = loop {
            match attempt {
                Ok((socket, _)) => break socket,
                Err(tungstenite::HandshakeError::Interrupted(unfinished)) => attempt = unfinished.handshake(),
                Err(error) => panic!("{error}"),
            }
        };
        Viewer { socket, client: Client::new(), goodbye: None }
    }

    /// Reads until something holds; false when the connection ends or nothing comes of it.
    fn until(&mut self, holds: impl Fn(&Client) -> bool) -> bool {
        let clock = Clock::start();
        while !holds(&self.client) {
            if clock.now() > PATIENCE {
                return false;
            }
            match self.socket.read() {
                Ok(Message::Text(text)) => self.client.handle_text(&text),
                Ok(Message::Binary(bytes)) => self.client.handle_binary(&bytes),
                Ok(Message::Close(frame)) => {
                    self.goodbye = Some(frame.map(|frame| frame.reason.to_string()).unwrap_or_default());
                }
                Ok(_) => {}
                Err(tungstenite::Error::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => {
                    self.goodbye.get_or_insert_default();
                    return false;
                }
            }
        }
        true
    }

    fn send(&mut self, text: String) {
        self.socket.send(Message::text(text)).unwrap();
    }

    /// Sends a command and waits for its answer.
    fn ask(&mut self, command: impl FnOnce(&mut Client) -> String) -> Result<Option<Nid>, String> {
        let text = command(&mut self.client);
        let seq = self.client.last_seq();
        self.send(text);
        let clock = Clock::start();
        let mut answers = Vec::new();
        loop {
            answers.extend(self.client.take_answers());
            if let Some(answer) = answers.iter().find(|answer| answer.seq == Some(seq)) {
                return answer.outcome.clone();
            }
            assert!(clock.now() < PATIENCE, "no answer");
            let before = self.client.tick();
            self.until(|client| client.tick() != before || client.clock().is_some_and(|(paused, _)| paused));
            if self.client.clock().is_some_and(|(paused, _)| paused) {
                self.read_once();
            }
        }
    }

    fn read_once(&mut self) {
        match self.socket.read() {
            Ok(Message::Text(text)) => self.client.handle_text(&text),
            Ok(Message::Binary(bytes)) => self.client.handle_binary(&bytes),
            _ => {}
        }
    }
}

fn ball(position: Vec3) -> Spawn {
    Spawn { restitution: 0.1, ..Spawn::new(Shape::ball(0.3), position, Vec3::ZERO) }
}

#[test]
fn clients_see_and_change_a_world_on_two_servers() {
    let world = World::start("crossing", 2);
    let bodies = build("crossing", 2).unwrap().owned_bodies().count() as u64;
    let mut viewer = Viewer::connect(world.web.address());
    assert!(viewer.until(|client| client.len() as u64 == bodies), "saw {} of {bodies}", viewer.client.len());
    assert_eq!(viewer.client.world(), Some("crossing"));

    let stats = world.wait("hand-overs", |stats| stats.nodes.iter().any(|node| node.migrations > 0));
    assert_eq!((stats.nodes.len(), stats.era, stats.clients), (2, 1, 1));
    assert!(stats.nodes.iter().all(|node| node.alive && node.step_ms_p99 > 0.0 && node.region.is_some()));

    let nid = viewer.ask(|client| client.spawn(ball(Vec3::new(1.0, 3.0, 1.0)))).unwrap().expect("a body");
    assert!(viewer.until(|client| client.body(nid).is_some()), "the new body is seen");
    assert!(viewer.ask(|client| client.impulse(nid, Vec3::Y)).is_ok());
    // Bodies on their way between the two servers are in neither's figures, so a single look may come at a bad moment.
    let owned = |stats: &WorldStats| stats.nodes.iter().map(|node| node.bodies).sum::<u64>();
    world.wait("one body more", |stats| stats.bodies == bodies + 1 && owned(stats) == bodies + 1);

    let mut rude = Viewer::connect(world.web.address());
    assert!(rude.until(|client| client.id().is_some()));
    rude.send("{\"type\": \"spawn\", \"seq\": 7, \"shape\": 12}".to_owned());
    rude.send("not even JSON".to_owned());
    let clock = Clock::start();
    let mut refusals = Vec::new();
    while refusals.len() < 2 && clock.now() < PATIENCE {
        rude.read_once();
        refusals.extend(rude.client.take_answers());
    }
    assert!(refusals.iter().all(|answer| answer.outcome.is_err()) && refusals.len() == 2, "{refusals:?}");
    rude.send("x".repeat(70 << 10));
    assert!(!rude.until(|_| false) && rude.goodbye.is_some(), "a message that is too long ends the connection");
    assert!(viewer.ask(|client| client.impulse(nid, Vec3::Y)).is_ok(), "others are unharmed");

    let refused = viewer.ask(|client| client.scene("crosing")).unwrap_err();
    assert!(refused.contains("did you mean `crossing`"), "{refused}");
    assert_eq!(viewer.ask(Client::reset), Ok(None));
    assert!(viewer.until(|client| client.era() == Some(2) && client.len() as u64 == bodies), "the world begins anew");
    assert!(viewer.client.body(nid).is_none());
    let again = world.wait("the next era", |stats| stats.era == 2 && stats.bodies == bodies);
    assert_eq!(again.scene, "crossing");
    assert_eq!(viewer.ask(|client| client.scene("tower")), Ok(None));
    assert!(viewer.until(|client| client.era() == Some(3)));
    world.wait("the other scene", |stats| stats.scene == "tower" && stats.era == 3 && stats.bodies > 0);

    assert!(world.get("/healthz").ends_with("ok\n"));
    let metrics = world.get("/metrics");
    assert!(
        metrics.contains("nimbus_node_bodies{node=\"1\"}") && metrics.contains("nimbus_gateway_clients"),
        "{metrics}"
    );
    assert!(world.get("/").contains("<!doctype html>") || world.get("/").contains("<!DOCTYPE html>"));
    assert!(world.get("/nothing").starts_with("HTTP/1.1 404"));
    world.stop();
    assert!(!viewer.until(|_| false));
    assert_eq!(viewer.goodbye.as_deref(), Some("the server is shutting down"));
}

#[test]
fn pages_from_elsewhere_are_kept_out() {
    let world = World::start("head-on", 2);
    let connect = |origin: &str| {
        let mut stream = TcpStream::connect(world.web.address()).unwrap();
        write!(
            stream,
            "GET /ws HTTP/1.1\r\nHost: localhost:7777\r\nOrigin: {origin}\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        .unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    };
    assert_eq!(connect("http://localhost:7777"), "HTTP/1.1 101");
    assert_eq!(connect("http://elsewhere.example"), "HTTP/1.1 403");
    world.stop();
}

#[test]
fn no_body_is_lost_or_doubled() {
    let world = World::start("crossing", 2);
    let bodies = build("crossing", 2).unwrap().owned_bodies().count();
    world.wait("many hand-overs", |stats| stats.nodes.iter().map(|node| node.migrations).sum::<u64>() > 10);
    let end = world.stop();
    let owned: usize = end.nodes.iter().map(|node| node.bodies).sum();
    let in_flight: usize = end.nodes.iter().map(|node| node.in_flight).sum();
    assert!(owned <= bodies && owned + in_flight >= bodies, "{owned} owned, {in_flight} on their way, of {bodies}");
}

#[test]
fn a_server_that_is_killed_is_replaced_and_every_body_is_there_once() {
    let world = World::start_with("crossing", 2, true);
    let bodies = build("crossing", 2).unwrap().owned_bodies().count() as u64;
    let mut viewer = Viewer::connect(world.web.address());
    assert!(viewer.until(|client| client.len() as u64 == bodies), "saw {} of {bodies}", viewer.client.len());
    let ids = |client: &Client| -> BTreeSet<Nid> { client.bodies().map(|body| body.nid).collect() };
    let before = ids(&viewer.client);
    let whole = |stats: &WorldStats| {
        stats.bodies == bodies && stats.nodes.iter().map(|node| node.bodies).sum::<u64>() == bodies
    };
    world.wait("hand-overs", |stats| stats.nodes.iter().any(|node| node.migrations > 0));
    assert!(viewer.ask(|client| client.kill(9)).unwrap_err().contains("no server 9"));
    for (server, epoch) in [(0, 2), (1, 2), (0, 3)] {
        let killable = |stats: &WorldStats| stats.nodes.iter().all(|node| node.killable);
        let tick = world.wait("everybody to be protected", killable).tick;
        assert_eq!(viewer.ask(|client| client.kill(server)), Ok(None));
        let at = usize::from(server);
        // On a busy machine its successor may be there before the first look.
        let killed = |stats: &WorldStats| !stats.nodes[at].alive || stats.nodes[at].epoch == epoch;
        let seen = world.wait("it to be dead or replaced", killed);
        assert!(seen.nodes[at].alive || !seen.nodes[at].killable, "a dead server is not killed again");
        let back = |stats: &WorldStats| {
            let node = &stats.nodes[at];
            node.alive && node.epoch == epoch && node.tick > tick + 90 && whole(stats)
        };
        world.wait("it to be back with every body", back);
        assert!(viewer.until(|client| ids(client) == before), "a client sees every body once");
    }
    // A world that is loaded comes to whoever took over, too.
    assert_eq!(viewer.ask(Client::reset), Ok(None));
    world.wait("the next era", |stats| stats.era == 2 && whole(stats));
    assert!(viewer.until(|client| client.era() == Some(2) && client.len() as u64 == bodies));
    world.stop();
}

impl Viewer {
    /// Asks every server for everything there is, after this tick if one is named, and waits for the answer.
    fn ask_for_everything(&mut self, at: Option<Tick>) -> Hits {
        let everything = vec![Query::Overlap { shape: Shape::ball(100.0), pose: Pose::IDENTITY }];
        let text = match at {
            Some(at) => self.client.query_servers_at(at, everything, QueryFilter::default()),
            None => self.client.query_servers(everything, QueryFilter::default()),
        };
        self.send(text);
        let clock = Clock::start();
        loop {
            if let Some(hits) = self.client.take_hits().pop() {
                return hits;
            }
            let refused = self.client.take_answers();
            assert!(refused.is_empty() && clock.now() < PATIENCE, "no answer; {refused:?}");
            self.read_once();
        }
    }
}

#[test]
fn servers_count_every_body_once_while_bodies_change_server_and_when_one_dies() {
    let world = World::start_with("crossing", 3, true);
    let described = build("crossing", 3).unwrap();
    let all = described.bodies.len() as u64;
    let mut viewer = Viewer::connect(world.web.address());
    assert!(viewer.until(|client| client.len() == described.owned_bodies().count()));
    let before = world.wait("hand-overs", |stats| stats.nodes.iter().any(|node| node.migrations > 0));
    for _ in 0..20 {
        let hits = viewer.ask_for_everything(None);
        if hits.missing.as_ref().is_some_and(Vec::is_empty) {
            assert!(
                matches!(&hits.answers[..], [QueryAnswer::Overlap(found)] if found.total == all),
                "{all}: {hits:?}"
            );
        }
    }
    let moved = |stats: &WorldStats| stats.nodes.iter().map(|node| node.migrations).sum::<u64>();
    assert!(moved(&world.stats()) > moved(&before), "bodies changed server meanwhile");

    // The server is dead at the tick asked for. Its successor runs every tick that it missed, and answers for it. A question
    // that reaches a server after that tick is not answered by it, which a busy machine may cause.
    let clock = Clock::start();
    loop {
        world.wait("every server to be protected", |stats| stats.nodes.iter().all(|node| node.killable));
        assert_eq!(viewer.ask(|client| client.kill(1)), Ok(None));
        let at = world.stats().tick + 20;
        let hits = viewer.ask_for_everything(Some(at));
        assert_eq!(hits.tick, at);
        if hits.missing.as_ref().is_some_and(Vec::is_empty) {
            assert!(
                matches!(&hits.answers[..], [QueryAnswer::Overlap(found)] if found.total == all),
                "{all}: {hits:?}"
            );
            break;
        }
        assert!(clock.now() < PATIENCE, "never answered by all servers: {hits:?}");
    }

    assert_eq!(viewer.ask(|client| client.pause(true)), Ok(None));
    let everything = vec![Query::Nearest { position: Vec3::ZERO, max: 9.0 }];
    let refused = viewer.ask(|client| client.query_servers(everything, QueryFilter::default())).unwrap_err();
    assert!(refused.contains("time stands still"), "{refused}");
    let metrics = world.get("/metrics");
    assert!(metrics.contains("nimbus_gateway_asks_total") && metrics.contains("nimbus_node_asks_answered_total"));
    world.stop();
}

#[test]
fn statics_and_regions_are_changed_on_every_server_and_outlive_one_of_them() {
    let world = World::start_with("pendulums", 2, true);
    let mut viewer = Viewer::connect(world.web.address());
    assert!(viewer.until(|client| !client.is_empty() && !client.map().is_empty()));
    let described = viewer.client.statics().len();
    let slab = |x: f32| StaticSpawn::new(Shape::cuboid(3.0, 0.5, 3.0), Pose::at(Vec3::new(x, 30.0, 40.0)));
    let nid = viewer.ask(|client| client.place_static(slab(0.0))).unwrap().expect("a static has an id");
    assert!(viewer.until(|client| client.statics().iter().any(|known| known.nid == nid)), "it is told");
    let rests = |viewer: &mut Viewer, x: f32, what: &str| {
        let ball = viewer.ask(|client| client.spawn(ball(Vec3::new(x, 31.5, 40.0)))).unwrap().expect("a body");
        let lies = |client: &Client| {
            client
                .body(ball)
                .is_some_and(|body| (body.pose.position.y - 30.8).abs() < 0.02 && body.pose.position.x == x)
        };
        assert!(viewer.until(lies), "{what}: {:?}", viewer.client.body(ball));
    };
    rests(&mut viewer, 1.0, "a ball comes to rest on it");

    // Whoever takes over has it, too.
    world.wait("everybody to be protected", |stats| stats.nodes.iter().all(|node| node.killable));
    assert_eq!(viewer.ask(|client| client.kill(1)), Ok(None));
    world.wait("it to be back", |stats| stats.nodes[1].alive && stats.nodes[1].epoch == 2);
    rests(&mut viewer, 2.0, "on the server that took over");

    // Regions drawn anew: the two change places, by boxes that reach to infinity.
    let drawn = |client: &Client, turned: bool| -> Vec<RegionBox> {
        let region = |id: RegionId| if turned { RegionId(1 - id.0) } else { id };
        let boxes = client.map().iter().flat_map(|(id, boxes)| boxes.iter().map(move |bounds| (*id, *bounds)));
        boxes.map(|(id, bounds)| RegionBox { region: region(id), bounds }).collect()
    };
    let before = drawn(&viewer.client, false);
    let turned = drawn(&viewer.client, true);
    assert_eq!(viewer.ask(|client| client.draw_regions(turned.clone(), RegionId(0))), Ok(None));
    let is = |expected: &[RegionBox], client: &Client| {
        let now = drawn(client, false);
        now.len() == expected.len() && expected.iter().all(|one| now.contains(one))
    };
    assert!(viewer.until(|client| is(&turned, client)), "{:?} became {:?}", before, viewer.client.map());
    let lost = vec![RegionBox { region: RegionId(0), bounds: Aabb::EVERYTHING }];
    let refused = viewer.ask(|client| client.draw_regions(lost, RegionId(0))).unwrap_err();
    assert!(refused.contains("no place any more"), "{refused}");
    let narrow = Aabb::new(Vec3::splat(-1.0), Vec3::splat(1.0));
    let mut boxes = vec![RegionBox { region: RegionId(0), bounds: narrow }];
    boxes.extend(drawn(&viewer.client, false));
    let refused = viewer.ask(|client| client.draw_regions(boxes, RegionId(0))).unwrap_err();
    assert!(refused.contains("must be at least"), "{refused}");

    // It goes again, also while time stands still; what the description has stays.
    assert_eq!(viewer.ask(|client| client.pause(true)), Ok(None));
    assert_eq!(viewer.ask(|client| client.despawn(nid)), Ok(Some(nid)));
    assert!(viewer.until(|client| client.statics().len() == described), "it is gone");
    assert!(viewer.ask(|client| client.despawn(nid)).unwrap_err().contains("no static"));
    assert_eq!(viewer.ask(|client| client.pause(false)), Ok(None));
    assert_eq!(viewer.ask(|client| client.place_static(slab(0.0))).map(|nid| nid.is_some()), Ok(true));
    assert_eq!(viewer.ask(Client::reset), Ok(None));
    assert!(viewer.until(|client| client.era() == Some(2) && client.statics().len() == described));
    let far = StaticSpawn::new(Shape::ball(1.0), Pose::at(Vec3::X * 1e6));
    let refused = viewer.ask(|client| client.place_static(far)).unwrap_err();
    assert!(refused.contains("outside the world"), "{refused}");
    world.stop();
}

#[test]
fn servers_are_killed_only_where_that_is_allowed() {
    let world = World::start("head-on", 2);
    let mut viewer = Viewer::connect(world.web.address());
    assert!(viewer.until(|client| !client.is_empty()));
    let refused = viewer.ask(|client| client.kill(0)).unwrap_err();
    assert!(refused.contains("cannot be killed here"), "{refused}");
    assert!(world.stats().nodes.iter().all(|node| node.alive && !node.killable));
    world.stop();
}

#[test]
fn time_stops_steps_and_changes_speed() {
    let world = World::start("head-on", 2);
    let mut viewer = Viewer::connect(world.web.address());
    assert!(viewer.until(|client| !client.is_empty()));
    let refused = viewer.ask(|client| client.step(1)).unwrap_err();
    assert!(refused.contains("pause"), "{refused}");
    assert_eq!(viewer.ask(|client| client.pause(true)), Ok(None));
    let paused = world.wait("a pause", |stats| stats.paused && stats.nodes.iter().all(|node| node.tick == stats.tick));
    std::thread::park_timeout(Duration::from_millis(150));
    assert_eq!(world.stats().tick, paused.tick, "time stands still");

    assert_eq!(viewer.ask(|client| client.step(20)), Ok(None));
    let target = paused.tick + 20;
    let stepped =
        world.wait("20 ticks", |stats| stats.tick == target && stats.nodes.iter().all(|node| node.tick == target));
    assert!(stepped.paused);

    assert_eq!(viewer.ask(Client::reset), Ok(None));
    let reset = world.wait("a reset while paused", |stats| stats.era == 2);
    assert_eq!((reset.tick, reset.paused), (target + 1, true));
    assert!(viewer.until(|client| client.era() == Some(2) && !client.is_empty()));

    assert_eq!(viewer.ask(|client| client.speed(4.0)), Ok(None));
    assert_eq!(viewer.ask(|client| client.pause(false)), Ok(None));
    let running = world.wait("time goes on", |stats| !stats.paused && stats.tick > reset.tick + 60);
    assert_eq!(running.speed, 4.0);
    world.stop();
}
