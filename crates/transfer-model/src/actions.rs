//! What may happen next, and what it changes. Each rule of the protocol is one guard in this file.

use std::sync::Arc;

use crate::TransferModel;
use crate::mutants::Mutant;
use crate::state::{Backup, BodyId, Item, Record, Region, RegionId, State, Writer};
use crate::view::{Holding, View};

/// One step of the world. `writer` counts the writers of a region from 0; all but the last are zombies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A writer gives a body away, for whatever reason its policy or a new map may have.
    Grant {
        /// Who gives.
        region: RegionId,
        /// Which of its writers.
        writer: u8,
        /// What.
        body: BodyId,
        /// To whom.
        to: RegionId,
    },
    /// An item takes effect.
    Take {
        /// Who receives.
        region: RegionId,
        /// Which of its writers.
        writer: u8,
        /// Who sent it.
        from: RegionId,
        /// The item.
        item: Item,
    },
    /// An item is refused and returned.
    Refuse {
        /// Who refuses.
        region: RegionId,
        /// Which of its writers.
        writer: u8,
        /// Who sent it.
        from: RegionId,
        /// The item.
        item: Item,
    },
    /// An acknowledgement arrives at the sender.
    Forget {
        /// Who forgets.
        region: RegionId,
        /// Which of its writers.
        writer: u8,
        /// Who acknowledged.
        to: RegionId,
        /// The acknowledged mark.
        upto: u8,
    },
    /// A backup keeps a record and says so.
    Keep {
        /// Whose backup.
        region: RegionId,
        /// Of which of its writers.
        writer: u8,
        /// The record.
        number: u8,
    },
    /// A new backup is seeded and takes over from the one before, which may be dead or only suspected.
    Seed {
        /// Whose backup.
        region: RegionId,
        /// The seed reflects the log up to here.
        upto: u8,
    },
    /// The writer is given up, rightly or not: its backup is sealed and becomes the next writer.
    Promote {
        /// Whose writer.
        region: RegionId,
    },
}

/// Collects everything that can happen in a state.
pub(crate) fn possible(model: &TransferModel, state: &State, actions: &mut Vec<Action>) {
    let bounds = &model.bounds;
    let may_grant = state.count_records(|record| matches!(record, Record::Granted(_))) < bounds.grants;
    let may_refuse = state.count_records(|record| matches!(record, Record::Refused { .. })) < bounds.refusals;
    for (region, here) in state.numbered() {
        for writer in 0..=here.current_index() {
            let view = View::live(state, region, writer);
            if may_grant {
                grants(model, state, region, writer, &view, actions);
            }
            arrivals(model, state, region, writer, &view, may_refuse, actions);
            acknowledgements(model, state, region, writer, &view, actions);
            replication(model, region, here, writer, actions);
        }
        faults(model, state, region, here, actions);
    }
}

/// Carries an action out. Guards were checked when the action was collected.
pub(crate) fn carry_out(model: &TransferModel, state: &State, action: Action) -> State {
    let mut next = state.clone();
    match action {
        Action::Grant { region, writer, body, to } => {
            let item = next_item(&View::live(state, region, writer), to, body, false);
            log(&mut next, region, writer, Record::Granted(item));
        }
        Action::Take { region, writer, from, item } => {
            log(&mut next, region, writer, Record::Took { from, item });
        }
        Action::Refuse { region, writer, from, item } => {
            let mut view = View::live(state, region, writer);
            view.body_epochs[usize::from(item.body)] = item.body_epoch;
            let back = next_item(&view, from, item.body, true);
            let unlogged = model.has(Mutant::RefusalNotLogged);
            let record = if unlogged { Record::Granted(back) } else { Record::Refused { from, seq: item.seq, back } };
            log(&mut next, region, writer, record);
        }
        Action::Forget { region, writer, to, upto } => {
            log(&mut next, region, writer, Record::Forgot { to, upto });
        }
        Action::Keep { region, writer, number } => {
            let backup = &mut writer_mut(&mut next, region, writer).backup;
            for passed in backup.kept + 1..number {
                backup.holes |= 1 << passed;
            }
            backup.holes &= !(1 << number);
            backup.kept = backup.kept.max(number);
            backup.told = backup.told.max(number);
        }
        Action::Seed { region, upto } => {
            let current = state.region(region).current_index();
            let backup = &mut writer_mut(&mut next, region, current).backup;
            let told = backup.told.max(upto);
            *backup = Backup { generation: backup.generation + 1, kept: upto, holes: 0, told };
        }
        Action::Promote { region } => {
            let old = state.region(region).current();
            let log: Vec<Record> = old.held().copied().collect();
            let epoch = if model.has(Mutant::SameEpochRestart) { old.epoch } else { old.epoch + 1 };
            let inherited = log.len() as u8;
            let new = Writer { epoch, log, inherited, backup: Backup::missing() };
            Arc::make_mut(&mut next.regions[usize::from(region)]).writers.push(new);
        }
    }
    next
}

/// Only an owner can give a body away, to any region but its own: maps express intent and are left to chance here.
fn grants(model: &TransferModel, state: &State, region: RegionId, writer: u8, view: &View, actions: &mut Vec<Action>) {
    for (body, holding) in (0..).zip(view.holdings) {
        for to in (0..state.regions.len() as u8).filter(|to| *to != region) {
            let allowed = match holding {
                Holding::Owned => true,
                Holding::Sent { to: addressed, .. } => model.has(Mutant::ReaddressedGrant) && addressed != to,
                Holding::Absent => false,
            };
            if allowed {
                actions.push(Action::Grant { region, writer, body, to });
            }
        }
    }
}

/// The next item of a lane takes effect, or is refused, with the item and a commit of the same epoch that covers it.
fn arrivals(
    model: &TransferModel,
    state: &State,
    region: RegionId,
    writer: u8,
    view: &View,
    may_refuse: bool,
    actions: &mut Vec<Action>,
) {
    let collected = actions.len();
    for (from, sender) in state.numbered().filter(|(from, _)| *from != region) {
        let wanted = view.marks[usize::from(from)] + 1;
        for source in &sender.writers {
            for (number, item) in source.sent().filter(|(_, item)| item.to == region) {
                let in_turn = item.seq == wanted || model.has(Mutant::NoDedup) && item.seq < wanted;
                let take = Action::Take { region, writer, from, item };
                if !in_turn || !committed(model, sender, source, number) || actions[collected..].contains(&take) {
                    continue;
                }
                actions.push(take);
                if may_refuse && !item.is_return {
                    actions.push(Action::Refuse { region, writer, from, item });
                }
            }
        }
    }
}

/// Whether some backup has announced a record of this number under the epoch of this source.
fn committed(model: &TransferModel, sender: &Region, source: &Writer, number: u8) -> bool {
    model.has(Mutant::AdoptWithoutCommit)
        || sender.writers.iter().any(|other| {
            let same_epoch = other.epoch == source.epoch || model.has(Mutant::CommitWithoutEpoch);
            same_epoch && other.backup.is_seeded() && number <= other.backup.told
        })
}

/// The sender forgets what any writer of the receiver ever acknowledged, which it does only for what is kept.
fn acknowledgements(
    model: &TransferModel,
    state: &State,
    region: RegionId,
    writer: u8,
    view: &View,
    actions: &mut Vec<Action>,
) {
    for (to, receiver) in state.numbered().filter(|(to, _)| *to != region) {
        let (forgotten, sent) = (view.forgotten[usize::from(to)], view.sent[usize::from(to)]);
        if forgotten == sent {
            continue;
        }
        let mark = |view: View| view.marks[usize::from(region)];
        let marks = (0..).zip(&receiver.writers).map(|(index, other)| {
            if model.has(Mutant::AckBeforeReplicate) {
                mark(View::live(state, to, index))
            } else if other.backup.is_seeded() {
                mark(View::told(state, to, other))
            } else {
                0
            }
        });
        let acknowledged = if model.has(Mutant::ForgetEarly) { sent } else { marks.max().unwrap_or(0).min(sent) };
        for upto in forgotten + 1..=acknowledged {
            actions.push(Action::Forget { region, writer, to, upto });
        }
    }
}

/// A backup keeps records of its own epoch only, in sequence, and none once it is sealed.
fn replication(model: &TransferModel, region: RegionId, here: &Region, writer: u8, actions: &mut Vec<Action>) {
    let source = &here.writers[usize::from(writer)];
    let sealed = writer != here.current_index();
    if !source.backup.is_seeded() || sealed && !model.has(Mutant::NoEpochCheck) {
        return;
    }
    if model.has(Mutant::BackupReorders) {
        let absent = (1..=source.last_number()).filter(|number| !source.backup.holds(*number));
        actions.extend(absent.map(|number| Action::Keep { region, writer, number }));
    } else if source.backup.kept < source.last_number() {
        actions.push(Action::Keep { region, writer, number: source.backup.kept + 1 });
    }
}

/// Suspicion of a writer and loss of a backup, each as often as the bounds say.
fn faults(model: &TransferModel, state: &State, region: RegionId, here: &Region, actions: &mut Vec<Action>) {
    let current = here.current();
    let first = !current.backup.is_seeded();
    let replaced = |region: &Arc<Region>| -> usize {
        region.writers.iter().map(|writer| usize::from(writer.backup.generation.saturating_sub(1))).sum()
    };
    if first || state.regions.iter().map(replaced).sum::<usize>() < model.bounds.replacements {
        let newest = current.last_number();
        let oldest = if model.has(Mutant::StaleSeed) { 0 } else { newest };
        actions.extend((oldest..=newest).map(|upto| Action::Seed { region, upto }));
    }
    let promotions: usize = state.regions.iter().map(|region| region.writers.len() - 1).sum();
    let ready = !first || model.has(Mutant::PromoteUnseeded);
    if ready && promotions < model.bounds.promotions {
        actions.push(Action::Promote { region });
    }
}

/// The next item on a lane; moving a body raises its epoch by one.
fn next_item(view: &View, to: RegionId, body: BodyId, is_return: bool) -> Item {
    let seq = view.sent[usize::from(to)] + 1;
    Item { to, seq, body, body_epoch: view.body_epochs[usize::from(body)] + 1, is_return }
}

fn log(state: &mut State, region: RegionId, writer: u8, record: Record) {
    writer_mut(state, region, writer).log.push(record);
}

fn writer_mut(state: &mut State, region: RegionId, writer: u8) -> &mut Writer {
    &mut Arc::make_mut(&mut state.regions[usize::from(region)]).writers[usize::from(writer)]
}
