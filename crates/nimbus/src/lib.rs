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

pub use nimbus_client as client;
pub use nimbus_gateway as gateway;
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
