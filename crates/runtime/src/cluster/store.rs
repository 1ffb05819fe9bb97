//! Where the roster is kept, and who says which coordinator leads: a file for one coordinator, or etcd for several.

use nimbus_control::{Input, Roster};
use std::collections::VecDeque;

use super::etcd_store::EtcdStore;
use super::file_store::FileStore;
use super::setup::{ClusterError, ClusterSetup, StoreSetup};
use crate::mesh::{ProcessName, Role};

/// Something that a coordinator hears from where the roster is kept.
#[derive(Clone, Debug)]
pub(super) enum Word {
    /// An answer to what the coordinator asked.
    Answer(Input),
    /// It is elected.
    Lead,
    /// It is not, or no more. Who is, if known.
    Follow(Option<String>),
    /// Somebody has written this roster.
    Written(Box<Roster>),
    /// The store does not do what it is asked, and why; or it does again.
    Trouble(Option<String>),
}

/// See the description of this file. Nothing here ever waits for etcd.
pub(super) enum Store {
    File(FileStore, VecDeque<Word>),
    Etcd(EtcdStore),
}

impl Store {
    /// Opens the store of a cluster for one of its coordinators. `token` tells it from its own former start.
    pub(super) fn open(setup: &ClusterSetup, name: &ProcessName, token: u64) -> Result<Store, ClusterError> {
        match &setup.store {
            StoreSetup::File(path) => {
                if setup.named(Role::Coordinator).next() != Some(name) {
                    return Err(ClusterError::NeedsEtcd(name.clone()));
                }
                let directory = FileStore::directory(path);
                if !directory.is_dir() {
                    // Made here, it would hide that a volume is not mounted, and the world would begin anew.
                    return Err(ClusterError::NoStore(directory.to_owned()));
                }
                let file =
                    FileStore::open(path).map_err(|error| ClusterError::Io(path.display().to_string(), error))?;
                // There is nobody else to elect.
                Ok(Store::File(file, VecDeque::from([Word::Lead])))
            }
            StoreSetup::Etcd(config) => EtcdStore::open(config, setup, name, token).map(Store::Etcd),
        }
    }

    /// Asks what is there.
    pub(super) fn read(&mut self, request: u64) {
        match self {
            // Without an answer, the core asks again.
            Store::File(file, words) => {
                let contents = file.contents().map(|bytes| Word::Answer(Input::Contents { request, bytes }));
                words.extend(contents);
            }
            Store::Etcd(etcd) => etcd.read(request),
        }
    }

    /// Asks to write if the revision there is still the one expected.
    pub(super) fn swap(&mut self, request: u64, expect: u64, bytes: Vec<u8>) {
        match self {
            Store::File(file, words) => match file.swap(expect, bytes) {
                Ok(true) => words.push_back(Word::Answer(Input::Stored { request })),
                Ok(false) => {
                    let contents = file.contents().map(|bytes| Word::Answer(Input::Conflict { request, bytes }));
                    words.extend(contents);
                }
                // The core asks again.
                Err(error) => {
                    let problem = format!("the roster {} cannot be written: {error}", file.path().display());
                    words.push_back(Word::Trouble(Some(problem)));
                }
            },
            Store::Etcd(etcd) => etcd.swap(request, expect, bytes),
        }
    }

    /// The next word, if there is one.
    pub(super) fn hear(&mut self) -> Option<Word> {
        match self {
            Store::File(_, words) => words.pop_front(),
            Store::Etcd(etcd) => etcd.hear(),
        }
    }

    /// True while an answer may come any moment.
    pub(super) fn is_asked(&self) -> bool {
        matches!(self, Store::Etcd(etcd) if etcd.is_asked())
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
