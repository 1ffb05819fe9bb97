//! For programs that take part in a Nimbus world: games, bots, tools.
//!
//! [`Connection`] connects to a gateway, moves to another one by itself when that dies, knows every body, shows motion
//! smoothly although states come late and unevenly, and asks: commands and questions are futures that resolve when the
//! gateway has accepted or refused them.
//!
//! ```
//! use nimbus_sdk::{Connection, Event, Options, Shape, Spawn, Vec3};
//!
//! # use nimbus_runtime::{access::Access, EmbeddedCluster, EmbeddedConfig, Web};
//! # let world = nimbus_scenes::build("tower", &nimbus_scenes::SceneParams::on(1)).unwrap();
//! # let cluster = EmbeddedCluster::start(EmbeddedConfig::new(world)).unwrap();
//! # let web = Web::listen([127, 0, 0, 1].into(), 0).unwrap().serve(cluster.handle(), Access::Open);
//! # let address = format!("ws://{}/ws", web.address());
//! # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! // `nimbus demo` listens at ws://127.0.0.1:7777/ws.
//! let connection = Connection::connect(&address, Options::default()).await?;
//!
//! // Throw a ball, and wait until the world has it.
//! let ball = connection.spawn(Spawn::new(Shape::ball(0.4), Vec3::new(0.0, 9.0, 4.0), Vec3::X)).await?;
//! while connection.next_event().await != Some(Event::Born { nid: ball }) {}
//!
//! // Draw everything, as often as you like.
//! for placed in connection.poses_at(connection.now()) {
//!     println!("{} at {}", placed.body.nid, placed.pose.position);
//! }
//!
//! // What is below it?
//! let below = connection.ray(Vec3::new(0.0, 8.0, 4.0), Vec3::NEG_Y, 50.0).await?;
//! assert!(below.is_some());
//! connection.close().await;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # cluster.stop().unwrap();
//! # web.stop();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The parts that need no socket are in [`nimbus_client`]: use [`nimbus_client::Session`] with a transport or an event loop
//! of your own. Only `socket.rs` knows that there are two transports, `websocket.rs` and `quic.rs`.

mod address;
mod ask;
mod clock;
mod connect_error;
mod connection;
mod link;
mod metered;
mod options;
mod quic;
mod refusals;
mod shared;
mod socket;
mod trust;
mod websocket;

pub use connect_error::ConnectError;
pub use connection::{Connection, Placed};
pub use nimbus_client::{
    Answered, AskError, Body, BodyCard, BreachNews, Client, ClientRole, Event, FromClient, Hit, Hits, NearestBody,
    Overlapping, Overlay, PlaybackConfig, Query, QueryAnswer, QueryFilter, SessionConfig, Spawn, StaticBody, TouchNews,
    TouchesOf, Watch, WorldStats,
};
pub use nimbus_model::{BodyKind, JointDesc, Nid, Pose, Quat, RegionId, Shape, Tick, Vec3};
pub use options::Options;
pub use trust::{Fingerprint, NoFingerprint, Trust};

/// The examples of the page about clients.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/clients.md")]
struct ClientsPage;
