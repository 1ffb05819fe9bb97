//! Changes of the whole world that every server makes at the same named tick.

use nimbus_model::{Placed, Tick};
use nimbus_space::PartitionMap;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Changes that one roster may hold. Servers take more than this, so none is ever refused by one of them.
pub const CHANGES_MAX: usize = 32;

/// A change that is announced. Worlds are named, not contained: processes have them, or fetch them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// Forget everything and start with this world.
    Load {
        /// When.
        at: Tick,
        /// How often a world has been loaded by then, the first included.
        era: u16,
        /// The world's name.
        world: String,
        /// Its first partition.
        map: Arc<PartitionMap>,
    },
    /// Another partition, from its own effective tick on.
    Map(Arc<PartitionMap>),
    /// Other statics beside those of the world's description.
    Statics {
        /// When.
        at: Tick,
        /// How often a world has been loaded by then.
        era: u16,
        /// All of them.
        placed: Arc<Placed>,
    },
}

impl Change {
    /// When it takes effect.
    pub fn at(&self) -> Tick {
        match self {
            Change::Load { at, .. } | Change::Statics { at, .. } => *at,
            Change::Map(map) => map.effective(),
        }
    }

    /// The partition that holds from then on, if it changes.
    pub fn map(&self) -> Option<&Arc<PartitionMap>> {
        match self {
            Change::Load { map, .. } | Change::Map(map) => Some(map),
            Change::Statics { .. } => None,
        }
    }
}
