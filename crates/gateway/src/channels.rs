//! The channels of a gateway, and who looks through which.
//!
//! Clients that ask for the same view share a channel. One that looks elsewhere takes a copy of it along, so that nothing
//! that it has been shown must be sent again; the same goes for one that reads too slowly for its budget, which must not
//! hold up the others.

use nimbus_model::ClientId;
use nimbus_wire::client::Watch;
use std::collections::BTreeMap;

use crate::Message;
use crate::channel::{Channel, Scenery};
use crate::replicas::Changes;

/// A client for which more waits than it is sent in this many seconds reads too slowly, and is sent less.
const LATE_S: f32 = 0.5;
/// One for which this little waits keeps up. Seconds.
const IN_TIME_S: f32 = 0.1;
/// One for which so much waits is let go. Seconds.
const HOPELESS_S: f32 = 2.0;
/// Bytes that may always wait: what the transport takes at once.
const ALWAYS_BYTES: usize = 64 << 10;
/// Sends between two looks at what waits for a client, so that a change shows before the next.
const PATIENCE: u32 = 10;

/// Where a client looks.
#[derive(Clone, Copy, Debug)]
struct Place {
    channel: u64,
    /// Sends left before it is judged again.
    patience: u32,
    /// Bytes of the picture that it was sent and may not have taken yet.
    picture: usize,
}

/// What a gateway shows to clients that watch.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    by_number: BTreeMap<u64, Channel>,
    places: BTreeMap<ClientId, Place>,
    next: u64,
}

impl Channels {
    /// A client looks somewhere.
    pub(crate) fn watch(&mut self, client: ClientId, watch: &Watch) {
        let watch = watch.rounded();
        let Some(place) = self.places.get(&client).copied() else {
            let found = self
                .by_number
                .iter_mut()
                .find(|(_, channel)| channel.watch() == &watch && channel.budget().share() == 1.0);
            let number = match found {
                Some((number, channel)) => {
                    channel.join(client);
                    *number
                }
                None => {
                    let mut channel = Channel::new(watch);
                    channel.join(client);
                    self.open(channel)
                }
            };
            self.places.insert(client, Place { channel: number, patience: PATIENCE, picture: 0 });
            return;
        };
        if let Some(channel) = self.own(client, place) {
            channel.aim(watch);
        }
    }

    /// A client is gone.
    pub(crate) fn disconnect(&mut self, client: ClientId) {
        let Some(place) = self.places.remove(&client) else { return };
        if let Some(channel) = self.by_number.get_mut(&place.channel) {
            channel.leave(client);
            if channel.is_empty() {
                self.by_number.remove(&place.channel);
            }
        }
    }

    /// So many bytes wait for a client. False when it reads so slowly that it has to go.
    pub(crate) fn waits(&mut self, client: ClientId, bytes: usize) -> bool {
        let Some(place) = self.places.get_mut(&client) else { return true };
        let Some(channel) = self.by_number.get(&place.channel) else { return true };
        if bytes <= ALWAYS_BYTES {
            place.picture = 0;
        }
        let seconds = bytes.saturating_sub(ALWAYS_BYTES + place.picture) as f32 / channel.budget().usual();
        if seconds > HOPELESS_S {
            return false;
        }
        place.patience = place.patience.saturating_sub(1);
        let (late, recovers) = (seconds > LATE_S, seconds < IN_TIME_S && channel.budget().share() < 1.0);
        if place.patience > 0 || !(late || recovers) {
            return true;
        }
        // Less is taken away at once, and given back little by little.
        place.patience = if late { PATIENCE } else { 1 };
        let place = *place;
        if let Some(channel) = self.own(client, place) {
            if late {
                channel.budget_mut().slow_down();
            } else {
                channel.budget_mut().speed_up();
            }
        }
        true
    }

    /// Where everybody looks.
    pub(crate) fn watches(&self) -> impl Iterator<Item = &Watch> {
        self.by_number.values().map(Channel::watch)
    }

    /// How many channels there are, and how many bodies they show in all.
    pub(crate) fn figures(&self) -> (usize, usize) {
        (self.by_number.len(), self.by_number.values().map(Channel::bodies).sum())
    }

    /// Another world was loaded.
    pub(crate) fn clear(&mut self) {
        self.by_number.values_mut().for_each(Channel::clear);
    }

    /// Takes note of what happened in a tick.
    pub(crate) fn note(&mut self, changes: &Changes) {
        let nothing =
            [&changes.created, &changes.moved, &changes.destroyed, &changes.owners].iter().all(|of| of.is_empty());
        if nothing {
            return;
        }
        for channel in self.by_number.values_mut() {
            channel.note(&changes.destroyed, &changes.owners);
        }
    }

    /// Sends through every channel whose turn it is.
    pub(crate) fn send(&mut self, scenery: &Scenery<'_>, out: &mut Vec<(ClientId, Message)>) {
        for (number, channel) in &mut self.by_number {
            if channel.is_due(*number, scenery) {
                for (client, bytes) in channel.send(*number, scenery, out) {
                    self.places.entry(client).and_modify(|place| place.picture = bytes);
                }
            }
        }
    }

    /// The channel of a client, which from now on is its own.
    fn own(&mut self, client: ClientId, place: Place) -> Option<&mut Channel> {
        let channel = self.by_number.get_mut(&place.channel)?;
        let number = if channel.is_own() {
            place.channel
        } else {
            let own = channel.fork(client);
            let number = self.open(own);
            self.places.insert(client, Place { channel: number, ..place });
            number
        };
        self.by_number.get_mut(&number)
    }

    fn open(&mut self, channel: Channel) -> u64 {
        self.next += 1;
        self.by_number.insert(self.next, channel);
        self.next
    }
}
