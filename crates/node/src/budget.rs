//! How many bodies this server may host. Every way in which a body comes into being asks here, and so does every transfer.
//!
//! What does not fit is refused by name: counted, reported as an event and told as a breach. A server that is nearly full
//! says so to its neighbours, who then keep what can stay with them. What a contact needs still comes.

use nimbus_model::{Group, Nid, RegionId, Tick};
use serde::{Deserialize, Serialize};

use crate::breach::Factor;
use crate::config::Planted;
use crate::event::EventKind;
use crate::node::Node;

/// A server is nearly full above nine tenths of its budget, until it is down to eight tenths.
const NEAR_FULL_TENTHS: u64 = 9;
const RELIEVED_TENTHS: u64 = 8;
/// What a neighbour said of its budget counts for so many ticks.
const HEARD_TICKS: u64 = 60;
/// Most bodies that a breach names.
const NAMED_MAX: usize = 4;

/// What a server knows of its own budget. Part of its state: a replay and a backup refuse the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BudgetState {
    /// Nearly full.
    pub(crate) near_full: bool,
    /// Births refused since they were last told.
    births: Refused,
    /// Arrivals given back at this tick.
    arrivals: Refused,
    /// When refused births were last told.
    told_at: Option<Tick>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Refused {
    count: u64,
    /// The first few of them.
    nids: Vec<Nid>,
}

impl Refused {
    fn add(&mut self, nids: impl IntoIterator<Item = Nid>) {
        for nid in nids {
            self.count += 1;
            if self.nids.len() < NAMED_MAX {
                self.nids.push(nid);
            }
        }
    }
}

impl Node {
    /// The most bodies that it may host: by its own settings and by the world's budget.
    pub fn bodies_max(&self) -> usize {
        self.config.bodies_max.min(self.world.budget.region_max() as usize)
    }

    /// True when so many more bodies fit.
    pub(crate) fn has_room(&self, bodies: usize) -> bool {
        self.hosted.len().saturating_add(bodies) <= self.bodies_max()
    }

    /// Makes the bodies of a group exist for the first time, as far as they fit: jointed bodies all or none.
    pub(crate) fn bear_within_budget(&mut self, group: Group) {
        if self.has_room(group.members.len()) {
            self.bear(group, |_| 1);
            return;
        }
        let (mut room, mut fits) = (self.bodies_max().saturating_sub(self.hosted.len()), Group::default());
        let mut refused = Vec::new();
        for linkage in group.linkages() {
            if linkage.members.len() <= room {
                room -= linkage.members.len();
                fits.members.extend(linkage.members);
                fits.links.extend(linkage.links);
            } else {
                refused.extend(linkage.members.iter().map(|member| member.nid));
            }
        }
        self.bear(fits, |_| 1);
        self.refuse_births(&refused);
    }

    /// Why one more body is not made here, if it is not.
    pub(crate) fn budget_refusal(&self) -> Option<String> {
        let (hosted, most, region) = (self.hosted.len(), self.bodies_max(), self.config.region);
        (!self.has_room(1)).then(|| {
            format!(
                "{region} hosts {hosted} bodies and its budget is {most}; remove bodies there, or raise bodies_per_region"
            )
        })
    }

    /// These bodies were due and are not made.
    pub(crate) fn refuse_births(&mut self, nids: &[Nid]) {
        if self.config.planted == Some(Planted::ForgottenBirths) {
            return;
        }
        for nid in nids {
            self.report(*nid, 0, EventKind::NotBorn);
        }
        self.count_refused_births(nids.len() as u64, nids);
    }

    /// The same for bodies that have no name yet.
    pub(crate) fn count_refused_births(&mut self, count: u64, named: &[Nid]) {
        self.counters.births_refused += count;
        self.budget.births.add(named.iter().copied());
        self.budget.births.count += count - named.len() as u64;
    }

    /// These bodies came from another server and go back.
    pub(crate) fn refuse_arrivals(&mut self, nids: impl IntoIterator<Item = Nid>) {
        self.budget.arrivals.add(nids);
    }

    /// Looks how full it is, once a tick, and says what was refused: arrivals at once, because contacts may be missed, and
    /// births once a second.
    pub(crate) fn watch_budget(&mut self) {
        let (used, most) = (self.hosted.len() as u64, self.bodies_max() as u64);
        let tenths = if self.budget.near_full { RELIEVED_TENTHS } else { NEAR_FULL_TENTHS };
        let near_full = used >= most || used * 10 > most * tenths;
        if near_full != self.budget.near_full {
            self.budget.near_full = near_full;
            // Neighbours with nothing else to hear are told at once.
            self.seam.quiet.clear();
        }
        let arrivals = std::mem::take(&mut self.budget.arrivals);
        let second = u64::from(self.world.tick_hz);
        let is_time = self.budget.told_at.is_none_or(|told| self.now.since(told) >= second);
        let births = if self.budget.births.count > 0 && is_time {
            self.budget.told_at = Some(self.now);
            std::mem::take(&mut self.budget.births)
        } else {
            Refused::default()
        };
        for refused in [arrivals, births].into_iter().filter(|refused| refused.count > 0) {
            self.breach(Factor::Budget, (used + refused.count) as f32, most as f32, refused.nids);
        }
    }

    /// True when a neighbour has said lately that it is nearly full.
    pub(crate) fn is_near_full(&self, region: RegionId) -> bool {
        let heard = self.seam.foreign.get(&region);
        heard.is_some_and(|foreign| foreign.near_full && self.now.since(foreign.heard) < HEARD_TICKS)
    }
}
