//! What lost frames do to collisions at a boundary, and whether any body is ever lost or owned twice.
//!
//! Two spheres, head-on, everything at its tolerance, as in `aura-correctness`; every link loses the given share of its
//! frames. Frames that carry bodies are sent three times.

use nimbus_model::Tolerances;
use nimbus_node::AuraConfig;
use serde_json::Value;

use super::collision::{Setup, Tally, run_all};
use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::plot::{Plot, Series};
use crate::report::{Report, Row, Summary};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "packet-loss",
    about: "Collisions at a boundary while links lose up to a fifth of their frames, and whether a body is ever lost.",
    run,
};

const TOLERANCES: Tolerances = Tolerances { speed: 32.0, latency_ms: 2.0, frame_ms: 15.0 };
const LOSS_PERCENT_MAX: u32 = 20;
const REPEATS: u32 = 200;
const REPEATS_QUICK: u32 = 20;
const COPIES: u8 = 3;
/// Up to this loss nothing may be late, percent.
const NONE_LATE_PERCENT: u32 = 1;
/// Up to this loss few may be late, percent.
const FEW_LATE_PERCENT: u32 = 15;
/// How many are few.
const FEW: f64 = 0.05;

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    let repeats = if options.quick { REPEATS_QUICK } else { REPEATS };
    let lists: Vec<Vec<Setup>> = (0..=LOSS_PERCENT_MAX).map(|loss| setups(loss, repeats)).collect();
    let tallies = run_all(&lists, progress)?;
    let (mut rows, mut failed, mut sum) = (Vec::new(), Vec::new(), Tally::default());
    for (loss, tally) in (0..).zip(&tallies) {
        rows.push(row(loss, tally));
        if !meets(loss, tally) {
            failed.push(format!("{loss} %"));
        }
        sum.missed += tally.missed;
        sum.lost += tally.lost;
        sum.duplicated += tally.duplicated;
    }
    let late = |loss: u32| share_late(&tallies[loss as usize]) * 100.0;
    let verdict = if failed.is_empty() { String::new() } else { format!(" Not met at {}.", failed.join(", ")) };
    let sentence = format!(
        "At up to {LOSS_PERCENT_MAX} % loss {} collisions were missed, {} bodies lost and {} owned twice; {:.1} % were late \
         at {NONE_LATE_PERCENT} %, {:.1} % at {FEW_LATE_PERCENT} %.{verdict}",
        sum.missed,
        sum.lost,
        sum.duplicated,
        late(NONE_LATE_PERCENT),
        late(FEW_LATE_PERCENT),
    );
    let points = |share: fn(&Tally) -> f64| {
        (0..).map(f64::from).zip(&tallies).map(|(loss, tally)| [loss, 100.0 * share(tally)]).collect()
    };
    let plot = Plot::lines("late", "Collisions that came late or never under packet loss", "frames lost, %", "runs, %")
        .with(Series::new("late", points(share_late)))
        .with(Series::new("missed", points(|tally| f64::from(tally.missed) / f64::from(tally.n.max(1)))))
        .with(Series::original(vec![[0.0, 0.0], [15.0, 50.0]]))
        .with_level("bar up to 15 %", 100.0 * FEW);
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new()
            .with("repeats", repeats)
            .with("copies", COPIES)
            .with("speed", TOLERANCES.speed)
            .with("latency_ms", TOLERANCES.latency_ms)
            .with("frame_ms", TOLERANCES.frame_ms),
        rows,
        plots: vec![plot],
        summary: Summary { passed: failed.is_empty(), sentence },
    })
}

fn setups(loss: u32, repeats: u32) -> Vec<Setup> {
    let aura = AuraConfig { copies: COPIES, ..AuraConfig::default() };
    let loss_share = loss as f32 / 100.0;
    let setup = |i: u32| Setup {
        aura,
        loss: loss_share,
        seed: u64::from(1_000_000 + loss * repeats + i),
        ..Setup::at_tolerance(TOLERANCES)
    };
    (0..repeats).map(setup).collect()
}

fn share_late(tally: &Tally) -> f64 {
    f64::from(tally.late) / f64::from(tally.n.max(1))
}

fn meets(loss: u32, tally: &Tally) -> bool {
    let late_max = if loss <= NONE_LATE_PERCENT {
        0.0
    } else if loss <= FEW_LATE_PERCENT {
        FEW
    } else {
        1.0
    };
    tally.missed + tally.lost + tally.duplicated == 0 && share_late(tally) <= late_max
}

/// The original gives two figures: no collision is missed up to 1 %, and half of them are late at 15 %.
fn row(loss: u32, tally: &Tally) -> Row {
    let original_late = if loss == FEW_LATE_PERCENT { Value::from(50.0) } else { Value::Null };
    Row::new()
        .with("loss_percent", loss)
        .with("n", tally.n)
        .with("late", tally.late)
        .with("missed", tally.missed)
        .with("lost", tally.lost)
        .with("duplicated", tally.duplicated)
        .with("thrashing", tally.thrashing)
        .with("breaches", tally.breaches)
        .with("wrong_tick", tally.wrong_tick)
        .with("wrong_velocity", tally.wrong_velocity)
        .with("original_late_percent", original_late)
        .with("original_missed", loss > NONE_LATE_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_grows_with_the_loss_but_never_allows_a_lost_body() {
        let late = |late| Tally { n: 100, late, ..Tally::default() };
        assert!(!meets(1, &late(1)) && meets(2, &late(5)) && !meets(15, &late(6)) && meets(16, &late(60)));
        let lost = Tally { n: 100, lost: 1, ..Tally::default() };
        let missed = Tally { n: 100, missed: 1, ..Tally::default() };
        assert!(!meets(20, &lost) && !meets(20, &missed));
    }
}
