//! The example game on four servers and on one: whether its score is kept, repeats, and is about the same.
//!
//! Bots run for coins (`crates/harvest`), and clients send some of them about. The score that is kept with the bots must be
//! the one that follows from what all servers said, bot by bot; also where frames are lost and processes die. The same seed
//! must give the same score. And players must not be able to tell from their scores on how many servers they play.

use nimbus_harvest::{BOTS, COINS, Harvest, any_order, field, score, score_told};
use nimbus_model::Nid;
use nimbus_node::{Planted, Rules};
use nimbus_universe::{LinkModel, Outcome, Universe, UniverseConfig};
use std::collections::BTreeMap;

use crate::experiment::{Experiment, LabError, Options, Progress};
use crate::plot::{Plot, Series};
use crate::report::{Report, Row, Summary};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "game",
    about: "An example game on four servers: its score against the log of all servers, a second run, and one server.",
    run,
};

const SERVERS: u16 = 4;
const SEEDS: u64 = 50;
const SEEDS_QUICK: u64 = 3;
const ROUND_TICKS: u64 = 10_000;
const ROUND_TICKS_QUICK: u64 = 1_500;
/// Ticks after the end of a round until everybody stands still and everything is said.
const AFTER_TICKS: u64 = 300;
/// Every so many seeds a run is repeated, and one is played under faults.
const REPEAT_EVERY: u64 = 10;
/// What goes wrong in those.
const FAULTS: &str = "loss,duplication,reordering,jitter,stall,crash,suspicion,backup-loss";
/// By how much the mean score may differ from that of one server.
const DIFFERENCE_MAX: f64 = 0.1;

/// One round of the game.
struct Round {
    /// Kept with each bot.
    kept: BTreeMap<Nid, i64>,
    /// Told of each bot.
    told: BTreeMap<Nid, i64>,
    hash: u64,
    hand_overs: u64,
    promotions: u64,
    commands: u64,
}

impl Round {
    fn of(outcome: &Outcome) -> Round {
        let scores = outcome.game_states.iter().filter_map(|(nid, state)| Some((*nid, i64::from(score(state)?))));
        let mut told: BTreeMap<Nid, Vec<_>> = BTreeMap::new();
        for (_, event) in &outcome.game_events {
            told.entry(event.nid).or_default().push(*event);
        }
        Round {
            kept: scores.filter(|(_, score)| *score > 0).collect(),
            told: told.into_iter().map(|(nid, events)| (nid, score_told(&events))).collect(),
            hash: outcome.hash,
            hand_overs: outcome.hand_overs,
            promotions: outcome.promotions,
            commands: outcome.commands,
        }
    }

    fn is_fair(&self) -> bool {
        self.kept == self.told
    }

    fn score(&self) -> i64 {
        self.kept.values().sum()
    }
}

/// What of it is to go wrong.
#[derive(Clone, Copy, PartialEq)]
enum Trouble {
    None,
    Faults,
    Planted(Planted),
}

fn play(
    servers: u16,
    seed: u64,
    round_ticks: u64,
    trouble: Trouble,
    tell: &mut dyn FnMut(f32),
) -> Result<Round, LabError> {
    let ticks = round_ticks + AFTER_TICKS;
    let mut config = UniverseConfig::new("harvest", servers, seed, ticks);
    config.game = Some(Rules::new(Harvest { round_ticks }));
    config.game_commands = Some(any_order);
    config.checked = false;
    match trouble {
        Trouble::None => config.link = Some(LinkModel::default()),
        // Checked, so that there is time for everything to settle in the end.
        Trouble::Faults => (config.faults, config.checked) = (FAULTS.parse().map_err(LabError::Failed)?, true),
        Trouble::Planted(mistake) => {
            config.link = Some(LinkModel::default());
            config.planted = Some(mistake);
        }
    }
    let universe =
        Universe::of_world(config, field(servers, seed)).map_err(|error| LabError::Failed(error.to_string()))?;
    let outcome = universe.run(|tick| {
        if tick.0.is_multiple_of(100) {
            tell(tick.0 as f32 / ticks as f32);
        }
    });
    Ok(Round::of(&outcome))
}

fn run(options: &Options, progress: &mut Progress<'_>) -> Result<Report, LabError> {
    let (seeds, round_ticks) = if options.quick { (SEEDS_QUICK, ROUND_TICKS_QUICK) } else { (SEEDS, ROUND_TICKS) };
    let repeated = |seed: u64| (seed - 1).is_multiple_of(REPEAT_EVERY);
    let rounds = 2 * seeds + 2 * (1..=seeds).filter(|seed| repeated(*seed)).count() as u64 + 1;
    let mut done = 0;
    let mut next = |servers, seed, trouble| {
        let round = play(servers, seed, round_ticks, trouble, &mut |share| {
            progress((done as f32 + share) / rounds as f32);
        });
        done += 1;
        round
    };
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    let (mut on_four, mut on_one) = (Vec::new(), Vec::new());
    for seed in 1..=seeds {
        let (four, one) = (next(SERVERS, seed, Trouble::None)?, next(1, seed, Trouble::None)?);
        if !four.is_fair() || !one.is_fair() {
            failed.push(format!("seed {seed}: what is kept is not what was told"));
        }
        let mut row = Row::new()
            .with("seed", seed)
            .with("score", four.score())
            .with("score_told", four.told.values().sum::<i64>())
            .with("score_one_server", one.score())
            .with("hand_overs", four.hand_overs)
            .with("commands", four.commands)
            .with("fair", four.is_fair() && one.is_fair());
        if repeated(seed) {
            let again = next(SERVERS, seed, Trouble::None)?;
            let same = again.hash == four.hash && again.kept == four.kept;
            let hurt = next(SERVERS, seed, Trouble::Faults)?;
            if !same {
                failed.push(format!("seed {seed} does not repeat"));
            }
            if !hurt.is_fair() || hurt.score() == 0 {
                failed.push(format!("seed {seed} under faults: what is kept is not what was told"));
            }
            row = row
                .with("repeats", same)
                .with("score_under_faults", hurt.score())
                .with("promotions_under_faults", hurt.promotions)
                .with("fair_under_faults", hurt.is_fair());
        }
        rows.push(row);
        on_four.push(four.score());
        on_one.push(one.score());
    }
    if next(SERVERS, 1, Trouble::Planted(Planted::ForgottenKeepsakes))?.is_fair() {
        failed.push("servers that forget scores are not noticed".to_owned());
    }
    let (four, one) = (mean(&on_four), mean(&on_one));
    let difference = four / one.max(1.0) - 1.0;
    if difference.abs() > DIFFERENCE_MAX {
        failed.push(format!("the means differ by {:.1} %", 100.0 * difference));
    }
    let verdict = if failed.is_empty() { String::new() } else { format!(" Not met: {}.", failed.join("; ")) };
    let sentence = format!(
        "Over {seeds} seeds of {round_ticks} ticks, {} servers scored {four:.1} in the mean and one server {one:.1} \
         ({:+.1} %, bar {:.0} %); what was kept was what was told, bot by bot.{verdict}",
        SERVERS,
        100.0 * difference,
        100.0 * DIFFERENCE_MAX,
    );
    let points = |scores: &[i64]| (1..).map(f64::from).zip(scores).map(|(seed, score)| [seed, *score as f64]).collect();
    let plot = Plot::lines("score", "Coins picked up in a round, by seed", "seed", "coins")
        .with(Series::new("four servers", points(&on_four)))
        .with(Series::new("one server", points(&on_one)));
    Ok(Report {
        experiment: EXPERIMENT.name,
        parameters: Row::new()
            .with("servers", SERVERS)
            .with("seeds", seeds)
            .with("round_ticks", round_ticks)
            .with("bots", BOTS)
            .with("coins", COINS)
            .with("faults", FAULTS),
        rows,
        plots: vec![plot],
        summary: Summary { passed: failed.is_empty(), sentence },
    })
}

fn mean(scores: &[i64]) -> f64 {
    scores.iter().sum::<i64>() as f64 / scores.len().max(1) as f64
}
