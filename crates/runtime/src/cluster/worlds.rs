//! The worlds of a cluster by name. The roster has only names; every process makes the world of a name by itself, the
//! same everywhere, from the cluster's file.

use nimbus_model::{Placed, World};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::setup::ClusterSetup;
use crate::embedded::BuildScene;

/// A world, or why there is none.
pub(super) type Made = Result<Arc<World>, String>;

/// See the description of this file. Cheap to clone.
#[derive(Clone)]
pub(super) struct Worlds {
    build: BuildScene,
    regions: u16,
    shelf: Arc<Shelf>,
}

#[derive(Default)]
struct Shelf {
    /// None while it is being made.
    worlds: Mutex<BTreeMap<String, Option<Made>>>,
    changed: Condvar,
}

impl Worlds {
    /// Knows the world that the cluster begins with.
    pub(super) fn new(setup: &ClusterSetup) -> Worlds {
        let shelf = Arc::new(Shelf::default());
        shelf.lock().insert(setup.world.name.clone(), Some(Ok(setup.world.with_placed(&Placed::default()))));
        Worlds { build: setup.scenes.build.clone(), regions: setup.map.regions().len() as u16, shelf }
    }

    /// The world of a name, if it is there; otherwise it begins to be made, which may take long, on another thread.
    pub(super) fn ready(&self, name: &str) -> Option<Made> {
        let mut worlds = self.shelf.lock();
        if let Some(known) = worlds.get(name) {
            return known.clone();
        }
        worlds.insert(name.to_owned(), None);
        drop(worlds);
        let (its, name) = (self.clone(), name.to_owned());
        let spawned = std::thread::Builder::new().name(format!("makes {name}")).spawn(move || its.make(&name));
        // Without a thread it stays undone, and whoever waits asks again.
        if spawned.is_err() {
            self.shelf.lock().retain(|_, world| world.is_some());
        }
        None
    }

    /// The world of a name. Waits for it, or makes it.
    pub(super) fn wait(&self, name: &str) -> Made {
        let mut worlds = self.shelf.lock();
        loop {
            match worlds.get(name) {
                Some(Some(made)) => return made.clone(),
                Some(None) => worlds = self.shelf.changed.wait(worlds).unwrap_or_else(PoisonError::into_inner),
                None => {
                    worlds.insert(name.to_owned(), None);
                    drop(worlds);
                    self.make(name);
                    worlds = self.shelf.lock();
                }
            }
        }
    }

    /// Forgets every world that is there and has none of these names.
    pub(super) fn keep<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        let names: Vec<&str> = names.into_iter().collect();
        self.shelf.lock().retain(|name, world| world.is_none() || names.contains(&name.as_str()));
    }

    fn make(&self, name: &str) {
        let mut place = Place { shelf: &self.shelf, name, made: Err("it could not be made".to_owned()) };
        place.made = (self.build)(name, self.regions).map(Arc::new);
    }
}

impl Shelf {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Option<Made>>> {
        self.worlds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts a world on its place, even when making it panics: others wait for it.
struct Place<'a> {
    shelf: &'a Shelf,
    name: &'a str,
    made: Made,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.shelf.lock().insert(self.name.to_owned(), Some(self.made.clone()));
        self.shelf.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_scenes::SceneParams;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn counting() -> (Worlds, Arc<AtomicU32>) {
        let made = Arc::new(AtomicU32::new(0));
        let counter = made.clone();
        let build = move |name: &str, regions: u16| {
            counter.fetch_add(1, Ordering::Relaxed);
            assert!(name != "cursed", "a panic on purpose");
            nimbus_scenes::build(name, &SceneParams { servers: regions, seed: 1, scale: 0.1 })
                .map_err(|error| error.to_string())
        };
        (Worlds { build: Arc::new(build), regions: 2, shelf: Arc::default() }, made)
    }

    #[test]
    fn a_world_is_made_once_and_everybody_gets_the_same() {
        let (worlds, made) = counting();
        assert!(worlds.ready("tower").is_none(), "nobody waits for it");
        let one = worlds.wait("tower").unwrap();
        let two = worlds.ready("tower").unwrap().unwrap();
        assert!(Arc::ptr_eq(&one, &two));
        assert_eq!(made.load(Ordering::Relaxed), 1);
        worlds.keep(["rain"]);
        worlds.wait("tower").unwrap();
        assert_eq!(made.load(Ordering::Relaxed), 2, "what is not kept is made again");
    }

    #[test]
    fn a_world_that_cannot_be_made_is_an_error_and_keeps_nobody_waiting() {
        let (worlds, _) = counting();
        assert!(worlds.wait("nowhere").is_err());
        assert!(worlds.ready("cursed").is_none());
        assert!(worlds.wait("cursed").is_err());
    }
}
