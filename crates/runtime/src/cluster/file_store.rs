//! The roster in a file, for clusters with one coordinator.

use nimbus_control::Roster;
use std::path::{Path, PathBuf};

/// A file that holds the roster. Nobody else may write it.
pub(super) struct FileStore {
    path: PathBuf,
    held: Option<Vec<u8>>,
    revision: u64,
}

impl FileStore {
    /// Opens the file, or begins without one.
    pub(super) fn open(path: &Path) -> std::io::Result<FileStore> {
        let held = match std::fs::read(path) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        // What is no roster is the coordinator's to complain about; it never writes over it.
        let revision = held.as_deref().map_or(0, |bytes| Roster::decode(bytes).map_or(u64::MAX, |r| r.revision));
        Ok(FileStore { path: path.to_owned(), held, revision })
    }

    /// What is there.
    pub(super) fn contents(&self) -> Option<Vec<u8>> {
        self.held.clone()
    }

    /// Writes if the revision there is still the one expected: a new file takes the place of the old one, so that a crash
    /// leaves one of the two. False when it is another revision.
    pub(super) fn swap(&mut self, expected: u64, bytes: Vec<u8>) -> std::io::Result<bool> {
        if self.revision != expected {
            return Ok(false);
        }
        let fresh = self.path.with_extension("new");
        std::fs::write(&fresh, &bytes)?;
        std::fs::File::open(&fresh)?.sync_all()?;
        std::fs::rename(&fresh, &self.path)?;
        (self.revision, self.held) = (expected + 1, Some(bytes));
        Ok(true)
    }
}
