//! The web server: viewer, WebSocket, figures.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ws::{CloseFrame, Message as WsMessage, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use axum::serve::ListenerExt;
use nimbus_gateway::Message;
use nimbus_wire::client::{ClientRole, ToClient};
use serde::Deserialize;
use socket2::SockRef;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::access::{Access, AccessError};
use crate::client_queue::{ClientEnd, Next};
use crate::clock::Clock;
use crate::embedded::ClusterHandle;
use crate::{metrics, viewer};

/// Largest message a client may send.
const CLIENT_MESSAGE_BYTES_MAX: usize = 64 << 10;
/// What is read from a client at once. Commands are short, and every client has a buffer of its own.
const READ_BUFFER_BYTES: usize = 4 << 10;
/// What the kernel keeps for a client that has not received it yet: enough for 5 Mbit/s over 400 ms.
const SEND_BUFFER_BYTES: usize = 256 << 10;
/// WebSockets open at once; beyond that newcomers are turned away before they cost anything.
const SOCKETS_MAX: usize = 1024;
/// Longest reason in a close frame: the protocol allows 125 bytes, two of them for the code.
const REASON_BYTES_MAX: usize = 123;
/// How long open connections may take to end.
const GOODBYE: Duration = Duration::from_millis(400);

/// How often a client that needed a token gets one for the next time.
const RENEWAL: Duration = Duration::from_secs(20 * 60);

/// Why the web server cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Somebody else has the port.
    #[error("port {0} is taken; choose another with --port, or --port 0 for any free one")]
    Taken(u16),
    /// Not ours to take.
    #[error("port {0} is not allowed for this user; choose one above 1023 with --port")]
    Forbidden(u16),
    /// Something else.
    #[error("cannot listen on {address}: {source}")]
    Other {
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
}

/// A web server that runs.
pub struct Web {
    runtime: tokio::runtime::Runtime,
    address: SocketAddr,
    sockets: Arc<Semaphore>,
}

#[derive(Clone)]
struct Shared {
    cluster: ClusterHandle,
    access: Arc<Access>,
    /// Every gateway to this world, where there are several.
    gateways: Arc<[SocketAddr]>,
    sockets: Arc<Semaphore>,
}

/// A place to listen that is ours, before anything runs behind it.
pub struct Listening {
    runtime: tokio::runtime::Runtime,
    listener: TcpListener,
    address: SocketAddr,
}

impl Web {
    /// Takes a port; zero takes any free one.
    pub fn listen(host: IpAddr, port: u16) -> Result<Listening, BindError> {
        let address = SocketAddr::new(host, port);
        let other = |source| BindError::Other { address, source };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("web")
            .enable_all()
            .build()
            .map_err(other)?;
        let listener = runtime.block_on(TcpListener::bind(address)).map_err(|source| match source.kind() {
            std::io::ErrorKind::AddrInUse => BindError::Taken(port),
            std::io::ErrorKind::PermissionDenied => BindError::Forbidden(port),
            _ => other(source),
        })?;
        let address = listener.local_addr().map_err(other)?;
        Ok(Listening { runtime, listener, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it. Clients that have been told to go get a moment to hear why, so stop the cluster first.
    pub fn stop(self) {
        let everybody_left = self.sockets.acquire_many(SOCKETS_MAX as u32);
        // Who has not left by then is cut off.
        _ = self.runtime.block_on(async { tokio::time::timeout(GOODBYE, everybody_left).await.is_ok() });
        self.runtime.shutdown_timeout(GOODBYE);
    }
}

impl Listening {
    /// Where it will be.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves a world from now on, to whoever is let in.
    pub fn serve(self, cluster: ClusterHandle, access: Access) -> Web {
        self.serve_among(cluster, access, Vec::new())
    }

    /// The same where several gateways show one world. Clients are told where all of them are, this one included, and a
    /// page that came from one of them may go on with this one.
    pub fn serve_among(self, cluster: ClusterHandle, access: Access, gateways: Vec<SocketAddr>) -> Web {
        let sockets = Arc::new(Semaphore::new(SOCKETS_MAX));
        let (access, gateways) = (Arc::new(access), gateways.into());
        let shared = Shared { cluster, access, gateways, sockets: sockets.clone() };
        let router = Router::new()
            .route("/ws", any(websocket))
            .route("/healthz", get(health))
            .route("/metrics", get(metrics_text))
            .route("/api/world", get(world))
            .fallback(get(file))
            .with_state(shared);
        // States are small and frequent: waiting to fill a packet would only make them late.
        // And what a client does not read shall wait here, where it is seen, and not unseen in the kernel.
        let listener = self.listener.tap_io(|stream| {
            _ = stream.set_nodelay(true);
            _ = SockRef::from(&*stream).set_send_buffer_size(SEND_BUFFER_BYTES);
        });
        self.runtime.spawn(async move {
            // Serving ends with the runtime; it does not fail by itself.
            _ = axum::serve(listener, router).await;
        });
        Web { runtime: self.runtime, address: self.address, sockets }
    }
}

async fn health(State(shared): State<Shared>) -> Response {
    if shared.cluster.board().all_alive() {
        "ok\n".into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "a server has died; see /api/world\n").into_response()
    }
}

async fn metrics_text(State(shared): State<Shared>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], metrics::render(shared.cluster.board())).into_response()
}

async fn world(State(shared): State<Shared>) -> Response {
    let headers = [(header::CACHE_CONTROL, "no-store")];
    (headers, axum::Json(shared.cluster.board().world_stats())).into_response()
}

async fn file(uri: Uri) -> Response {
    let Some(asset) = viewer::asset(uri.path()) else {
        return (StatusCode::NOT_FOUND, "there is no such page\n").into_response();
    };
    let caching = if asset.is_immutable { "public, max-age=31536000, immutable" } else { "no-cache" };
    let headers = [
        (header::CONTENT_TYPE, asset.content_type),
        (header::CACHE_CONTROL, caching),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, Body::from(Bytes::from_static(asset.bytes))).into_response()
}

/// What a client may say in the address when it connects.
#[derive(Deserialize)]
struct Knock {
    token: Option<String>,
    /// `watched`: no bodies before it says what it watches.
    bodies: Option<String>,
}

async fn websocket(
    State(shared): State<Shared>,
    Query(Knock { token, bodies }): Query<Knock>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    if !is_own_page(&headers, &shared.gateways) {
        let reason = "only pages that come from this server may connect; the Origin of this one is another\n";
        return (StatusCode::FORBIDDEN, reason).into_response();
    }
    let Ok(permit) = shared.sockets.clone().try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many clients are connected; try again later\n").into_response();
    };
    // Last, so that a token is not used up by a client that is turned away for another reason.
    let role = match shared.access.admit(token.as_deref(), now_s()) {
        Ok(role) => role,
        Err(refusal) => {
            let status = if refusal == AccessError::Missing { StatusCode::UNAUTHORIZED } else { StatusCode::FORBIDDEN };
            return (status, format!("{refusal}\n")).into_response();
        }
    };
    let watches = match bodies.as_deref() {
        None | Some("all") => false,
        Some("watched") => true,
        Some(_) => return (StatusCode::BAD_REQUEST, "`bodies` is `all` or `watched`\n").into_response(),
    };
    upgrade
        .read_buffer_size(READ_BUFFER_BYTES)
        .max_message_size(CLIENT_MESSAGE_BYTES_MAX)
        .max_frame_size(CLIENT_MESSAGE_BYTES_MAX)
        .on_upgrade(move |socket| serve_client(socket, shared, (role, watches), permit))
}

/// The second of the calendar.
fn now_s() -> u64 {
    Clock::unix_us() / 1_000_000
}

/// Browsers let every page open a WebSocket to every server, and say where the page is from. A page from elsewhere must
/// not drive this world. Programs that are no browsers do not name an origin.
fn is_own_page(headers: &HeaderMap, gateways: &[SocketAddr]) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let place = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, place)| place);
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    place.zip(host).is_some_and(|(place, host)| {
        place.eq_ignore_ascii_case(host) || gateways.iter().any(|gateway| is_page_of(gateway, place, host))
    })
}

/// True when a page came from a gateway. One that listens everywhere is known by the name that its neighbour has, too.
fn is_page_of(gateway: &SocketAddr, place: &str, host: &str) -> bool {
    if !gateway.ip().is_unspecified() {
        return place == gateway.to_string();
    }
    let name = |place: &str| place.rsplit_once(':').map(|(name, _)| name.to_ascii_lowercase());
    place.ends_with(&format!(":{}", gateway.port())) && name(place).is_some() && name(place) == name(host)
}

async fn serve_client(
    mut socket: WebSocket,
    Shared { cluster, access, gateways, .. }: Shared,
    (role, watches): (ClientRole, bool),
    _permit: OwnedSemaphorePermit,
) {
    let Some((client, mut queue)) = cluster.connect(role, watches).await else { return };
    if gateways.len() > 1 {
        let told = serde_json::json!({"type": "gateways", "at": *gateways}).to_string();
        // One that is gone already is noticed below.
        _ = socket.send(WsMessage::Text(Utf8Bytes::from(told))).await;
    }
    let mut renewal = tokio::time::interval(RENEWAL);
    let reason = loop {
        tokio::select! {
            _ = renewal.tick() => if let Some(token) = access.renew(role, now_s()) {
                let ticket = ToClient::Ticket { token }.to_text();
                if socket.send(WsMessage::Text(Utf8Bytes::from(ticket))).await.is_err() {
                    break None;
                }
            },
            next = queue.next() => match next {
                Next::Message(message) => match deliver(&mut socket, &mut queue, message).await {
                    Ok(()) => {}
                    Err(reason) => break reason,
                },
                Next::Close(reason) => break Some(reason),
            },
            received = socket.recv() => {
                let goes_on = match received {
                    Some(Ok(WsMessage::Text(text))) => cluster.text(client, text.to_string()).await,
                    Some(Ok(WsMessage::Binary(_))) => cluster.binary(client).await,
                    Some(Ok(WsMessage::Ping(_) | WsMessage::Pong(_))) => true,
                    Some(Err(_)) => break Some("that message could not be read, or it was longer than 64 KiB".to_owned()),
                    Some(Ok(WsMessage::Close(_))) | None => false,
                };
                if !goes_on {
                    break None;
                }
            }
        }
    };
    cluster.disconnect(client).await;
    if let Some(reason) = reason {
        let frame = CloseFrame { code: close_code::POLICY, reason: Utf8Bytes::from(shorten(&reason)) };
        // A client that does not read does not hear the reason either.
        _ = tokio::time::timeout(GOODBYE, socket.send(WsMessage::Close(Some(frame)))).await;
    }
}

/// Sends a message, unless the gateway wants the client gone meanwhile. An error ends the connection, perhaps with a
/// reason to give.
async fn deliver(socket: &mut WebSocket, queue: &mut ClientEnd, message: Message) -> Result<(), Option<String>> {
    let frame = match &message {
        Message::Text(text) => WsMessage::Text(Utf8Bytes::from(&**text)),
        Message::Binary(bytes) => WsMessage::Binary(Bytes::from_owner(bytes.clone())),
    };
    tokio::select! {
        result = socket.send(frame) => result.map_err(|_| None)?,
        reason = queue.goodbye() => return Err(Some(reason)),
    }
    queue.sent(&message);
    Ok(())
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

    #[test]
    fn only_own_pages_may_connect() {
        let from = |origin: Option<&'static str>, host: Option<&'static str>| {
            let named = [(header::ORIGIN, origin), (header::HOST, host)];
            let headers = named.into_iter().filter_map(|(name, value)| Some((name, value?.parse().unwrap())));
            is_own_page(&headers.collect(), &[])
        };
        assert!(from(None, Some("127.0.0.1:7777")), "a program names no origin");
        assert!(from(Some("http://127.0.0.1:7777"), Some("127.0.0.1:7777")));
        assert!(from(Some("https://World.example"), Some("world.example")));
        assert!(from(Some("http://[::1]:7777"), Some("[::1]:7777")));
        let foreign =
            ["http://evil.example", "http://127.0.0.1:8000", "http://127.0.0.1", "null", "", "127.0.0.1:7777"];
        for origin in foreign {
            assert!(!from(Some(origin), Some("127.0.0.1:7777")), "{origin}");
        }
        assert!(!from(Some("http://127.0.0.1:7777"), None));
    }

    #[test]
    fn a_page_may_go_on_with_another_gateway_of_its_world() {
        let gateways: Vec<SocketAddr> = vec!["127.0.0.1:7777".parse().unwrap(), "0.0.0.0:7778".parse().unwrap()];
        let from = |origin: &'static str, host: &'static str| {
            let named = [(header::ORIGIN, origin), (header::HOST, host)];
            is_own_page(&named.into_iter().map(|(name, value)| (name, value.parse().unwrap())).collect(), &gateways)
        };
        assert!(from("http://127.0.0.1:7777", "127.0.0.1:7778"));
        assert!(from("http://world.example:7778", "World.example:7777"), "by the name that both have");
        for origin in ["http://127.0.0.1:7779", "http://evil.example:7778", "http://127.0.0.2:7777", "null"] {
            assert!(!from(origin, "127.0.0.1:7778"), "{origin}");
        }
    }

    #[test]
    fn a_taken_port_is_named() {
        let host = IpAddr::from([127, 0, 0, 1]);
        let first = Web::listen(host, 0).unwrap();
        let port = first.address().port();
        let Err(error) = Web::listen(host, port) else { panic!("two on one port") };
        assert!(matches!(error, BindError::Taken(taken) if taken == port));
        assert!(error.to_string().contains(&port.to_string()) && error.to_string().contains("--port"), "{error}");
    }
}
