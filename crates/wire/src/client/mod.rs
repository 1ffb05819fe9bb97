//! What gateways and clients say to each other: the client protocol, version 1.
//!
//! Text messages are JSON and rare: [`ToClient`] one way, [`FromClient`] the other. Binary messages are bodies and
//! frequent: [`bodies`] writes and reads them. Both directions live here so that a property test can hold each writer
//! against its reader. Where the transport knows no messages, [`Framer`] tells them apart, and a [`ClientHello`] is the
//! first.

pub mod bodies;
mod body_card;
mod edits;
mod fields;
mod framing;
mod from_client;
mod game;
mod hello;
mod nid_text;
mod overlay;
mod query;
mod role;
mod stats;
mod to_client;
mod touches;
mod watch;

pub use body_card::{BodyCard, HandOver};
pub use edits::{REGION_BOXES_MAX, StaticSpawn, TARGET_TICKS_MAX};
pub use framing::{FRAME_HEAD_BYTES, FrameKind, Framed, Framer, FramingError};
pub use from_client::{ELEMENTS_MAX, FromClient, Parsed, Reject, SPEED_MAX, SPEED_MIN, STEP_TICKS_MAX, Spawn};
pub use hello::{CLIENT_ALPN, CLIENT_GOODBYE, CLIENT_HELLO_BYTES_MAX, ClientHello, ClientHelloError};
pub use overlay::{BreachNews, Overlay};
pub use query::{
    Authority, Hit, Hits, NearestBody, OVERLAP_BODIES_MAX, Overlapping, QUERIES_MAX, QUERY_ELEMENTS_MAX,
    QUERY_RADIUS_MAX, QUERY_REACH_MAX, Query, QueryAnswer, QueryFilter,
};
pub use role::{ClientRole, NoRole};
pub use stats::{NodeStats, WorldStats};
pub use to_client::{Bounds, RegionShape, SceneInfo, StaticBody, ToClient};
pub use touches::{TOUCH_BODIES_MAX, TouchNews, TouchesOf};
pub use watch::{WATCH_HZ_MAX, WATCH_KBIT, WATCH_RANGE_MAX, Watch};

/// Version of the client protocol, told to every client in its welcome.
pub const CLIENT_PROTOCOL: u32 = 1;

/// Longest text message a client may send, bytes.
pub const TEXT_BYTES_MAX: usize = 64 << 10;

/// Slots are below this. It bounds what a viewer must be ready to hold.
pub const SLOT_LIMIT: u32 = 1 << 20;
