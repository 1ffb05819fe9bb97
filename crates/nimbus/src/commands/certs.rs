//! `nimbus certs`: a private CA and certificates for the processes of a cluster.

use clap::Args;
use nimbus::runtime::certs::{CertFiles, CertsMade, CertsRequest, make_certs};
use nimbus::runtime::mesh::{ProcessName, Role};
use std::path::PathBuf;

use crate::exit::Verdict;

/// The processes of a cluster on one host.
const DEFAULT: [(Role, &[&str]); 3] = [
    (Role::Coordinator, &["coordinator-0"]),
    (Role::Node, &["node-0", "node-1", "node-2", "node-3"]),
    (Role::Gateway, &["gateway-0"]),
];

/// Make a private CA and certificates for the processes of a cluster
///
/// What is in the directory stays: run it again to add processes. Without any process named, it makes certificates for
/// coordinator-0, node-0 to node-3 and gateway-0. A process needs ca.pem and its own two files. Keep ca.key to yourself.
#[derive(Args)]
pub(crate) struct Certs {
    /// The directory for the files
    dir: PathBuf,
    /// A node that should have a certificate
    #[arg(long, value_name = "NAME")]
    node: Vec<ProcessName>,
    /// A gateway that should have a certificate
    #[arg(long, value_name = "NAME")]
    gateway: Vec<ProcessName>,
    /// A coordinator that should have a certificate
    #[arg(long, value_name = "NAME")]
    coordinator: Vec<ProcessName>,
    /// A host name or address that new certificates are also good for
    #[arg(long, value_name = "HOST_OR_IP", default_values_t = ["localhost".to_owned(), "127.0.0.1".to_owned()])]
    host: Vec<String>,
}

impl Certs {
    pub(crate) fn run(self) -> anyhow::Result<Verdict> {
        let named = [(Role::Coordinator, &self.coordinator), (Role::Node, &self.node), (Role::Gateway, &self.gateway)];
        let mut processes: Vec<(ProcessName, Role)> =
            named.into_iter().flat_map(|(role, names)| names.iter().map(move |name| (name.clone(), role))).collect();
        if processes.is_empty() {
            for (role, names) in DEFAULT {
                for name in names {
                    processes.push((ProcessName::new(name)?, role));
                }
            }
        }
        let done = make_certs(&self.dir, &CertsRequest { processes, hosts: self.host.clone() })?;
        self.tell(&done);
        Ok(Verdict::Good)
    }

    fn tell(&self, done: &CertsMade) {
        let files = CertFiles::new(&self.dir);
        let ca = if done.ca { "new CA" } else { "CA kept" };
        println!("{ca}: {} (keep {} to yourself)", files.ca().display(), files.ca_key().display());
        for (names, what) in [(&done.made, "new"), (&done.kept, "kept")] {
            for name in names {
                println!("{what}: {}", files.certificate(name).display());
            }
        }
    }
}
