//! The roster in a file, for clusters with one coordinator.

use nimbus_control::Roster;
use std::fs::File;
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};

/// A file that holds the roster. Nobody else may write it.
pub(super) struct FileStore {
    path: PathBuf,
    held: Option<Vec<u8>>,
    revision: u64,
    /// What could not be written, while nothing can.
    unwritten: Option<Vec<u8>>,
}

impl FileStore {
    /// Opens the file, or begins without one.
    pub(super) fn open(path: &Path) -> Result<FileStore> {
        let held = match std::fs::read(path) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        // What is no roster is the coordinator's to complain about; it never writes over it.
        let revision = held.as_deref().map_or(0, |bytes| Roster::decode(bytes).map_or(u64::MAX, |r| r.revision));
        Ok(FileStore { path: path.to_owned(), held, revision, unwritten: None })
    }

    /// The directory of such a file.
    pub(super) fn directory(path: &Path) -> &Path {
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// What is there. None while what was to be there cannot be written: that it can be read is no news then.
    pub(super) fn contents(&mut self) -> Option<Option<Vec<u8>>> {
        if let Some(bytes) = &self.unwritten {
            self.write_beside(bytes).ok()?;
            self.unwritten = None;
        }
        Some(self.held.clone())
    }

    /// Writes if the revision there is still the one expected: a new file takes the place of the old one, so that a crash
    /// leaves one of the two. False when it is another revision.
    pub(super) fn swap(&mut self, expected: u64, bytes: Vec<u8>) -> Result<bool> {
        if self.revision != expected {
            return Ok(false);
        }
        if let Err(error) = self.replace(&bytes) {
            self.unwritten = Some(bytes);
            return Err(error);
        }
        (self.revision, self.held, self.unwritten) = (expected + 1, Some(bytes), None);
        Ok(true)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn replace(&self, bytes: &[u8]) -> Result<()> {
        std::fs::rename(self.write_beside(bytes)?, &self.path)?;
        // The name must outlive a loss of power as well as the bytes. Some file systems cannot be asked that.
        match File::open(FileStore::directory(&self.path))?.sync_all() {
            Err(error) if error.kind() != ErrorKind::InvalidInput => Err(error),
            _ => Ok(()),
        }
    }

    fn write_beside(&self, bytes: &[u8]) -> Result<PathBuf> {
        let fresh = self.path.with_extension("new");
        std::fs::write(&fresh, bytes)?;
        File::open(&fresh)?.sync_all()?;
        Ok(fresh)
    }
}
