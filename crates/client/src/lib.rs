//! What a client knows of the world.
//!
//! [`Client`] is a core: whoever has the connection feeds it messages and sends the texts that its builders make. It
//! believes nothing that cannot be: messages that are rubbish are dropped and counted, and never panic.

mod bodies;
mod client;
mod seams;

pub use bodies::Body;
pub use client::{Answer, Client, Dropped};
pub use nimbus_wire::client::{
    Authority, BodyCard, BreachNews, HandOver, Hit, Hits, NearestBody, NodeStats, Overlapping, Overlay, Query,
    QueryAnswer, QueryFilter, RegionShape, SceneInfo, Spawn, StaticBody, WorldStats,
};
