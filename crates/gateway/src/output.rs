//! What a gateway hands to its shell.

use nimbus_model::{BodyDesc, ClientId, Nid, Pose, RegionBox, RegionId};
use nimbus_wire::Frame;
use nimbus_wire::client::ToClient;
use std::sync::Arc;

/// A message for a client. Cheap to clone: one encoding is shared by all clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// JSON.
    Text(Arc<str>),
    /// Bodies.
    Binary(Arc<[u8]>),
}

impl Message {
    /// Bytes in it.
    pub fn size(&self) -> usize {
        match self {
            Message::Text(text) => text.len(),
            Message::Binary(bytes) => bytes.len(),
        }
    }
}

impl From<ToClient> for Message {
    fn from(message: ToClient) -> Message {
        Message::Text(message.to_text().into())
    }
}

/// What a client asks for that only the shell can do. The shell answers with [`crate::Gateway::answer`].
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Load the present world again.
    Reset,
    /// Load the world of this name.
    Scene(String),
    /// Stop or resume the timeline.
    Pause(bool),
    /// Run this many ticks while paused.
    Step(u32),
    /// Run the timeline at this speed; 1 is real time.
    Speed(f32),
    /// End the server of this region at once.
    Kill(RegionId),
    /// Put a static into the world, for everybody at one tick.
    PlaceStatic(Arc<BodyDesc>, Pose),
    /// Take one out again.
    RemoveStatic(Nid),
    /// Draw the regions anew, for everybody at one tick; the second has what no box holds.
    Regions(Vec<RegionBox>, RegionId),
}

/// What a gateway wants done. Calls append to it; the shell drains it, in order.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// For regions.
    pub frames: Vec<Frame>,
    /// For clients, in order per client.
    pub messages: Vec<(ClientId, Message)>,
    /// For the shell itself, with the client's number for it.
    pub requests: Vec<(ClientId, Option<u64>, Request)>,
    /// Clients to disconnect, with the reason to give them. The gateway has forgotten them already.
    pub closed: Vec<(ClientId, String)>,
}
