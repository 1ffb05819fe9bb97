//! Statics that come and go while the world runs, at one named tick everywhere.

use nimbus_model::{Nid, Placed};
use std::sync::Arc;

use crate::config::Planted;
use crate::node::Node;

impl Node {
    /// Makes the statics put into the world those of this value, unless it is for another world or older than what is
    /// there. A server that missed some changes makes up for all of them.
    pub(crate) fn place_statics(&mut self, era: u16, placed: &Placed) {
        let world = self.world.clone();
        let present = &world.placed;
        if era != self.era || placed.revision <= present.revision || placed.problem().is_some() {
            return;
        }
        if self.config.planted == Some(Planted::DeafToStatics) {
            return;
        }
        let gone: Vec<Nid> =
            present.statics.iter().map(|one| one.nid(era)).filter(|nid| !placed.contains(era, *nid)).collect();
        for nid in gone {
            if self.tells_touches() {
                let touches = self.physics.touches_with_static(nid);
                self.end_contacts(touches);
            }
            self.counters.statics_removed += u64::from(self.physics.remove_static(nid));
        }
        for new in placed.statics.iter().filter(|new| !present.contains(era, new.nid(era))) {
            match self.physics.insert_static(new.nid(era), &new.body) {
                Ok(()) => self.counters.statics_placed += 1,
                Err(_) => self.counters.unplaceable += 1,
            }
        }
        drop(world);
        Arc::make_mut(&mut self.world).placed = placed.clone();
        // Groups that are caught up live among the statics of the world.
        self.scratch = None;
    }
}
