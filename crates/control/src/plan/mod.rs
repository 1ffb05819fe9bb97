//! From the roster in the store and what was heard to the roster that should be there.
//!
//! A plan is a pure function and starts from the store each time. Whatever a lost swap undid is simply planned again.

mod changes;
mod dilation;
mod membership;
mod moving;
mod orders;
mod placement;
mod recovery;

use nimbus_model::{Origin, RegionId, Tick};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::config::{Config, Planted};
use crate::exchange::{Order, OrderError};
use crate::heard::Heard;
use crate::journal::Journal;
use crate::messages::{Join, Refusal};
use crate::roster::{Incarnation, Process, Role, Roster, Seat, Standing};

/// Everything that a plan depends on, beside the roster in the store.
pub(crate) struct Facts<'a> {
    pub(crate) config: &'a Config,
    pub(crate) heard: &'a Heard,
    pub(crate) journal: &'a Journal,
    /// Wishes to join.
    pub(crate) joins: Vec<&'a Join>,
    /// Wishes to leave.
    pub(crate) drains: &'a BTreeSet<Incarnation>,
    pub(crate) orders: &'a VecDeque<(u64, Order)>,
    pub(crate) now_ms: u64,
}

/// What should be, and what came of wishes and orders on the way there.
pub(crate) struct Plan<'a> {
    facts: Facts<'a>,
    pub(crate) roster: Roster,
    /// How much each process has to do: regions served and backups kept.
    loads: BTreeMap<Incarnation, usize>,
    pub(crate) refusals: Vec<(u64, Refusal)>,
    pub(crate) answers: Vec<(u64, Result<(), OrderError>)>,
    /// A number was needed and there are none left.
    pub(crate) exhausted: bool,
    /// Something is planned already that is not in the store, so nobody can have heard of it.
    news: bool,
}

impl<'a> Plan<'a> {
    /// Applies every rule once.
    pub(crate) fn make(stored: &Roster, facts: Facts<'a>) -> Plan<'a> {
        let mut loads = BTreeMap::new();
        for (_, region) in stored.held() {
            *loads.entry(region.server).or_default() += 1;
            if let Some(seat) = region.backup {
                *loads.entry(seat.process).or_default() += 1;
            }
        }
        let (refusals, answers) = (Vec::new(), Vec::new());
        let mut plan = Plan { facts, roster: stored.clone(), loads, refusals, answers, exhausted: false, news: false };
        plan.admit();
        plan.note_drains();
        plan.note_protection();
        plan.place_first();
        plan.carry_out_orders();
        plan.recover();
        plan.news = plan.roster != *stored;
        plan.move_on();
        plan.give_seats();
        plan.dismiss();
        plan.settle_changes();
        plan.dilate();
        plan
    }

    /// Gone, or not heard for so long that others take over.
    fn is_silent(&self, process: Incarnation) -> bool {
        if self.roster.member(process).is_none() {
            return true;
        }
        let silence_ms = self.facts.heard.silence_ms(process, self.facts.now_ms).unwrap_or(0);
        silence_ms >= self.facts.config.suspect_ms && !self.has(Planted::DeafToSilence)
    }

    /// A member that may be given something to do.
    fn is_ready(&self, process: Incarnation) -> bool {
        let up = |member: &Process| member.role == Role::Node && member.standing == Standing::Up;
        self.roster.member(process).is_some_and(up) && !self.is_silent(process)
    }

    /// The server of a region runs, as far as can be known.
    fn is_served(&self, id: RegionId) -> bool {
        self.roster
            .regions
            .get(&id)
            .is_some_and(|region| region.lost.is_none() && !self.is_silent(region.server) && !self.has_failed(id))
    }

    /// The node with the least to do, the oldest among equals.
    fn idlest(&self, except: Option<Incarnation>) -> Option<Incarnation> {
        let others = self.roster.members().map(|(id, _)| id).filter(|id| Some(*id) != except && self.is_ready(*id));
        others.min_by_key(|id| (self.loads.get(id).copied().unwrap_or(0), *id))
    }

    /// Gives a region an empty backup of a new life.
    fn seat(&mut self, id: RegionId, process: Option<Incarnation>) {
        let reuse = self.has(Planted::ReuseLife);
        let Some(region) = self.roster.regions.get_mut(&id) else { return };
        let former = region.backup.take();
        region.protected = false;
        region.backup = process.and_then(|process| {
            let life = if reuse { region.lives.max(1) } else { region.lives.checked_add(1)? };
            region.lives = life;
            Some(Seat { process, life })
        });
        for (seat, more) in [(former, false), (region.backup, true)] {
            let Some(seat) = seat else { continue };
            let load = self.loads.entry(seat.process).or_default();
            *load = if more { *load + 1 } else { load.saturating_sub(1) };
        }
    }

    /// A number that was never issued.
    fn issue(&mut self) -> Option<u16> {
        let number = self.roster.issued.checked_add(1).filter(|number| Origin(*number) != Origin::GAME);
        self.exhausted |= number.is_none();
        self.roster.issued = number?;
        number
    }

    fn issue_origin(&mut self) -> Option<Origin> {
        self.issue().map(Origin)
    }

    /// The last tick that is due; 0 before the start.
    fn tick(&self) -> Tick {
        self.roster.timeline.as_ref().and_then(|timeline| timeline.tick_at(self.now_us())).unwrap_or_default()
    }

    fn now_us(&self) -> u64 {
        self.facts.config.unix_us_at_zero.saturating_add(self.facts.now_ms.saturating_mul(1000))
    }

    fn has(&self, planted: Planted) -> bool {
        self.facts.config.planted == Some(planted)
    }
}
