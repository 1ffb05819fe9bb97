//! One server, without input or output.
//!
//! A [`Node`] owns the bodies of one region. A shell gives it frames as they arrive ([`Node::handle`]), runs every tick
//! that is due ([`Node::tick`]), then collects what it has to say ([`Node::emit`]). It never looks at a clock and never
//! waits, so the simulator and the real runtime drive the same code.
//!
//! The same snapshot and the same [`TickLog`]s give the same bits: see [`Node::replay`]. A [`Backup`] holds just these,
//! and can become the server.

mod anchor;
mod announce;
mod answers;
mod asked;
mod awaited;
mod backup;
mod birth;
mod breach;
mod budget;
mod checkpoint;
mod config;
mod contact_events;
mod counters;
mod course;
mod durable;
mod event;
mod feed;
mod first_contacts;
mod force;
mod freight;
mod game;
mod grid;
mod horizon;
mod impacts;
mod inbox;
mod joins;
mod leg_times;
mod linkage;
mod load;
mod log;
mod node;
mod orders;
mod outbox;
mod pending;
mod planned_births;
mod play;
mod policy;
mod pull;
mod ranks;
mod recent;
mod record_stream;
mod regional;
mod reigns;
mod reorder;
mod scene;
mod seam;
mod seam_report;
mod snapshot;
mod statics;
mod strike;
mod transfer;
mod traverse;
mod under_way;
mod utility;
mod watchers;
mod wishes;
mod withheld;

pub use backup::{Backup, BackupCounters, PromoteError};
pub use breach::{Breach, Factor};
pub use checkpoint::{Checkpoint, CheckpointError, Contribution, Draft, Part};
pub use config::{AuraConfig, NodeConfig, Planted, Policy, Reach};
pub use contact_events::{Contact, ContactKind, ContactTick};
pub use counters::Counters;
pub use durable::Durability;
pub use event::{Cause, Event, EventKind};
pub use game::{Game, GameEvent, NewBody, Rules, Turn};
pub use horizon::Horizon;
pub use inbox::Input;
pub use leg_times::LegTimes;
pub use log::TickLog;
pub use node::{Change, Node, Phase};
pub use outbox::{GATEWAY_LANE_MAX, REGION_LANE_MAX};
pub use play::GameTick;
