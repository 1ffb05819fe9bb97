//! `nimbus checkpoint`: has a running cluster write down its world at one tick.

use anyhow::{Context, bail};
use clap::Args;
use nimbus::runtime::mesh::Role;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use crate::cluster_file::{self, Keep};
use crate::exit::Verdict;

/// A little longer than a coordinator waits for everybody.
const PATIENCE: Duration = Duration::from_secs(70);

/// Have a running cluster write its whole world at one tick, without stopping it
///
/// Asks the coordinators of the file, whose `operator` addresses must be reachable from here. `nimbus cluster --restore`
/// goes on from it.
#[derive(Args)]
pub(crate) struct Checkpoint {
    /// The file that describes the cluster
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
}

impl Checkpoint {
    pub(crate) fn run(self) -> anyhow::Result<Verdict> {
        let described = cluster_file::read(&self.config, Keep::AsWritten, None)?;
        let setup = &described.setup;
        let operators: Vec<SocketAddr> =
            setup.named(Role::Coordinator).filter_map(|name| setup.operators.get(name).copied()).collect();
        if operators.is_empty() {
            bail!("{}: give a [[coordinator]] an `operator` address", self.config.display());
        }
        let mut refusals = Vec::new();
        for operator in operators {
            match order(operator) {
                Ok(manifest) => {
                    println!("{manifest}");
                    return Ok(Verdict::Good);
                }
                Err(why) => refusals.push(format!("{operator}: {why:#}")),
            }
        }
        bail!("no coordinator made a checkpoint\n{}", refusals.join("\n"))
    }
}

fn order(operator: SocketAddr) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect_timeout(&operator, Duration::from_secs(2)).context("nobody answers")?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let head = format!("POST /api/checkpoint HTTP/1.1\r\nHost: {operator}\r\nContent-Length: 0\r\nConnection: close");
    write!(stream, "{head}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).context("the answer broke off")?;
    let (head, body) = answer.split_once("\r\n\r\n").context("that is no answer")?;
    if !head.starts_with("HTTP/1.1 200") {
        bail!("{}", body.trim());
    }
    Ok(body.to_owned())
}
