//! Changes of the whole world as servers make them, from how a roster has them: by the names of worlds.

use nimbus_control::Change as Announced;
use nimbus_node::Change;

use super::worlds::Made;

/// A change as servers make it, with the world of its name; none while `world` has none.
pub(super) fn in_full(change: &Announced, world: impl FnOnce(&str) -> Option<Made>) -> Option<Result<Change, String>> {
    match change {
        Announced::Map(map) => Some(Ok(Change::Map((**map).clone()))),
        Announced::Statics { at, era, placed } => {
            Some(Ok(Change::Statics { at: *at, era: *era, placed: placed.clone() }))
        }
        Announced::Load { at, era, world: name, map } => {
            let load = |world| Change::Load { at: *at, era: *era, world, map: (**map).clone() };
            Some(world(name)?.map(load).map_err(|why| format!("the world `{name}` cannot be loaded: {why}")))
        }
    }
}
