//! The coordinator of a cluster, without input or output.
//!
//! A [`Coordinator`] decides who is a member, who serves and keeps which region under which epoch, and which changes of
//! the whole world are to come. All of it is one value, the [`Roster`], which lies in a store that can compare and swap:
//! inside one process, or etcd. The order is always the same: plan, write, and only then tell. So nobody ever acts on
//! anything that another coordinator could not find in the store.
//!
//! A shell gives it [`Input`]s with the time in milliseconds and does what the [`Output`]s say. Processes take the
//! newest roster they are told and do what [`Roster::duties`] says; what they say to the coordinator and hear from it is
//! in [`ToCoordinator`] and [`FromCoordinator`].

mod change;
mod config;
mod coordinator;
mod dilation;
mod duties;
mod exchange;
mod heard;
mod journal;
mod messages;
mod notes;
mod plan;
mod planner;
mod roster;
mod timeline;
mod told;
mod validity;

pub use change::{CHANGES_MAX, Change};
pub use config::{Beginning, Config, Genesis, Planted};
pub use coordinator::Coordinator;
pub use dilation::{Dilation, Strain};
pub use duties::{Duties, Keep, Serve};
pub use exchange::{Input, Link, Note, Order, OrderError, Output, StoreProblem};
pub use messages::{
    Fence, FromCoordinator, Heartbeat, Join, MESSAGES_VERSION, MessageError, REPORT_BYTES_MAX, Refusal, RegionReport,
    Service, TOLD_BYTES_MAX, ToCoordinator,
};
pub use planner::{LoadReport, Misplan, Planner, PlannerConfig};
pub use roster::{
    Birth, Departure, Incarnation, Loss, Move, Process, ROSTER_BYTES_MAX, ROSTER_VERSION, Region, Role, Roster,
    RosterError, Seat, Standing,
};
pub use timeline::{PACE_PERMILLE, PACES_MAX, Pace, TICK_HZ_MAX, Timeline, UNHELD_PERMILLE};
pub use told::Told;
pub use validity::{ADDRESS_BYTES_MAX, COUNT_MAX, Invalid, MEMBERS_MAX, NAME_BYTES_MAX, PROCESSES_MAX};
