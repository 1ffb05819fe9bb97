//! How large the checked worlds are. Everything within the bounds is tried in every order.

use crate::state::{BODIES_MAX, RegionId};

/// How much of each kind may happen in one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// A few words for tables.
    pub name: &'static str,
    /// Regions, at most [`crate::REGIONS_MAX`].
    pub regions: u8,
    /// Where the bodies start; one initial state each.
    pub homes: Vec<[RegionId; BODIES_MAX]>,
    /// Grants in all, those of zombies included.
    pub grants: usize,
    /// Refusals in all.
    pub refusals: usize,
    /// Writers given up, rightly or not.
    pub promotions: usize,
    /// Backups replaced under a writer that stays.
    pub replacements: usize,
}

impl Bounds {
    /// Seconds: what the tests check in full.
    pub fn quick() -> Vec<Bounds> {
        vec![Bounds::three_regions(), Bounds::failing_twice()]
    }

    /// Below a minute in a release build: adds replaced backups to three regions.
    pub fn full() -> Vec<Bounds> {
        let replaced = Bounds { name: "three regions, a replaced backup", replacements: 1, ..Bounds::three_regions() };
        vec![Bounds::three_regions(), Bounds::failing_twice(), replaced]
    }

    /// Minutes and gigabytes: one more grant, or one more promotion.
    pub fn deep() -> Vec<Bounds> {
        let grants = Bounds { name: "three regions, three grants", grants: 3, ..Bounds::three_regions() };
        let promotions = Bounds { name: "three regions, two promotions", promotions: 2, ..Bounds::three_regions() };
        vec![grants, promotions]
    }

    /// Enough of everything for each mutant to go wrong. A search for a mistake stops at the first, so this may be
    /// larger than what can be checked in full.
    pub fn for_mutants() -> Bounds {
        Bounds { name: "mutant", promotions: 2, replacements: 1, ..Bounds::three_regions() }
    }

    fn three_regions() -> Bounds {
        Bounds {
            name: "three regions",
            regions: 3,
            homes: vec![[0, 0], [0, 1]],
            grants: 2,
            refusals: 1,
            promotions: 1,
            replacements: 0,
        }
    }

    fn failing_twice() -> Bounds {
        Bounds {
            name: "two regions, failing twice",
            regions: 2,
            homes: vec![[0, 0], [0, 1]],
            grants: 1,
            refusals: 1,
            promotions: 2,
            replacements: 1,
        }
    }
}
