//! A whole world as its author describes it.

use glam::Vec3;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::{
    Aabb, BodyDesc, BodyKind, Budget, Injection, JointDesc, Layout, Motion, Nid, Placed, Pose, Tick, Velocity,
};

/// What a deployment promises; inside these limits collisions across servers are exact, outside them the system says so.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tolerances {
    /// Greatest speed of a body, m/s.
    pub speed: f32,
    /// Greatest one-way latency between servers, milliseconds.
    pub latency_ms: f32,
    /// Greatest time between two wake-ups of a server, milliseconds.
    pub frame_ms: f32,
}

impl Default for Tolerances {
    fn default() -> Self {
        Tolerances { speed: 32.0, latency_ms: 4.0, frame_ms: 28.0 }
    }
}

/// A body the world starts with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BodySpawn {
    /// What it is.
    pub desc: Arc<BodyDesc>,
    /// Where it starts.
    pub pose: Pose,
    /// How it starts moving.
    pub velocity: Velocity,
}

/// A joint the world starts with, between two of its bodies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JointSpawn {
    /// Index of the first body in [`World::bodies`].
    pub a: u32,
    /// Index of the second body.
    pub b: u32,
    /// What holds them.
    pub desc: JointDesc,
}

/// A push that the world gives one of its bodies at a fixed tick, whoever owns it then.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScriptedPush {
    /// When.
    pub tick: Tick,
    /// Index of the body in [`World::bodies`].
    pub body: u32,
    /// Change of linear velocity, m/s.
    pub linear: Vec3,
    /// Change of angular velocity, rad/s.
    pub angular: Vec3,
}

/// A whole world as its author describes it; the same description runs on one server or many.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct World {
    /// Shown to people.
    pub name: String,
    /// One sentence for people who choose a world.
    pub about: String,
    /// Decides every random choice of the world.
    pub seed: u64,
    /// Acceleration of free fall, m/s2.
    pub gravity: Vec3,
    /// Ticks a second.
    pub tick_hz: u32,
    /// What the deployment promises.
    pub tolerances: Tolerances,
    /// How many bodies it may have.
    pub budget: Budget,
    /// Radius that no body's bounding sphere exceeds, statics aside.
    pub radius_max: f32,
    /// Bodies outside it die.
    pub kill_box: Aabb,
    /// The first cut into regions.
    pub layout: Layout,
    /// Statics and the bodies it starts with.
    pub bodies: Vec<BodySpawn>,
    /// The joints it starts with.
    pub joints: Vec<JointSpawn>,
    /// Bodies it adds while running.
    pub injections: Vec<Injection>,
    /// Pushes it gives, in order of tick.
    pub script: Vec<ScriptedPush>,
    /// Statics that were put in while it ran; no description has any.
    pub placed: Placed,
}

impl World {
    /// An empty world with sane defaults.
    pub fn new(name: &str) -> World {
        World {
            name: name.to_owned(),
            about: String::new(),
            seed: 1,
            gravity: Vec3::new(0.0, -9.81, 0.0),
            tick_hz: 60,
            tolerances: Tolerances::default(),
            budget: Budget::default(),
            radius_max: 4.0,
            kill_box: Aabb::around(Vec3::ZERO, Vec3::new(4_000.0, 1_000.0, 4_000.0)),
            layout: Layout::columns(1, 200.0),
            bodies: Vec::new(),
            joints: Vec::new(),
            injections: Vec::new(),
            script: Vec::new(),
            placed: Placed::default(),
        }
    }

    /// Adds a body and returns its index.
    pub fn add(&mut self, desc: BodyDesc, pose: Pose, velocity: Velocity) -> u32 {
        self.add_shared(&Arc::new(desc), pose, velocity)
    }

    /// Adds a body whose description is shared with others and returns its index.
    pub fn add_shared(&mut self, desc: &Arc<BodyDesc>, pose: Pose, velocity: Velocity) -> u32 {
        self.bodies.push(BodySpawn { desc: Arc::clone(desc), pose, velocity });
        (self.bodies.len() - 1) as u32
    }

    /// Holds two bodies together.
    pub fn join(&mut self, a: u32, b: u32, desc: JointDesc) {
        self.joints.push(JointSpawn { a, b, desc });
    }

    /// Adds flat ground with its surface at height zero, reaching `half` metres from the origin along x and z.
    pub fn add_ground(&mut self, half_x: f32, half_z: f32) -> u32 {
        let ground = BodyDesc::fixed(crate::Shape::cuboid(half_x, 1.0, half_z));
        self.add(ground, Pose::at(Vec3::new(0.0, -1.0, 0.0)), Velocity::ZERO)
    }

    /// The pushes that the world gives at a tick, when it was loaded at another.
    pub fn pushes_at(&self, tick: Tick, loaded_at: Tick) -> &[ScriptedPush] {
        let age = tick.since(loaded_at);
        let start = self.script.partition_point(|push| push.tick.0 < age);
        let count = self.script[start..].partition_point(|push| push.tick.0 == age);
        &self.script[start..start + count]
    }

    /// Greatest speed that any body may have, m/s: far above what is promised, far below what breaks the engine.
    pub fn speed_max(&self) -> f32 {
        16.0 * self.tolerances.speed
    }

    /// Why a body cannot be brought into the running world, in words for the person who asked; `None` when it can.
    pub fn spawn_problem(&self, desc: &BodyDesc, motion: &Motion) -> Option<String> {
        if desc.kind == BodyKind::Static {
            return Some("a static body is not spawned; use the command `static`".to_owned());
        }
        if let Some(problem) = desc.problem() {
            return Some(problem);
        }
        let radius = desc.shape.bounding_radius();
        if radius > self.radius_max {
            return Some(format!(
                "the body reaches {radius} m from its centre; this world allows {} m",
                self.radius_max
            ));
        }
        if !motion.is_valid() {
            return Some("the pose or the velocity is not finite".to_owned());
        }
        let (speed, most) = (motion.velocity.linear.length(), self.speed_max());
        if speed > most {
            return Some(format!("a speed of {speed} m/s is too fast; this world allows {most} m/s"));
        }
        let position = motion.pose.position;
        (!self.kill_box.holds(position)).then(|| format!("{position} is outside the world"))
    }

    /// Duration of a tick, seconds.
    pub fn tick_s(&self) -> f32 {
        1.0 / self.tick_hz as f32
    }

    /// The id of the `index`-th body of the description.
    pub fn nid(era: u16, index: u32) -> Nid {
        Nid::of_world(era, index)
    }

    /// The id of the `ordinal`-th body of the `injection`-th injection.
    pub fn injected_nid(&self, era: u16, injection: usize, ordinal: u32) -> Nid {
        let index = self.bodies.len() as u32 + ordinal * self.injections.len() as u32 + injection as u32;
        Nid::of_world(era, index)
    }

    /// Bodies of the description that have an owner, with their indices.
    pub fn owned_bodies(&self) -> impl Iterator<Item = (u32, &BodySpawn)> {
        self.bodies.iter().enumerate().filter(|(_, b)| b.desc.kind != BodyKind::Static).map(|(i, b)| (i as u32, b))
    }

    /// Bodies that every server holds, with their indices: those of the description, then those put in since.
    pub fn statics(&self) -> impl Iterator<Item = (u32, &BodySpawn)> {
        let described = self.bodies.iter().enumerate().filter(|(_, b)| b.desc.kind == BodyKind::Static);
        let placed = self.placed.statics.iter().map(|placed| (placed.index(), &placed.body));
        described.map(|(i, b)| (i as u32, b)).chain(placed)
    }

    /// The same world with just these statics put in.
    pub fn with_placed(self: &Arc<World>, placed: &Placed) -> Arc<World> {
        if self.placed == *placed {
            return self.clone();
        }
        Arc::new(World { placed: placed.clone(), ..(**self).clone() })
    }
}
