//! Every dropped rule is noticed, by the rule it is there for.

use nimbus_transfer_model::{Action, Bounds, Mutant, SAFE, TransferModel, broken};
use stateright::{Checker, Model};

const TWO_OWNERS: &str = "a body never has two owners";
const LOST: &str = "a body is never lost";
const TWICE: &str = "one grant is adopted once";

/// Searches for the shortest way to break a rule and returns it, after making sure that the expected rule breaks.
fn check(mutant: Mutant, rule: &str) -> Vec<Action> {
    let model = TransferModel::mutated(Bounds::for_mutants(), mutant);
    let checker = model.checker().target_state_count(2_000_000).spawn_bfs().join();
    let path = checker.discovery(SAFE).unwrap_or_else(|| panic!("{mutant}: not caught"));
    let rules = broken(checker.model(), path.last_state());
    let actions = path.into_actions();
    println!("{mutant}: caught in {} steps: {actions:?}", actions.len());
    assert!(rules.contains(&rule), "{mutant}: broke {rules:?}");
    actions
}

#[test]
fn adopting_without_a_commit_makes_two_owners() {
    assert_eq!(check(Mutant::AdoptWithoutCommit, TWO_OWNERS).len(), 2);
}

#[test]
fn a_backup_that_serves_a_zombie_makes_two_owners() {
    let actions = check(Mutant::NoEpochCheck, TWO_OWNERS);
    assert!(actions.iter().any(|action| matches!(action, Action::Promote { .. })), "a zombie needs a promotion");
}

#[test]
fn without_the_mark_a_grant_is_adopted_twice() {
    check(Mutant::NoDedup, TWICE);
}

#[test]
fn an_early_acknowledgement_loses_a_body() {
    check(Mutant::AckBeforeReplicate, LOST);
}

#[test]
fn forgetting_early_loses_a_body() {
    assert_eq!(check(Mutant::ForgetEarly, LOST).len(), 2);
}

#[test]
fn a_commit_of_another_epoch_makes_two_owners() {
    let actions = check(Mutant::CommitWithoutEpoch, TWO_OWNERS);
    let grants = actions.iter().filter(|action| matches!(action, Action::Grant { .. }));
    assert_eq!(grants.count(), 2, "the zombie grants one body and its successor the other");
}

#[test]
fn a_backup_that_reorders_makes_two_owners() {
    check(Mutant::BackupReorders, TWO_OWNERS);
}

#[test]
fn a_restart_in_the_same_epoch_makes_two_owners() {
    check(Mutant::SameEpochRestart, TWO_OWNERS);
}

#[test]
fn a_stale_seed_makes_two_owners() {
    let actions = check(Mutant::StaleSeed, TWO_OWNERS);
    assert!(actions.iter().any(|action| matches!(action, Action::Seed { .. })));
}

#[test]
fn a_readdressed_grant_makes_two_owners() {
    check(Mutant::ReaddressedGrant, TWO_OWNERS);
}

#[test]
fn a_refusal_without_a_record_turns_epochs_back() {
    check(Mutant::RefusalNotLogged, "body epochs only rise");
}

#[test]
fn a_promotion_before_the_seed_makes_two_owners() {
    let actions = check(Mutant::PromoteUnseeded, TWO_OWNERS);
    assert_eq!(actions.iter().filter(|action| matches!(action, Action::Promote { .. })).count(), 2);
}
