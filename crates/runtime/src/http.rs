//! The web server: viewer, WebSocket, figures, and beside it the door for native clients.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use nimbus_wire::client::{CLIENT_ALPN, CLIENT_PROTOCOL};
use serde::Deserialize;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;

use crate::access::Access;
use crate::client_socket::{CLIENT_MESSAGE_BYTES_MAX, ClientSocket, GOODBYE, READ_BUFFER_BYTES};
use crate::embedded::ClusterHandle;
use crate::quic::{self, Door, QuicCertificate, QuicCertificateError, QuicConfig, QuicDoor};
use crate::reception::{CLIENTS_MAX, GatewayAt, Reception};
use crate::{accept, metrics, open_files, viewer};

/// Files that are needed besides clients and whoever may become one: those of operators, other processes and records.
const OTHER_FILES: usize = 512;

/// Why the web server cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Somebody else has the port.
    #[error("port {0} is taken; choose another with --port, or --port 0 for any free one")]
    Taken(u16),
    /// Not ours to take.
    #[error("port {0} is not allowed for this user; choose one above 1023 with --port")]
    Forbidden(u16),
    /// Somebody else has the UDP port that was named for native clients.
    #[error("UDP port {0} is taken; choose another with --quic, or --quic off")]
    QuicTaken(u16),
    /// There is nothing to show to native clients.
    #[error(transparent)]
    Certificate(#[from] QuicCertificateError),
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
    reception: Arc<Reception>,
    door: Option<Door>,
}

#[derive(Clone)]
struct Shared {
    reception: Arc<Reception>,
    quic: Option<QuicDoor>,
}

/// A place to listen that is ours, before anything runs behind it.
pub struct Listening {
    runtime: tokio::runtime::Runtime,
    listener: TcpListener,
    address: SocketAddr,
    door: Option<Door>,
}

impl Web {
    /// Takes a port; zero takes any free one. Native clients come in over QUIC at the UDP port of the same number.
    pub fn listen(host: IpAddr, port: u16) -> Result<Listening, BindError> {
        Web::listen_with(host, port, QuicConfig::default())
    }

    /// The same, with a say in how native clients come in.
    pub fn listen_with(host: IpAddr, port: u16, quic: QuicConfig) -> Result<Listening, BindError> {
        let other = |source| BindError::Other { address: SocketAddr::new(host, port), source };
        open_files::raise_limit((CLIENTS_MAX + accept::HELD_MAX + OTHER_FILES) as u64);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("web")
            .enable_all()
            .build()
            .map_err(other)?;
        let (listener, socket) = runtime.block_on(quic::bind(host, port, quic.port))?;
        let address = listener.local_addr().map_err(other)?;
        let open = |socket| {
            let certificate = quic.certificate.map_or_else(|| QuicCertificate::self_signed(host), Ok)?;
            let _inside = runtime.enter();
            Door::open(socket, &certificate)
        };
        let door = socket.map(open).transpose()?;
        Ok(Listening { runtime, listener, address, door })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where native clients come in, if they do.
    pub fn quic(&self) -> Option<&QuicDoor> {
        self.door.as_ref().map(Door::facts)
    }

    /// Ends it. Clients that have been told to go get a moment to hear why, so stop the cluster first.
    pub fn stop(self) {
        let Web { runtime, reception, door, .. } = self;
        runtime.block_on(async {
            // Who has not left by then is cut off.
            _ = tokio::time::timeout(GOODBYE, reception.everybody_left()).await;
            if let Some(door) = door {
                door.close().await;
            }
        });
        runtime.shutdown_timeout(GOODBYE);
    }
}

impl Listening {
    /// Where it will be.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where native clients will come in, if they do.
    pub fn quic(&self) -> Option<&QuicDoor> {
        self.door.as_ref().map(Door::facts)
    }

    /// Serves a world from now on, to whoever is let in.
    pub fn serve(self, cluster: ClusterHandle, access: Access) -> Web {
        self.serve_among(cluster, access, Vec::new())
    }

    /// The same where several gateways show one world. Clients are told where all of them are, this one included, and a
    /// page that came from one of them may go on with this one.
    pub fn serve_among(self, cluster: ClusterHandle, access: Access, gateways: Vec<GatewayAt>) -> Web {
        let Listening { runtime, listener, address, door } = self;
        let reception = Arc::new(Reception::new(cluster, access, gateways));
        let shared = Shared { reception: reception.clone(), quic: door.as_ref().map(|door| door.facts().clone()) };
        let router = Router::new()
            .route("/ws", any(websocket))
            .route("/healthz", get(health))
            .route("/metrics", get(metrics_text))
            .route("/api/world", get(world))
            .route("/api/quic", get(quic_door))
            .fallback(get(file))
            .with_state(shared);
        runtime.spawn(accept::serve(listener, router));
        if let Some(door) = &door {
            door.listen(&runtime, reception.clone());
        }
        Web { runtime, address, reception, door }
    }
}

async fn health(State(shared): State<Shared>) -> Response {
    if shared.reception.cluster().board().all_alive() {
        "ok\n".into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "a server has died; see /api/world\n").into_response()
    }
}

async fn metrics_text(State(shared): State<Shared>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], metrics::render(shared.reception.cluster().board()))
        .into_response()
}

async fn world(State(shared): State<Shared>) -> Response {
    let headers = [(header::CACHE_CONTROL, "no-store")];
    (headers, axum::Json(shared.reception.cluster().board().world_stats())).into_response()
}

/// Where native clients come in, and how they know that it is this gateway.
async fn quic_door(State(shared): State<Shared>) -> Response {
    let Some(QuicDoor { address, sha256 }) = shared.quic else {
        return (StatusCode::NOT_FOUND, "this gateway takes no QUIC\n").into_response();
    };
    let alpn = String::from_utf8_lossy(CLIENT_ALPN);
    let told = serde_json::json!({"port": address.port(), "sha256": sha256, "alpn": alpn, "protocol": CLIENT_PROTOCOL});
    ([(header::CACHE_CONTROL, "no-store")], axum::Json(told)).into_response()
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
    if !is_own_page(&headers, shared.reception.gateways()) {
        let reason = "only pages that come from this server may connect; the Origin of this one is another\n";
        return (StatusCode::FORBIDDEN, reason).into_response();
    }
    let watches = match bodies.as_deref() {
        None | Some("all") => false,
        Some("watched") => true,
        Some(_) => return (StatusCode::BAD_REQUEST, "`bodies` is `all` or `watched`\n").into_response(),
    };
    let guest = match shared.reception.admit(token.as_deref(), watches) {
        Ok(guest) => guest,
        Err(refusal) => {
            let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::FORBIDDEN);
            return (status, format!("{}\n", refusal.reason)).into_response();
        }
    };
    upgrade
        .read_buffer_size(READ_BUFFER_BYTES)
        .max_message_size(CLIENT_MESSAGE_BYTES_MAX)
        .max_frame_size(CLIENT_MESSAGE_BYTES_MAX)
        .on_upgrade(|socket| async move { shared.reception.serve(ClientSocket::Web(socket), guest).await })
}

/// Browsers let every page open a WebSocket to every server, and say where the page is from. A page from elsewhere must
/// not drive this world. Programs that are no browsers do not name an origin.
fn is_own_page(headers: &HeaderMap, gateways: &[GatewayAt]) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let place = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, place)| place);
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    place.zip(host).is_some_and(|(place, host)| {
        place.eq_ignore_ascii_case(host) || gateways.iter().any(|gateway| is_page_of(&gateway.http, place, host))
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let gateways =
            ["127.0.0.1:7777", "0.0.0.0:7778"].map(|http| GatewayAt { http: http.parse().unwrap(), quic: None });
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
