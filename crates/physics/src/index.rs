//! Bodies in the order of their ids, kept dense so that walking them costs next to nothing.

use nimbus_model::Nid;
use rapier3d::dynamics::RigidBodyHandle;
use serde::{Deserialize, Serialize};

/// A sorted table of bodies and their engine handles. Batches merge in one pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Index {
    entries: Vec<(Nid, RigidBodyHandle)>,
}

impl Index {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn get(&self, nid: Nid) -> Option<RigidBodyHandle> {
        self.entries.binary_search_by_key(&nid, |entry| entry.0).ok().map(|i| self.entries[i].1)
    }

    pub(crate) fn contains(&self, nid: Nid) -> bool {
        self.get(nid).is_some()
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (Nid, RigidBodyHandle)> + '_ {
        self.entries.iter().copied()
    }

    /// Adds entries that are not yet in it, in any order.
    pub(crate) fn merge(&mut self, batch: &[(Nid, RigidBodyHandle)]) {
        if batch.is_empty() {
            return;
        }
        self.entries.extend_from_slice(batch);
        // The standard sort finds the sorted runs and merges them, so a small batch costs one pass.
        self.entries.sort_by_key(|entry| entry.0);
    }

    /// Takes out every entry of `gone`, which must be sorted.
    pub(crate) fn drop_sorted(&mut self, gone: &[Nid]) {
        if gone.is_empty() {
            return;
        }
        let mut next = 0;
        self.entries.retain(|entry| {
            while next < gone.len() && gone[next] < entry.0 {
                next += 1;
            }
            !(next < gone.len() && gone[next] == entry.0)
        });
    }

    /// Keeps the entries `keep` says yes to; called in order.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(Nid, RigidBodyHandle) -> bool) {
        self.entries.retain(|entry| keep(entry.0, entry.1));
    }

    /// True when ids ascend strictly; a table read from outside is only used if they do.
    pub(crate) fn is_sorted(&self) -> bool {
        self.entries.is_sorted_by(|a, b| a.0 < b.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(n: u64) -> (Nid, RigidBodyHandle) {
        (Nid(n), RigidBodyHandle::from_raw_parts(n as u32, 0))
    }

    fn ids(index: &Index) -> Vec<u64> {
        index.iter().map(|(nid, _)| nid.0).collect()
    }

    #[test]
    fn merges_and_drops_keep_the_order() {
        let mut index = Index::default();
        index.merge(&[entry(5), entry(1), entry(9)]);
        index.merge(&[entry(7), entry(2)]);
        assert_eq!(ids(&index), [1, 2, 5, 7, 9]);
        index.drop_sorted(&[Nid(0), Nid(2), Nid(3), Nid(9), Nid(12)]);
        assert_eq!(ids(&index), [1, 5, 7]);
        assert_eq!(index.get(Nid(7)), Some(entry(7).1));
        assert_eq!(index.get(Nid(9)), None);
        assert!(index.is_sorted());
    }
}
