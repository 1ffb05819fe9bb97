//! What the runs of a case add up to.

use nimbus_universe::Comparison;

use super::cases::{Bar, Case};
use crate::report::Row;

/// What the runs of a case add up to.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) runs: u64,
    /// First contacts compared.
    pub(super) compared: usize,
    pub(super) late: usize,
    pub(super) missed: usize,
    /// Late or missed without a breach before.
    pub(super) silent: usize,
    chaotic: usize,
    deviations: usize,
    /// Runs with a breach.
    breaches: usize,
    /// Rules of the simulator that were broken.
    violations: usize,
    /// Most changes of owner a second at the end of a run.
    owner_changes_per_s: f32,
    /// Most bodies awake at the end of a run.
    awake: usize,
    /// Changes of owner ten seconds after everything came to rest.
    changes_at_rest: u64,
    /// Runs in which not everything came to rest for ten seconds.
    restless: usize,
    /// Seeds of the runs that do not meet the bar.
    failing: Vec<u64>,
}

impl Tally {
    /// Adds a run.
    pub(super) fn count(&mut self, bar: Bar, seed: u64, comparison: &Comparison) {
        let mut run = Tally {
            runs: 1,
            compared: comparison.compared,
            late: comparison.late.len(),
            missed: comparison.missed.len(),
            silent: comparison.silent().count(),
            chaotic: comparison.chaotic,
            deviations: comparison.deviations.len(),
            breaches: usize::from(!comparison.outcome.breaches.is_empty()),
            violations: comparison.outcome.violations.len(),
            owner_changes_per_s: comparison.owner_changes_per_s,
            awake: comparison.awake,
            changes_at_rest: comparison.changes_at_rest.unwrap_or(0),
            restless: usize::from(comparison.changes_at_rest.is_none()),
            failing: Vec::new(),
        };
        if !run.meets(bar) {
            run.failing.push(seed);
        }
        self.add(run);
    }

    fn add(&mut self, run: Tally) {
        self.runs += run.runs;
        self.compared += run.compared;
        self.late += run.late;
        self.missed += run.missed;
        self.silent += run.silent;
        self.chaotic += run.chaotic;
        self.deviations += run.deviations;
        self.breaches += run.breaches;
        self.violations += run.violations;
        self.owner_changes_per_s = self.owner_changes_per_s.max(run.owner_changes_per_s);
        self.awake = self.awake.max(run.awake);
        self.changes_at_rest += run.changes_at_rest;
        self.restless += run.restless;
        self.failing.extend(run.failing);
        self.failing.sort_unstable();
    }

    /// True when every run meets the bar of its case, and something was compared.
    pub(super) fn meets(&self, bar: Bar) -> bool {
        let exact = bar != Bar::Exact || self.deviations == 0;
        let rests = bar != Bar::Rest || (self.changes_at_rest == 0 && self.restless == 0 && self.awake == 0);
        self.compared > 0 && self.silent == 0 && self.violations == 0 && exact && rests
    }

    /// A row of the report.
    pub(super) fn row(&self, name: &str, case: &Case) -> Row {
        let seeds: Vec<String> = self.failing.iter().map(ToString::to_string).collect();
        let again = self.failing.first().map_or(String::new(), |seed| case.command_line(*seed));
        Row::new()
            .with("case", name)
            .with("runs", self.runs)
            .with("contacts", self.compared)
            .with("late", self.late)
            .with("missed", self.missed)
            .with("silent", self.silent)
            .with("chaotic", self.chaotic)
            .with("deviations", self.deviations)
            .with("breaches", self.breaches)
            .with("violations", self.violations)
            .with("owner_changes_per_s", (f64::from(self.owner_changes_per_s) * 10.0).round() / 10.0)
            .with("awake", self.awake)
            .with("changes_at_rest", self.changes_at_rest)
            .with("failing_seeds", seeds.join(" "))
            .with("again", again)
    }
}
