//! What a Nimbus world is made of.
//!
//! Everything here is plain data: no behaviour of servers, no physics engine, no input or output. Every other crate
//! speaks in these types.

mod aabb;
mod body;
mod budget;
pub mod coding;
mod concerns;
mod extent;
mod group;
mod id;
mod injection;
mod joint;
mod keepsake;
mod layout;
mod mixer;
mod nearest;
mod placed;
mod pose;
mod rng;
mod shape;
mod tick;
mod world;
pub mod world_file;

pub use aabb::Aabb;
pub use body::{BodyDesc, BodyKind, Groups, LockedAxes, Motion, StateUpdate};
pub use budget::{BUDGET_BODIES, BUDGET_BODIES_MAX, BYTES_PER_BODY, Budget, OverBudget};
pub use concerns::{ANCHOR_GAP_MAX, ANCHOR_TURN_MAX, Concern, Subject};
pub use extent::Extent;
pub use glam::{Quat, Vec3};
pub use group::{ContactPatch, ContactPoint, ContactState, Group, Link, LinkKey, Member};
pub use id::{ClientId, Nid, Origin, RegionId, Stamp};
pub use injection::{Choice, Injection};
pub use joint::{JointDesc, JointKind, Motor};
pub use keepsake::{GAME_COMMAND_BYTES_MAX, GAME_STATE_BYTES_MAX, GameState, Keepsake, TooLarge};
pub use layout::{Layout, RegionBox};
pub use mixer::Mixer;
pub use nearest::{edits, nearest};
pub use placed::{PLACED_ELEMENTS_MAX, PLACED_MAX, PLACED_RADIUS_MAX, Placed, PlacedStatic};
pub use pose::{Pose, Velocity};
pub use rng::Rng;
pub use shape::{SHAPE_ELEMENTS_MAX, SHAPE_EXTENT_MAX, Shape};
pub use tick::Tick;
pub use world::{BodySpawn, JointSpawn, ScriptedPush, Tolerances, World};
