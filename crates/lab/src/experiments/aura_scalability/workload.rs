//! The worlds of the experiment: a rain, the layout it is cut by, and the same rain cut otherwise.

use nimbus_model::{Layout, RegionId, World};
use nimbus_scenes::{rain_on_columns, rain_on_corner, rain_on_grid};
use nimbus_space::PartitionMap;

use super::Setup;
use super::bars;

/// How regions lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrangement {
    /// Side by side: every region has at most two neighbours.
    Columns,
    /// Around corners, where three or four regions meet.
    Corner,
}

impl Arrangement {
    /// The word that rows use.
    pub(super) fn name(self) -> &'static str {
        match self {
            Arrangement::Columns => "columns",
            Arrangement::Corner => "corner",
        }
    }
}

/// One row of the experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) arrangement: Arrangement,
    pub(super) servers: u16,
    /// Metres.
    pub(super) region_width: f32,
}

impl Case {
    /// True when bars apply to it, so that worlds without seams must be run beside it.
    pub(super) fn is_judged(&self) -> bool {
        self.servers > 1 && self.region_width == bars::JUDGED_WIDTH
    }

    /// The rain of this case, cut into its regions.
    pub(super) fn world(&self, setup: &Setup) -> World {
        let (n, seed, scale) = (self.servers, setup.seed, setup.scale);
        match (self.arrangement, n) {
            (Arrangement::Columns, _) => rain_on_columns(n, n, self.region_width, seed, scale),
            (Arrangement::Corner, 3) => rain_on_corner(seed, scale),
            (Arrangement::Corner, 9) => rain_on_grid([3, 3], seed, scale),
            (Arrangement::Corner, _) => rain_on_grid([2, n / 2], seed, scale),
        }
    }

    /// The same rain on one server.
    pub(super) fn control(&self, setup: &Setup) -> World {
        World { layout: Layout::columns(1, 1_000.0), ..self.world(setup) }
    }
}

/// What each region would get if it were a world of its own: everything injected into it and nothing else, on one server.
pub(super) fn independent(world: &World) -> Vec<World> {
    let Ok(map) = PartitionMap::from_layout(&world.layout) else { return Vec::new() };
    let alone = |region: &RegionId| {
        let mut alone = World { layout: Layout::columns(1, 1_000.0), ..world.clone() };
        // Injections that are not this region's stay, empty: a body's random choices depend on their order.
        for injection in &mut alone.injections {
            if map.region_at(injection.volume.centre()) != *region {
                injection.count = 0;
            }
        }
        alone
    };
    map.regions().iter().map(alone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_worlds_share_the_rain_out() {
        let setup = Setup { scale: 1.0, ..Setup::tiny() };
        for (arrangement, servers) in [(Arrangement::Columns, 2), (Arrangement::Corner, 3), (Arrangement::Corner, 4)] {
            let case = Case { arrangement, servers, region_width: 200.0 };
            let world = case.world(&setup);
            let alone = independent(&world);
            assert_eq!(alone.len(), usize::from(servers));
            let made = |world: &World| world.injections.iter().map(|i| i.count).sum::<u32>();
            let shares: Vec<u32> = alone.iter().map(made).collect();
            assert!(shares.iter().all(|share| share.abs_diff(9_600 / u32::from(servers)) <= 8), "{shares:?}");
            assert_eq!(shares.iter().sum::<u32>(), 9_600);
            assert_eq!(made(&case.control(&setup)), 9_600);
        }
    }
}
