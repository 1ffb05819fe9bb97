//! The one place that knows Rapier.
//!
//! A [`PhysicsWorld`] holds the statics of a world description and the bodies one server owns. Bodies go in and out in
//! [`Group`]s, the world steps by one tick at a time, and its state can be read, asked, hashed, saved and restored.
//! Everything is named by [`nimbus_model::Nid`]; no engine handle leaves this crate.
//!
//! A [`QueryMirror`] holds forms and places only, for whoever answers questions and simulates nothing.
//!
//! The same snapshot and the same ordered calls give the same bits. What is *not* promised: two worlds with different
//! bodies in them never agree, not even on the bodies they share, because the engine solves all awake bodies together.

mod act;
mod body;
mod contacts;
mod convert;
mod copy;
mod events;
mod hash;
mod height_field;
mod index;
mod insert;
mod joints;
mod links;
mod mirror;
mod narrow;
mod overlaps;
mod patches;
mod queries;
mod quiet;
mod recycling;
mod remove;
mod scratch;
mod search;
mod shapes;
mod snapshot;
mod statics;
mod step;
mod view;
mod warm_start;
mod watertight;
mod world;

pub use copy::{Copied, Pressure};
pub use events::ContactEvent;
pub use insert::InsertError;
pub use mirror::QueryMirror;
pub use nimbus_model::{ContactPatch, ContactPoint, ContactState, Group, Link, LinkKey, Member};
pub use overlaps::{DEEP_LEAST_M, DEEP_SHARE, DeepOverlap, deep_overlaps};
pub use queries::{Filter, Nearest, RayHit, ShapeHit};
pub use scratch::ScratchWorld;
pub use step::StepReport;
pub use view::BodyView;
pub use world::PhysicsWorld;
