//! A real etcd for tests, on a free port of this host and with a directory of its own.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::config::{EtcdConfig, EtcdLogin, EtcdTls};

/// Ends with the value.
pub(crate) struct Server {
    child: Option<Child>,
    pub(crate) dir: PathBuf,
    port: u16,
    scheme: &'static str,
    options: Vec<String>,
}

impl Server {
    /// A directory and a port, and nothing that runs yet.
    pub(crate) fn prepared() -> Server {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("nimbus-etcd-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        Server { child: None, dir, port, scheme: "http", options: Vec::new() }
    }

    /// One that runs.
    pub(crate) fn started() -> Server {
        let mut server = Server::prepared();
        server.start();
        server
    }

    /// One that speaks TLS with these options.
    pub(crate) fn secured(mut self, options: &[String]) -> Server {
        self.scheme = "https";
        self.with(options)
    }

    /// One with these options.
    pub(crate) fn with(mut self, options: &[String]) -> Server {
        self.options = options.to_vec();
        self
    }

    /// Starts it, or starts it again with what it had.
    pub(crate) fn start(&mut self) {
        let (url, peers) = (format!("{}://127.0.0.1:{}", self.scheme, self.port), "http://127.0.0.1:0");
        let child = Command::new("etcd")
            .arg("--data-dir")
            .arg(self.dir.join("data"))
            .args(["--listen-client-urls", &url, "--advertise-client-urls", &url])
            .args(["--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers])
            .args(["--initial-cluster", &format!("default={peers}")])
            // Short, so that leases may be short, too.
            .args(["--heartbeat-interval", "20", "--election-timeout", "200"])
            .args(&self.options)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let child = child.expect("etcd must be on PATH; Debian has it as etcd-server, and `cargo xtask test` gets it");
        self.child = Some(child);
    }

    /// Ends it without a warning.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Has it do nothing until it is told to go on: `STOP` and `CONT`.
    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
    }

    /// How to use it, with a lease of a second.
    pub(crate) fn config(&self, login: Option<EtcdLogin>, tls: Option<EtcdTls>) -> EtcdConfig {
        let endpoint = format!("{}://127.0.0.1:{}", self.scheme, self.port).parse().unwrap();
        EtcdConfig::new(vec![endpoint], 1, login, tls).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        _ = std::fs::remove_dir_all(&self.dir);
    }
}
