//! QUIC: messages both ways on one stream.

use bytes::Bytes;
use nimbus_wire::client::{CLIENT_ALPN, ClientHello, FrameKind, Framed, Framer};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{
    ApplicationClose, ClientConfig, Connection, ConnectionError, Endpoint, IdleTimeout, ReadError, RecvStream,
    SendStream, TransportConfig, VarInt, WriteError,
};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::lookup_host;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::address::{Address, is_token};
use crate::connect_error::{ConnectError, words};
use crate::socket::{Knock, Received};
use crate::trust::Trust;

/// Longest message that is taken from a gateway. A first picture of a million bodies has 48 MB.
const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// What is read at once.
const READ_BYTES: usize = 64 << 10;
/// Bytes that have come and were not taken yet. What does not fit waits at the gateway, which sends less then.
const WINDOW_BYTES: u32 = 512 << 10;
/// Bytes of commands that the gateway has not received yet.
const SEND_BYTES: u64 = 256 << 10;
/// A gateway that is silent for this long is gone; it says something twice in that time, and so do we.
const IDLE_MS_MAX: u32 = 10_000;
const KEEP_ALIVE: Duration = Duration::from_secs(4);
/// A name may stand for several addresses. Each is tried so long after the one before, until one answers.
const NEXT_PLACE: Duration = Duration::from_millis(200);
/// Addresses of a name that are tried.
const PLACES_MAX: usize = 6;
/// What TLS has to say about certificates: these alerts, as QUIC counts errors.
const CERTIFICATE_ALERTS: std::ops::RangeInclusive<u64> = 0x100 + 42..=0x100 + 49;

/// An open connection over QUIC.
pub(crate) struct QuicSocket {
    endpoint: Endpoint,
    connection: Connection,
    send: SendStream,
    recv: RecvStream,
    framer: Framer,
    bytes_heard: u64,
}

impl QuicSocket {
    pub(crate) async fn open(
        gateway: &str,
        address: &Address,
        knock: &mut Knock<'_>,
        trust: &Trust,
    ) -> Result<QuicSocket, ConnectError> {
        if !knock.token.is_none_or(is_token) {
            let problem = "the token has characters that no token has".to_owned();
            return Err(ConnectError::Address { address: gateway.to_owned(), problem });
        }
        let config = config(trust).map_err(|problem| ConnectError::untrusted(gateway, problem))?;
        let (endpoint, connection) = reach(gateway, address, config).await?;
        let broken = |error: ConnectionError| explain(gateway, &error);
        let (send, recv) = connection.open_bi().await.map_err(broken)?;
        let mut socket = QuicSocket { endpoint, connection, send, recv, framer: Framer::default(), bytes_heard: 0 };
        let hello = ClientHello { watches: knock.watches, token: knock.token.map(str::to_owned) };
        knock.is_token_shown = true;
        // What ended it is found out by who reads.
        _ = socket.send.write_all(&FrameKind::Hello.frame(&hello.encode())).await;
        socket.answered(gateway).await?;
        Ok(socket)
    }

    pub(crate) fn bytes_heard(&self) -> u64 {
        self.bytes_heard
    }

    pub(crate) async fn receive(&mut self) -> Result<Received, String> {
        loop {
            match self.framer.next(MESSAGE_BYTES_MAX).map_err(|error| error.to_string())? {
                Some(Framed::Text(text)) => return Ok(Received::Text(text.to_owned())),
                Some(Framed::Binary(bytes)) => return Ok(Received::Binary(Bytes::copy_from_slice(bytes))),
                // Said once, and heard.
                Some(Framed::Hello(_)) => continue,
                None => {}
            }
            self.read().await.map_err(|error| ended(&error))?;
        }
    }

    pub(crate) async fn send(&mut self, text: &str) -> Result<(), String> {
        let sent = self.send.write_all(&FrameKind::Text.frame(text.as_bytes())).await;
        sent.map_err(|error| match error {
            WriteError::ConnectionLost(error) => ended(&error),
            other => other.to_string(),
        })
    }

    pub(crate) async fn close(self) {
        self.connection.close(VarInt::from_u32(0), b"");
        self.endpoint.wait_idle().await;
    }

    /// Waits until the gateway has let us in.
    async fn answered(&mut self, gateway: &str) -> Result<(), ConnectError> {
        loop {
            match self.framer.next(MESSAGE_BYTES_MAX).map_err(|error| ConnectError::unreachable(gateway, error))? {
                Some(Framed::Hello(_)) => return Ok(()),
                Some(_) => return Err(ConnectError::unreachable(gateway, "it does not answer as a gateway does")),
                None => {}
            }
            self.read().await.map_err(|error| explain(gateway, &error))?;
        }
    }

    /// Reads a piece, or says how the connection ended.
    async fn read(&mut self) -> Result<(), ConnectionError> {
        match self.recv.read_chunk(READ_BYTES, true).await {
            Ok(Some(chunk)) => {
                self.bytes_heard += chunk.bytes.len() as u64;
                self.framer.push(&chunk.bytes);
                Ok(())
            }
            Err(ReadError::ConnectionLost(error)) => Err(error),
            // The stream is the connection.
            Ok(None) | Err(_) => Err(ConnectionError::Reset),
        }
    }
}

fn config(trust: &Trust) -> Result<ClientConfig, String> {
    let mut tls = trust.tls()?;
    tls.alpn_protocols = vec![CLIENT_ALPN.to_vec()];
    let tls = QuicClientConfig::try_from(tls).map_err(|error| error.to_string())?;
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .max_idle_timeout(Some(IdleTimeout::from(VarInt::from_u32(IDLE_MS_MAX))))
        .keep_alive_interval(Some(KEEP_ALIVE))
        .stream_receive_window(VarInt::from_u32(WINDOW_BYTES))
        .receive_window(VarInt::from_u32(WINDOW_BYTES))
        .send_window(SEND_BYTES)
        .datagram_receive_buffer_size(None);
    let mut config = ClientConfig::new(Arc::new(tls));
    config.transport_config(Arc::new(transport));
    Ok(config)
}

/// Tries the places that a name stands for, one shortly after the other, until one answers: over UDP, one where nobody
/// is says nothing at all.
async fn reach(gateway: &str, address: &Address, config: ClientConfig) -> Result<(Endpoint, Connection), ConnectError> {
    let places = lookup_host((address.host.as_str(), address.port)).await;
    let places = places.map_err(|error| ConnectError::unreachable(gateway, error))?;
    let mut tries = JoinSet::new();
    for (number, place) in places.take(PLACES_MAX).enumerate() {
        let (name, config) = (address.host.clone(), config.clone());
        tries.spawn(async move {
            sleep(NEXT_PLACE * number as u32).await;
            dial(place, &name, config).await
        });
    }
    let mut last = ConnectError::unreachable(gateway, "the name has no address");
    while let Some(tried) = tries.join_next().await {
        match tried {
            Ok(Ok(reached)) => return Ok(reached),
            Ok(Err(NotReached::Silent(problem))) => last = ConnectError::unreachable(gateway, problem),
            Ok(Err(NotReached::Answered(error))) => return Err(explain(gateway, &error)),
            Err(ended) => last = ConnectError::unreachable(gateway, ended),
        }
    }
    Err(last)
}

enum NotReached {
    /// Somebody was there.
    Answered(ConnectionError),
    Silent(String),
}

async fn dial(place: SocketAddr, name: &str, config: ClientConfig) -> Result<(Endpoint, Connection), NotReached> {
    let any: SocketAddr = match place {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let endpoint = Endpoint::client(any).map_err(|error| NotReached::Silent(error.to_string()))?;
    let connecting = endpoint.connect_with(config, place, name);
    let connected = connecting.map_err(|error| NotReached::Silent(error.to_string()))?.await;
    match connected {
        Ok(connection) => Ok((endpoint, connection)),
        Err(ConnectionError::TimedOut) => Err(NotReached::Silent("it does not answer".to_owned())),
        Err(error) => Err(NotReached::Answered(error)),
    }
}

/// Why we are not let in.
fn explain(gateway: &str, error: &ConnectionError) -> ConnectError {
    match error {
        ConnectionError::ApplicationClosed(ApplicationClose { error_code, reason }) => {
            match u16::try_from(error_code.into_inner()) {
                Ok(status @ 400..=599) => ConnectError::refused(gateway, status, reason),
                _ => ConnectError::unreachable(gateway, words(reason)),
            }
        }
        ConnectionError::TransportError(problem) if CERTIFICATE_ALERTS.contains(&u64::from(problem.code)) => {
            ConnectError::untrusted(gateway, &problem.reason)
        }
        other => ConnectError::unreachable(gateway, other),
    }
}

/// How a connection ended that we had.
fn ended(error: &ConnectionError) -> String {
    match error {
        ConnectionError::ApplicationClosed(close) if !close.reason.is_empty() => words(&close.reason),
        ConnectionError::ApplicationClosed(_) | ConnectionError::Reset => {
            "the gateway closed the connection".to_owned()
        }
        ConnectionError::TimedOut => "the gateway is silent".to_owned(),
        other => other.to_string(),
    }
}
