//! What has to be reached, and what the original document reached.

use super::workload::{Arrangement, Case};

/// Speed-ups of the original document on columns: servers, times.
pub(super) const ORIGINAL: [(u16, f64); 3] = [(2, 1.74), (4, 3.40), (8, 4.22)];
/// The speed-up that the original document tends to, however many servers there are.
pub(super) const ORIGINAL_ASYMPTOTE: f64 = 4.26;
/// Share of the speed of independent worlds that must be kept, from four servers on.
pub(super) const SPLIT_EFFICIENCY_MIN: f64 = 0.85;
/// Greatest cost of policy and transfer outside the engine's step as a share of it.
pub(super) const SEAM_SHARE_MAX: f64 = 0.10;
/// The region width whose speed-ups are judged; others are reported.
pub(super) const JUDGED_WIDTH: f32 = 200.0;

/// The speed-up a case has to reach, if it is judged.
pub(super) fn speedup_min(case: &Case) -> Option<f64> {
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
pub(super) fn shortfalls(
    case: &Case,
    speedup: f64,
    split_efficiency: Option<f64>,
    seam_share: Option<f64>,
) -> Vec<String> {
    let name = format!("{} {}", case.arrangement.name(), case.servers);
    let mut found = Vec::new();
    if let Some(least) = speedup_min(case).filter(|least| speedup < *least) {
        found.push(format!("{name}: speed-up {speedup:.2} below {least}"));
    }
    if case.region_width == JUDGED_WIDTH {
        let poor = split_efficiency.filter(|share| case.servers >= 4 && *share < SPLIT_EFFICIENCY_MIN);
        if let Some(share) = poor {
            found.push(format!("{name}: split efficiency {share:.2} below {SPLIT_EFFICIENCY_MIN}"));
        }
        if let Some(share) = seam_share.filter(|share| *share > SEAM_SHARE_MAX) {
            let (share, most) = (100.0 * share, 100.0 * SEAM_SHARE_MAX);
            found.push(format!("{name}: policy and transfer {share:.1} % above {most:.0} %"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bar_can_be_missed() {
        let case = |servers| Case { arrangement: Arrangement::Columns, servers, region_width: JUDGED_WIDTH };
        assert!(shortfalls(&case(4), 4.0, Some(0.9), Some(0.05)).is_empty());
        assert_eq!(shortfalls(&case(4), 3.9, Some(0.8), Some(0.11)).len(), 3);
        assert!(shortfalls(&case(2), 1.8, Some(0.5), Some(0.05)).is_empty(), "two servers may fuse at their one seam");
        let narrow = Case { region_width: 100.0, ..case(4) };
        assert!(shortfalls(&narrow, 1.0, Some(0.1), Some(0.5)).is_empty(), "other widths are only reported");
    }
}
