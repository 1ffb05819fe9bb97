//! Where worlds come from: named scenes and world files.

use anyhow::{Context, anyhow, bail};
use nimbus::gateway::SceneInfo;
use nimbus::model::world_file::{self, Lines};
use nimbus::model::{Layout, World};
use nimbus::runtime::Scenes;
use nimbus::scenes::{self, SceneParams};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// The world of a scene.
pub(crate) fn scene(name: &str, servers: u16, seed: u64, scale: f32) -> anyhow::Result<World> {
    Ok(scenes::build(name, &SceneParams { servers, seed, scale })?)
}

/// The scenes that clients can choose from.
pub(crate) fn choice(seed: u64, scale: f32) -> Scenes {
    let list = scenes::all()
        .iter()
        .map(|scene| SceneInfo { name: scene.name.to_owned(), about: scene.about.to_owned() })
        .collect();
    let build = move |name: &str, servers| {
        scenes::build(name, &SceneParams { servers, seed, scale }).map_err(|error| error.to_string())
    };
    Scenes { list, build: Arc::new(build) }
}

/// A choice of one.
pub(crate) fn only(world: &World) -> Scenes {
    let list = vec![SceneInfo { name: world.name.clone(), about: world.about.clone() }];
    let world = world.clone();
    let build = move |name: &str, _| {
        if name == world.name {
            Ok(world.clone())
        } else {
            Err(format!("there is no scene `{name}`; this process runs `{}`", world.name))
        }
    };
    Scenes { list, build: Arc::new(build) }
}

/// The world of a file.
pub(crate) fn file(path: &Path) -> anyhow::Result<World> {
    file_with_lines(path).map(|(world, _)| world)
}

/// The same, and where in the file its parts are described.
pub(crate) fn file_with_lines(path: &Path) -> anyhow::Result<(World, Lines)> {
    let opened = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut text = String::new();
    let limit = world_file::FILE_BYTES_MAX as u64 + 1;
    opened.take(limit).read_to_string(&mut text).with_context(|| format!("cannot read {}", path.display()))?;
    world_file::parse_with_lines(&text, &path.display().to_string()).map_err(|problems| anyhow!("{problems}"))
}

/// The same world cut for another number of servers, where its layout allows that.
pub(crate) fn cut_for(mut world: World, servers: u16) -> anyhow::Result<World> {
    match world.layout {
        Layout::Columns { count, width } => {
            let width = width * f32::from(count) / f32::from(servers);
            world.layout = Layout::Columns { count: servers, width };
            Ok(world)
        }
        _ => bail!(
            "only a layout of columns can be cut for another number of servers; leave out --servers or change the layout"
        ),
    }
}
