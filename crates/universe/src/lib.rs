//! A whole cluster in one thread, under virtual time.
//!
//! Servers, gateways and clients are the same cores that the runtime drives with sockets and clocks; here they are driven
//! by an event queue and a faulty network, and every choice comes from one seed. A failing run is its seed.

mod actor;
mod against_one;
mod balance;
mod checkers;
mod config;
mod control;
mod faults;
mod narrow;
mod network;
mod other_order;
mod plan;
mod players;
mod queue;
mod recovery;
mod run_record;
mod swarm;
mod universe;
mod variation;

pub use actor::Actor;
pub use against_one::{Comparison, Deviation, SeamFault, against_one};
pub use balance::BalanceConfig;
pub use checkers::Violation;
pub use config::{GameCommands, NodeCost, Outcome, UniverseConfig, UniverseError};
pub use control::{ControlConfig, ControlCounts};
pub use faults::{Fault, FaultCounts, Faults};
pub use network::{LinkModel, Nanos, Network};
/// Mistakes of the planner that [`BalanceConfig`] can ask for.
pub use nimbus_control::Misplan;
/// Mistakes of the coordinator that [`ControlConfig`] can ask for.
pub use nimbus_control::Planted as Mismanage;
pub use swarm::{SeedVerdict, Swarm, SwarmReport};
pub use universe::Universe;
pub use variation::{Variation, vary};
