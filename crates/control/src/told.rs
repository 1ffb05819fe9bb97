//! What somebody has yet to be told of the changes of the whole world, by what it knows of already.

use serde::{Deserialize, Serialize};

use crate::change::Change;
use crate::roster::Roster;

/// The newest world, and the newest partition and statics of it, that a server or gateway knows of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// How often a world has been loaded.
    pub era: u16,
    /// The epoch of the partition.
    pub epoch: u32,
    /// The revision of the statics that were put in.
    pub revision: u32,
}

impl Told {
    /// Everything that a roster has, what is to come included.
    pub fn everything(roster: &Roster) -> Told {
        let (era, placed) = roster.newest_placed();
        Told { era, epoch: roster.newest_map().epoch(), revision: placed.revision }
    }

    /// What a roster has in force.
    pub fn in_force(roster: &Roster) -> Told {
        Told { era: roster.era, epoch: roster.map.epoch(), revision: roster.placed.revision }
    }

    /// Knows of a change from now on. False when it did before, or when it is for another world.
    pub fn hear(&mut self, change: &Change) -> bool {
        let after = match change {
            Change::Load { era, map, .. } if *era > self.era => Told { era: *era, epoch: map.epoch(), revision: 0 },
            Change::Map(map) if map.epoch() > self.epoch => Told { epoch: map.epoch(), ..*self },
            Change::Statics { era, placed, .. } if *era == self.era && placed.revision > self.revision => {
                Told { revision: placed.revision, ..*self }
            }
            Change::Load { .. } | Change::Map(_) | Change::Statics { .. } => return false,
        };
        *self = after;
        true
    }

    /// True when a change is part of this. `era` is that of the world that the change was announced for, or that ends with
    /// it: partitions and statics of different worlds are counted apart.
    pub fn includes(&self, change: &Change, era: u16) -> bool {
        match change {
            Change::Load { era: next, .. } => self.era >= *next,
            _ if self.era != era => self.era > era,
            Change::Map(map) => self.epoch >= map.epoch(),
            Change::Statics { placed, .. } => self.revision >= placed.revision,
        }
    }
}

impl Roster {
    /// What somebody has yet to be told: what is in force and it has missed, and what is to come. Gateways miss changes. A
    /// server does not, because a change stays announced until it and its backup have made it. A world that was missed is
    /// loaded as of the tick at which it was loaded everywhere else.
    pub fn yet_to_tell(&self, mut told: Told) -> Vec<Change> {
        let known = told.era;
        let made = |change: &Change| matches!(change, Change::Load { era, .. } if *era <= known);
        let past = self.changes.iter().rposition(made).map_or(0, |last| last + 1);
        let (at, world, map, placed) = (self.loaded_at, self.world.clone(), self.map.clone(), self.placed.clone());
        let load = Change::Load { at, era: self.era, world, map: map.clone() };
        // Nobody remembers since when there are these statics: not before their world, and they are due at once.
        let in_force = [load, Change::Map(map), Change::Statics { at, era: self.era, placed }];
        let in_force = in_force.into_iter().filter(|_| known <= self.era);
        in_force.chain(self.changes[past..].iter().cloned()).filter(|change| told.hear(change)).collect()
    }

    /// The worlds that somebody may still have to load, by name.
    pub fn worlds(&self) -> impl Iterator<Item = &str> {
        let loads = self.changes.iter().filter_map(|change| match change {
            Change::Load { world, .. } => Some(world.as_str()),
            Change::Map(_) | Change::Statics { .. } => None,
        });
        loads.chain([self.world.as_str()])
    }
}
