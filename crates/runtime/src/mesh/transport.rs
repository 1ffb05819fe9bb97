//! Limits and timing of the connections between processes.

use quinn::{ClientConfig, EndpointConfig, IdleTimeout, ServerConfig, TransportConfig, VarInt};
use quinn_proto::HashedConnectionIdGenerator;
use socket2::SockRef;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use super::identity::Identity;
use super::window_floor::WindowFloor;

/// A connection that is silent for this long is broken. Who is a member is decided by heartbeats, much sooner; a process
/// that stood still for less than this is still heard, and what it says too late is refused by epoch.
pub const IDLE_MS_MAX: u32 = 8_000;

/// How often a connection with nothing to say shows that it is alive.
pub const KEEP_ALIVE: Duration = Duration::from_millis(200);

/// Most frames under way at once in streams of their own, in each direction.
pub(crate) const LATEST_STREAMS_MAX: usize = 8;

/// Bytes of all streams of a connection that the receiver has not taken yet; one stream has half of that, so that updates
/// leave room for ownership. Less where the socket has less room: what does not fit there is lost and has to be sent again.
const WINDOW_BYTES_MIN: usize = 128 << 10;
const WINDOW_BYTES_MAX: usize = 1 << 20;

/// Bytes that a sender keeps until they are acknowledged.
const SEND_BYTES: u64 = 1 << 20;

/// Bytes that may be under way on a connection whatever is lost.
const UNDER_WAY_BYTES_MIN: u64 = 1 << 20;

/// Bytes of datagrams that wait, at each end.
pub(crate) const DATAGRAM_BYTES: usize = 256 << 10;

/// What a new connection takes for its round trip until it has measured one. Processes are near each other; with the
/// usual third of a second, a lost first packet would cost a second.
const FIRST_RTT: Duration = Duration::from_millis(50);

/// Connections that wait to be looked at, and bytes that each may send until then.
const INCOMING_MAX: usize = 64;
const INCOMING_BYTES: u64 = 16 << 10;

/// Bytes that the socket holds while the network's thread is busy. With the usual fifth of a megabyte a burst loses
/// packets. The system may grant less.
const SOCKET_BYTES: usize = 2 << 20;

/// The socket that everything goes through, and how many bytes of streams a connection may send to it at once.
pub(crate) fn bind(listen: SocketAddr) -> io::Result<(UdpSocket, u32)> {
    let socket = UdpSocket::bind(listen)?;
    let options = SockRef::from(&socket);
    let _ = options.set_recv_buffer_size(SOCKET_BYTES);
    let _ = options.set_send_buffer_size(SOCKET_BYTES);
    // About half of a buffer is what the system needs for itself.
    let room = options.recv_buffer_size()? / 2;
    Ok((socket, room.clamp(WINDOW_BYTES_MIN, WINDOW_BYTES_MAX) as u32))
}

/// How a process receives connections.
pub(crate) fn server_config(identity: &Identity, window: u32) -> ServerConfig {
    let mut config = ServerConfig::with_crypto(identity.accepts());
    config.transport_config(Arc::new(transport(1, window)));
    // Processes do not move. One that does is a new connection.
    config.migration(false);
    config.max_incoming(INCOMING_MAX).incoming_buffer_size(INCOMING_BYTES);
    config.incoming_buffer_size_total(INCOMING_MAX as u64 * INCOMING_BYTES);
    config
}

/// How a process makes connections.
pub(crate) fn client_config(identity: &Identity, window: u32) -> ClientConfig {
    let mut config = ClientConfig::new(identity.dials());
    config.transport_config(Arc::new(transport(0, window)));
    config
}

/// How packets of connections that this life of the process does not know are recognised and answered.
pub(crate) fn endpoint_config(identity: &Identity) -> EndpointConfig {
    let key = identity.restart_key();
    let mut ids = [0; 8];
    ids.copy_from_slice(&ring::hmac::sign(&key, b"connection ids").as_ref()[..8]);
    let ids = u64::from_le_bytes(ids);
    let mut config = EndpointConfig::new(key);
    config.cid_generator(move || Box::new(HashedConnectionIdGenerator::from_key(ids)));
    config
}

/// The one ordered stream is opened by the side that dials.
fn transport(ordered_streams: u32, window: u32) -> TransportConfig {
    let mut config = TransportConfig::default();
    config
        .max_concurrent_bidi_streams(VarInt::from_u32(ordered_streams))
        .max_concurrent_uni_streams(VarInt::from_u32(LATEST_STREAMS_MAX as u32))
        .max_idle_timeout(Some(IdleTimeout::from(VarInt::from_u32(IDLE_MS_MAX))))
        .keep_alive_interval(Some(KEEP_ALIVE))
        .initial_rtt(FIRST_RTT)
        .stream_receive_window(VarInt::from_u32(window / 2))
        .receive_window(VarInt::from_u32(window))
        .send_window(SEND_BYTES)
        .congestion_controller_factory(Arc::new(WindowFloor { floor: UNDER_WAY_BYTES_MIN }))
        .datagram_receive_buffer_size(Some(DATAGRAM_BYTES))
        .datagram_send_buffer_size(DATAGRAM_BYTES);
    config
}
