//! Addresses of gateways: which transport, and where.

use tokio_tungstenite::tungstenite::http::Uri;

use crate::connect_error::ConnectError;

/// What an address asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Ws,
    /// A WebSocket over TLS.
    Wss,
    Quic,
}

/// The address of a gateway, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) scheme: Scheme,
    /// A name, or a number without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Host and perhaps port, as they were written.
    pub(crate) authority: String,
    pub(crate) path: String,
}

impl Address {
    pub(crate) fn parse(gateway: &str) -> Result<Address, ConnectError> {
        let wrong = |problem: &str| ConnectError::Address { address: gateway.to_owned(), problem: problem.to_owned() };
        let uri: Uri =
            gateway.parse().map_err(|_| wrong("this is no address; write ws://host:port/ws or quic://host:port"))?;
        let (scheme, usual_port) = match uri.scheme_str() {
            Some("ws") => (Scheme::Ws, Some(80)),
            Some("wss") => (Scheme::Wss, Some(443)),
            Some("quic") => (Scheme::Quic, None),
            _ => return Err(wrong("the address of a gateway begins with ws://, wss:// or quic://")),
        };
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| wrong("the address names no host"))?;
        let port = uri.port_u16().or(usual_port).ok_or_else(|| wrong("with quic:// the port has to be named"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let authority = uri.authority().map_or_else(|| host.clone(), |authority| authority.as_str().to_owned());
        let path = if uri.path() == "/" { "/ws" } else { uri.path() };
        Ok(Address { scheme, host, port, authority, path: path.to_owned() })
    }
}

/// True for what can be a token. Others could mean something else in an address.
pub(crate) fn is_token(token: &str) -> bool {
    token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let parts = |gateway: &str| {
            let address = Address::parse(gateway).unwrap();
            (address.scheme, address.host, address.port, address.path)
        };
        let local = |scheme| (scheme, "127.0.0.1".to_owned(), 7777, "/ws".to_owned());
        assert_eq!(parts("ws://127.0.0.1:7777/ws"), local(Scheme::Ws));
        assert_eq!(parts("ws://127.0.0.1:7777"), local(Scheme::Ws));
        assert_eq!(parts("quic://127.0.0.1:7777"), local(Scheme::Quic));
        assert_eq!(parts("wss://world.example/at/ws"), (Scheme::Wss, "world.example".into(), 443, "/at/ws".into()));
        assert_eq!(parts("ws://world.example").2, 80);
        assert_eq!(parts("quic://[::1]:7").1, "::1");
    }

    #[test]
    fn what_is_no_address_is_said_so() {
        let bad = ["http://127.0.0.1:7777", "127.0.0.1:7777", "", "ws://", "ws://a b/ws", "quic://host", "quic://:1"];
        for gateway in bad {
            let error = Address::parse(gateway).unwrap_err();
            assert!(matches!(error, ConnectError::Address { .. }), "{gateway}: {error}");
        }
        assert!(is_token("v1.player.1.a-_") && !is_token("a&b=c") && !is_token("a b"));
    }
}
