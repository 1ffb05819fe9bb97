//! Named scenes as data.
//!
//! A scene is a function from a few parameters to a [`World`]. Tests, benchmarks, the lab and the viewer all take
//! their worlds from here, so that a figure in a report and a picture in the browser speak of the same thing.
//!
//! The same parameters always give an equal world: every random choice comes from [`SceneParams::seed`], and there is
//! no platform-dependent arithmetic.

mod figure;
mod jointing;
mod masonry;
mod regions;
mod scenes;

use nimbus_model::{Layout, World, edits};
use thiserror::Error;

pub use scenes::cubes_901::PLAYER as CUBES_901_PLAYER;
pub use scenes::rain::{rain_on_columns, rain_on_corner, rain_on_grid, rain_with};

/// Greatest number of servers a scene can be laid out for; more are treated as this many.
pub const SERVERS_MAX: u16 = 64;

/// What a scene may be asked to vary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SceneParams {
    /// How many regions the world is cut into, 1 to [`SERVERS_MAX`].
    pub servers: u16,
    /// Decides every random choice.
    pub seed: u64,
    /// Size of the scene: 1 is full size, tests use less. Kept within 0.05 to 4.
    pub scale: f32,
}

impl Default for SceneParams {
    fn default() -> Self {
        SceneParams { servers: 4, seed: 1, scale: 1.0 }
    }
}

impl SceneParams {
    /// Full size on this many servers.
    pub fn on(servers: u16) -> SceneParams {
        SceneParams { servers, ..SceneParams::default() }
    }

    /// The same parameters with every number in the range that scenes are made for.
    fn clamped(&self) -> SceneParams {
        let scale = if self.scale.is_finite() { self.scale.clamp(0.05, 4.0) } else { 1.0 };
        SceneParams { servers: self.servers.clamp(1, SERVERS_MAX), seed: self.seed, scale }
    }

    /// `full` things at scale 1, in proportion otherwise, never fewer than `least`.
    fn count(&self, full: u32, least: u32) -> u32 {
        ((full as f32 * self.scale).round() as u32).max(least)
    }
}

/// A world with a name, so that people can ask for it.
pub struct Scene {
    /// What people type.
    pub name: &'static str,
    /// One sentence that says what it shows.
    pub about: &'static str,
    build: fn(&SceneParams) -> World,
}

impl Scene {
    /// The world of this scene. Parameters outside their range are brought into it.
    pub fn build(&self, params: &SceneParams) -> World {
        let params = params.clamped();
        let mut world = (self.build)(&params);
        world.name = self.name.to_owned();
        world.about = self.about.to_owned();
        world.seed = params.seed;
        world
    }
}

/// Every scene, in the order in which people should see them.
pub fn all() -> &'static [Scene] {
    scenes::ALL
}

/// Nobody has heard of this scene; says which ones there are.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("there is no scene `{name}`; did you mean `{nearest}`? Scenes: {known}")]
pub struct UnknownScene {
    /// What was asked for, cut to a readable length.
    pub name: String,
    /// The scene whose name is most like it.
    pub nearest: &'static str,
    known: String,
}

/// The world of the scene with this name.
pub fn build(name: &str, params: &SceneParams) -> Result<World, UnknownScene> {
    if let Some(scene) = all().iter().find(|scene| scene.name == name) {
        return Ok(scene.build(params));
    }
    let short: String = name.chars().take(40).collect();
    let asked = short.to_lowercase().replace(['_', ' '], "-");
    let nearest =
        all().iter().map(|scene| scene.name).min_by_key(|known| (!known.starts_with(&asked), edits(&asked, known)));
    let known: Vec<&str> = all().iter().map(|scene| scene.name).collect();
    Err(UnknownScene { name: short, nearest: nearest.unwrap_or("showcase"), known: known.join(", ") })
}

/// The same world on one server: the control run that a run on many is compared with.
pub fn on_one_server(world: &World) -> World {
    World { layout: Layout::columns(1, 200.0), ..world.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let params = SceneParams::on(2);
        for (asked, nearest) in
            [("domino", "dominoes"), ("Head_On", "head-on"), ("cubes", "cubes-901"), ("corner stack", "corner-stacks")]
        {
            let error = build(asked, &params).unwrap_err();
            assert_eq!(error.nearest, nearest, "asked for {asked}");
            let text = error.to_string();
            assert!(all().iter().all(|scene| text.contains(scene.name)), "{text}");
        }
        assert!(build(&"x".repeat(10_000), &params).unwrap_err().to_string().len() < 400);
    }

    #[test]
    fn parameters_out_of_range_still_build() {
        for (servers, scale) in [(0, 1.0), (u16::MAX, 0.0), (2, f32::NAN), (2, f32::NEG_INFINITY)] {
            let params = SceneParams { servers, seed: u64::MAX, scale };
            assert!(build("crossing", &params).is_ok(), "{params:?}");
        }
    }

    #[test]
    fn names_are_unique_and_described() {
        for (i, scene) in all().iter().enumerate() {
            assert!(all()[..i].iter().all(|earlier| earlier.name != scene.name), "{} twice", scene.name);
            assert!(scene.about.ends_with('.') && scene.about.len() > 20, "{}: {}", scene.name, scene.about);
        }
    }
}
