//! More connections than files that say nothing, and whoever comes after them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use nimbus_runtime::access::Access;
use nimbus_runtime::{Clock, EmbeddedCluster, EmbeddedConfig, Web};
use nimbus_scenes::SceneParams;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;
use tungstenite::Message;

const PATIENCE: Duration = Duration::from_secs(20);
const SILENT: usize = 300;
/// Fewer than both ends of so many connections.
const FILES: u64 = 512;

fn connect(address: SocketAddr, said: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(said.as_bytes()).unwrap();
    stream
}

#[test]
fn silent_connections_shut_nobody_out_and_do_not_last() {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, FILES.min(hard), hard).unwrap();
    let world = nimbus_scenes::build("tower", &SceneParams::on(1)).unwrap();
    let cluster = EmbeddedCluster::start(EmbeddedConfig::new(world)).unwrap();
    let web = Web::listen(IpAddr::from([127, 0, 0, 1]), 0).unwrap().serve(cluster.handle(), Access::Open);
    let address = web.address();

    let clock = Clock::start();
    // The oldest of all, but a client: it does not have to make room.
    let (mut client, _) = tungstenite::client(format!("ws://{address}/ws"), connect(address, "")).unwrap();
    let mut silent: Vec<TcpStream> = (0..SILENT).map(|_| connect(address, "")).collect();
    silent.push(connect(address, "GET / HTTP/1.1\r\nX: a"));
    let mut health = String::new();
    let mut asking = connect(address, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    asking.read_to_string(&mut health).unwrap();
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    for (i, stream) in silent.iter_mut().enumerate() {
        let read = stream.read(&mut [0; 64]);
        let ended = match &read {
            Ok(bytes) => *bytes == 0,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        };
        assert!(ended && clock.now() < PATIENCE, "{i}: {read:?}");
    }
    client.send(Message::text(r#"{"type":"pause","seq":7,"paused":true}"#)).unwrap();
    while !matches!(client.read().unwrap(), Message::Text(text) if text.contains(r#""done""#)) {}
    drop(client);
    cluster.stop().unwrap();
    web.stop();
}
