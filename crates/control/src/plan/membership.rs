//! Who is a member: joining, draining, being given up, leaving.

use super::Plan;
use crate::config::Planted;
use crate::messages::Refusal;
use crate::roster::{Departure, Incarnation, Process, Role, Standing};
use crate::validity::MEMBERS_MAX;

/// Processes get no numbers above this one: the rest is for servers that take over.
const PROCESS_NUMBERS_MAX: u16 = u16::MAX - 8192;
/// Former members that are remembered for people to see.
const GONE_KEPT: usize = 64;

impl Plan<'_> {
    /// Lets in who wants to join. A name belongs to one member at a time; it is free again once that one is silent, and
    /// a successor of the same name is proof enough that it is gone for good.
    pub(super) fn admit(&mut self) {
        for join in self.facts.joins.clone() {
            let namesake = self.roster.member_named(&join.name).map(|(id, member)| (id, member.token));
            match namesake {
                Some((_, token)) if token == join.token => continue,
                Some((id, _)) if !self.is_silent(id) => {
                    self.refusals.push((join.token, Refusal::NameTaken(join.name.clone())));
                    continue;
                }
                Some((id, _)) => self.depart(id, Departure::GivenUp),
                None => {}
            }
            if self.roster.members().count() >= MEMBERS_MAX {
                self.refusals.push((join.token, Refusal::Full));
                continue;
            }
            let former = self.roster.processes.iter().rev().find(|(_, process)| process.name == join.name);
            let reused = former.map(|(id, _)| id.0).filter(|_| self.has(Planted::ReuseIncarnation));
            let number = reused.or_else(|| if self.roster.issued < PROCESS_NUMBERS_MAX { self.issue() } else { None });
            let Some(number) = number else {
                self.exhausted = true;
                self.refusals.push((join.token, Refusal::Exhausted));
                continue;
            };
            let process = Process {
                name: join.name.clone(),
                role: join.role,
                address: join.address.clone(),
                token: join.token,
                standing: Standing::Up,
            };
            self.roster.processes.insert(Incarnation(number), process);
        }
    }

    /// Marks who wants to leave.
    pub(super) fn note_drains(&mut self) {
        for process in self.facts.drains {
            self.drain(*process);
        }
    }

    pub(super) fn drain(&mut self, process: Incarnation) {
        self.turn(process, Standing::Up, Standing::Draining);
    }

    pub(super) fn stay(&mut self, process: Incarnation) {
        self.turn(process, Standing::Draining, Standing::Up);
    }

    fn turn(&mut self, process: Incarnation, from: Standing, to: Standing) {
        let member = self.roster.processes.get_mut(&process).filter(|process| process.standing == from);
        if let Some(member) = member {
            member.standing = to;
        }
    }

    /// Lets go who has nothing left and wants to leave, and gives up who is silent: at once when nothing depends on it
    /// any more, later when it may have the only copy of something.
    pub(super) fn dismiss(&mut self) {
        let members: Vec<(Incarnation, Role, Standing)> =
            self.roster.members().map(|(id, member)| (id, member.role, member.standing)).collect();
        let mut given_up = false;
        for (id, role, standing) in members {
            let silence_ms = self.facts.heard.silence_ms(id, self.facts.now_ms).unwrap_or(0);
            let silent = self.is_silent(id);
            let idle = || self.roster.load(id) == (0, 0);
            if silent && (silence_ms >= self.facts.config.abandon_ms || (role == Role::Node && idle())) {
                self.depart(id, Departure::GivenUp);
                given_up = true;
            } else if standing == Standing::Draining && idle() {
                self.depart(id, Departure::Left);
            }
        }
        if given_up {
            // What it served is now either somebody else's or lost.
            self.recover();
        }
        self.forget();
    }

    fn depart(&mut self, process: Incarnation, how: Departure) {
        if let Some(process) = self.roster.processes.get_mut(&process) {
            process.standing = Standing::Gone(how);
        }
    }

    /// Forgets the oldest former members that no region speaks of.
    fn forget(&mut self) {
        let spoken_of = |id: Incarnation| {
            let mut held = self.roster.held();
            held.any(|(_, region)| region.server == id || region.backup.is_some_and(|seat| seat.process == id))
        };
        let gone = self.roster.processes.iter().filter(|(_, process)| !process.is_member());
        let gone: Vec<Incarnation> = gone.map(|(id, _)| *id).collect();
        let surplus = gone.len().saturating_sub(GONE_KEPT);
        let forgotten: Vec<Incarnation> = gone.into_iter().take(surplus).filter(|id| !spoken_of(*id)).collect();
        for id in forgotten {
            self.roster.processes.remove(&id);
        }
    }
}
