//! Takes TCP connections and speaks HTTP over them, bounded in number and in time: who connects and says nothing, or says half
//! of it, or takes no answer, must not shut others out.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use socket2::SockRef;
use std::collections::VecDeque;
use std::io::{Error, ErrorKind};
use std::pin::pin;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use crate::client_socket::SEND_BUFFER_BYTES;

/// Connections of one listener that are no clients yet or never will be. A page needs six at most.
pub(crate) const HELD_MAX: usize = 256;
/// How long a question may take to arrive, and how long a connection may wait for the next one.
const ASK_MAX: Duration = Duration::from_secs(5);
/// How long a connection may go on with questions. Whoever wants more connects again.
const LIFE_MAX: Duration = Duration::from_secs(60);
/// How long the last answer may take after that: longer than an operator waits for a checkpoint.
const LAST_ANSWER_MAX: Duration = Duration::from_secs(90);
/// Longest head of a question, and what is kept of an answer that is not taken yet.
const BUFFER_BYTES_MAX: usize = 64 << 10;
/// How long to wait when no connection can be taken, which is when all files are in use.
const PAUSE: Duration = Duration::from_secs(1);

/// How many connections are held, and for how long they may be silent.
#[derive(Clone, Copy, Debug)]
struct Limits {
    held: usize,
    ask: Duration,
}

/// Answers questions until the runtime ends. A connection that becomes a WebSocket is held by whoever serves that.
pub(crate) async fn serve(listener: TcpListener, router: Router) {
    serve_within(listener, router, Limits { held: HELD_MAX, ask: ASK_MAX }).await;
}

async fn serve_within(listener: TcpListener, router: Router, limits: Limits) {
    // In the order in which they came.
    let mut held: VecDeque<AbortHandle> = VecDeque::new();
    let mut is_stuck = false;
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) if is_gone(&error) => continue,
            Err(error) => {
                if !std::mem::replace(&mut is_stuck, true) {
                    eprintln!("nimbus: no connection can be taken: {error}");
                }
                sleep(PAUSE).await;
                continue;
            }
        };
        is_stuck = false;
        held.retain(|connection| !connection.is_finished());
        // The oldest goes, for whoever means it asks at once: to shut others out one would have to come faster than they ask.
        if held.len() >= limits.held
            && let Some(oldest) = held.pop_front()
        {
            oldest.abort();
        }
        held.push_back(tokio::spawn(converse(stream, router.clone(), limits.ask)).abort_handle());
    }
}

/// Answers over one connection, until that ends or is handed over.
async fn converse(stream: TcpStream, router: Router, ask: Duration) {
    // States are small and frequent: waiting to fill a packet would only make them late.
    // And what a client does not read shall wait here, where it is seen, and not unseen in the kernel.
    _ = stream.set_nodelay(true);
    _ = SockRef::from(&stream).set_send_buffer_size(SEND_BUFFER_BYTES);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(ask).max_buf_size(BUFFER_BYTES_MAX);
    let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)).with_upgrades();
    let mut connection = pin!(connection);
    // However it ends, there is nobody left to tell.
    if timeout(LIFE_MAX, connection.as_mut()).await.is_err() {
        connection.as_mut().graceful_shutdown();
        _ = timeout(LAST_ANSWER_MAX, connection).await;
    }
}

/// True when whoever came has gone again already.
fn is_gone(error: &Error) -> bool {
    use ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use std::net::SocketAddr;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    const PATIENCE: Duration = Duration::from_secs(20);
    const LONG: Duration = Duration::from_secs(3600);

    /// Runs a test against a listener with these limits.
    fn with<F: Future<Output = ()>>(held: usize, ask: Duration, test: impl FnOnce(SocketAddr) -> F) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let router = Router::new().route("/", get(|| async { "here" }));
            tokio::spawn(serve_within(listener, router, Limits { held, ask }));
            timeout(PATIENCE, test(address)).await.expect("it hangs");
        });
    }

    async fn connect(address: SocketAddr, said: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(said.as_bytes()).await.unwrap();
        stream
    }

    /// What comes until the answer is there, or until the connection ends.
    async fn answer(stream: &mut TcpStream) -> String {
        let mut text = Vec::new();
        while !text.ends_with(b"here") && stream.read_buf(&mut text).await.is_ok_and(|read| read > 0) {}
        String::from_utf8(text).unwrap()
    }

    const QUESTION: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

    #[test]
    fn who_is_silent_says_half_or_asks_no_more_is_let_go() {
        with(8, Duration::from_millis(200), |address| async move {
            let mut silent = connect(address, "").await;
            let mut half = connect(address, "GET / HTTP/1.1\r\nX: a").await;
            let mut done = connect(address, QUESTION).await;
            assert!(answer(&mut done).await.starts_with("HTTP/1.1 200"));
            for stream in [&mut silent, &mut half, &mut done] {
                assert_eq!(answer(stream).await, "");
            }
        });
    }

    #[test]
    fn when_there_are_too_many_the_oldest_goes() {
        with(2, LONG, |address| async move {
            let mut first = connect(address, "").await;
            let mut second = connect(address, "GET / HTTP/1.1\r\nHost: x\r\n").await;
            let mut third = connect(address, QUESTION).await;
            assert!(answer(&mut third).await.starts_with("HTTP/1.1 200"));
            assert_eq!(answer(&mut first).await, "");
            // Those who came later were not disturbed.
            second.write_all(b"\r\n").await.unwrap();
            assert!(answer(&mut second).await.starts_with("HTTP/1.1 200"));
            third.write_all(QUESTION.as_bytes()).await.unwrap();
            assert!(answer(&mut third).await.starts_with("HTTP/1.1 200"), "it may ask again");
        });
    }
}
