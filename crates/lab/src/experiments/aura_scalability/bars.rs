//! What has to be reached, and what the original document reached.

use super::samples::Found;
use super::workload::{Arrangement, Case};

/// Ratios of the coefficients of its exponential fits that the original document gives for columns: servers, times. They
/// may stand beside `coefficient_ratio` only.
pub(super) const ORIGINAL: [(u16, f64); 3] = [(2, 1.74), (4, 3.40), (8, 4.22)];
/// The level that those ratios tend to by the original document's asymptotic fit.
pub(super) const ORIGINAL_ASYMPTOTE: f64 = 4.26;
/// Share of the speed of independent worlds that must be kept, from four servers on.
pub(super) const SPLIT_EFFICIENCY_MIN: f64 = 0.85;
/// Greatest cost of policy and transfer outside the engine's step as a share of it.
pub(super) const SEAM_SHARE_MAX: f64 = 0.10;
/// The region width whose costs are judged; others are reported.
pub(super) const JUDGED_WIDTH: f32 = 200.0;

/// The original document's ratio of coefficients, where it gives one.
pub(super) fn original(case: &Case) -> Option<f64> {
    let comparable = case.arrangement == Arrangement::Columns && case.region_width == JUDGED_WIDTH;
    ORIGINAL.iter().find(|(servers, _)| comparable && *servers == case.servers).map(|(_, times)| *times)
}

/// The cost ratio that a case has to reach, if it is judged.
pub(super) fn cost_ratio_min(case: &Case) -> Option<f64> {
    if case.region_width != JUDGED_WIDTH {
        return None;
    }
    match (case.arrangement, case.servers) {
        (Arrangement::Columns, 2) => Some(1.75),
        (Arrangement::Columns, 4) => Some(4.0),
        (Arrangement::Columns, 8) => Some(8.0),
        (Arrangement::Columns, 10) => Some(9.0),
        (Arrangement::Corner, 3) => Some(2.4),
        (Arrangement::Corner, 4) => Some(3.5),
        (Arrangement::Corner, 9) => Some(7.0),
        _ => None,
    }
}

/// What a case falls short of, in words; empty when it meets every bar that applies to it.
pub(super) fn shortfalls(found: &Found) -> Vec<String> {
    let case = &found.case;
    let name = format!("{} {}", case.arrangement.name(), case.servers);
    let mut short = Vec::new();
    let cost = found.cost_ratio().mean;
    if let Some(least) = cost_ratio_min(case).filter(|least| cost.is_nan() || cost < *least) {
        short.push(format!("{name}: cost ratio {cost:.2} below {least}"));
    }
    if case.region_width == JUDGED_WIDTH {
        let poor = found.split_efficiency().filter(|share| case.servers >= 4 && *share < SPLIT_EFFICIENCY_MIN);
        if let Some(share) = poor {
            short.push(format!("{name}: split efficiency {share:.2} below {SPLIT_EFFICIENCY_MIN}"));
        }
        if let Some(share) = found.seam_share().filter(|share| share.mean > SEAM_SHARE_MAX) {
            let (share, most) = (100.0 * share.mean, 100.0 * SEAM_SHARE_MAX);
            short.push(format!("{name}: policy and transfer {share:.1} % above {most:.0} %"));
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::super::measure::Measured;
    use super::super::samples::Sample;
    use super::*;

    /// Four times the cost on one server by `cost_ratio`, a share of seams, and independent worlds at `efficiency`.
    fn found(servers: u16, region_width: f32, cost_ratio: f64, efficiency: f64, seams: f64) -> Found {
        let run = |ms, outside_ns| Measured { cost_ms: vec![ms], step_ns: 1e9, outside_ns, ..Measured::default() };
        let sample = Sample { one: run(cost_ratio, 0.0), servers: run(1.0, 1e9 * seams), two_columns_ms: 1.0 };
        let case = Case { arrangement: Arrangement::Columns, servers, region_width };
        Found { case, samples: vec![sample], independent: Some(vec![run(efficiency, 0.0)]) }
    }

    #[test]
    fn each_bar_can_be_missed() {
        assert!(shortfalls(&found(4, JUDGED_WIDTH, 4.0, 0.9, 0.05)).is_empty());
        for (cost_ratio, efficiency, seams, word) in
            [(3.9, 0.9, 0.05, "cost ratio"), (4.0, 0.8, 0.05, "split"), (4.0, 0.9, 0.11, "policy")]
        {
            let short = shortfalls(&found(4, JUDGED_WIDTH, cost_ratio, efficiency, seams));
            assert!(short.len() == 1 && short[0].contains(word), "{short:?}");
        }
        assert!(shortfalls(&found(2, JUDGED_WIDTH, 1.8, 0.5, 0.05)).is_empty(), "two may fuse at their one seam");
        assert!(shortfalls(&found(4, 100.0, 1.0, 0.1, 0.5)).is_empty(), "other widths are only reported");
    }

    #[test]
    fn originals_stand_beside_columns_of_the_judged_width_only() {
        let case = |arrangement, servers, region_width| original(&Case { arrangement, servers, region_width });
        assert_eq!(case(Arrangement::Columns, 8, JUDGED_WIDTH), Some(4.22));
        assert_eq!(case(Arrangement::Columns, 3, JUDGED_WIDTH), None);
        assert_eq!(case(Arrangement::Columns, 8, 100.0), None);
        assert_eq!(case(Arrangement::Corner, 4, JUDGED_WIDTH), None);
    }
}
