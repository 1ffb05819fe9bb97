//! The example game on several servers: nothing of a score is lost, doubled or made up, whatever goes wrong.

use nimbus_harvest::{Harvest, any_order, field, score, score_told};
use nimbus_model::Nid;
use nimbus_node::{Contact, ContactKind, Game, GameEvent, Planted, Rules, Turn};
use nimbus_universe::{ControlConfig, LinkModel, Outcome, Universe, UniverseConfig};
use std::collections::BTreeMap;

/// Ticks after the end of a round until everybody stands still and everything is said.
const AFTER_TICKS: u64 = 200;

fn config(servers: u16, seed: u64, round_ticks: u64) -> UniverseConfig {
    let mut config = UniverseConfig::new("harvest", servers, seed, round_ticks + AFTER_TICKS);
    config.game = Some(Rules::new(Harvest { round_ticks }));
    config.link = Some(LinkModel::default());
    config
}

fn play(config: UniverseConfig) -> Outcome {
    let world = field(config.servers, config.seed);
    Universe::of_world(config, world).expect("the configuration is good").run(|_| {})
}

/// What is kept with each bot that has scored.
fn kept(outcome: &Outcome) -> BTreeMap<Nid, i64> {
    let scores = outcome.game_states.iter().filter_map(|(nid, state)| Some((*nid, i64::from(score(state)?))));
    scores.filter(|(_, score)| *score > 0).collect()
}

/// What was said of each bot.
fn told(outcome: &Outcome) -> BTreeMap<Nid, i64> {
    let mut told = BTreeMap::new();
    for (_, event) in &outcome.game_events {
        *told.entry(event.nid).or_default() += event.value;
    }
    told
}

fn assert_fair(outcome: &Outcome, what: &str) -> i64 {
    let violations: Vec<String> = outcome.violations.iter().map(ToString::to_string).collect();
    assert!(violations.is_empty(), "{what}: {}", violations.join("\n"));
    assert_eq!(kept(outcome), told(outcome), "{what}");
    kept(outcome).values().sum()
}

/// What was said, in one order.
fn merged(outcome: &Outcome) -> Vec<GameEvent> {
    let mut events: Vec<GameEvent> = outcome.game_events.iter().map(|(_, event)| *event).collect();
    events.sort_unstable();
    events
}

#[test]
fn four_servers_keep_the_score_that_they_tell_and_play_about_as_one_does() {
    let (mut on_four, mut on_one) = (0, 0);
    for seed in [1, 2] {
        let four = play(config(4, seed, 2_000));
        let score = assert_fair(&four, &format!("seed {seed}"));
        assert_eq!(score, score_told(&merged(&four)));
        assert!(score > 100, "seed {seed}: {score}");
        assert!(four.hand_overs > 50, "seed {seed}: {} hand-overs", four.hand_overs);
        assert!(four.game_events.iter().any(|(region, _)| region.0 == 3), "everywhere somebody scores");
        on_four += score;
        on_one += assert_fair(&play(config(1, seed, 2_000)), "one server");
    }
    let ratio = on_four as f64 / on_one as f64;
    assert!((0.85..1.15).contains(&ratio), "{on_four} on four servers, {on_one} on one");
}

#[test]
fn a_game_repeats_by_its_seed() {
    let again = |seed, commands: bool| {
        let mut config = config(4, seed, 600);
        config.game_commands = commands.then_some(any_order);
        play(config)
    };
    let (first, second, other) = (again(3, true), again(3, true), again(4, true));
    assert_eq!((first.hash, merged(&first)), (second.hash, merged(&second)));
    assert_eq!(first.game_states, second.game_states);
    assert!(first.commands > 20);
    assert_ne!(merged(&first), merged(&again(3, false)), "bots obey");
    assert_ne!(merged(&first), merged(&other));
}

#[test]
fn no_score_is_lost_or_doubled_whatever_goes_wrong() {
    for (faults, servers) in [
        ("loss,duplication,reordering,jitter", 4),
        ("partition,stall,map", 4),
        ("crash,suspicion,backup-loss,loss", 4),
        ("all-but-reset", 3),
    ] {
        let mut config = config(servers, 11, 900);
        config.link = None;
        config.game_commands = Some(any_order);
        config.faults = match faults {
            // A world that is loaded anew begins at nothing, and what was said before does not count for it.
            "all-but-reset" => {
                "loss,duplication,reordering,jitter,bandwidth,partition,stall,map,full,crash,suspicion,backup-loss"
            }
            some => some,
        }
        .parse()
        .expect("these are faults");
        let outcome = play(config);
        assert!(assert_fair(&outcome, faults) > 40, "{faults}");
    }
}

#[test]
fn no_score_is_lost_or_doubled_when_a_coordinator_moves_servers_about() {
    let mut config = config(4, 5, 900);
    config.link = None;
    config.control = Some(ControlConfig { planted: None });
    config.faults = "crash,loss".parse().expect("these are faults");
    let outcome = play(config);
    assert!(assert_fair(&outcome, "control") > 40);
    assert!(outcome.promotions > 0);
}

#[test]
fn a_score_that_is_lost_on_the_way_is_noticed() {
    let mut config = config(4, 1, 600);
    config.planted = Some(Planted::ForgottenKeepsakes);
    let outcome = play(config);
    assert_ne!(kept(&outcome), told(&outcome));
}

/// Says of every touch that it was told of it.
struct Echo;

impl Game for Echo {
    fn minds(&self, _: &nimbus_model::BodyDesc) -> bool {
        false
    }

    fn on_contact(&self, turn: &mut Turn<'_>, contact: Contact) {
        turn.emit(contact.one, 0, contact.two.0 as i64);
    }
}

#[test]
fn a_game_hears_of_every_touch_that_begins_and_of_each_once() {
    for faults in ["none", "loss,duplication,reordering,jitter,stall,map,full,crash,suspicion,backup-loss"] {
        let mut config = UniverseConfig::new("crossing", 4, 9, 300);
        config.game = Some(Rules::new(Echo));
        config.contacts = true;
        config.faults = faults.parse().expect("these are faults");
        let outcome = Universe::new(config).expect("the configuration is good").run(|_| {});
        assert!(outcome.violations.is_empty(), "{faults}: {}", outcome.violations[0]);
        let count = |pairs: &mut dyn Iterator<Item = (Nid, Nid)>| {
            let mut counts: BTreeMap<(Nid, Nid), u32> = BTreeMap::new();
            pairs.for_each(|pair| *counts.entry(pair).or_default() += 1);
            counts
        };
        let began = outcome.contacts.iter().filter(|(_, contact)| contact.kind == ContactKind::Began);
        let began = count(&mut began.map(|(_, contact)| (contact.one, contact.two)));
        let heard = count(&mut outcome.game_events.iter().map(|(_, event)| (event.nid, Nid(event.value as u64))));
        assert_eq!(heard, began, "{faults}");
        assert!(began.len() > 100, "{faults}: {}", began.len());
    }
}
