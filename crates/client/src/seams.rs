//! What the gateway told of the seams between servers: the latest picture of each kind.

use nimbus_model::RegionId;
use nimbus_wire::client::BreachNews;

/// The latest pictures. Each message replaces the one before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seams {
    pub(crate) auras: Vec<(u32, f32)>,
    pub(crate) clusters: Vec<Vec<u32>>,
    pub(crate) in_transit: Vec<(u32, RegionId)>,
    pub(crate) breaches: Vec<BreachNews>,
    pub(crate) total: u64,
}

impl Seams {
    /// Takes members in the order in which the gateway tells them: those of one cluster follow each other.
    pub(crate) fn take_clusters(&mut self, members: impl Iterator<Item = (u32, u32)>) {
        self.clusters.clear();
        let mut last = None;
        for (slot, number) in members {
            match self.clusters.last_mut() {
                Some(cluster) if last == Some(number) => cluster.push(slot),
                _ => self.clusters.push(vec![slot]),
            }
            last = Some(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_share_a_number_are_one_cluster() {
        let mut seams = Seams::default();
        seams.take_clusters([(4, 0), (5, 0), (9, 1), (2, 1), (3, 1)].into_iter());
        assert_eq!(seams.clusters, [vec![4, 5], vec![9, 2, 3]]);
        seams.take_clusters([].into_iter());
        assert!(seams.clusters.is_empty(), "a picture replaces the one before");
    }
}
