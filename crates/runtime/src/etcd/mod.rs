//! A small client of etcd: keys, leases and watches.
//!
//! It speaks the HTTP and JSON that every etcd since 3.4 offers beside gRPC. docs/decisions/0010-etcd-over-json.md says why.

mod client;
mod config;
mod keys;
mod messages;
#[cfg(test)]
pub(crate) mod server;
mod tls;
mod watch;

pub(crate) use client::Client;
pub use config::{Endpoint, EtcdConfig, EtcdConfigError, EtcdLogin, EtcdTls, LEASE_S_MAX};
pub(crate) use keys::{Expect, Swap};
pub use messages::EtcdError;
pub(crate) use messages::KeyValue;
pub(crate) use watch::Change;
