//! A TCP connection that counts what comes in, so that a message that is long on its way is not taken for silence.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The connection. TLS is around it, not within: a record of TLS counts before it is complete.
pub(crate) struct Metered {
    tcp: TcpStream,
    bytes_heard: u64,
}

impl Metered {
    pub(crate) fn new(tcp: TcpStream) -> Metered {
        Metered { tcp, bytes_heard: 0 }
    }

    /// Bytes that came in so far.
    pub(crate) fn bytes_heard(&self) -> u64 {
        self.bytes_heard
    }
}

impl AsyncRead for Metered {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.tcp).poll_read(cx, into);
        self.bytes_heard += (into.filled().len() - before) as u64;
        read
    }
}

impl AsyncWrite for Metered {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}
