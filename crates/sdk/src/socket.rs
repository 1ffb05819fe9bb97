//! The transports. Nothing else in this crate knows which one a connection has.

use bytes::Bytes;

use crate::address::{Address, Scheme};
use crate::connect_error::ConnectError;
use crate::options::Options;
use crate::quic::QuicSocket;
use crate::websocket::WebSocket;

/// Something that a gateway said.
#[derive(Debug)]
pub(crate) enum Received {
    Text(String),
    Binary(Bytes),
}

/// An open connection.
pub(crate) enum Socket {
    Web(WebSocket),
    Quic(QuicSocket),
}

impl Socket {
    /// Connects, as the address says.
    pub(crate) async fn open(gateway: &str, token: Option<&str>, options: &Options) -> Result<Socket, ConnectError> {
        let address = Address::parse(gateway)?;
        match address.scheme {
            Scheme::Ws => WebSocket::open(gateway, &address, token, options).await.map(Socket::Web),
            Scheme::Wss => WebSocket::open_tls(gateway, &address, token, options).await.map(Socket::Web),
            Scheme::Quic => QuicSocket::open(gateway, &address, token, options).await.map(Socket::Quic),
        }
    }

    /// The next message, or why there is none. May be dropped while it waits.
    pub(crate) async fn receive(&mut self) -> Result<Received, String> {
        match self {
            Socket::Web(socket) => socket.receive().await,
            Socket::Quic(socket) => socket.receive().await,
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
