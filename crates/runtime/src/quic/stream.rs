//! The one stream of a native client.

use bytes::Bytes;
use nimbus_gateway::Message;
use nimbus_wire::client::{
    CLIENT_GOODBYE, CLIENT_HELLO_BYTES_MAX, CLIENT_PROTOCOL, ClientHello, ClientHelloError, FrameKind, Framed, Framer,
};
use quinn::{Connection, RecvStream, SendStream, VarInt};
use std::sync::Arc;

use crate::client_socket::{Broken, CLIENT_MESSAGE_BYTES_MAX, READ_BUFFER_BYTES, Received};
use crate::reception::Refusal;

/// Messages both ways, in order. What a gateway has to say at the end goes beside the stream, in the packet that ends the
/// connection, so a client hears it that has not read anything for long.
pub(crate) struct QuicStream {
    connection: Connection,
    send: SendStream,
    recv: RecvStream,
    framer: Framer,
}

impl QuicStream {
    /// Waits for the stream that the client opens, and for what it says first.
    pub(super) async fn meet(connection: &Connection) -> Result<(QuicStream, ClientHello), Refusal> {
        let bad = |reason: &dyn ToString| Refusal { status: 400, reason: reason.to_string() };
        let (send, recv) = connection.accept_bi().await.map_err(|error| bad(&error))?;
        let mut stream = QuicStream { connection: connection.clone(), send, recv, framer: Framer::default() };
        loop {
            match stream.framer.next(CLIENT_HELLO_BYTES_MAX).map_err(|error| bad(&error))? {
                Some(Framed::Hello(bytes)) => {
                    let hello = ClientHello::decode(bytes).map_err(|error| Refusal {
                        status: if matches!(error, ClientHelloError::Version(_)) { 426 } else { 400 },
                        reason: error.to_string(),
                    })?;
                    return Ok((stream, hello));
                }
                Some(_) => return Err(bad(&ClientHelloError::Malformed)),
                None => {}
            }
            if !stream.read().await {
                return Err(bad(&ClientHelloError::Malformed));
            }
        }
    }

    /// Tells the client that it is let in.
    pub(super) async fn welcome(&mut self) -> Result<(), Broken> {
        let hello = FrameKind::Hello.frame(&CLIENT_PROTOCOL.to_le_bytes());
        self.send.write_all(&hello).await.map_err(|_| Broken)
    }

    pub(crate) async fn send(&mut self, message: &Message) -> Result<(), Broken> {
        let (kind, bytes): (_, Arc<[u8]>) = match message {
            Message::Text(text) => (FrameKind::Text, text.clone().into()),
            Message::Binary(bytes) => (FrameKind::Binary, bytes.clone()),
        };
        let head = Bytes::copy_from_slice(&kind.head(&bytes));
        self.send.write_all_chunks(&mut [head, Bytes::from_owner(bytes)]).await.map_err(|_| Broken)
    }

    /// What comes next. May be given up while it waits.
    pub(crate) async fn receive(&mut self) -> Received {
        loop {
            match self.framer.next(CLIENT_MESSAGE_BYTES_MAX) {
                Ok(Some(Framed::Text(text))) => return Received::Text(text.to_owned()),
                Ok(Some(Framed::Binary(_))) => return Received::Binary,
                Ok(Some(Framed::Hello(_))) => return Received::Unreadable("hello is said once".to_owned()),
                Err(error) => return Received::Unreadable(error.to_string()),
                Ok(None) => {}
            }
            if !self.read().await {
                return Received::End;
            }
        }
    }

    /// Ends the connection, with a reason if there is one.
    pub(crate) fn close(self, reason: Option<&str>) {
        let code = if reason.is_some() { CLIENT_GOODBYE } else { 0 };
        self.connection.close(VarInt::from_u32(code), reason.unwrap_or_default().as_bytes());
    }

    /// Reads a piece. False when there are no more.
    async fn read(&mut self) -> bool {
        match self.recv.read_chunk(READ_BUFFER_BYTES, true).await {
            Ok(Some(chunk)) => {
                self.framer.push(&chunk.bytes);
                true
            }
            Ok(None) | Err(_) => false,
        }
    }
}
