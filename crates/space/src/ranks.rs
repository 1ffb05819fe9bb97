//! The order of regions that decides who gives way.

use nimbus_model::RegionId;

use crate::tree::MapError;

/// The place of every region of a map in one total order, by the region's place in the map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ranks(Vec<u16>);

impl Ranks {
    /// The order of the ids, for a map of so many regions.
    pub(crate) fn by_id(regions: usize) -> Ranks {
        Ranks((0..regions).map(|slot| slot as u16).collect())
    }

    /// An order written as a list of regions, the lowest rank first. It must name every region once; an empty list is
    /// the order of the ids.
    pub(crate) fn read(regions: &[RegionId], order: &[RegionId]) -> Result<Ranks, MapError> {
        if order.is_empty() {
            return Ok(Ranks::by_id(regions.len()));
        }
        let mut ranks: Vec<Option<u16>> = vec![None; regions.len()];
        for (rank, region) in order.iter().enumerate() {
            match regions.binary_search(region) {
                Ok(slot) if ranks[slot].is_none() => ranks[slot] = Some(rank as u16),
                _ => return Err(MapError::Ranks { region: *region }),
            }
        }
        let missing = |slot: usize| MapError::Ranks { region: regions[slot] };
        let ranks = ranks.into_iter().enumerate().map(|(slot, rank)| rank.ok_or_else(|| missing(slot)));
        Ok(Ranks(ranks.collect::<Result<_, _>>()?))
    }

    /// The list that [`Ranks::read`] takes; empty for the order of the ids.
    pub(crate) fn write(&self, regions: &[RegionId]) -> Vec<RegionId> {
        if *self == Ranks::by_id(regions.len()) { Vec::new() } else { self.order(regions) }
    }

    /// The regions, the lowest rank first.
    pub(crate) fn order(&self, regions: &[RegionId]) -> Vec<RegionId> {
        let mut order: Vec<(u16, RegionId)> = self.0.iter().copied().zip(regions.iter().copied()).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, region)| region).collect()
    }

    /// The rank of a region. Regions that the map does not have come behind all others, in the order of their ids.
    pub(crate) fn of(&self, regions: &[RegionId], region: RegionId) -> u32 {
        match regions.binary_search(&region) {
            Ok(slot) => u32::from(self.0[slot]),
            Err(_) => self.0.len() as u32 + u32::from(region.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regions(ids: &[u16]) -> Vec<RegionId> {
        ids.iter().copied().map(RegionId).collect()
    }

    #[test]
    fn an_order_names_every_region_once() {
        let all = regions(&[1, 4, 40]);
        let ranks = Ranks::read(&all, &regions(&[40, 1, 4])).unwrap();
        assert_eq!([40, 1, 4, 7, 5].map(|id| ranks.of(&all, RegionId(id))), [0, 1, 2, 10, 8]);
        assert_eq!(ranks.order(&all), regions(&[40, 1, 4]));
        assert_eq!(Ranks::read(&all, &ranks.write(&all)), Ok(ranks));
        for (order, named) in [(&[40, 1][..], 4), (&[40, 1, 1], 1), (&[40, 1, 4, 9], 9), (&[4, 1, 40, 4], 4)] {
            let refused = Ranks::read(&all, &regions(order)).unwrap_err();
            assert_eq!(refused, MapError::Ranks { region: RegionId(named) }, "{order:?}");
        }
    }

    #[test]
    fn the_order_of_ids_is_not_written() {
        let all = regions(&[0, 1, 2]);
        assert_eq!(Ranks::read(&all, &[]).unwrap(), Ranks::by_id(3));
        assert_eq!(Ranks::read(&all, &all).unwrap().write(&all), []);
    }
}
