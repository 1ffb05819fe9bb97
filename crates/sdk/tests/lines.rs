//! Lines that are slow, or break at the worst moment, and gateways that refuse.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use futures_util::FutureExt;
use nimbus_sdk::{AskError, ConnectError, Connection, Event, FromClient, Options, SessionConfig, Trust, Vec3, Watch};
use nimbus_wire::client::{CLIENT_ALPN, FrameKind, ToClient};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, ServerConfig};
use rustls::crypto::ring as provider;
use rustls::pki_types::PrivateKeyDer;
use std::sync::Arc;
use std::time::Duration;

use support::fake_gateway::{FakeGateway, first_words, play, slow_message, wait};
use support::{HOST, run, runtime, until};

/// One message of 400 KB takes four times as long as a gateway may be silent.
const LONG_BYTES: usize = 400_000;
const LONG_PIECES: usize = 40;
const PIECE: Duration = Duration::from_millis(100);
const SILENCE: Duration = Duration::from_secs(1);

/// What comes after the long message.
fn after_it() -> ToClient {
    ToClient::Clock { paused: true, speed: 1.0, dilation: 1.0 }
}

/// Takes events until what comes after the long message. The connection must not be lost before.
async fn heard_out(connection: &Connection) {
    let is_over = |event: &Event| matches!(event, Event::Clock { .. } | Event::Lost { .. });
    let event = until(connection, is_over).await;
    assert!(matches!(event, Event::Clock { .. }), "{event:?}");
}

fn is_connected(event: &Event) -> bool {
    matches!(event, Event::Connected { .. })
}

fn is_lost(event: &Event) -> bool {
    matches!(event, Event::Lost { .. })
}

#[test]
fn a_long_message_over_a_slow_line_is_no_silence() {
    let (runtime, gateway) = (runtime(), FakeGateway::listen(0));
    let address = gateway.address();
    let played = play(move || {
        let mut guest = gateway.visitor().let_in();
        guest.tell_slowly(LONG_BYTES, LONG_PIECES, PIECE);
        guest.tell(&after_it());
        // Until the program has gone.
        wait(SILENCE / 2);
    });
    let options = Options { silence: SILENCE, ..Options::default() };
    let connection = run(&runtime, "a connection", Connection::connect(&address, options)).unwrap();
    run(&runtime, "the long message", heard_out(&connection));
    played.join().unwrap();
}

#[test]
fn a_long_message_over_a_slow_line_is_no_silence_over_quic_either() {
    let runtime = runtime();
    let made = rcgen::generate_simple_self_signed(vec![HOST.to_string()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(provider::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    tls.alpn_protocols = vec![CLIENT_ALPN.to_vec()];
    let config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()));
    let entered = runtime.enter();
    let endpoint = Endpoint::server(config, (HOST, 0).into()).unwrap();
    drop(entered);
    let address = format!("quic://{}", endpoint.local_addr().unwrap());
    let played = runtime.spawn(async move {
        let connection = endpoint.accept().await.unwrap().await.unwrap();
        let (mut send, _recv) = connection.accept_bi().await.unwrap();
        send.write_all(&FrameKind::Hello.frame(&[])).await.unwrap();
        for message in first_words() {
            send.write_all(&FrameKind::Text.frame(message.to_text().as_bytes())).await.unwrap();
        }
        for piece in FrameKind::Binary.frame(&slow_message(LONG_BYTES)).chunks(LONG_BYTES.div_ceil(LONG_PIECES)) {
            send.write_all(piece).await.unwrap();
            tokio::time::sleep(PIECE).await;
        }
        send.write_all(&FrameKind::Text.frame(after_it().to_text().as_bytes())).await.unwrap();
        tokio::time::sleep(SILENCE / 2).await;
    });
    let options = Options { silence: SILENCE, trust: Trust::InsecureAnything, ..Options::default() };
    let connection = run(&runtime, "a connection", Connection::connect(&address, options)).unwrap();
    run(&runtime, "the long message", heard_out(&connection));
    run(&runtime, "the gateway", played).unwrap();
}

/// A connection that came with the token `first`.
fn connect_with_token(runtime: &tokio::runtime::Runtime, address: &str, gateways: Vec<String>) -> Connection {
    let options = Options { token: Some("first".to_owned()), gateways, ..Options::default() };
    run(runtime, "a connection", Connection::connect(address, options)).unwrap()
}

#[test]
fn a_ticket_that_is_lost_with_the_line_leaves_another() {
    let (runtime, gateway) = (runtime(), FakeGateway::listen(0));
    let (address, port) = (gateway.address(), gateway.place().port());
    let played = play(move || {
        let first = gateway.visitor();
        assert_eq!(first.token.as_deref(), Some("first"));
        let mut guest = first.let_in();
        ["one", "two"].iter().for_each(|ticket| guest.give_ticket(ticket));
        // Until they have come.
        wait(Duration::from_millis(200));
        drop(guest);
        // The line breaks before the answer, and the ticket is spent.
        assert_eq!(gateway.visitor().token.as_deref(), Some("one"));
        // For a while nobody is there. No ticket is spent by that.
        drop(gateway);
        wait(Duration::from_secs(3));
        let again = FakeGateway::listen(port).visitor();
        if again.token.as_deref() != Some("two") {
            return again.refuse(403);
        }
        let mut guest = again.let_in();
        wait(Duration::from_secs(1));
        guest.give_ticket("three");
    });
    let connection = connect_with_token(&runtime, &address, Vec::new());
    run(&runtime, "the loss", until(&connection, is_lost));
    let is_decided = |event: &Event| is_connected(event) || matches!(event, Event::Closed { .. });
    let back = run(&runtime, "the gateway again", until(&connection, is_decided));
    assert!(is_connected(&back), "{back:?}");
    played.join().unwrap();
}

#[test]
fn one_ticket_at_a_time_is_enough_while_no_line_breaks_at_the_door() {
    let (runtime, gateway) = (runtime(), FakeGateway::listen(0));
    let address = gateway.address();
    let played = play(move || {
        for (token, next) in [("first", "one"), ("one", "two"), ("two", "three")] {
            let visitor = gateway.visitor();
            assert_eq!(visitor.token.as_deref(), Some(token));
            visitor.let_in().give_ticket(next);
        }
        // What is left is none that a gateway would take twice.
        assert_eq!(gateway.visitor().token.as_deref(), Some("three"));
        let spent = gateway.visitor();
        assert_eq!(spent.token.as_deref(), Some("three"));
        spent.refuse(403);
    });
    let connection = connect_with_token(&runtime, &address, Vec::new());
    run(&runtime, "the end", until(&connection, |event| matches!(event, Event::Closed { .. })));
    played.join().unwrap();
}

#[test]
fn who_is_refused_by_the_only_gateway_that_lives_is_told_so() {
    let (runtime, gateway) = (runtime(), FakeGateway::listen(0));
    // Nobody listens at the first of all ports.
    let (address, nobody) = (gateway.address(), format!("ws://{HOST}:1/ws"));
    let played = play(move || {
        gateway.visitor().let_in();
        for _ in 0..4 {
            gateway.visitor().refuse(403);
        }
    });
    let connection = connect_with_token(&runtime, &address, vec![nobody]);
    let closed = run(&runtime, "the end", until(&connection, |event| matches!(event, Event::Closed { .. })));
    assert!(matches!(&closed, Event::Closed { reason } if reason.contains("403")), "{closed:?}");
    played.join().unwrap();
}

#[test]
fn what_is_watched_while_there_is_no_gateway_is_asked_of_the_next() {
    let (runtime, gateway) = (runtime(), FakeGateway::listen(0));
    let (address, port) = (gateway.address(), gateway.place().port());
    let (said, is_said) = std::sync::mpsc::channel();
    let watch = Watch::around(Vec3::X, 30.0);
    let played = play(move || {
        gateway.visitor().let_in();
        drop(gateway);
        is_said.recv().unwrap();
        let visitor = FakeGateway::listen(port).visitor();
        assert!(!visitor.watches, "no gateway has granted that view yet");
        assert_eq!(visitor.let_in().command(), FromClient::Watch(watch));
    });
    let connection = run(&runtime, "a connection", Connection::connect(&address, Options::default())).unwrap();
    run(&runtime, "the loss", until(&connection, is_lost));
    assert_eq!(run(&runtime, "a view", connection.watch(watch)), Err(AskError::Lost));
    said.send(()).unwrap();
    run(&runtime, "the gateway again", until(&connection, is_connected));
    played.join().unwrap();
}

#[test]
fn so_many_commands_may_wait_as_the_session_says_and_no_fewer() {
    let gateway = FakeGateway::listen(0);
    let address = gateway.address();
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let played = play(move || {
        let _guest = gateway.visitor().let_in();
        _ = is_done.recv();
    });
    // With one thread, nothing is sent while the commands are made.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let connected: Result<Connection, ConnectError> =
        run(&runtime, "a connection", Connection::connect(&address, Options::default()));
    let connection = connected.unwrap();
    runtime.block_on(async {
        for number in 0..SessionConfig::default().pending_max {
            assert_eq!(connection.reset().now_or_never(), None, "command {number} waits");
        }
        assert_eq!(connection.reset().now_or_never(), Some(Err(AskError::TooMany)));
    });
    drop(done);
    played.join().unwrap();
}
