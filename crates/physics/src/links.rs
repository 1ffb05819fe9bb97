//! Joints by the bodies they hold.

use nimbus_model::{JointDesc, Nid};
use rapier3d::dynamics::ImpulseJointHandle;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

use nimbus_model::LinkKey;

/// A joint as this crate keeps it. It enters the engine at the start of the next step, see `step.rs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LinkRecord {
    pub(crate) desc: JointDesc,
    /// What to start from; once the joint is in the engine, the engine knows better.
    pub(crate) impulses: [f32; 6],
    pub(crate) joint: Option<ImpulseJointHandle>,
}

/// All joints, found from either end.
#[derive(Default)]
pub(crate) struct LinkTable {
    by_first: BTreeMap<LinkKey, LinkRecord>,
    by_second: BTreeSet<LinkKey>,
}

impl LinkTable {
    pub(crate) fn insert(&mut self, key: LinkKey, record: LinkRecord) {
        let (a, b, ordinal) = key;
        self.by_first.insert(key, record);
        self.by_second.insert((b, a, ordinal));
    }

    pub(crate) fn remove(&mut self, key: LinkKey) -> Option<LinkRecord> {
        let (a, b, ordinal) = key;
        self.by_second.remove(&(b, a, ordinal));
        self.by_first.remove(&key)
    }

    pub(crate) fn get_mut(&mut self, key: LinkKey) -> Option<&mut LinkRecord> {
        self.by_first.get_mut(&key)
    }

    pub(crate) fn get(&self, key: LinkKey) -> Option<&LinkRecord> {
        self.by_first.get(&key)
    }

    pub(crate) fn contains(&self, key: LinkKey) -> bool {
        self.by_first.contains_key(&key)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_first.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (LinkKey, &LinkRecord)> {
        self.by_first.iter().map(|(key, record)| (*key, record))
    }

    /// Keys of the joints that hold this body, those where it comes first before the others.
    pub(crate) fn touching(&self, nid: Nid) -> impl Iterator<Item = LinkKey> + '_ {
        let span = (nid, Nid(0), 0)..=(nid, Nid(u64::MAX), u16::MAX);
        let first = self.by_first.range(span.clone()).map(|(key, _)| *key);
        let second = self.by_second.range(span).map(|(b, a, ordinal)| (*a, *b, *ordinal));
        first.chain(second)
    }

    /// The bodies at the other ends, sorted, each once.
    pub(crate) fn partners(&self, nid: Nid) -> Vec<Nid> {
        let mut partners: Vec<Nid> = self.touching(nid).map(|(a, b, _)| if a == nid { b } else { a }).collect();
        partners.sort_unstable();
        partners.dedup();
        partners
    }
}
