//! What clients ask the world to do.

use nimbus_model::{BodyDesc, ClientId, Motion, Nid, Vec3};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::frame::GatewayId;

/// Who asked, and the client's own number for it. Unique, so a command is applied once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CommandRef {
    /// The gateway the client is at.
    pub gateway: GatewayId,
    /// The client.
    pub client: ClientId,
    /// The gateway's number for the command, rising per client.
    pub sequence: u64,
}

/// Something a client asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Make a body.
    Spawn {
        /// What it is.
        desc: Arc<BodyDesc>,
        /// How it starts.
        motion: Motion,
    },
    /// Push a body.
    Push {
        /// Which.
        nid: Nid,
        /// How hard, N s.
        impulse: Vec3,
    },
    /// Remove a body.
    Despawn {
        /// Which.
        nid: Nid,
    },
}

impl Command {
    /// The body a command is for, when it is for one that exists.
    pub fn target(&self) -> Option<Nid> {
        match self {
            Command::Spawn { .. } => None,
            Command::Push { nid, .. } | Command::Despawn { nid } => Some(*nid),
        }
    }
}

/// A command on its way to the server that can carry it out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Who asked.
    pub by: CommandRef,
    /// How often it was passed on; bounded, so that a command never chases a body for ever.
    pub hops: u8,
    /// What to do.
    pub command: Command,
}

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// Carried out, on this body.
    Done(Nid),
    /// Not carried out; the reason is for a person.
    Refused(String),
}
