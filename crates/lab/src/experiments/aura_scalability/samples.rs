//! What the repeats of a case showed, and the rows made of them.

use serde_json::Value;

use super::measure::{Measured, outside_share};
use super::ratios::{Missing, capacity_ratio, coefficient_ratio, common_frame_ms, exponential};
use super::workload::Case;
use super::{REAL_TIME_MS, bars};
use crate::interval::Interval;
use crate::report::Row;

/// One repeat: the servers, and the same rain on one server.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    pub(super) one: Measured,
    pub(super) servers: Measured,
    /// Cost of the rain of two columns on one server, milliseconds: what every number of servers was compared with before
    /// each had a control of its own.
    pub(super) two_columns_ms: f64,
}

impl Sample {
    fn coefficient(&self) -> Result<f64, Missing> {
        coefficient_ratio(&self.one.frames, &self.servers.frames)
    }

    /// The frame time at which capacities are compared: the greatest that both reach.
    fn frame_ms(&self) -> Option<f64> {
        common_frame_ms(&self.one.frames, &self.servers.frames)
    }

    fn capacity(&self) -> Result<f64, Missing> {
        let frame_ms = self.frame_ms().ok_or(Missing::TooFewPoints)?;
        capacity_ratio(&self.one.frames, &self.servers.frames, frame_ms)
    }

    fn capacity_in_real_time(&self) -> Result<f64, Missing> {
        capacity_ratio(&self.one.frames, &self.servers.frames, REAL_TIME_MS)
    }

    /// Mean tick of one server by the mean tick of the dearest of the servers, at the end, with all bodies.
    fn cost(&self) -> f64 {
        self.one.cost_max_ms() / self.servers.cost_max_ms().max(1e-9)
    }

    fn cost_two_columns(&self) -> f64 {
        self.two_columns_ms / self.servers.cost_max_ms().max(1e-9)
    }

    /// Policy and transfer as a share of the engine's step: what the servers do outside it beyond what the one server does
    /// there as well, which makes the same bodies and looks at the same movers.
    fn seam_share(&self) -> f64 {
        (self.servers.outside_ns - self.one.outside_ns) / self.servers.step_ns.max(1.0)
    }
}

/// A case and all that was measured of it.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) case: Case,
    pub(super) samples: Vec<Sample>,
    /// Worlds that know nothing of each other, in the first repeat.
    pub(super) independent: Option<Vec<Measured>>,
}

/// A quantity over all repeats, or why it has none.
pub(super) type Value95 = Result<Interval, String>;

impl Found {
    pub(super) fn coefficient_ratio(&self) -> Value95 {
        self.over_repeats(Sample::coefficient)
    }

    pub(super) fn capacity_ratio(&self) -> Value95 {
        self.over_repeats(Sample::capacity)
    }

    pub(super) fn capacity_ratio_in_real_time(&self) -> Value95 {
        self.over_repeats(Sample::capacity_in_real_time)
    }

    pub(super) fn cost_ratio(&self) -> Interval {
        self.mean(Sample::cost)
    }

    pub(super) fn cost_ratio_two_columns(&self) -> Interval {
        self.mean(Sample::cost_two_columns)
    }

    /// None on one server, which has no seams.
    pub(super) fn seam_share(&self) -> Option<Interval> {
        (self.case.servers > 1).then(|| self.mean(Sample::seam_share))
    }

    /// How much of the speed of independent worlds is kept, in the first repeat.
    pub(super) fn split_efficiency(&self) -> Option<f64> {
        let alone = self.independent.as_ref()?.iter().map(Measured::cost_max_ms).fold(0.0, f64::max);
        Some(alone / self.samples.first()?.servers.cost_max_ms().max(1e-9))
    }

    /// By how much one server is dearer than the dearest of as many independent worlds, in the first repeat.
    pub(super) fn independent_cost_ratio(&self) -> Option<f64> {
        Some(self.split_efficiency()?.recip() * self.samples.first()?.cost())
    }

    /// True when, in some repeat, more than a hundredth of the bodies of the one server are missing on the servers. A few may
    /// be under way between two servers when a run ends.
    pub(super) fn lacks_bodies(&self) -> bool {
        self.samples.iter().any(|sample| sample.servers.bodies() * 100 < sample.one.bodies() * 99)
    }

    /// The mean over repeats of what can be computed in every one of them. A mean over those that happen to allow it would
    /// be a choice of repeats.
    fn over_repeats(&self, of: impl Fn(&Sample) -> Result<f64, Missing>) -> Value95 {
        let values: Vec<Result<f64, Missing>> = self.samples.iter().map(of).collect();
        let missing = values.iter().filter_map(|value| value.as_ref().err());
        let Some(first) = missing.clone().next() else {
            let values: Vec<f64> = values.into_iter().flatten().collect();
            return Interval::of(&values).ok_or_else(|| Missing::TooFewPoints.to_string());
        };
        let (short, all) = (missing.count(), values.len());
        Err(if all > 1 { format!("{first} (in {short} of {all} repeats)") } else { first.to_string() })
    }

    fn mean(&self, of: impl Fn(&Sample) -> f64) -> Interval {
        let values: Vec<f64> = self.samples.iter().map(of).collect();
        Interval::of(&values).unwrap_or(Interval { mean: f64::NAN, half_width: None })
    }

    pub(super) fn row(&self) -> Row {
        let (coefficient, capacity, real_time) =
            (self.coefficient_ratio(), self.capacity_ratio(), self.capacity_ratio_in_real_time());
        let not_computed: Vec<String> = [
            ("coefficient_ratio", &coefficient),
            ("capacity_ratio", &capacity),
            ("capacity_ratio_at_16_67_ms", &real_time),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}: {}", value.as_ref().err()?)))
        .collect();
        let original = bars::original(&self.case).map_or(Value::Null, Value::from);
        let row = Row::new()
            .with("layout", self.case.arrangement.name())
            .with("servers", self.case.servers)
            .with("region_width", f64::from(self.case.region_width))
            .with("repeats", self.samples.len());
        let row = with_interval(row, COEFFICIENT, coefficient.ok()).with("original_coefficient_ratio", original);
        let row = with_interval(row, CAPACITY, capacity.ok()).with("capacity_at_ms", self.of_first(Sample::frame_ms));
        let row = with_interval(row, REAL_TIME, real_time.ok());
        let row = with_interval(row, COST, Some(self.cost_ratio()));
        let row = with_interval(row, TWO_COLUMNS, Some(self.cost_ratio_two_columns()));
        let row = with_interval(row, SEAMS, self.seam_share())
            .with("not_computed", not_computed.join("; "))
            .with("fit_r2_one", self.of_first(|s| exponential(&s.one.frames).ok().map(|line| line.r_squared)))
            .with("fit_r2_servers", self.of_first(|s| exponential(&s.servers.frames).ok().map(|line| line.r_squared)))
            .with("one_ms", self.mean(|sample| sample.one.cost_max_ms()).mean)
            .with("costmax_ms", self.mean(|sample| sample.servers.cost_max_ms()).mean)
            .with("overhead_share", self.mean(|sample| outside_share(&sample.servers)).mean)
            .with("split_efficiency", self.split_efficiency().map_or(Value::Null, Value::from));
        self.with_counts(row)
    }

    /// What is counted: of the first repeat, breaches of all.
    fn with_counts(&self, row: Row) -> Row {
        let first = self.samples.first().map(|sample| sample.servers.clone()).unwrap_or_default();
        let most = |counts: &[usize]| counts.iter().copied().max().unwrap_or(0);
        let mut breaches = std::collections::BTreeMap::<&str, usize>::new();
        for (what, count) in self.samples.iter().flat_map(|sample| &sample.servers.breaches) {
            *breaches.entry(*what).or_default() += count;
        }
        let breached: Vec<String> = breaches.iter().map(|(what, count)| format!("{what} {count}")).collect();
        row.with("migrations", first.migrations.last().copied().unwrap_or(0))
            .with("aura_updates", first.aura_updates)
            .with("owner_changes_per_s", first.owner_changes_per_s)
            .with("hosted_max", most(&first.hosted))
            .with("resident_max", most(&first.resident))
            .with("bodies", first.bodies())
            .with("breaches", breaches.values().sum::<usize>())
            .with("breached", breached.join(", "))
    }

    fn of_first(&self, of: impl Fn(&Sample) -> Option<f64>) -> Value {
        self.samples.first().and_then(of).map_or(Value::Null, Value::from)
    }
}

/// Names of a quantity and of both ends of its 95 % interval.
type Names = [&'static str; 3];
const COEFFICIENT: Names = ["coefficient_ratio", "coefficient_ratio_low", "coefficient_ratio_high"];
const CAPACITY: Names = ["capacity_ratio", "capacity_ratio_low", "capacity_ratio_high"];
const REAL_TIME: Names =
    ["capacity_ratio_at_16_67_ms", "capacity_ratio_at_16_67_ms_low", "capacity_ratio_at_16_67_ms_high"];
const COST: Names = ["cost_ratio", "cost_ratio_low", "cost_ratio_high"];
const TWO_COLUMNS: Names = ["cost_ratio_two_columns", "cost_ratio_two_columns_low", "cost_ratio_two_columns_high"];
const SEAMS: Names = ["seam_share", "seam_share_low", "seam_share_high"];

fn with_interval(row: Row, names: Names, interval: Option<Interval>) -> Row {
    let value = |x: Option<f64>| x.map_or(Value::Null, Value::from);
    row.with(names[0], value(interval.map(|i| i.mean)))
        .with(names[1], value(interval.and_then(|i| i.low())))
        .with(names[2], value(interval.and_then(|i| i.high())))
}

#[cfg(test)]
mod tests {
    use super::super::workload::Arrangement;
    use super::*;

    /// A run whose greatest frame time is 10^(bodies * per_body), and whose mean tick at the end is `cost_ms`.
    fn run(per_body: f64, cost_ms: f64) -> Measured {
        let frames = (1..=12).map(|i| 800.0 * f64::from(i)).map(|n| [n, 10_f64.powf(n * per_body)]).collect();
        Measured { cost_ms: vec![cost_ms], frames, hosted: vec![9_600], step_ns: 1e9, ..Measured::default() }
    }

    fn found(samples: Vec<Sample>) -> Found {
        let case = Case { arrangement: Arrangement::Columns, servers: 4, region_width: bars::JUDGED_WIDTH };
        Found { case, samples, independent: None }
    }

    fn number(row: &Row, name: &str) -> Option<f64> {
        row.get(name).unwrap().as_f64()
    }

    #[test]
    fn every_ratio_has_its_name_and_its_interval() {
        let sample = |per_body, ms| Sample { one: run(2e-4, 40.0), servers: run(per_body, ms), two_columns_ms: 50.0 };
        let row = found(vec![sample(5e-5, 8.0), sample(4e-5, 10.0)]).row();
        assert!((number(&row, "coefficient_ratio").unwrap() - 4.5).abs() < 1e-9, "the mean of 4 and 5");
        let half = 12.7062 * 0.5_f64.sqrt() / 2.0_f64.sqrt();
        assert!((number(&row, "coefficient_ratio_low").unwrap() - (4.5 - half)).abs() < 1e-3);
        assert!((number(&row, "coefficient_ratio_high").unwrap() - (4.5 + half)).abs() < 1e-3);
        assert_eq!(number(&row, "original_coefficient_ratio"), Some(3.40));
        assert!((number(&row, "capacity_ratio").unwrap() - 4.5).abs() < 0.01);
        assert!((number(&row, "cost_ratio").unwrap() - 4.5).abs() < 1e-9, "the mean of 40 by 8 and 40 by 10");
        assert!((number(&row, "cost_ratio_two_columns").unwrap() - 5.625).abs() < 1e-9);
        assert_eq!(number(&row, "repeats"), Some(2.0));
    }

    #[test]
    fn what_cannot_be_computed_in_one_repeat_has_no_mean() {
        // With 2e-4 per body, 16.67 ms are reached at 6,110 bodies; with 5e-5 never.
        let sample = |per_body| Sample { one: run(2e-4, 40.0), servers: run(per_body, 8.0), two_columns_ms: 40.0 };
        let both = found(vec![sample(1.5e-4), sample(1.5e-4)]).row();
        assert!((number(&both, "capacity_ratio_at_16_67_ms").unwrap() - 4.0 / 3.0).abs() < 0.01);
        assert_eq!(both.get("not_computed").unwrap(), "");
        let row = found(vec![sample(1.5e-4), sample(5e-5)]).row();
        assert_eq!(number(&row, "capacity_ratio_at_16_67_ms"), None);
        let why = row.get("not_computed").unwrap().as_str().unwrap();
        assert!(why.contains("never reach 16.67 ms") && why.contains("in 1 of 2 repeats"), "{why}");
    }

    #[test]
    fn a_single_repeat_has_no_interval() {
        let sample = Sample { one: run(2e-4, 40.0), servers: run(1e-4, 10.0), two_columns_ms: 40.0 };
        let row = found(vec![sample]).row();
        assert_eq!((number(&row, "cost_ratio"), number(&row, "cost_ratio_low")), (Some(4.0), None));
    }

    #[test]
    fn the_share_of_seams_leaves_out_what_one_server_does_as_well() {
        let mut sample = Sample { one: run(2e-4, 40.0), servers: run(1e-4, 10.0), two_columns_ms: 40.0 };
        (sample.one.outside_ns, sample.servers.outside_ns) = (2e7, 9e7);
        assert!((found(vec![sample]).seam_share().unwrap().mean - 0.07).abs() < 1e-12);
    }

    #[test]
    fn missing_bodies_are_noticed_in_any_repeat() {
        let whole = Sample { one: run(2e-4, 40.0), servers: run(1e-4, 10.0), two_columns_ms: 40.0 };
        let mut short = whole.clone();
        short.servers.hosted = vec![9_000];
        assert!(!found(vec![whole.clone()]).lacks_bodies());
        assert!(found(vec![whole, short]).lacks_bodies());
    }
}
