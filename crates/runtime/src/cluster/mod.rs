//! A world on real processes: a coordinator, nodes that serve regions and keep backups, and gateways.
//!
//! Every process has the same picture, the roster, from the coordinator, and does what it says. Bodies never wait for
//! the coordinator: it can be away for as long as nothing else changes.

mod asks;
mod calendar;
mod checkpointing;
mod coordinator;
mod desk;
mod etcd_election;
mod etcd_store;
mod file_store;
mod gateway;
mod member;
mod node;
mod petition;
mod post;
mod pulse;
mod setup;
#[cfg(test)]
mod stage;
mod store;
mod upcoming;
mod worlds;

pub use asks::Ask;
pub use coordinator::run_coordinator;
pub use etcd_store::forget_roster;
pub use gateway::GatewayProcess;
pub use node::run_node;
pub use post::Post;
pub use setup::{CheckpointPlan, ClusterError, ClusterSetup, Place, StoreSetup};
