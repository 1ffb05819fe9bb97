//! The door for native clients, byte by byte: good hellos, bad ones, and clients that do not behave.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use nimbus_model::{Aabb, BodyDesc, Pose, Shape, Vec3, Velocity, World};
use nimbus_runtime::access::{Access, Secret};
use nimbus_runtime::certs::{CertFiles, CertsRequest, make_certs};
use nimbus_runtime::mesh::{ProcessName, Role};
use nimbus_runtime::{
    EmbeddedCluster, EmbeddedConfig, GatewayAt, QuicCertificate, QuicConfig, QuicPort, STANDSTILL_MAX, Web,
};
use nimbus_scenes::SceneParams;
use nimbus_wire::client::{
    CLIENT_ALPN, CLIENT_GOODBYE, CLIENT_PROTOCOL, ClientHello, ClientRole, FrameKind, Framed, Framer,
};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, ConnectionError, Endpoint, RecvStream, SendStream, TransportConfig, VarInt};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::Value;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::runtime::Runtime;

const HOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Long enough for a loaded machine; nothing waits that long when all is well.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes that a client takes before it reads.
const WINDOW: u32 = 64 << 10;

/// A world behind a door whose certificate is known.
struct Stage {
    cluster: EmbeddedCluster,
    web: Web,
    ca: CertificateDer<'static>,
    runtime: Runtime,
}

impl Stage {
    fn tower() -> Stage {
        Stage::start(nimbus_scenes::build("tower", &SceneParams::on(1)).unwrap())
    }

    fn start(world: World) -> Stage {
        Stage::among(world, Access::Open, Vec::new())
    }

    /// One of several gateways, perhaps, that may ask for tokens.
    fn among(world: World, access: Access, gateways: Vec<GatewayAt>) -> Stage {
        static STAGES: AtomicU32 = AtomicU32::new(0);
        let number = STAGES.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("nimbus-quic-{}-{number}", std::process::id()));
        let name = ProcessName::new("gateway-0").unwrap();
        let request = CertsRequest { processes: vec![(name.clone(), Role::Gateway)], hosts: vec![HOST.to_string()] };
        make_certs(&dir, &request).unwrap();
        let certificate = Some(QuicCertificate::load(&dir, &name).unwrap());
        let ca = CertificateDer::from_pem_file(CertFiles::new(&dir).ca()).unwrap();
        std::fs::remove_dir_all(&dir).unwrap();

        let cluster = EmbeddedCluster::start(EmbeddedConfig::new(world)).unwrap();
        let listening = Web::listen_with(HOST, 0, QuicConfig { port: QuicPort::Beside, certificate }).unwrap();
        let web = listening.serve_among(cluster.handle(), access, gateways);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Stage { cluster, web, ca, runtime }
    }

    fn run<T>(&self, what: &str, future: impl Future<Output = T>) -> T {
        let limited = async { tokio::time::timeout(PATIENCE, future).await };
        self.runtime.block_on(limited).unwrap_or_else(|_| panic!("waited in vain for: {what}"))
    }

    /// Connects, and says nothing yet.
    fn dial(&self, alpn: &[u8]) -> Result<Client, ConnectionError> {
        self.dial_with(alpn, WINDOW)
    }

    /// The same, with a say in how many bytes are taken before any is read.
    fn dial_with(&self, alpn: &[u8], window: u32) -> Result<Client, ConnectionError> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.ca.clone()).unwrap();
        let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![alpn.to_vec()];
        let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
        let mut transport = TransportConfig::default();
        transport.stream_receive_window(VarInt::from_u32(window)).keep_alive_interval(Some(Duration::from_secs(1)));
        config.transport_config(Arc::new(transport));
        let address = self.web.quic().unwrap().address;
        self.run("a connection", async {
            let endpoint = Endpoint::client(SocketAddr::new(HOST, 0)).unwrap();
            let connection = endpoint.connect_with(config, address, &HOST.to_string()).unwrap().await?;
            let (send, recv) = connection.open_bi().await?;
            Ok(Client { endpoint, connection, send, recv, framer: Framer::default() })
        })
    }

    /// Connects, sends these bytes, and waits until it is told to go: with what code, and why.
    fn sent_away(&self, bytes: &[u8]) -> (u64, String) {
        let mut client = self.dial(CLIENT_ALPN).unwrap();
        self.run("a refusal", async {
            client.send.write_all(bytes).await.unwrap();
            client.ended().await
        })
    }

    /// A client that is let in.
    fn guest(&self) -> Client {
        let mut client = self.dial(CLIENT_ALPN).unwrap();
        self.run("a welcome", async {
            let hello = ClientHello { watches: false, token: None };
            client.send.write_all(&FrameKind::Hello.frame(&hello.encode())).await.unwrap();
            assert_eq!(client.next().await, (FrameKind::Hello, CLIENT_PROTOCOL.to_le_bytes().to_vec()));
        });
        client
    }

    fn stop(self) {
        self.cluster.stop().unwrap();
        self.web.stop();
    }
}

struct Client {
    endpoint: Endpoint,
    connection: Connection,
    send: SendStream,
    recv: RecvStream,
    framer: Framer,
}

impl Client {
    async fn next(&mut self) -> (FrameKind, Vec<u8>) {
        loop {
            match self.framer.next(64 << 20).unwrap() {
                Some(Framed::Hello(bytes)) => return (FrameKind::Hello, bytes.to_vec()),
                Some(Framed::Text(text)) => return (FrameKind::Text, text.as_bytes().to_vec()),
                Some(Framed::Binary(bytes)) => return (FrameKind::Binary, bytes.to_vec()),
                None => {}
            }
            let chunk = self.recv.read_chunk(64 << 10, true).await.unwrap().expect("more");
            self.framer.push(&chunk.bytes);
        }
    }

    /// The next message of a type.
    async fn text(&mut self, kind: &str) -> Value {
        loop {
            if let (FrameKind::Text, text) = self.next().await {
                let message: Value = serde_json::from_slice(&text).unwrap();
                if message["type"] == kind {
                    return message;
                }
            }
        }
    }

    /// How the gateway ends it.
    async fn ended(&self) -> (u64, String) {
        match self.connection.closed().await {
            ConnectionError::ApplicationClosed(close) => {
                (close.error_code.into_inner(), String::from_utf8(close.reason.to_vec()).unwrap())
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_client_written_from_the_protocol_page_is_served() {
    let stage = Stage::tower();
    let mut client = stage.guest();
    stage.run("an answer", async {
        assert_eq!(client.text("welcome").await["protocol"], CLIENT_PROTOCOL);
        assert_eq!(client.text("world").await["name"], "tower");
        let (half, rest) = (br#"{"type":"pause","seq":7,"#, br#""paused":true}"#);
        let bytes = FrameKind::Text.frame(&[half.as_slice(), rest].concat());
        // In pieces, as a network delivers them.
        for piece in bytes.chunks(3) {
            client.send.write_all(piece).await.unwrap();
        }
        assert_eq!(client.text("done").await["seq"], 7);
        // Bytes mean nothing yet, and are answered as over a WebSocket.
        client.send.write_all(&FrameKind::Binary.frame(&[1, 2, 3])).await.unwrap();
        client.text("refused").await;
        client.send.finish().unwrap();
    });
    // Who ends its stream has gone.
    assert_eq!(stage.run("the end", client.ended()), (0, String::new()));
    stage.stop();
}

#[test]
fn who_says_no_proper_hello_is_told_why() {
    let stage = Stage::tower();
    let frame = |kind: FrameKind, message: &[u8]| kind.frame(message);
    let (status, reason) = stage.sent_away(&frame(FrameKind::Hello, &[9, 0, 0, 0, 0]));
    assert_eq!(status, 426, "{reason}");
    assert!(reason.contains("version 9") && reason.contains(&format!("version {CLIENT_PROTOCOL}")), "{reason}");
    let (status, reason) = stage.sent_away(&frame(FrameKind::Hello, &[1, 0, 0]));
    assert!(status == 400 && reason.contains("no hello"), "{status} {reason}");
    let (status, reason) = stage.sent_away(&frame(FrameKind::Text, b"{}"));
    assert!(status == 400 && reason.contains("no hello"), "{status} {reason}");
    let (status, reason) = stage.sent_away(&frame(FrameKind::Hello, &[1; 2_000]));
    assert!(status == 400 && reason.contains("too long"), "{status} {reason}");
    let (status, reason) = stage.sent_away(b"GET / HTTP/1.1\r\n\r\n");
    assert!(status == 400 && reason.contains("no kind of message"), "{status} {reason}");
    // One that says half of it is not waited for.
    let (status, reason) = stage.sent_away(&frame(FrameKind::Hello, &[1, 0, 0, 0, 0])[..4]);
    assert!(status == 408 && reason.contains("in time"), "{status} {reason}");
    // Nor is one of another kind heard at all.
    assert!(stage.dial(b"nimbus").is_err(), "the mesh is elsewhere");
    stage.stop();
}

#[test]
fn a_guest_that_does_not_behave_is_told_why_it_has_to_go() {
    let stage = Stage::tower();
    let hello = ClientHello { watches: false, token: None }.encode();
    let cases: [(Vec<u8>, &str); 4] = [
        (FrameKind::Text.head(&[0; (64 << 10) + 1]).to_vec(), "too long"),
        (vec![0xff; 64], "no kind of message"),
        (FrameKind::Text.frame(&[0xff, 0xfe]), "UTF-8"),
        (FrameKind::Hello.frame(&hello), "once"),
    ];
    for (bytes, why) in cases {
        let mut client = stage.guest();
        let (code, reason) = stage.run("a goodbye", async {
            client.send.write_all(&bytes).await.unwrap();
            client.ended().await
        });
        assert!(code == 1008 && reason.contains(why), "{code} {reason}");
    }
    // Nobody else has to suffer for it.
    let mut client = stage.guest();
    stage.run("a welcome", client.text("welcome"));
    drop(client);
    stage.stop();
}

#[test]
fn a_guest_whose_address_changes_stays() {
    let stage = Stage::tower();
    let mut client = stage.guest();
    stage.run("an answer at another address", async {
        client.text("welcome").await;
        client.endpoint.rebind(UdpSocket::bind((HOST, 0)).unwrap()).unwrap();
        let pause = br#"{"type":"pause","seq":3,"paused":true}"#;
        client.send.write_all(&FrameKind::Text.frame(pause)).await.unwrap();
        assert_eq!(client.text("done").await["seq"], 3);
    });
    drop(client);
    stage.stop();
}

#[test]
fn a_guest_that_does_not_read_is_let_go_and_hears_why() {
    // Many bodies that fly side by side for ever: states that never end, for little work.
    let mut world = World::new("flock");
    world.gravity = Vec3::ZERO;
    world.kill_box = Aabb::around(Vec3::ZERO, Vec3::splat(1_000.0));
    let ball = Arc::new(BodyDesc { can_sleep: false, ..BodyDesc::dynamic(Shape::ball(0.2)) });
    for i in 0..3_000 {
        let place = Vec3::new((i % 60) as f32, 0.0, (i / 60) as f32);
        world.add_shared(&ball, Pose::at(place), Velocity::linear(Vec3::Y));
    }
    let stage = Stage::start(world);
    let (idle, mut busy) = (stage.guest(), stage.guest());
    let (code, reason) = stage.run("a goodbye", idle.ended_while(&mut busy));
    assert!(code == 1008 && reason.contains("too slowly"), "{code} {reason}");
    // Who reads stays.
    stage.run("more", busy.next());
    drop(busy);
    stage.stop();
}

#[test]
fn a_guest_with_room_for_nothing_but_its_welcome_is_let_go_and_hears_why() {
    let tower = || nimbus_scenes::build("tower", &SceneParams::on(1)).unwrap();
    let at = |port| GatewayAt { http: SocketAddr::new(HOST, port), quic: Some(SocketAddr::new(HOST, port)) };
    let secret = Secret::new(b"not a secret, but of sufficient length").unwrap();
    // Each has something to say first that does not wait in the queue: where the gateways are, and a ticket.
    let stages = [
        Stage::among(tower(), Access::Open, vec![at(1), at(2)]),
        Stage::among(tower(), Access::guarded(secret, Some(ClientRole::Viewer)), Vec::new()),
    ];
    let welcome = FrameKind::Hello.frame(&CLIENT_PROTOCOL.to_le_bytes()).len();
    let guests = stages.each_ref().map(|stage| {
        let mut client = stage.dial_with(CLIENT_ALPN, welcome as u32).unwrap();
        let hello = ClientHello { watches: false, token: None };
        stage.run("a hello", client.send.write_all(&FrameKind::Hello.frame(&hello.encode()))).unwrap();
        client
    });
    // They wait at the same time.
    let limit = STANDSTILL_MAX + Duration::from_secs(10);
    for (stage, client) in stages.iter().zip(&guests) {
        let ended = stage.runtime.block_on(async { tokio::time::timeout(limit, client.ended()).await });
        let (code, reason) = ended.expect("it was never let go");
        assert!(code == u64::from(CLIENT_GOODBYE) && reason.contains("nothing was taken"), "{code} {reason}");
    }
    stages.into_iter().for_each(Stage::stop);
}

impl Client {
    /// How the gateway ends it, while another client reads.
    async fn ended_while(&self, other: &mut Client) -> (u64, String) {
        tokio::select! {
            ended = self.ended() => ended,
            never = async { loop { other.next().await; } } => never,
        }
    }
}
