//! How many living bodies a client has made. One that may not decide about the world may not fill it either.

use nimbus_model::{ClientId, Nid};
use std::collections::BTreeMap;

/// Who has made what.
#[derive(Debug, Default)]
pub(crate) struct Quotas {
    makers: BTreeMap<Nid, ClientId>,
    /// Bodies that live, and those that are under way.
    counts: BTreeMap<ClientId, usize>,
}

impl Quotas {
    /// A client asks for a body. False when it has as many as it may.
    pub(crate) fn take(&mut self, client: ClientId, max: usize) -> bool {
        let count = self.counts.entry(client).or_default();
        let has_room = *count < max;
        *count += usize::from(has_room);
        has_room
    }

    /// A body that was asked for is there, or has come and gone.
    pub(crate) fn made(&mut self, client: ClientId, nid: Nid, lives: bool) {
        if lives && self.counts.contains_key(&client) {
            self.makers.insert(nid, client);
        } else {
            self.give_back(client);
        }
    }

    /// A body that was asked for will not be.
    pub(crate) fn give_back(&mut self, client: ClientId) {
        if let Some(count) = self.counts.get_mut(&client) {
            *count = count.saturating_sub(1);
        }
    }

    /// A body is no more.
    pub(crate) fn died(&mut self, nid: Nid) {
        if let Some(client) = self.makers.remove(&nid) {
            self.give_back(client);
        }
    }

    /// A client is gone; what it made lives on and is nobody's.
    pub(crate) fn forget(&mut self, client: ClientId) {
        if self.counts.remove(&client).is_some() {
            self.makers.retain(|_, maker| *maker != client);
        }
    }

    /// Another world was loaded.
    pub(crate) fn clear(&mut self) {
        *self = Quotas::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: ClientId = ClientId(1);

    #[test]
    fn bodies_count_from_when_they_are_asked_for_until_they_die() {
        let mut quotas = Quotas::default();
        assert!(quotas.take(ME, 2) && quotas.take(ME, 2) && !quotas.take(ME, 2));
        assert!(quotas.take(ClientId(2), 2), "everybody has its own");
        quotas.made(ME, Nid(7), true);
        quotas.give_back(ME);
        assert!(quotas.take(ME, 2) && !quotas.take(ME, 2), "one was refused");
        quotas.died(Nid(7));
        quotas.died(Nid(7));
        assert!(quotas.take(ME, 2) && !quotas.take(ME, 2), "one died, once");
        quotas.made(ME, Nid(8), false);
        assert!(quotas.take(ME, 2) && !quotas.take(ME, 2), "one died before its maker heard of it");
        quotas.forget(ME);
        quotas.made(ME, Nid(9), true);
        quotas.died(Nid(9));
        assert!(
            quotas.take(ME, 2) && quotas.take(ME, 2) && !quotas.take(ME, 2),
            "whoever is gone leaves nothing behind"
        );
    }
}
