//! What clients ask the world to do.

use nimbus_model::{BodyDesc, ClientId, JointDesc, Motion, Nid, Pose, RegionId, Tick, Vec3};
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
    /// Hold two bodies together from now on.
    Join {
        /// The first body; the command follows it.
        one: Nid,
        /// The second body; may be a static.
        two: Nid,
        /// What holds them.
        joint: JointDesc,
    },
    /// Tell the game something about a body.
    Game {
        /// Which.
        nid: Nid,
        /// What, in the game's own words; at most [`nimbus_model::GAME_COMMAND_BYTES_MAX`].
        #[serde(with = "serde_bytes")]
        payload: Vec<u8>,
    },
    /// Give a body another velocity; what is not named stays.
    Turn {
        /// Which.
        nid: Nid,
        /// m/s.
        linear: Option<Vec3>,
        /// rad/s.
        angular: Option<Vec3>,
    },
    /// Move a kinematic body to a place, evenly.
    Steer {
        /// Which.
        nid: Nid,
        /// Where to.
        pose: Pose,
        /// In how many ticks from when it begins.
        ticks: u32,
    },
}

/// Where a kinematic body is on its way to. It goes with the body from server to server.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// Where it is to be.
    pub pose: Pose,
    /// After this tick.
    pub until: Tick,
}

/// No anchor of a joint that is asked for lies further from its body's centre, metres.
pub const ANCHOR_M_MAX: f32 = 100.0;

impl Command {
    /// The body a command is for, when it is for one that exists.
    pub fn target(&self) -> Option<Nid> {
        match self {
            Command::Spawn { .. } => None,
            Command::Push { nid, .. }
            | Command::Despawn { nid }
            | Command::Join { one: nid, .. }
            | Command::Turn { nid, .. }
            | Command::Steer { nid, .. } => Some(*nid),
            Command::Game { nid, .. } => Some(*nid),
        }
    }
}

/// Why two bodies cannot be joined like this whatever they are, in words for whoever asked; `None` when they can.
pub fn join_problem(one: Nid, two: Nid, joint: &JointDesc) -> Option<String> {
    if one == two {
        return Some("a body cannot be joined to itself".to_owned());
    }
    let far = |anchor: Vec3| anchor.is_finite() && anchor.length() > ANCHOR_M_MAX;
    joint.problem().or_else(|| {
        (far(joint.anchor_a.position) || far(joint.anchor_b.position))
            .then(|| format!("an anchor lies further than {ANCHOR_M_MAX} m from the centre of its body"))
    })
}

/// Where a body was, as far as somebody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// Whose it was.
    pub region: RegionId,
    /// When.
    pub tick: Tick,
    /// True when its owner said so; false when it is where the body was sent.
    pub certain: bool,
}

/// A joint that waits for its two bodies to come to one server. It exists once and goes from server to server, on the
/// lanes that the bodies go by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Linkage {
    /// Who asked.
    pub by: CommandRef,
    /// The two bodies, in the order of the joint's anchors.
    pub bodies: [Nid; 2],
    /// What is to hold them.
    pub joint: JointDesc,
    /// Given up after this tick.
    pub until: Tick,
    /// Where each of the bodies was seen last.
    pub seen: [Option<Sighting>; 2],
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
