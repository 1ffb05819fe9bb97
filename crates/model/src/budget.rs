//! How many bodies a world may have, and how many one region of it may host.

use serde::{Deserialize, Serialize};

use crate::{Injection, World};

/// Memory that a body is counted with, bytes: 3.7 to 12 KB were measured where servers keep up, and twice that where a
/// server falls behind and what it has to say waits (docs/performance.md).
pub const BYTES_PER_BODY: u64 = 24 << 10;

/// How many bodies a world may have unless it says otherwise: at [`BYTES_PER_BODY`] about half the memory of a machine with
/// 24 GiB.
pub const BUDGET_BODIES: u32 = 500_000;

/// Greatest budget that a world may ask for: 229 GiB at [`BYTES_PER_BODY`].
pub const BUDGET_BODIES_MAX: u32 = 10_000_000;

/// Limits of a world on its number of bodies. Statics do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Bodies that the world starts with plus all that its injections of a finite count add. More are refused before it
    /// starts.
    pub bodies: u32,
    /// Bodies that the server of one region hosts. Births beyond it are refused while the world runs; none means that only
    /// the server's own limit counts.
    pub bodies_per_region: Option<u32>,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { bodies: BUDGET_BODIES, bodies_per_region: None }
    }
}

impl Budget {
    /// The most bodies that a server may host in a world of this budget.
    pub fn region_max(&self) -> u32 {
        self.bodies_per_region.unwrap_or(u32::MAX).min(self.bodies)
    }
}

/// A world that makes more bodies than its budget allows. Displays without the subject, as the problems of a world file do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverBudget {
    /// Bodies that the world starts with.
    pub begins: u64,
    /// Bodies that its injections of a finite count add.
    pub added: u64,
    /// The budget.
    pub limit: u32,
}

impl OverBudget {
    /// What is wrong; reads on from the subject, `injections` where they add the greater part and `bodies` otherwise.
    pub fn what(&self) -> String {
        let OverBudget { begins, added, limit } = self;
        let total = begins + added;
        let parts = if self.is_by_injections() { "bring" } else { "come to" };
        let rest = if self.is_by_injections() { "the world to " } else { "" };
        format!("{parts} {rest}{total} bodies ({begins} at the start, {added} by injection); the budget is {limit}")
    }

    /// What to change.
    pub fn remedy(&self) -> String {
        let total = self.begins + self.added;
        let gib = (2 * total * BYTES_PER_BODY) as f64 / f64::from(1 << 30);
        let fewer = total - u64::from(self.limit);
        let lower = if self.is_by_injections() { "lower injections.count" } else { "use fewer bodies" };
        if total > u64::from(BUDGET_BODIES_MAX) {
            return format!("{lower} by {fewer}; no budget is above {BUDGET_BODIES_MAX}");
        }
        format!(
            "{lower} by {fewer}, or write [budget] with bodies = {total} if the machines that run it have {gib:.0} GiB of \
             memory together (half of it at {} KiB a body)",
            BYTES_PER_BODY >> 10
        )
    }

    /// True when injections add the greater part.
    pub fn is_by_injections(&self) -> bool {
        self.added > self.begins
    }
}

impl std::fmt::Display for OverBudget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let subject = if self.is_by_injections() { "injections" } else { "bodies" };
        write!(f, "{subject} {} — {}", self.what(), self.remedy())
    }
}

impl World {
    /// Says when what the world starts with and what its injections of a finite count add is beyond its budget.
    pub fn over_budget(&self) -> Option<OverBudget> {
        let begins = self.owned_bodies().count() as u64;
        let added = self.injections.iter().filter_map(Injection::finite_count).map(u64::from).sum();
        let limit = self.budget.bodies;
        (begins + added > u64::from(limit)).then_some(OverBudget { begins, added, limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world_file::parse;

    fn world(budget: &str, count: &str) -> Result<World, String> {
        let text = format!(
            "name = \"w\"\n{budget}\n[[bodies]]\nshape = {{ ball = {{ radius = 0.5 }} }}\n\
             repeat = {{ count = [10, 1, 1], spacing = [2, 0, 0] }}\n[[bodies]]\nkind = \"static\"\n\
             shape = {{ ball = {{ radius = 0.5 }} }}\n[[injections]]\nvolume = {{ min = [-9, 1, -9], max = [9, 9, 9] }}\n\
             per_second = 60.0\ncount = {count}\n[[injections.choices]]\nshape = {{ ball = {{ radius = 0.5 }} }}\n"
        );
        parse(&text, "w.toml").map_err(|problems| problems.to_string())
    }

    #[test]
    fn a_world_beyond_its_budget_is_refused_with_line_value_limit_and_remedy() {
        let refused = world("", "1_000_000").unwrap_err();
        for part in [
            "w.toml:9: injections bring the world to 1000010 bodies",
            "10 at the start, 1000000 by injection",
            "the budget is 500000",
            "lower injections.count by 500010",
            "[budget] with bodies = 1000010",
            "46 GiB",
        ] {
            assert!(refused.contains(part), "{part}: {refused}");
        }
        assert!(world("[budget]\nbodies = 1_000_010", "1_000_000").is_ok(), "the remedy helps");
        assert!(world("", "499_990").is_ok(), "statics do not count");
        let refused = world("[budget]\nbodies = 9", "1").unwrap_err();
        assert!(
            refused.contains("w.toml:4: bodies come to 11 bodies") && refused.contains("fewer bodies"),
            "{refused}"
        );
    }

    #[test]
    fn what_has_no_end_is_left_to_the_regions() {
        let world = world("[budget]\nbodies = 10\nbodies_per_region = 7", "\"endless\"").unwrap();
        assert_eq!(world.injections[0].count, Injection::ENDLESS);
        assert_eq!((world.over_budget(), world.budget.region_max()), (None, 7));
    }

    #[test]
    fn a_budget_that_is_none_is_refused() {
        for (budget, part) in [
            ("[budget]\nbodies = 0", "budget.bodies is 0"),
            ("[budget]\nbodies = 10_000_001", "10000000"),
            ("[budget]\nbodies_per_region = -1", "budget.bodies_per_region"),
            ("[budget]\nbodys = 1", "did you mean `bodies`"),
        ] {
            let refused = world(budget, "1").unwrap_err();
            assert!(refused.contains(part), "{budget}: {refused}");
        }
    }
}
