//! Statics that come and go while the world runs: kept until their tick, then told to clients.

use nimbus_model::{Placed, Tick, World};
use nimbus_wire::client::ToClient;
use std::sync::Arc;

use crate::Message;

/// Changes that wait for their tick. Each has all of what is there, so only the latest matter.
const WAITING_MAX: usize = 64;

/// Changes of statics to come.
#[derive(Debug, Default)]
pub(crate) struct StaticChanges {
    waiting: Vec<(Tick, u16, Arc<Placed>)>,
}

impl StaticChanges {
    /// One takes effect at a tick, in the world of an era.
    pub(crate) fn expect(&mut self, at: Tick, era: u16, placed: Arc<Placed>) {
        if self.waiting.len() == WAITING_MAX {
            self.waiting.remove(0);
        }
        self.waiting.push((at, era, placed));
    }

    /// Makes those whose tick has come, and returns what clients must hear. Those for a world that is still to be loaded
    /// wait for it.
    pub(crate) fn take_effect(&mut self, now: Tick, era: u16, world: &mut Arc<World>) -> Option<Message> {
        self.waiting.retain(|(_, its, _)| *its >= era);
        let due = self.waiting.extract_if(.., |(at, its, _)| *at <= now && *its == era);
        let newest = due.map(|(_, _, placed)| placed).max_by_key(|placed| placed.revision)?;
        if newest.revision <= world.placed.revision || newest.problem().is_some() {
            return None;
        }
        let message = ToClient::statics(&world.placed, &newest, era).into();
        Arc::make_mut(world).placed = (*newest).clone();
        Some(message)
    }
}
