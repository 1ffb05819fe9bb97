//! The transports. Nothing else in this crate knows which one a connection has.

use bytes::Bytes;

use crate::address::{Address, Scheme};
use crate::connect_error::ConnectError;
use crate::quic::QuicSocket;
use crate::trust::Trust;
use crate::websocket::WebSocket;

/// Something that a gateway said.
#[derive(Debug)]
pub(crate) enum Received {
    Text(String),
    Binary(Bytes),
}

/// What is said at the door of a gateway.
#[derive(Debug)]
pub(crate) struct Knock<'a> {
    pub(crate) token: Option<&'a str>,
    /// No bodies before it is said what is watched.
    pub(crate) watches: bool,
    /// The token may have reached the gateway, and be spent by that.
    pub(crate) is_token_shown: bool,
}

/// An open connection.
pub(crate) enum Socket {
    Web(WebSocket),
    Quic(QuicSocket),
}

impl Socket {
    /// Connects, as the address says.
    pub(crate) async fn open(gateway: &str, knock: &mut Knock<'_>, trust: &Trust) -> Result<Socket, ConnectError> {
        let address = Address::parse(gateway)?;
        match address.scheme {
            Scheme::Ws => WebSocket::open(gateway, &address, knock).await.map(Socket::Web),
            Scheme::Wss => WebSocket::open_tls(gateway, &address, knock, trust).await.map(Socket::Web),
            Scheme::Quic => QuicSocket::open(gateway, &address, knock, trust).await.map(Socket::Quic),
        }
    }

    /// The next message, or why there is none. May be dropped while it waits.
    pub(crate) async fn receive(&mut self) -> Result<Received, String> {
        match self {
            Socket::Web(socket) => socket.receive().await,
            Socket::Quic(socket) => socket.receive().await,
        }
    }

    /// Bytes that came so far, those of a message that is still on its way included.
    pub(crate) fn bytes_heard(&self) -> u64 {
        match self {
            Socket::Web(socket) => socket.bytes_heard(),
            Socket::Quic(socket) => socket.bytes_heard(),
        }
    }

    pub(crate) async fn send(&mut self, text: String) -> Result<(), String> {
        match self {
            Socket::Web(socket) => socket.send(text).await,
            Socket::Quic(socket) => socket.send(&text).await,
        }
    }

    /// Says goodbye.
    pub(crate) async fn close(self) {
        match self {
            Socket::Web(socket) => socket.close().await,
            Socket::Quic(socket) => socket.close().await,
        }
    }
}
