//! The gateway: what regions say becomes one picture of the world, streamed to clients; what clients ask goes to the
//! region that can do it.
//!
//! [`Gateway`] is a core: it has no clock and no socket. A shell feeds it frames ([`Gateway::handle`]) and client text
//! ([`Gateway::client_text`]), calls [`Gateway::tick`] once per tick, and carries away what is in [`Outputs`].
//!
//! - `replicas` decides which claim about a body counts; nothing else does.
//! - `stream` turns what changed into messages, encoded once for all clients.
//! - `channels` are for clients that watch a part of the world within a budget of bytes: `channel` is one view with what was shown
//!   of it, `interest` says what an eye sees and how wrong it is shown.
//! - `seams` keeps what regions say of auras, clusters and breaches, `hand_overs` who had a body before.
//! - `statics` keeps what is put into the world and taken out until its tick.
//! - `mirror` answers what is where, once somebody asks; `fan_outs` has all servers answer, `merge` makes one of it.
//! - `wishes` says what regions are asked to tell of; `touching` who hears of touches.
//! - `sessions` bounds what a client may cost, `quotas` how many bodies it may make; `orders` remembers who asked for what.

mod budget;
mod channel;
mod channels;
mod counters;
mod fan_outs;
mod gateway;
mod hand_overs;
mod interest;
mod lanes;
mod merge;
mod mirror;
mod orders;
mod output;
mod quotas;
mod replicas;
mod seams;
mod sessions;
mod shapes;
mod statics;
mod stats;
mod stream;
mod touching;
mod wishes;

pub use counters::Counters;
pub use gateway::{Gateway, GatewayConfig, Serves};
pub use nimbus_wire::client::{NodeStats, SceneInfo, WorldStats};
pub use output::{Message, Outputs, Request};
pub use replicas::Replica;
pub use sessions::{BAD_MAX, RUBBISH_ANSWERED_PER_POLL};
