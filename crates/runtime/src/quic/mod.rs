//! Native clients over QUIC: the same messages and the same rules as over a WebSocket, on one stream.
//!
//! A client is not asked for a certificate. Who it is, its token says; the gateway's certificate says who the gateway is,
//! and clients either know its fingerprint or the CA that made it.

mod certificate;
mod door;
mod port;
mod stream;

pub use certificate::{QuicCertificate, QuicCertificateError};
pub(crate) use door::Door;
pub use door::QuicDoor;
pub(crate) use port::bind;
pub use port::{QuicConfig, QuicPort};
pub(crate) use stream::QuicStream;
