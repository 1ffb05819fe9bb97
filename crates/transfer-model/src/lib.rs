//! An exhaustive check of the transfer protocol: how a body moves between regions exactly once.
//!
//! # What is modelled
//!
//! Every region has a writer, which is its node, and a backup. A writer's state is a function of its log
//! ([`Record`], folded by [`View`]). The backup keeps records of its own epoch in sequence, then tells peers `Commit`
//! and its writer `Kept`. Items go straight to the peer region, numbered per lane. The receiver lets item `mark + 1`
//! take effect, or refuses it, once it has the item and a commit of the same region epoch that covers it; the mark
//! outlives epochs. It acknowledges what its own backup has kept; only then does the source forget. A refusal moves
//! the mark and sends a return with a higher body epoch. A promotion seals the backup and starts a writer with the
//! next region epoch from exactly what was kept; that writer commits nothing until a new backup has been seeded.
//!
//! - *Network*: whatever was sent once may arrive now, later, again, or never. Nothing has to be stored for that,
//!   because what was sent follows from the logs.
//! - *Crash and false suspicion*: [`Action::Promote`] leaves the old writer running, and it may do all it could do
//!   before. A crash is the case in which it does nothing more. Besides, the rules are judged in every state for
//!   every set of writers that might stop right then.
//! - *Map change*: any owner may grant to any region at any time, so every map and every change of it is covered. A
//!   receiver that finds another region responsible adopts and grants onward.
//! - *Backup lost or replaced*: [`Action::Seed`] installs a new one under a writer that stays.
//!
//! # What is not
//!
//! Physics, ticks, groups of more than one body, offers before a grant, forwarded commands, birth and death, split
//! and merge of regions, and the control plane: that there is one current writer and one designated backup at a time
//! is assumed. So is that a writer and its only backup do not fail together.

mod actions;
mod bounds;
mod mutants;
mod properties;
mod state;
mod view;

use stateright::{Model, Property};

pub use actions::Action;
pub use bounds::Bounds;
pub use mutants::Mutant;
pub use properties::{ALWAYS, Rule, SAFE, SOMETIMES, broken};
pub use state::{BODIES_MAX, Backup, BodyId, Item, REGIONS_MAX, Record, Region, RegionId, State, Writer};
pub use view::{Holding, View};

/// The protocol within bounds, whole or with one rule dropped.
#[derive(Clone, Debug)]
pub struct TransferModel {
    /// What may happen how often.
    pub bounds: Bounds,
    /// The rule that is dropped, if any.
    pub mutant: Option<Mutant>,
}

impl TransferModel {
    /// The protocol as it is.
    pub fn sound(bounds: Bounds) -> TransferModel {
        TransferModel { bounds, mutant: None }
    }

    /// The protocol with one rule dropped.
    pub fn mutated(bounds: Bounds, mutant: Mutant) -> TransferModel {
        TransferModel { bounds, mutant: Some(mutant) }
    }

    pub(crate) fn has(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }
}

impl Model for TransferModel {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        self.bounds.homes.iter().map(|homes| State::start(self.bounds.regions, *homes)).collect()
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions::possible(self, state, actions);
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        Some(actions::carry_out(self, state, action))
    }

    fn properties(&self) -> Vec<Property<TransferModel>> {
        properties::all(self)
    }
}
