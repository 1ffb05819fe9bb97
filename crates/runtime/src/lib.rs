//! Runs the cores for real.
//!
//! The only crate with threads, clocks, sockets and files. The cores it drives are the same that the simulator drives;
//! what is here decides when a tick runs and how bytes travel, never what a tick does.

mod accept;
pub mod access;
mod balancer;
mod board;
pub mod certs;
pub mod checkpoints;
mod client_queue;
mod client_socket;
mod clock;
pub mod cluster;
mod common_time;
mod council;
mod doors;
mod edits;
mod embedded;
mod errand;
pub mod etcd;
mod ferry;
mod gateway_thread;
mod guard;
mod handover_log;
mod http;
pub mod inspect;
pub mod links;
pub mod memory;
pub mod mesh;
mod metrics;
mod node_thread;
pub mod offset;
mod open_files;
mod operator;
pub mod pace;
mod patience;
mod play;
mod quic;
pub mod reading;
mod reception;
pub mod recording;
pub mod relay;
pub mod replay;
mod rubbish_bin;
mod servers;
mod signals;
pub mod timeline;
mod viewer;

pub use board::{Board, GatewayReading};
pub use client_queue::{BACKLOG_BYTES_MAX, ClientEnd, Next, STANDSTILL_MAX};
pub use clock::Clock;
pub use doors::{Closed, Doors};
pub use embedded::{BuildScene, ClusterHandle, EmbeddedCluster, EmbeddedConfig, Scenes};
pub use errand::{Census, Places};
pub use http::{BindError, Listening, Web};
pub use node_thread::{BEHIND_TICKS_MAX, NodeEnd};
pub use operator::{Facts, Operator, Page};
pub use play::{Play, SLOWEST_PERMILLE};
pub use quic::{QuicCertificate, QuicCertificateError, QuicConfig, QuicDoor, QuicPort};
pub use reception::GatewayAt;
pub use servers::{
    GATEWAY, RunEnd, SERVERS_MAX, Servers, ServersConfig, StartError, combine, first_map, first_map_under,
};
pub use signals::Signals;
