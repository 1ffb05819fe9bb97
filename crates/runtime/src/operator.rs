//! The endpoint for operators and monitoring, apart from the one for clients: health, readiness, metrics, and what a
//! process knows about the cluster. It has its own address, which should not be reachable from outside.

use axum::Router;
use axum::extract::{Query, State};
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;

use crate::accept;
use crate::http::BindError;

/// Answers a question about one subject; the arguments come from the address.
pub type Page = Box<dyn Fn(&BTreeMap<String, String>) -> Result<Value, String> + Send + Sync>;

/// What a process tells operators.
pub struct Facts {
    /// Why it cannot do its work yet, or no more; none when it can.
    pub unready: Box<dyn Fn() -> Option<String> + Send + Sync>,
    /// Figures in the text format that Prometheus reads.
    pub metrics: Box<dyn Fn() -> String + Send + Sync>,
    /// Everything else, by path. A page may wait for an answer of another thread.
    pub pages: BTreeMap<&'static str, Page>,
    /// What can be done here, by path; asked for with POST.
    pub acts: BTreeMap<&'static str, Page>,
}

/// An endpoint that runs; it ends when dropped.
pub struct Operator {
    runtime: Option<tokio::runtime::Runtime>,
    address: SocketAddr,
}

impl Operator {
    /// Answers operators from now on.
    pub fn start(address: SocketAddr, facts: Facts) -> Result<Operator, BindError> {
        let other = |source| BindError::Other { address, source };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(4)
            .thread_name("operator")
            .enable_all()
            .build()
            .map_err(other)?;
        let listener = runtime.block_on(TcpListener::bind(address)).map_err(other)?;
        let address = listener.local_addr().map_err(other)?;
        let router = Router::new()
            .route("/healthz", get(|| async { "ok\n" }))
            .route("/readyz", get(ready))
            .route("/metrics", get(metrics))
            .fallback(get(page).post(act))
            .with_state(Arc::new(facts));
        runtime.spawn(accept::serve(listener, router));
        Ok(Operator { runtime: Some(runtime), address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn ready(State(facts): State<Arc<Facts>>) -> Response {
    match (facts.unready)() {
        None => "ready\n".into_response(),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, why + "\n").into_response(),
    }
}

async fn metrics(State(facts): State<Arc<Facts>>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], (facts.metrics)()).into_response()
}

type Arguments = Query<BTreeMap<String, String>>;

async fn page(State(facts): State<Arc<Facts>>, uri: Uri, Query(arguments): Arguments) -> Response {
    let path = uri.path().to_owned();
    if !facts.pages.contains_key(path.as_str()) {
        let known: Vec<&str> = facts.pages.keys().copied().collect();
        let text = format!("there is no such page; there are /healthz, /readyz, /metrics, {}\n", known.join(", "));
        return (StatusCode::NOT_FOUND, text).into_response();
    }
    answer(move || facts.pages.get(path.as_str()).map(|page| page(&arguments))).await
}

async fn act(State(facts): State<Arc<Facts>>, uri: Uri, Query(arguments): Arguments) -> Response {
    let path = uri.path().to_owned();
    if !facts.acts.contains_key(path.as_str()) {
        let known: Vec<&str> = facts.acts.keys().copied().collect();
        let text = format!("this cannot be done here; what can: {}\n", known.join(", "));
        return (StatusCode::NOT_FOUND, text).into_response();
    }
    answer(move || facts.acts.get(path.as_str()).map(|act| act(&arguments))).await
}

async fn answer(work: impl FnOnce() -> Option<Result<Value, String>> + Send + 'static) -> Response {
    let answer = tokio::task::spawn_blocking(work).await;
    match answer {
        Ok(Some(Ok(value))) => axum::Json(value).into_response(),
        Ok(Some(Err(why))) => (StatusCode::BAD_REQUEST, why + "\n").into_response(),
        Ok(None) | Err(_) => {
            (StatusCode::INTERNAL_SERVER_ERROR, "the question could not be answered\n").into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpStream};

    fn ask(operator: &Operator, path: &str) -> String {
        send(operator, "GET", path)
    }

    fn send(operator: &Operator, method: &str, path: &str) -> String {
        let mut stream = TcpStream::connect(operator.address()).unwrap();
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn operators_get_answers_and_reasons() {
        let sum: Page = Box::new(|arguments| {
            let number = arguments.get("n").and_then(|n| n.parse::<u64>().ok()).ok_or("say ?n=NUMBER")?;
            Ok(Value::from(number + 1))
        });
        let facts = Facts {
            unready: Box::new(|| Some("no roster yet".to_owned())),
            metrics: Box::new(|| "nimbus_x 1\n".to_owned()),
            pages: BTreeMap::from([("/api/next", sum)]),
            acts: BTreeMap::from([("/api/end", Box::new(|_: &_| Err("not now".to_owned())) as Page)]),
        };
        let operator = Operator::start((Ipv4Addr::LOCALHOST, 0).into(), facts).unwrap();
        for (path, status, text) in [
            ("/healthz", "200", "ok"),
            ("/readyz", "503", "no roster yet"),
            ("/metrics", "200", "nimbus_x 1"),
            ("/api/next?n=41", "200", "42"),
            ("/api/next", "400", "say ?n=NUMBER"),
            ("/nothing", "404", "/api/next"),
        ] {
            let answer = ask(&operator, path);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")) && answer.contains(text), "{path}: {answer}");
        }
        for (method, path, status) in [("GET", "/api/end", "404"), ("POST", "/api/end", "400"), ("POST", "/x", "404")] {
            let answer = send(&operator, method, path);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{method} {path}: {answer}");
        }
    }
}
