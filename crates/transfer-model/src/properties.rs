//! What must hold in every reachable state, and what must be reachable so that the check is not empty.
//!
//! Every rule is judged for every choice of writers that might stop in this very moment. A region counts with what its
//! current writer believes and, separately, with what its backup would restore. What a zombie believes never counts;
//! what others take over from a zombie does, because it is then in their logs.

use std::sync::Arc;

use stateright::{Model, Property};

use crate::TransferModel;
use crate::state::{BODIES_MAX, BodyId, Record, Region, State};
use crate::view::{Holding, View};

/// A rule over states, with its name.
pub type Rule = (&'static str, fn(&TransferModel, &State) -> bool);

/// Rules without exception.
pub const ALWAYS: [Rule; 5] = [
    ("a body never has two owners", |_, state| !two_owners(state)),
    ("a body is never lost", |_, state| !lost(state)),
    ("one grant is adopted once", |_, state| !adopted_twice(state)),
    ("body epochs only rise", |_, state| !epoch_goes_back(state)),
    ("every run ends with all transfers settled", |model, state| is_settled(state) || !is_final(model, state)),
];

/// Situations that must come up somewhere.
pub const SOMETIMES: [Rule; 7] = [
    ("a transfer completes", |_, state| completed(state)),
    ("a refused body is owned by its source again", |_, state| came_back(state)),
    ("a transfer completes after a promotion", |_, state| promoted(state) && completed(state)),
    ("a zombie claims a body that another region owns", |_, state| zombie_disagrees(state)),
    ("a body is granted onward before the first source forgets", |_, state| onward(state)),
    ("a replaced backup is promoted", |_, state| replaced_and_promoted(state)),
    ("a promoted writer's new backup commits", |_, state| reseeded(state)),
];

/// The one question put to a mutant.
pub const SAFE: &str = "all rules hold";

/// What the checker is asked. A mutant is asked for safety in one question, so that the first answer is a shortest one.
pub(crate) fn all(model: &TransferModel) -> Vec<Property<TransferModel>> {
    if model.mutant.is_some() {
        return vec![Property::always(SAFE, |model, state| broken(model, state).is_empty())];
    }
    let always = ALWAYS.into_iter().map(|(name, rule)| Property::always(name, rule));
    always.chain(SOMETIMES.into_iter().map(|(name, rule)| Property::sometimes(name, rule))).collect()
}

/// The names of the rules that a state breaks.
pub fn broken(model: &TransferModel, state: &State) -> Vec<&'static str> {
    ALWAYS.into_iter().filter(|(_, rule)| !rule(model, state)).map(|(name, _)| name).collect()
}

/// Whether something holds in some combination of regions that go on and regions restored from their backups.
fn in_some_outlook(state: &State, holds: impl Fn(&[View]) -> bool) -> bool {
    let views: Vec<[View; 2]> = state
        .numbered()
        .map(|(id, region)| [View::live(state, id, region.current_index()), View::durable(state, id)])
        .collect();
    let mut outlook: Vec<View> = views.iter().map(|[live, _]| *live).collect();
    (0..1_usize << views.len()).any(|stopped| {
        for (at, views) in views.iter().enumerate() {
            outlook[at] = views[stopped >> at & 1];
        }
        holds(&outlook)
    })
}

fn two_owners(state: &State) -> bool {
    in_some_outlook(state, |views| bodies().any(|body| views.iter().filter(|view| view.owns(body)).count() > 1))
}

/// A body is somewhere if a region owns it or still has it in an outbox that the receiver has not passed.
fn lost(state: &State) -> bool {
    in_some_outlook(state, |views| {
        let is_somewhere = |body: BodyId| {
            (0..).zip(views).any(|(region, view): (usize, &View)| match view.holdings[usize::from(body)] {
                Holding::Owned => true,
                Holding::Sent { to, seq } => views[usize::from(to)].marks[region] < seq,
                Holding::Absent => false,
            })
        };
        !bodies().all(is_somewhere)
    })
}

/// A grant is known by its body and the epoch it gave; in all logs that count it may be taken once.
fn adopted_twice(state: &State) -> bool {
    let current = state.numbered().map(|(id, region)| View::live(state, id, region.current_index()));
    if current.into_iter().any(|view| view.repeats) {
        return true;
    }
    let logs = state.regions.iter().flat_map(|region| &region.current().log);
    let mut taken: Vec<(BodyId, u8)> = logs
        .filter_map(|record| match record {
            Record::Took { item, .. } => Some((item.body, item.body_epoch)),
            _ => None,
        })
        .collect();
    taken.sort_unstable();
    taken.windows(2).any(|pair| pair[0] == pair[1])
}

/// Judged for writers that count. A zombie can see an epoch go back: it hears, on two lanes, of a body that its
/// successor received on one and gave away on the other, and nothing orders the two for it. None of that is ever kept.
fn epoch_goes_back(state: &State) -> bool {
    state.numbered().any(|(id, region)| View::live(state, id, region.current_index()).goes_back)
}

/// Every step grows a log or a counter and all are bounded, so each run ends; it ends in a state like this one.
fn is_final(model: &TransferModel, state: &State) -> bool {
    let mut actions = Vec::new();
    model.actions(state, &mut actions);
    actions.is_empty()
}

/// Every body has an owner, every outbox is empty, every backup has everything.
fn is_settled(state: &State) -> bool {
    let mut owned = [false; BODIES_MAX];
    for (id, region) in state.numbered() {
        let view = View::live(state, id, region.current_index());
        let backup = region.current().backup;
        if view.sent != view.forgotten || !backup.is_seeded() || backup.kept != region.current().last_number() {
            return false;
        }
        for (body, holding) in view.holdings.iter().enumerate() {
            owned[body] |= *holding == Holding::Owned;
        }
    }
    owned.iter().all(|owned| *owned)
}

/// A body that has moved is owned durably and nobody has it in an outbox any more.
fn completed(state: &State) -> bool {
    let views: Vec<View> = state.numbered().map(|(id, _)| View::durable(state, id)).collect();
    bodies().any(|body| {
        let at = usize::from(body);
        views.iter().any(|view| view.owns(body) && view.body_epochs[at] > 0)
            && views.iter().all(|view| !matches!(view.holdings[at], Holding::Sent { .. }))
    })
}

fn came_back(state: &State) -> bool {
    let logs = state.regions.iter().flat_map(|region| region.current().held());
    logs.into_iter().any(|record| matches!(record, Record::Took { item, .. } if item.is_return))
}

fn promoted(state: &State) -> bool {
    state.regions.iter().any(|region| region.writers.len() > 1)
}

fn zombie_disagrees(state: &State) -> bool {
    state.numbered().any(|(id, region)| {
        (0..region.current_index()).any(|zombie| {
            let claims = View::live(state, id, zombie);
            bodies().any(|body| {
                let owns = |other: u8| View::durable(state, other).owns(body);
                claims.owns(body) && (0..state.regions.len() as u8).any(|other| other != id && owns(other))
            })
        })
    })
}

/// Two outboxes hold the same body on its way, one behind the other, and the last receiver has it durably.
fn onward(state: &State) -> bool {
    let views: Vec<View> = state.numbered().map(|(id, _)| View::durable(state, id)).collect();
    bodies().any(|body| {
        let sent = |view: &&View| matches!(view.holdings[usize::from(body)], Holding::Sent { .. });
        views.iter().filter(sent).count() == 2 && views.iter().any(|view| view.owns(body))
    })
}

fn replaced_and_promoted(state: &State) -> bool {
    let all_but_last = |region: &Arc<Region>| {
        let zombies = region.writers.len() - 1;
        region.writers[..zombies].iter().any(|writer| writer.backup.generation > 1)
    };
    state.regions.iter().any(all_but_last)
}

fn reseeded(state: &State) -> bool {
    let commits = |region: &Arc<Region>| {
        let current = region.current();
        region.writers.len() > 1 && current.backup.is_seeded() && current.backup.kept > current.inherited
    };
    state.regions.iter().any(commits)
}

fn bodies() -> impl Iterator<Item = BodyId> {
    0..BODIES_MAX as u8
}
