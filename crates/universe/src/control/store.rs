//! The embedded store: every roster that was ever written, the newest in force.

use nimbus_control::Roster;
use std::sync::Arc;

/// See the description of this file. The first roster has revision 1.
#[derive(Default)]
pub(crate) struct Store {
    history: Vec<(Arc<Roster>, Vec<u8>)>,
}

impl Store {
    /// Writes, if the revision there is still the one expected. What cannot be read is not written.
    pub(crate) fn swap(&mut self, expect_revision: u64, bytes: Vec<u8>) -> Option<Arc<Roster>> {
        if self.history.len() as u64 != expect_revision {
            return None;
        }
        let roster = Arc::new(Roster::decode(&bytes).ok()?);
        self.history.push((roster.clone(), bytes));
        Some(roster)
    }

    /// What is there.
    pub(crate) fn contents(&self) -> Option<Vec<u8>> {
        self.history.last().map(|(_, bytes)| bytes.clone())
    }

    /// The newest roster.
    pub(crate) fn newest(&self) -> Option<&Arc<Roster>> {
        self.history.last().map(|(roster, _)| roster)
    }

    /// The roster that was written before the newest.
    pub(crate) fn before(&self) -> Option<&Arc<Roster>> {
        self.history.len().checked_sub(2).map(|last| &self.history[last].0)
    }

    /// The roster of a revision, if it was ever there.
    pub(crate) fn at(&self, revision: u64) -> Option<&Arc<Roster>> {
        let index = usize::try_from(revision.checked_sub(1)?).ok()?;
        self.history.get(index).map(|(roster, _)| roster)
    }
}
