//! What a server owns, with the epoch of its reign over each body.

use nimbus_model::Nid;
use serde::{Deserialize, Serialize};

/// A sorted list: it is walked every tick beside the bodies that moved, and changed for a few of them at most.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reigns(Vec<(Nid, u32)>);

impl Reigns {
    pub(crate) fn insert(&mut self, nid: Nid, body_epoch: u32) {
        match self.find(nid) {
            Ok(at) => self.0[at].1 = body_epoch,
            Err(at) => self.0.insert(at, (nid, body_epoch)),
        }
    }

    pub(crate) fn remove(&mut self, nid: Nid) -> Option<u32> {
        self.find(nid).ok().map(|at| self.0.remove(at).1)
    }

    /// Takes many out at once; they are in order.
    pub(crate) fn remove_sorted(&mut self, gone: &[Nid]) {
        let mut gone = gone.iter().peekable();
        self.0.retain(|(nid, _)| {
            while gone.next_if(|next| *next < nid).is_some() {}
            gone.peek() != Some(&nid)
        });
    }

    pub(crate) fn get(&self, nid: Nid) -> Option<u32> {
        self.find(nid).ok().map(|at| self.0[at].1)
    }

    pub(crate) fn contains(&self, nid: Nid) -> bool {
        self.find(nid).is_ok()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Nid, u32)> {
        self.0.iter().copied()
    }

    fn find(&self, nid: Nid) -> Result<usize, usize> {
        self.0.binary_search_by_key(&nid, |(nid, _)| *nid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_sorted_and_holds_each_id_once() {
        let mut reigns = Reigns::default();
        for (nid, epoch) in [(5, 1), (1, 1), (3, 1), (5, 2)] {
            reigns.insert(Nid(nid), epoch);
        }
        assert_eq!(reigns.iter().collect::<Vec<_>>(), [(Nid(1), 1), (Nid(3), 1), (Nid(5), 2)]);
        assert_eq!((reigns.remove(Nid(3)), reigns.remove(Nid(3))), (Some(1), None));
        let mut many = reigns.clone();
        many.insert(Nid(8), 4);
        many.remove_sorted(&[Nid(0), Nid(1), Nid(2), Nid(8), Nid(9)]);
        assert_eq!(many.iter().collect::<Vec<_>>(), [(Nid(5), 2)]);
        assert_eq!((reigns.get(Nid(5)), reigns.contains(Nid(3)), reigns.len()), (Some(2), false, 2));
    }
}
