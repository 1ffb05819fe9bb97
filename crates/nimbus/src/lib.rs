//! Nimbus: one seamless physics world on many servers.
//!
//! This crate is the front door: every part of the workspace as a module, so that a program that embeds a world needs
//! one dependency. `model` says what a world is, `scenes` has worlds to start with, `runtime` runs one.
//!
//! ```
//! use nimbus::model::{BodyDesc, Layout, Pose, Shape, Vec3, Velocity, World};
//! use nimbus::runtime::pace::{LockStep, Pace};
//! use nimbus::runtime::{Servers, ServersConfig};
//!
//! // A ball rolls from one server to another.
//! let mut world = World::new("first steps");
//! world.layout = Layout::columns(2, 50.0);
//! world.add_ground(60.0, 20.0);
//! let velocity = Velocity { linear: Vec3::X * 6.0, angular: Vec3::ZERO };
//! world.add(BodyDesc::dynamic(Shape::ball(0.5)), Pose::at(Vec3::new(-2.0, 0.5, 0.0)), velocity);
//!
//! let config = ServersConfig::new(world);
//! let ticks = nimbus::model::Tick(60);
//! let (servers, ..) = Servers::start(config, |count| Pace::LockStep(LockStep::new(count, Default::default(), ticks)))?;
//! let end = servers.join()?;
//! assert_eq!(end.nodes[0].bodies, 0);
//! assert_eq!(end.nodes[1].bodies, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A game of your own runs on every server, on the bodies that it owns ([`node::Game`]):
//!
//! ```
//! use nimbus::model::{BodyDesc, Layout, Nid, Pose, Shape, Tick, Vec3, Velocity, World};
//! use nimbus::node::{Contact, Game, Rules, Turn};
//! use nimbus::runtime::pace::{LockStep, Pace};
//! use nimbus::runtime::{Play, Servers, ServersConfig};
//!
//! /// Counts how often each body is touched, in the body: so the count goes along when the body changes server.
//! struct Bumps;
//!
//! impl Game for Bumps {
//!     fn on_contact(&self, turn: &mut Turn<'_>, contact: Contact) {
//!         for nid in [contact.one, contact.two] {
//!             let bumps: u32 = turn.load(nid).unwrap_or(0);
//!             if turn.store(nid, &(bumps + 1)) {
//!                 turn.emit(nid, 1, i64::from(bumps + 1));
//!             }
//!         }
//!     }
//! }
//!
//! // A heavy ball flies over the boundary between two servers, and hits a light one on either side.
//! let mut world = World::new("bumps");
//! world.gravity = Vec3::ZERO;
//! world.layout = Layout::columns(2, 50.0);
//! let heavy = BodyDesc { density: 9_000.0, ..BodyDesc::dynamic(Shape::ball(1.0)) };
//! let heavy = Nid::of_world(1, world.add(heavy, Pose::at(Vec3::X * -20.0), Velocity::linear(Vec3::X * 15.0)));
//! for x in [-10.0, 10.0] {
//!     let light = BodyDesc { density: 9.0, ..BodyDesc::dynamic(Shape::ball(0.5)) };
//!     world.add(light, Pose::at(Vec3::new(x, 0.0, 1.2)), Velocity::ZERO);
//! }
//!
//! let (sender, events) = std::sync::mpsc::sync_channel(100);
//! let play = Play { rules: Rules::new(Bumps), events: Some(sender) };
//! let config = ServersConfig { play: Some(play), ..ServersConfig::new(world) };
//! let (servers, ..) = Servers::start(config, |count| Pace::LockStep(LockStep::new(count, Tick(0), Tick(180))))?;
//! servers.join()?;
//! let told = events.try_iter().flat_map(|(region, tick)| tick.events.into_iter().map(move |event| (region.0, event)));
//! let of_heavy: Vec<(u16, i64)> =
//!     told.filter(|(_, event)| event.nid == heavy).map(|(server, event)| (server, event.value)).collect();
//! assert_eq!(of_heavy, [(0, 1), (1, 2)], "the second server went on counting where the first had stopped");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The page `docs/game-logic.md` says more, and `crates/harvest` is a whole example.

extern crate self as nimbus;

mod cli;
mod cluster_file;
mod commands;
mod concerns;
mod ending;
mod exit;
mod logging;
mod own_etcd;
mod own_relay;
mod relay_table;
mod server_counts;
mod tolerances_table;
mod worlds;

pub use cli::command_line;
pub use nimbus_client as client;
pub use nimbus_gateway as gateway;
pub use nimbus_harvest as harvest;
pub use nimbus_lab as lab;
pub use nimbus_model as model;
pub use nimbus_node as node;
pub use nimbus_physics as physics;
pub use nimbus_runtime as runtime;
pub use nimbus_scenes as scenes;
pub use nimbus_sdk as sdk;
pub use nimbus_space as space;
pub use nimbus_universe as universe;
pub use nimbus_wire as wire;
