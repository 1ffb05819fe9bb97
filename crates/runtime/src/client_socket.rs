//! What a client came over: a WebSocket, or QUIC. Nothing that serves clients has to know which.

use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message as WsMessage, Utf8Bytes, WebSocket, close_code};
use futures_util::SinkExt;
use nimbus_gateway::Message;
use std::time::Duration;

use crate::quic::QuicStream;

/// Largest message a client may send.
pub(crate) const CLIENT_MESSAGE_BYTES_MAX: usize = nimbus_wire::client::TEXT_BYTES_MAX;
/// What is read from a client at once. Commands are short, and every client has a buffer of its own.
pub(crate) const READ_BUFFER_BYTES: usize = 4 << 10;
/// What the transport keeps for a client that has not received it yet: enough for 5 Mbit/s over 400 ms.
pub(crate) const SEND_BUFFER_BYTES: usize = 256 << 10;
/// How long a goodbye may take.
pub(crate) const GOODBYE: Duration = Duration::from_millis(400);
/// Longest reason in a close frame: the protocol allows 125 bytes, two of them for the code.
const REASON_BYTES_MAX: usize = 123;

/// An open connection to a client.
pub(crate) enum ClientSocket {
    Web(WebSocket),
    Quic(QuicStream),
}

/// What came from a client.
pub(crate) enum Received {
    Text(String),
    /// Bytes, of which this version knows none.
    Binary,
    /// Something that concerns the transport alone.
    Nothing,
    /// Something that cannot be read, and why. Nothing that follows can.
    Unreadable(String),
    /// The client is gone.
    End,
}

/// The connection is broken.
pub(crate) struct Broken;

impl ClientSocket {
    pub(crate) fn is_quic(&self) -> bool {
        matches!(self, ClientSocket::Quic(_))
    }

    /// Sends a message, as soon as there is room for it. One whose sending is given up ends the connection.
    pub(crate) async fn send(&mut self, message: &Message) -> Result<(), Broken> {
        self.feed(message).await?;
        self.flush().await
    }

    /// Takes a message to be sent at the next [`ClientSocket::flush`] at the latest, together with its neighbours: handing
    /// something to the network costs more than making it.
    pub(crate) async fn feed(&mut self, message: &Message) -> Result<(), Broken> {
        match self {
            ClientSocket::Web(socket) => {
                let message = match message {
                    Message::Text(text) => WsMessage::Text(Utf8Bytes::from(&**text)),
                    Message::Binary(bytes) => WsMessage::Binary(Bytes::from_owner(bytes.clone())),
                };
                socket.feed(message).await.map_err(|_| Broken)
            }
            ClientSocket::Quic(stream) => stream.send(message).await,
        }
    }

    /// Sends what was fed. QUIC puts what is written together by itself.
    pub(crate) async fn flush(&mut self) -> Result<(), Broken> {
        match self {
            ClientSocket::Web(socket) => socket.flush().await.map_err(|_| Broken),
            ClientSocket::Quic(_) => Ok(()),
        }
    }

    /// What comes next. May be given up while it waits.
    pub(crate) async fn receive(&mut self) -> Received {
        match self {
            ClientSocket::Web(socket) => match socket.recv().await {
                Some(Ok(WsMessage::Text(text))) => Received::Text(text.to_string()),
                Some(Ok(WsMessage::Binary(_))) => Received::Binary,
                Some(Ok(WsMessage::Ping(_) | WsMessage::Pong(_))) => Received::Nothing,
                Some(Ok(WsMessage::Close(_))) | None => Received::End,
                Some(Err(_)) => {
                    Received::Unreadable("that message could not be read, or it was longer than 64 KiB".to_owned())
                }
            },
            ClientSocket::Quic(stream) => stream.receive().await,
        }
    }

    /// Ends it, with a reason if there is one.
    pub(crate) async fn close(self, reason: Option<&str>) {
        match (self, reason) {
            (ClientSocket::Web(mut socket), Some(reason)) => {
                let frame = CloseFrame { code: close_code::POLICY, reason: Utf8Bytes::from(shorten(reason)) };
                // A client that does not read does not hear the reason either.
                _ = tokio::time::timeout(GOODBYE, socket.send(WsMessage::Close(Some(frame)))).await;
            }
            (ClientSocket::Web(_), None) => {}
            (ClientSocket::Quic(stream), reason) => stream.close(reason),
        }
    }
}

/// A reason short enough for a close frame, cut between characters.
fn shorten(reason: &str) -> &str {
    let mut end = reason.len().min(REASON_BYTES_MAX);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    &reason[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_fit_a_close_frame() {
        assert_eq!(shorten("short"), "short");
        let long = shorten(&"ü".repeat(100)).len();
        assert!(long <= REASON_BYTES_MAX && long > REASON_BYTES_MAX - 3);
    }
}
