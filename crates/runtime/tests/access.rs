//! A web server that asks for tokens, and clients that come with good ones, bad ones and none.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::disallowed_methods, reason = "real sockets take real time")]

use nimbus_runtime::access::{Access, Secret};
use nimbus_runtime::{Clock, EmbeddedCluster, EmbeddedConfig, Web};
use nimbus_scenes::SceneParams;
use nimbus_wire::client::ClientRole;
use serde_json::Value;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;
use tungstenite::{HandshakeError, Message, WebSocket};

const PATIENCE: Duration = Duration::from_secs(20);

/// Knocks, and waits for the answer: a connection, or the status and the reason.
fn knock(address: SocketAddr, token: Option<&str>) -> Result<WebSocket<TcpStream>, (u16, String)> {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let token = token.map(|token| format!("?token={token}")).unwrap_or_default();
    match tungstenite::client(format!("ws://{address}/ws{token}"), stream) {
        Ok((socket, _)) => Ok(socket),
        Err(HandshakeError::Failure(tungstenite::Error::Http(answer))) => {
            let reason = answer.body().clone().map(|body| String::from_utf8(body).unwrap()).unwrap_or_default();
            Err((answer.status().as_u16(), reason))
        }
        Err(error) => panic!("{error}"),
    }
}

/// The next message of a type.
fn next(socket: &mut WebSocket<TcpStream>, kind: &str) -> Value {
    let clock = Clock::start();
    while clock.now() < PATIENCE {
        if let Message::Text(text) = socket.read().unwrap() {
            let message: Value = serde_json::from_str(&text).unwrap();
            if message["type"] == kind {
                return message;
            }
        }
    }
    panic!("`{kind}` never came");
}

#[test]
fn tokens_open_the_door_once_and_the_role_decides_what_may_be_done() {
    let secret = Secret::new(b"not a secret, but of sufficient length").unwrap();
    let world = nimbus_scenes::build("tower", &SceneParams::on(1)).unwrap();
    let cluster = EmbeddedCluster::start(EmbeddedConfig::new(world)).unwrap();
    let listening = Web::listen(IpAddr::from([127, 0, 0, 1]), 0).unwrap();
    let web = listening.serve(cluster.handle(), Access::guarded(secret.clone(), None));
    let address = web.address();
    let issue = |role| secret.issue(role, Duration::from_secs(60), Clock::unix_us() / 1_000_000).unwrap();

    let (status, reason) = knock(address, None).unwrap_err();
    assert!(status == 401 && reason.contains("ask whoever runs it"), "{status} {reason}");
    let (status, reason) = knock(address, Some("v1.admin.1.2.3")).unwrap_err();
    assert!(status == 403 && reason.contains("not valid"), "{status} {reason}");

    let token = issue(ClientRole::Viewer);
    let mut viewer = knock(address, Some(&token)).unwrap();
    let (status, reason) = knock(address, Some(&token)).unwrap_err();
    assert!(status == 403 && reason.contains("used before"), "{status} {reason}");
    let mut ticket = || next(&mut viewer, "ticket")["token"].as_str().unwrap().to_owned();
    let tickets = [ticket(), ticket()];
    assert_ne!(tickets[0], tickets[1]);
    assert_eq!(next(&mut viewer, "welcome")["role"], "viewer");
    viewer.send(Message::text(r#"{"type":"reset","seq":1}"#)).unwrap();
    let refused = next(&mut viewer, "refused");
    assert_eq!((refused["seq"].as_u64(), refused["reason"].as_str().unwrap().contains("admin")), (Some(1), true));
    drop(viewer);
    // With what it was given it comes again, as what it was; and once more when it did not hear that it was let in.
    let unheard = knock(address, Some(&tickets[1])).unwrap();
    let mut again = knock(address, Some(&tickets[0])).unwrap();
    assert_eq!(next(&mut again, "welcome")["role"], "viewer");
    for spent in &tickets {
        let (status, reason) = knock(address, Some(spent)).unwrap_err();
        assert!(status == 403 && reason.contains("used before"), "{status} {reason}");
    }

    let mut admin = knock(address, Some(&issue(ClientRole::Admin))).unwrap();
    next(&mut admin, "welcome");
    admin.send(Message::text(r#"{"type":"pause","seq":7,"paused":true}"#)).unwrap();
    assert_eq!(next(&mut admin, "done")["seq"], 7);
    drop((unheard, again, admin));
    cluster.stop().unwrap();
    web.stop();
}

#[test]
fn mistakes_are_answered_one_by_one_and_a_torrent_of_them_ends_the_connection() {
    let world = nimbus_scenes::build("tower", &SceneParams::on(1)).unwrap();
    let cluster = EmbeddedCluster::start(EmbeddedConfig::new(world)).unwrap();
    let web = Web::listen(IpAddr::from([127, 0, 0, 1]), 0).unwrap().serve(cluster.handle(), Access::Open);
    let mut careless = knock(web.address(), None).unwrap();
    next(&mut careless, "welcome");
    for seq in 1..=3 {
        careless.send(Message::text(format!(r#"{{"type":"spwan","seq":{seq}}}"#))).unwrap();
    }
    for seq in 1..=3 {
        let refused = next(&mut careless, "refused");
        assert_eq!(refused["seq"], seq);
        assert!(refused["reason"].as_str().unwrap().contains("did you mean `spawn`"), "{refused}");
    }
    for _ in 0..46 {
        careless.send(Message::binary(vec![7; 32])).unwrap();
    }
    // It has one mistake left.
    careless.send(Message::text(r#"{"type":"pause","seq":4,"paused":false}"#)).unwrap();
    assert_eq!(next(&mut careless, "done")["seq"], 4);
    careless.send(Message::text("what?")).unwrap();
    let goodbye = loop {
        match careless.read() {
            Ok(Message::Close(frame)) => break frame.unwrap().reason.to_string(),
            Ok(_) => {}
            Err(error) => panic!("{error}"),
        }
    };
    assert!(goodbye.starts_with("after 50 messages that are no commands") && goodbye.contains("not JSON"), "{goodbye}");
    // Who leaves in the middle of it is counted in full.
    let mut hasty = knock(web.address(), None).unwrap();
    next(&mut hasty, "welcome");
    (0..20).for_each(|_| hasty.send(Message::text("what?")).unwrap());
    hasty.close(None).unwrap();
    let clock = Clock::start();
    let counted = || cluster.handle().board().gateway().counters.messages_bad;
    while counted() < 70 {
        assert!(clock.now() < PATIENCE, "{} of 70 messages were counted", counted());
        std::thread::sleep(Duration::from_millis(10));
    }
    cluster.stop().unwrap();
    web.stop();
}
