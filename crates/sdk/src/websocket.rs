//! The transport: a WebSocket over TCP. Nothing else in this crate knows which one it is.

use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::http::Uri;
use tokio_tungstenite::tungstenite::{Bytes, Error, Message, Utf8Bytes};

/// Longest reason taken over from a gateway that does not let us in.
const REASON_CHARS_MAX: usize = 300;

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The address is none, or the token is none.
    #[error("{address}: {problem}")]
    Address {
        /// What was given.
        address: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Nobody answers there, or not as a gateway does.
    #[error("{gateway} cannot be reached: {problem}")]
    Unreachable {
        /// Which gateway.
        gateway: String,
        /// Why not.
        problem: String,
    },
    /// The gateway does not let us in.
    #[error("{gateway} does not let us in ({status}): {reason}")]
    Refused {
        /// Which gateway.
        gateway: String,
        /// 401 without a token, 403 with one that is not good, 503 when it is full.
        status: u16,
        /// For a person.
        reason: String,
    },
    /// It let us in, but told nothing of a world in time.
    #[error("{gateway} let us in but showed no world in time")]
    Silent {
        /// Which gateway.
        gateway: String,
    },
}

impl ConnectError {
    /// True when the gateway answered that it will not have us, and asking again is of no use.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, ConnectError::Refused { status: 401 | 403, .. })
    }
}

/// Something that a gateway said.
#[derive(Debug)]
pub(crate) enum Received {
    Text(Utf8Bytes),
    Binary(Bytes),
}

/// An open connection.
pub(crate) struct Socket(WebSocketStream<TcpStream>);

impl Socket {
    pub(crate) async fn open(gateway: &str, token: Option<&str>) -> Result<Socket, ConnectError> {
        let (place, uri) = address(gateway, token)?;
        let unreachable = |problem: String| ConnectError::Unreachable { gateway: gateway.to_owned(), problem };
        let stream = TcpStream::connect(place).await.map_err(|error| unreachable(error.to_string()))?;
        // Commands are small and people wait for them.
        stream.set_nodelay(true).map_err(|error| unreachable(error.to_string()))?;
        match tokio_tungstenite::client_async(uri, stream).await {
            Ok((socket, _)) => Ok(Socket(socket)),
            Err(Error::Http(answer)) => {
                let body = answer.body().as_deref().unwrap_or_default();
                let reason = String::from_utf8_lossy(body).trim().chars().take(REASON_CHARS_MAX).collect();
                Err(ConnectError::Refused { gateway: gateway.to_owned(), status: answer.status().as_u16(), reason })
            }
            Err(error) => Err(unreachable(error.to_string())),
        }
    }

    /// The next message, or why there is none. May be dropped while it waits.
    pub(crate) async fn receive(&mut self) -> Result<Received, String> {
        loop {
            return match self.0.next().await {
                Some(Ok(Message::Text(text))) => Ok(Received::Text(text)),
                Some(Ok(Message::Binary(bytes))) => Ok(Received::Binary(bytes)),
                Some(Ok(Message::Close(Some(frame)))) if !frame.reason.is_empty() => Err(frame.reason.to_string()),
                Some(Ok(Message::Close(_))) | None => Err("the gateway closed the connection".to_owned()),
                Some(Ok(_)) => continue,
                Some(Err(error)) => Err(error.to_string()),
            };
        }
    }

    pub(crate) async fn send(&mut self, text: String) -> Result<(), String> {
        self.0.send(Message::text(text)).await.map_err(|error| error.to_string())
    }

    /// Says goodbye.
    pub(crate) async fn close(mut self) {
        // A gateway that is gone does not hear it, which is as well.
        _ = self.0.close(None).await;
    }
}

/// Where to open a stream, and what to ask for there.
fn address(gateway: &str, token: Option<&str>) -> Result<(String, Uri), ConnectError> {
    let wrong = |problem: &str| ConnectError::Address { address: gateway.to_owned(), problem: problem.to_owned() };
    let uri: Uri = gateway.parse().map_err(|_| wrong("this is no address; write ws://host:port/ws"))?;
    match uri.scheme_str() {
        Some("ws") => {}
        Some("wss") => return Err(wrong("encrypted connections need a proxy for now; write ws://host:port/ws")),
        _ => return Err(wrong("the address of a gateway begins with ws://")),
    }
    let host = uri.host().ok_or_else(|| wrong("the address names no host"))?;
    let place = format!("{host}:{}", uri.port_u16().unwrap_or(80));
    let path = if uri.path() == "/" { "/ws" } else { uri.path() };
    let query = match token {
        None => String::new(),
        Some(token) if token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte)) => {
            format!("?token={token}")
        }
        Some(_) => return Err(wrong("the token has characters that no token has")),
    };
    let authority = uri.authority().map_or(host, |authority| authority.as_str());
    let uri = format!("ws://{authority}{path}{query}").parse().map_err(|_| wrong("this is no address"))?;
    Ok((place, uri))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_tokens_are_checked() {
        let good = |gateway: &str, token| address(gateway, token).map(|(place, uri)| (place, uri.to_string()));
        let plain = ("127.0.0.1:7777".to_owned(), "ws://127.0.0.1:7777/ws".to_owned());
        assert_eq!(good("ws://127.0.0.1:7777/ws", None), Ok(plain.clone()));
        assert_eq!(good("ws://127.0.0.1:7777", None), Ok(plain));
        let named = ("world.example:80".to_owned(), "ws://world.example/at/ws?token=v1.a-_".to_owned());
        assert_eq!(good("ws://world.example/at/ws", Some("v1.a-_")), Ok(named));
        assert_eq!(good("ws://[::1]:7/ws", None).unwrap().0, "[::1]:7");
        for (gateway, token) in [
            ("http://127.0.0.1:7777", None),
            ("wss://127.0.0.1:7777/ws", None),
            ("127.0.0.1:7777", None),
            ("", None),
            ("ws://", None),
            ("ws://a b/ws", None),
            ("ws://127.0.0.1:7777/ws", Some("a&b=c")),
        ] {
            let error = address(gateway, token).unwrap_err();
            assert!(matches!(error, ConnectError::Address { .. }), "{gateway}: {error}");
        }
    }
}
