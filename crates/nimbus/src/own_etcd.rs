//! An etcd that `nimbus cluster --etcd` starts, looks after and ends.

use anyhow::{Context, bail};
use nimbus::runtime::etcd::{Endpoint, EtcdConfig};
use std::fs::{DirBuilder, File};
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// It has one member, which nobody else ever connects to.
const PEERS: &str = "http://127.0.0.1:0";

/// Ends with the value.
pub(crate) struct OwnEtcd {
    child: Child,
    endpoint: Endpoint,
    data: PathBuf,
}

impl OwnEtcd {
    /// Starts it where the configuration expects it, with its data in this directory. It may take a moment to answer.
    pub(crate) fn start(config: &EtcdConfig, data: &Path) -> anyhow::Result<OwnEtcd> {
        let endpoint = match config.endpoints() {
            [endpoint] if endpoint.is_loopback() && !endpoint.is_secure() && config.login().is_none() => endpoint,
            _ => bail!(
                "--etcd starts an etcd on this host, for this host alone: [etcd] must have one endpoint like \
                 http://127.0.0.1:2379 and no user; without --etcd, the one at these endpoints is used"
            ),
        };
        // It would end at once, and whoever listens there would be taken for it.
        if let Err(error) = TcpListener::bind(endpoint.authority()) {
            bail!(
                "etcd cannot listen at {endpoint}: {error}; end what listens there, or say another port in `endpoints` of [etcd]"
            );
        }
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(data)
            .with_context(|| format!("cannot make {}", data.display()))?;
        let child = spawn(endpoint, data)?;
        println!("etcd at {endpoint}, its data and log in {}", data.display());
        Ok(OwnEtcd { child, endpoint: endpoint.clone(), data: data.to_owned() })
    }

    /// Starts it again if it has died.
    pub(crate) fn look_after(&mut self) -> anyhow::Result<()> {
        if let Some(status) = self.child.try_wait()? {
            eprintln!("nimbus: etcd ended ({status}) and is started again; {} says why", log(&self.data).display());
            self.child = spawn(&self.endpoint, &self.data)?;
        }
        Ok(())
    }
}

impl Drop for OwnEtcd {
    fn drop(&mut self) {
        // One that has ended by itself needs no more.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn log(data: &Path) -> PathBuf {
    data.join("log")
}

fn spawn(endpoint: &Endpoint, data: &Path) -> anyhow::Result<Child> {
    let path = log(data);
    let output = File::options().create(true).append(true).open(&path);
    let output = output.with_context(|| format!("cannot write {}", path.display()))?;
    let errors = output.try_clone().with_context(|| format!("cannot write {}", path.display()))?;
    let url = endpoint.to_string();
    let spawned = Command::new("etcd")
        .arg("--data-dir")
        .arg(data.join("data"))
        .args(["--listen-client-urls", &url, "--advertise-client-urls", &url])
        .args(["--listen-peer-urls", PEERS, "--initial-advertise-peer-urls", PEERS])
        .args(["--initial-cluster", &format!("default={PEERS}")])
        // Former rosters are of no use to anybody.
        .args(["--auto-compaction-retention", "1h"])
        .stdout(output)
        .stderr(errors)
        .spawn();
    match spawned {
        Ok(child) => Ok(child),
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(
            "there is no `etcd` on PATH; install it (Debian and Ubuntu: `apt-get install etcd-server`), or leave --etcd \
             out and keep the roster in a file"
        ),
        Err(error) => Err(error).context("cannot start etcd"),
    }
}
