//! Where native clients come in: a UDP port beside the TCP port of the viewer.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::str::FromStr;
use tokio::net::TcpListener;

use super::certificate::QuicCertificate;
use crate::http::BindError;
use crate::mesh;

/// How often another pair of ports is tried when any will do and the UDP port of a number is taken.
const PAIRS_MAX: usize = 16;

/// Which UDP port native clients come in at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuicPort {
    /// The one with the number of the viewer's port, so that `ws://` and `quic://` differ in nothing else. When somebody
    /// else has it, any free one.
    #[default]
    Beside,
    /// This one; zero takes any free one.
    At(u16),
    /// None: native clients use the WebSocket.
    Off,
}

impl QuicPort {
    /// Where it is for a gateway whose viewer is at `http`, if that can be told before it listens.
    pub fn beside(self, http: SocketAddr) -> Option<SocketAddr> {
        match self {
            QuicPort::Beside => Some(http),
            QuicPort::At(port @ 1..) => Some(SocketAddr::new(http.ip(), port)),
            QuicPort::At(0) | QuicPort::Off => None,
        }
    }
}

impl FromStr for QuicPort {
    type Err = String;

    fn from_str(text: &str) -> Result<QuicPort, String> {
        match text {
            "off" => Ok(QuicPort::Off),
            _ => text.parse().map(QuicPort::At).map_err(|_| format!("`{text}` is neither a port nor `off`")),
        }
    }
}

/// How native clients are let in.
#[derive(Debug, Default)]
pub struct QuicConfig {
    /// Where.
    pub port: QuicPort,
    /// What they are shown; without it, one that is made at the start.
    pub certificate: Option<QuicCertificate>,
}

/// Takes the ports of browsers and of native clients.
pub(crate) async fn bind(
    host: IpAddr,
    port: u16,
    quic: QuicPort,
) -> Result<(TcpListener, Option<UdpSocket>), BindError> {
    let mut pairs = 0;
    loop {
        let listener = listener(host, port).await?;
        let number = listener.local_addr().map_err(|source| other(host, port, source))?.port();
        let wanted = match quic {
            QuicPort::Off => return Ok((listener, None)),
            QuicPort::Beside => number,
            QuicPort::At(wanted) => wanted,
        };
        pairs += 1;
        match mesh::bind(SocketAddr::new(host, wanted)) {
            Ok((socket, _)) => return Ok((listener, Some(socket))),
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => return Err(other(host, wanted, error)),
            Err(_) if quic != QuicPort::Beside => return Err(BindError::QuicTaken(wanted)),
            Err(_) if port == 0 && pairs < PAIRS_MAX => {}
            Err(_) => {
                let any = mesh::bind(SocketAddr::new(host, 0)).map_err(|source| other(host, 0, source))?;
                return Ok((listener, Some(any.0)));
            }
        }
    }
}

async fn listener(host: IpAddr, port: u16) -> Result<TcpListener, BindError> {
    TcpListener::bind((host, port)).await.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => BindError::Taken(port),
        io::ErrorKind::PermissionDenied => BindError::Forbidden(port),
        _ => other(host, port, source),
    })
}

fn other(host: IpAddr, port: u16, source: io::Error) -> BindError {
    BindError::Other { address: SocketAddr::new(host, port), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_a_number_or_off() {
        assert_eq!("7778".parse(), Ok(QuicPort::At(7778)));
        assert_eq!("off".parse(), Ok(QuicPort::Off));
        for bad in ["", "on", "70000", "-1"] {
            assert!(bad.parse::<QuicPort>().unwrap_err().contains("`off`"), "{bad}");
        }
        let http: SocketAddr = "10.0.0.1:7777".parse().unwrap();
        assert_eq!(QuicPort::Beside.beside(http), Some(http));
        assert_eq!(QuicPort::At(1).beside(http), "10.0.0.1:1".parse().ok());
        assert_eq!((QuicPort::At(0).beside(http), QuicPort::Off.beside(http)), (None, None));
    }

    #[test]
    fn both_ports_have_one_number_unless_somebody_has_it() {
        let host = IpAddr::from([127, 0, 0, 1]);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let bound = |port, quic| runtime.block_on(bind(host, port, quic));
        let (listener, socket) = bound(0, QuicPort::Beside).unwrap();
        let (tcp, udp) = (listener.local_addr().unwrap(), socket.as_ref().unwrap().local_addr().unwrap());
        assert_eq!(tcp, udp);
        // Only the UDP port is taken now.
        drop(listener);
        let (listener, elsewhere) = bound(tcp.port(), QuicPort::Beside).unwrap();
        assert_ne!(elsewhere.unwrap().local_addr().unwrap().port(), udp.port());
        drop(listener);
        let error = bound(tcp.port(), QuicPort::At(udp.port())).map(|_| ()).unwrap_err();
        assert!(matches!(error, BindError::QuicTaken(port) if port == udp.port()), "{error}");
        assert!(bound(0, QuicPort::Off).unwrap().1.is_none());
    }
}
