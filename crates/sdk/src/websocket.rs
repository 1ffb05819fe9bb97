//! A WebSocket, over TCP or over TLS.

use futures_util::{SinkExt, StreamExt};
use rustls::pki_types::ServerName;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::http::Uri;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::address::{Address, is_token};
use crate::connect_error::{ConnectError, words};
use crate::metered::Metered;
use crate::socket::{Knock, Received};
use crate::trust::Trust;

/// What a WebSocket runs on.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {
    fn bytes_heard(&self) -> u64;
}

impl Stream for Metered {
    fn bytes_heard(&self) -> u64 {
        self.bytes_heard()
    }
}

impl Stream for TlsStream<Metered> {
    fn bytes_heard(&self) -> u64 {
        self.get_ref().0.bytes_heard()
    }
}

/// An open WebSocket.
pub(crate) struct WebSocket(WebSocketStream<Box<dyn Stream>>);

impl WebSocket {
    pub(crate) async fn open(
        gateway: &str,
        address: &Address,
        knock: &mut Knock<'_>,
    ) -> Result<WebSocket, ConnectError> {
        let uri = request(gateway, address, knock)?;
        let stream = reach(gateway, address).await?;
        shake_hands(gateway, uri, knock, Box::new(stream)).await
    }

    /// The same over TLS, with a gateway, or a proxy before it, whose certificate is trusted.
    pub(crate) async fn open_tls(
        gateway: &str,
        address: &Address,
        knock: &mut Knock<'_>,
        trust: &Trust,
    ) -> Result<WebSocket, ConnectError> {
        let uri = request(gateway, address, knock)?;
        let config = trust.tls().map_err(|problem| ConnectError::untrusted(gateway, problem))?;
        let name = ServerName::try_from(address.host.clone()).map_err(|_| ConnectError::Address {
            address: gateway.to_owned(),
            problem: "no certificate can have that name".to_owned(),
        })?;
        let stream = reach(gateway, address).await?;
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
        let stream = stream.map_err(|error| {
            if is_about_certificate(&error) {
                ConnectError::untrusted(gateway, error)
            } else {
                ConnectError::unreachable(gateway, error)
            }
        })?;
        shake_hands(gateway, uri, knock, Box::new(stream)).await
    }

    pub(crate) fn bytes_heard(&self) -> u64 {
        self.0.get_ref().bytes_heard()
    }

    pub(crate) async fn receive(&mut self) -> Result<Received, String> {
        loop {
            return match self.0.next().await {
                Some(Ok(Message::Text(text))) => Ok(Received::Text(text.to_string())),
                Some(Ok(Message::Binary(bytes))) => Ok(Received::Binary(bytes)),
                Some(Ok(Message::Close(Some(frame)))) if !frame.reason.is_empty() => {
                    Err(words(frame.reason.as_bytes()))
                }
                Some(Ok(Message::Close(_))) | None => Err("the gateway closed the connection".to_owned()),
                Some(Ok(_)) => continue,
                Some(Err(error)) => Err(error.to_string()),
            };
        }
    }

    pub(crate) async fn send(&mut self, text: String) -> Result<(), String> {
        self.0.send(Message::text(text)).await.map_err(|error| error.to_string())
    }

    pub(crate) async fn close(mut self) {
        // A gateway that is gone does not hear it, which is as well.
        _ = self.0.close(None).await;
    }
}

async fn reach(gateway: &str, address: &Address) -> Result<Metered, ConnectError> {
    let stream = TcpStream::connect((address.host.as_str(), address.port)).await;
    let stream = stream.map_err(|error| ConnectError::unreachable(gateway, error))?;
    // Commands are small and people wait for them.
    stream.set_nodelay(true).map_err(|error| ConnectError::unreachable(gateway, error))?;
    Ok(Metered::new(stream))
}

async fn shake_hands(
    gateway: &str,
    uri: Uri,
    knock: &mut Knock<'_>,
    stream: Box<dyn Stream>,
) -> Result<WebSocket, ConnectError> {
    knock.is_token_shown = true;
    match tokio_tungstenite::client_async(uri, stream).await {
        Ok((socket, _)) => Ok(WebSocket(socket)),
        Err(Error::Http(answer)) => {
            let body = answer.body().as_deref().unwrap_or_default();
            Err(ConnectError::refused(gateway, answer.status().as_u16(), body))
        }
        Err(error) => Err(ConnectError::unreachable(gateway, error)),
    }
}

/// What to ask for.
fn request(gateway: &str, address: &Address, knock: &Knock<'_>) -> Result<Uri, ConnectError> {
    let wrong = |problem: &str| ConnectError::Address { address: gateway.to_owned(), problem: problem.to_owned() };
    if !knock.token.is_none_or(is_token) {
        return Err(wrong("the token has characters that no token has"));
    }
    let token = knock.token.map(|token| format!("token={token}"));
    let bodies = knock.watches.then(|| "bodies=watched".to_owned());
    let query: Vec<String> = token.into_iter().chain(bodies).collect();
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    let Address { authority, path, .. } = address;
    // Over TLS it is the same request, by the time that it is made.
    format!("ws://{authority}{path}{query}").parse().map_err(|_| wrong("this is no address"))
}

fn is_about_certificate(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(inner, Some(rustls::Error::InvalidCertificate(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_has_the_token_and_what_is_wanted() {
        let asked = |gateway: &str, token, watches| {
            let knock = Knock { token, watches, is_token_shown: false };
            request(gateway, &Address::parse(gateway).unwrap(), &knock).map(|uri| uri.to_string())
        };
        assert_eq!(asked("ws://127.0.0.1:7777", None, false).unwrap(), "ws://127.0.0.1:7777/ws");
        let named = "ws://world.example/at/ws?token=v1.a-_&bodies=watched";
        assert_eq!(asked("wss://world.example/at/ws", Some("v1.a-_"), true).unwrap(), named);
        assert_eq!(asked("ws://[::1]:7/ws", None, true).unwrap(), "ws://[::1]:7/ws?bodies=watched");
        let error = asked("ws://127.0.0.1:7777/ws", Some("a&b=c"), false).unwrap_err();
        assert!(matches!(error, ConnectError::Address { .. }), "{error}");
    }
}
