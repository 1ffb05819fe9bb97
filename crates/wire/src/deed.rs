//! What a game does and another server has to carry out: it follows a body, or goes to where a body is to appear.

use nimbus_model::{BodyDesc, Keepsake, Motion, Nid, Tick, Vec3, Velocity};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::command::CommandRef;

/// Something that a game does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Act {
    /// A body comes into being.
    Birth {
        /// Its name, drawn from that of its parent.
        nid: Nid,
        /// What it is.
        desc: Arc<BodyDesc>,
        /// How it starts.
        motion: Motion,
        /// What the game keeps with it.
        keepsake: Keepsake,
    },
    /// A push.
    Push {
        /// Of which body.
        nid: Nid,
        /// How hard, N s.
        impulse: Vec3,
    },
    /// Another velocity.
    Velocity {
        /// Of which body.
        nid: Nid,
        /// Which.
        velocity: Velocity,
    },
}

/// An act on its way to the server that can do it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deed {
    /// How often it was passed on; bounded, so that it never chases a body for ever.
    pub hops: u8,
    /// What is to be done.
    pub act: Act,
}

/// What brings a body into being.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum BirthCause {
    /// An injection of the world.
    World,
    /// A client's command, which is answered when it is done.
    Command(CommandRef),
    /// A game, with what it keeps with the body.
    Game(Keepsake),
}

/// A body that will appear at a named tick, on its way to the server that has what it would touch there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedBirth {
    /// The first tick that steps it.
    pub at: Tick,
    /// Its name.
    pub nid: Nid,
    /// What it is.
    pub desc: Arc<BodyDesc>,
    /// How it starts.
    pub motion: Motion,
    /// What brings it into being.
    pub cause: BirthCause,
}
