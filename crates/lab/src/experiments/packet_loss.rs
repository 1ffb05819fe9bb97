//! What lost frames do to collisions at a boundary, and whether any body is ever lost or owned twice.
//!
//! Two spheres, head-on, everything at its tolerance, as in `aura-correctness`; every link loses the given share of its
//! frames. Frames that carry bodies are sent three times. The same with backups, with 10 ms of computing, and with frame
//! times that vary.

use nimbus_model::Tolerances;
use nimbus_node::AuraConfig;
use serde_json::Value;

use super::collision::{Setup, Strain, Tally, run_all};
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
/// The losses that are tried under each strain, percent.
const STRAINED_PERCENT: [u32; 7] = [0, 1, 2, 5, 10, 15, 20];
const REPEATS: u32 = 200;
const REPEATS_QUICK: u32 = 20;
const COPIES: u8 = 3;
/// Up to this loss nothing may be late, percent.
const NONE_LATE_PERCENT: u32 = 1;
/// Up to this loss few may be late, percent.
const FEW_LATE_PERCENT: u32 = 15;
/// How many are few.
const FEW: f64 = 0.05;
/// The one share of late collisions that the original document puts into a number: loss and late, percent. It has late ones
/// at every loss, at 0 % as well, without saying how many.
const ORIGINAL_LATE: [f64; 2] = [15.0, 50.0];
/// Up to this loss the original document misses none, percent.
const ORIGINAL_NONE_MISSED_PERCENT: u32 = 1;

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    let repeats = if options.quick { REPEATS_QUICK } else { REPEATS };
    let mut points: Vec<(u32, Option<Strain>)> = (0..=LOSS_PERCENT_MAX).map(|loss| (loss, None)).collect();
    let strained = Strain::ALL.iter().flat_map(|strain| STRAINED_PERCENT.map(|loss| (loss, Some(*strain))));
    points.extend(strained);
    let lists: Vec<Vec<Setup>> = points.iter().map(|(loss, strain)| setups(*loss, *strain, repeats)).collect();
    let tallies = run_all(&lists, progress)?;
    let (mut rows, mut failed, mut sum) = (Vec::new(), Vec::new(), Tally::default());
    for ((loss, strain), tally) in points.iter().zip(&tallies) {
        rows.push(row(*loss, *strain, tally));
        if !meets(*loss, tally) {
            failed.push(strain.map_or(format!("{loss} %"), |strain| format!("{loss} % with {}", strain.name())));
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
        (0..=LOSS_PERCENT_MAX).map(f64::from).zip(&tallies).map(|(loss, tally)| [loss, 100.0 * share(tally)]).collect()
    };
    let plot = Plot::lines("late", "Collisions that came late or never under packet loss", "frames lost, %", "runs, %")
        .with(Series::new("late", points(share_late)))
        .with(Series::new("missed", points(|tally| f64::from(tally.missed) / f64::from(tally.n.max(1)))))
        .with(Series { name: "late, original".to_owned(), ..Series::original(vec![ORIGINAL_LATE]) })
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

fn setups(loss: u32, strain: Option<Strain>, repeats: u32) -> Vec<Setup> {
    let aura = AuraConfig { copies: COPIES, ..AuraConfig::default() };
    let loss_share = loss as f32 / 100.0;
    let setup = |i: u32| Setup {
        aura,
        loss: loss_share,
        seed: u64::from(1_000_000 + loss * repeats + i),
        ..Setup::at_tolerance(TOLERANCES)
    };
    let plain = (0..repeats).map(setup);
    plain.filter_map(|setup| strain.map_or(Some(setup), |strain| strain.of(setup))).collect()
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

fn row(loss: u32, strain: Option<Strain>, tally: &Tally) -> Row {
    let original = f64::from(loss) == ORIGINAL_LATE[0] && strain.is_none();
    let original_late = if original { Value::from(ORIGINAL_LATE[1]) } else { Value::Null };
    Row::new()
        .with("loss_percent", loss)
        .with("strain", strain.map_or("", Strain::name))
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
        .with("original_has_late", true)
        .with("original_has_missed", loss > ORIGINAL_NONE_MISSED_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Role;

    #[test]
    fn the_original_is_drawn_only_where_it_gives_a_figure() {
        let report = run(&Options { quick: true, ..Options::default() }, &mut |_| ()).unwrap();
        let original = report.plots[0].series.iter().find(|series| series.role == Role::Original).unwrap();
        assert_eq!(original.points, [ORIGINAL_LATE]);
        let given: Vec<&Row> =
            report.rows.iter().filter(|row| row.get("original_late_percent") != Some(&Value::Null)).collect();
        assert!(given.len() == 1 && given[0].get("loss_percent") == Some(&Value::from(15)));
        assert_eq!(report.rows[0].get("original_has_late"), Some(&Value::from(true)), "at 0 % already");
    }

    #[test]
    fn the_bar_grows_with_the_loss_but_never_allows_a_lost_body() {
        let late = |late| Tally { n: 100, late, ..Tally::default() };
        assert!(!meets(1, &late(1)) && meets(2, &late(5)) && !meets(15, &late(6)) && meets(16, &late(60)));
        let lost = Tally { n: 100, lost: 1, ..Tally::default() };
        let missed = Tally { n: 100, missed: 1, ..Tally::default() };
        assert!(!meets(20, &lost) && !meets(20, &missed));
    }
}
