//! Where checkpoints are kept: a directory, or anything else that `object_store` can speak to.
//!
//! A checkpoint is a folder: a part per region, the world, and a list of it all, which is written last. Without the list
//! it is none, so a checkpoint that was not finished is never taken for one.

use nimbus_model::{Mixer, RegionId, Tick, World, coding};
use nimbus_node::{Checkpoint, CheckpointError, Part};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Version of the form on disk.
const VERSION: u32 = 2;
/// Bytes of one file at the most; longer ones are not read.
const FILE_BYTES_MAX: u64 = 4 << 30;

/// A file of a checkpoint, as the list has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filed {
    /// The region whose part it is.
    pub region: RegionId,
    /// Bodies that the region owned.
    pub bodies: usize,
    /// Its length.
    pub bytes: usize,
    /// Its sum, to tell damage.
    pub sum: u64,
}

/// The list of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the form.
    pub version: u32,
    /// The checkpoint's name.
    pub name: String,
    /// The cluster that made it.
    pub cluster: String,
    /// The world's name.
    pub world: String,
    /// After this tick.
    pub tick: Tick,
    /// How often a world had been loaded.
    pub era: u16,
    /// The highest number that the cluster had issued.
    pub issued: u16,
    /// All bodies, those under way included.
    pub bodies: usize,
    /// The parts.
    pub parts: Vec<Filed>,
}

/// Why checkpoints cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// The place cannot be used.
    #[error("checkpoints cannot be kept in `{place}`: {why}")]
    Place {
        /// The place.
        place: String,
        /// Why.
        why: String,
    },
    /// A file cannot be read or written.
    #[error("{file}: {why}")]
    File {
        /// The file.
        file: String,
        /// Why.
        why: String,
    },
    /// There is no checkpoint.
    #[error("there is no whole checkpoint in `{0}`")]
    None(String),
    /// Its parts do not make a world.
    #[error("checkpoint {name}: {source}")]
    Unfit {
        /// The checkpoint.
        name: String,
        /// Why.
        source: CheckpointError,
    },
}

/// A checkpoint that was read, and what a cluster must know beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    /// The world.
    pub checkpoint: Checkpoint,
    /// The list of it.
    pub manifest: Manifest,
}

/// Where checkpoints are kept. Calls wait until it is done, so nobody who has a tick to run makes them.
pub struct Checkpoints {
    store: Box<dyn ObjectStore>,
    root: Path,
    place: String,
    runtime: tokio::runtime::Runtime,
}

impl Checkpoints {
    /// Opens a place: a directory, which is made if need be, or an address that `object_store` was built to know.
    pub fn open(place: &str) -> Result<Checkpoints, KeepError> {
        let unusable = |why: String| KeepError::Place { place: place.to_owned(), why };
        let address = if place.contains("://") {
            url::Url::parse(place).map_err(|error| unusable(error.to_string()))?
        } else {
            std::fs::create_dir_all(place).map_err(|error| unusable(error.to_string()))?;
            let whole = std::fs::canonicalize(place).map_err(|error| unusable(error.to_string()))?;
            url::Url::from_directory_path(whole).map_err(|()| unusable("it is no path".to_owned()))?
        };
        let (store, root) = object_store::parse_url(&address).map_err(|error| unusable(error.to_string()))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| unusable(error.to_string()))?;
        Ok(Checkpoints { store, root, place: place.to_owned(), runtime })
    }

    /// Writes the part of one region.
    pub fn write_part(&self, name: &str, part: &Part) -> Result<Filed, KeepError> {
        let bytes = part.encode();
        let filed = Filed { region: part.region, bodies: part.bodies(), bytes: bytes.len(), sum: sum(&bytes) };
        self.put(name, &part_file(part.region), bytes)?;
        Ok(filed)
    }

    /// Reads parts back, makes sure that they make a world, and finishes the checkpoint.
    pub fn finish(&self, world: &Arc<World>, mut manifest: Manifest) -> Result<Manifest, KeepError> {
        manifest.version = VERSION;
        let checkpoint = self.assemble(world, &manifest)?;
        manifest.bodies = checkpoint.nids().len();
        self.put(&manifest.name, "world", coding::write(&**world))?;
        let list = serde_json::to_vec_pretty(&manifest).map_err(|error| self.failed(&manifest.name, "list", error))?;
        self.put(&manifest.name, "manifest.json", list)?;
        Ok(manifest)
    }

    /// All whole checkpoints, the oldest first.
    pub fn list(&self) -> Result<Vec<Manifest>, KeepError> {
        let listed = self.runtime.block_on(self.store.list_with_delimiter(Some(&self.root)));
        let listed = listed.map_err(|error| self.failed("", "", error))?;
        let names = listed.common_prefixes.iter().filter_map(|path| path.filename().map(str::to_owned));
        let mut found: Vec<Manifest> = names.filter_map(|name| self.manifest(&name).ok()).collect();
        found.sort_by_key(|manifest| (manifest.era, manifest.tick));
        Ok(found)
    }

    /// Reads a checkpoint by name, or the latest.
    pub fn read(&self, name: &str) -> Result<Restored, KeepError> {
        let manifest = if name == "latest" {
            self.list()?.pop().ok_or_else(|| KeepError::None(self.place.clone()))?
        } else {
            self.manifest(name)?
        };
        let world: World = coding::read(&self.get(&manifest.name, "world")?)
            .map_err(|_| self.failed(&manifest.name, "world", "it is damaged"))?;
        let checkpoint = self.assemble(&Arc::new(world), &manifest)?;
        Ok(Restored { checkpoint, manifest })
    }

    fn manifest(&self, name: &str) -> Result<Manifest, KeepError> {
        let bytes = self.get(name, "manifest.json")?;
        let manifest: Manifest =
            serde_json::from_slice(&bytes).map_err(|error| self.failed(name, "manifest.json", error))?;
        if manifest.version != VERSION {
            let why = format!("it has version {}, this program reads {VERSION}", manifest.version);
            return Err(self.failed(name, "manifest.json", why));
        }
        Ok(manifest)
    }

    fn assemble(&self, world: &Arc<World>, manifest: &Manifest) -> Result<Checkpoint, KeepError> {
        let name = &manifest.name;
        let unfit = |source| KeepError::Unfit { name: name.clone(), source };
        let mut parts = Vec::new();
        for filed in &manifest.parts {
            let bytes = self.get(name, &part_file(filed.region))?;
            if bytes.len() != filed.bytes || sum(&bytes) != filed.sum {
                return Err(unfit(CheckpointError::Damaged(filed.region)));
            }
            let part = Part::decode(filed.region, &bytes).map_err(unfit)?;
            // Parts that agree with each other may still all be of another world than the one the list speaks of.
            if (part.tick, part.era) != (manifest.tick, manifest.era) {
                return Err(unfit(CheckpointError::OtherTick(part.region)));
            }
            parts.push(part);
        }
        let regions: Vec<RegionId> = manifest.parts.iter().map(|filed| filed.region).collect();
        Checkpoint::assemble(world.clone(), &regions, &parts).map_err(unfit)
    }

    fn put(&self, name: &str, file: &str, bytes: Vec<u8>) -> Result<(), KeepError> {
        let path = self.root.clone().join(name).join(file);
        let put = self.runtime.block_on(self.store.put(&path, PutPayload::from(bytes)));
        put.map(|_| ()).map_err(|error| self.failed(name, file, error))
    }

    fn get(&self, name: &str, file: &str) -> Result<Vec<u8>, KeepError> {
        let path = self.root.clone().join(name).join(file);
        let got = self.runtime.block_on(async {
            let found = self.store.get(&path).await?;
            if found.meta.size > FILE_BYTES_MAX {
                return Ok(Err(found.meta.size));
            }
            found.bytes().await.map(Ok)
        });
        match got {
            Ok(Ok(bytes)) => Ok(bytes.to_vec()),
            Ok(Err(size)) => Err(self.failed(name, file, format!("{size} bytes are too many"))),
            Err(object_store::Error::NotFound { .. }) => Err(self.failed(name, file, "there is no such file")),
            Err(error) => Err(self.failed(name, file, error)),
        }
    }

    fn failed(&self, name: &str, file: &str, why: impl std::fmt::Display) -> KeepError {
        KeepError::File { file: format!("{}/{name}/{file}", self.place), why: why.to_string() }
    }
}

fn part_file(region: RegionId) -> String {
    format!("{region}.part")
}

fn sum(bytes: &[u8]) -> u64 {
    let mut mixer = Mixer::new();
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mixer.word(u64::from_le_bytes(word));
    }
    mixer.word(bytes.len() as u64);
    mixer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_node::{Node, NodeConfig};

    /// The only part of a world without bodies that was loaded for the second time.
    fn second(world: &Arc<World>) -> Part {
        let (map, _) = crate::first_map(world, 1).unwrap();
        let node = Node::new(NodeConfig::new(RegionId(0)), world.clone(), 2, map, Tick(40));
        node.contribution(node.whole_draft()).into_part()
    }

    #[test]
    fn parts_of_another_world_or_tick_than_the_list_says_are_no_checkpoint() {
        let directory = std::env::temp_dir().join(format!("nimbus-checkpoints-{}", std::process::id()));
        let checkpoints = Checkpoints::open(directory.to_str().unwrap()).unwrap();
        let world = Arc::new(World::new("test"));
        let filed = checkpoints.write_part("a", &second(&world)).unwrap();
        let manifest = |tick, era| Manifest {
            version: 0,
            name: "a".to_owned(),
            cluster: "test".to_owned(),
            world: world.name.clone(),
            tick,
            era,
            issued: 0,
            bodies: 0,
            parts: vec![filed.clone()],
        };
        for (tick, era) in [(Tick(40), 1), (Tick(41), 2)] {
            let outcome = checkpoints.finish(&world, manifest(tick, era));
            let unfit = |error: &KeepError| {
                matches!(error, KeepError::Unfit { source: CheckpointError::OtherTick(RegionId(0)), .. })
            };
            assert!(outcome.as_ref().is_err_and(unfit), "{outcome:?}");
            assert!(!directory.join("a/manifest.json").exists());
        }
        checkpoints.finish(&world, manifest(Tick(40), 2)).unwrap();
        assert_eq!(checkpoints.read("latest").unwrap().checkpoint.era, 2);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
