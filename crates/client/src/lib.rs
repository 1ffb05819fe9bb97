//! What a client knows of the world.
//!
//! [`Client`] is a core: whoever has the connection feeds it messages and sends the texts that its builders make. It
//! believes nothing that cannot be: messages that are rubbish are dropped and counted, and never panic.
//!
//! [`Session`] puts time around it: where to show bodies at a moment although states come late and unevenly, answers
//! that find what was asked, and events. [`Gateways`] says where to connect next. Both are cores too; `nimbus-sdk` has
//! the sockets.

mod bodies;
mod client;
pub mod curve;
mod event;
mod gateways;
mod pending;
mod playback;
mod playhead;
mod seams;
mod session;
mod tickets;
mod track;
mod wish;

pub use bodies::Body;
pub use client::{Answer, Client, Dropped};
pub use event::Event;
pub use gateways::Gateways;
pub use nimbus_wire::client::{
    Authority, BodyCard, BreachNews, ClientRole, FromClient, HandOver, Hit, Hits, NearestBody, NodeStats, Overlapping,
    Overlay, Query, QueryAnswer, QueryFilter, RegionShape, SceneInfo, Spawn, StaticBody, TouchNews, TouchesOf, Watch,
    WorldStats,
};
pub use pending::{Answered, AskError, Settled};
pub use playback::PlaybackConfig;
pub use session::{Session, SessionConfig};
pub use tickets::Tickets;
