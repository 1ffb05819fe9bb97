//! Receives native clients: has them say who they are, and hands them to the reception.

use quinn::{
    Connection, Endpoint, EndpointConfig, IdleTimeout, Incoming, ServerConfig, TokioRuntime, TransportConfig, VarInt,
};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use nimbus_wire::client::CLIENT_GOODBYE;

use super::certificate::{QuicCertificate, QuicCertificateError};
use super::stream::QuicStream;
use crate::client_socket::{CLIENT_MESSAGE_BYTES_MAX, ClientSocket, GOODBYE, SEND_BUFFER_BYTES};
use crate::reception::{Guest, Reception, Refusal};

/// How long TLS may take, and after it the hello.
const HELLO_TIMEOUT: Duration = Duration::from_secs(3);

/// Most clients that are on their way in at once. From half of that on they have to show first that their address is
/// theirs; more are turned away unheard.
const STRANGERS_MAX: usize = 64;

/// A client that is silent for this long is gone. It shows twice in that time that it is there, and so does the gateway.
const IDLE_MS_MAX: u32 = 10_000;
const KEEP_ALIVE: Duration = Duration::from_secs(4);

/// Bytes that each stranger may send before it is looked at.
const INCOMING_BYTES: u64 = 8 << 10;

/// Bytes of a client that nobody has taken yet: its longest message, and one that follows.
const WINDOW_BYTES: u32 = 2 * CLIENT_MESSAGE_BYTES_MAX as u32;

/// How native clients find a gateway, and know it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuicDoor {
    /// Where it listens.
    pub address: SocketAddr,
    /// The SHA-256 of its certificate, in hexadecimal.
    pub sha256: String,
}

/// Where native clients come in.
pub(crate) struct Door {
    endpoint: Endpoint,
    facts: QuicDoor,
}

impl Door {
    /// Opens it. Nobody is let in before somebody listens. Has to be called in a runtime.
    pub(crate) fn open(socket: UdpSocket, certificate: &QuicCertificate) -> Result<Door, QuicCertificateError> {
        let unusable = |error: std::io::Error| QuicCertificateError::Unusable(error.to_string());
        let mut config = ServerConfig::with_crypto(certificate.accepts()?);
        config.transport_config(Arc::new(transport()));
        config.max_incoming(STRANGERS_MAX).incoming_buffer_size(INCOMING_BYTES);
        config.incoming_buffer_size_total(STRANGERS_MAX as u64 * INCOMING_BYTES);
        let endpoint = Endpoint::new(EndpointConfig::default(), Some(config), socket, Arc::new(TokioRuntime));
        let endpoint = endpoint.map_err(unusable)?;
        let address = endpoint.local_addr().map_err(unusable)?;
        Ok(Door { endpoint, facts: QuicDoor { address, sha256: certificate.fingerprint() } })
    }

    pub(crate) fn facts(&self) -> &QuicDoor {
        &self.facts
    }

    /// Receives clients until the door is closed.
    pub(crate) fn listen(&self, runtime: &Runtime, reception: Arc<Reception>) {
        runtime.spawn(listen(self.endpoint.clone(), reception));
    }

    /// Lets nobody in any more, and tells those who are still there.
    pub(crate) async fn close(self) {
        self.endpoint.close(VarInt::from_u32(CLIENT_GOODBYE), b"the server is shutting down");
        // Who does not hear it notices by the silence.
        _ = timeout(GOODBYE, self.endpoint.wait_idle()).await;
    }
}

async fn listen(endpoint: Endpoint, reception: Arc<Reception>) {
    let places = Arc::new(Semaphore::new(STRANGERS_MAX));
    while let Some(incoming) = endpoint.accept().await {
        let Ok(place) = places.clone().try_acquire_owned() else {
            incoming.refuse();
            continue;
        };
        if places.available_permits() < STRANGERS_MAX / 2 && incoming.may_retry() {
            // It may: that was asked.
            _ = incoming.retry();
            continue;
        }
        let reception = reception.clone();
        tokio::spawn(async move {
            let met = meet(&reception, incoming).await;
            drop(place);
            if let Some((stream, guest)) = met {
                reception.serve(ClientSocket::Quic(stream), guest).await;
            }
        });
    }
}

/// Hears who a client is. None when it is not let in, which it was told if it could be.
async fn meet(reception: &Reception, incoming: Incoming) -> Option<(QuicStream, Guest)> {
    let connection = timeout(HELLO_TIMEOUT, incoming.accept().ok()?).await.ok()?.ok()?;
    let late = Refusal { status: 408, reason: "no hello came in time".to_owned() };
    let admitted = timeout(HELLO_TIMEOUT, admit(reception, &connection)).await.unwrap_or(Err(late));
    let refused = |Refusal { status, reason }| {
        connection.close(VarInt::from(u32::from(status)), reason.as_bytes());
    };
    admitted.map_err(refused).ok()
}

async fn admit(reception: &Reception, connection: &Connection) -> Result<(QuicStream, Guest), Refusal> {
    let (mut stream, hello) = QuicStream::meet(connection).await?;
    let guest = reception.admit(hello.token.as_deref(), hello.watches)?;
    // One that is gone already is noticed by who serves it.
    _ = stream.welcome().await;
    Ok((stream, guest))
}

/// One stream, which the client opens, and no datagrams. What a client does not read shall wait where it is seen, and not
/// unseen in here.
fn transport() -> TransportConfig {
    let mut config = TransportConfig::default();
    config
        .max_concurrent_bidi_streams(VarInt::from_u32(1))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .max_idle_timeout(Some(IdleTimeout::from(VarInt::from_u32(IDLE_MS_MAX))))
        .keep_alive_interval(Some(KEEP_ALIVE))
        .stream_receive_window(VarInt::from_u32(WINDOW_BYTES))
        .receive_window(VarInt::from_u32(WINDOW_BYTES))
        .send_window(SEND_BUFFER_BYTES as u64)
        .datagram_receive_buffer_size(None);
    config
}
