//! What strikes the processes of a cluster that a coordinator runs, and when it may.
//!
//! Nothing ever destroys the only copy of a region. A process dies only while every region is served, has all of it on
//! another process, and nobody was out of reach a moment ago: whoever is silent then is replaced by its backup, which
//! must not be the one that dies. A process that is cut off, stalls or is silent destroys nothing; it waits only until
//! no dead process is named in the roster any more.

use nimbus_control::{Incarnation, Roster};
use std::sync::Arc;

use super::Universe;
use crate::actor::Actor;
use crate::control::{Control, ControlEvent, SUSPECT_MS};
use crate::faults::Fault;
use crate::network::{MS, Nanos};
use crate::plan::Blow;
use crate::universe::Happening;

/// For so long after it was out of reach a process may still be taken for silent.
const WARY_NS: Nanos = (SUSPECT_MS + 200) * MS;
/// Everything was well for so many ticks before a run may end.
const WHOLE_TICKS: u64 = 60;

impl Universe {
    /// Lets blows strike that were drawn for this tick, or waited for it.
    pub(super) fn strike_processes(&mut self) {
        let tick = self.tick.0;
        let drawn = |blows: &[Blow], fault: Fault| -> Vec<(Fault, Blow)> {
            blows.iter().filter(|blow| blow.tick == tick).map(|blow| (fault, *blow)).collect()
        };
        let partitions = drawn(&self.plan.partitions, Fault::Partition);
        let stalls = drawn(&self.plan.stalls, Fault::Stall);
        let losses = self.plan.losses.iter().filter(|(_, blow)| blow.tick == tick);
        let Some(control) = &mut self.control else { return };
        control.waiting.extend(partitions.into_iter().chain(stalls).chain(losses.copied()));
        let stop = control.stops.iter().find(|blow| blow.tick == tick).copied();
        if let Some(stop) = stop.filter(|_| control.desk.is_up()) {
            control.desk.stop();
            control.counts.stops += 1;
            let again = (Actor::Coordinator, Happening::Control(ControlEvent::Start));
            self.queue.push(self.now + stop.lasts, again);
        }
        self.name_heirs();
        for (fault, blow) in std::mem::take(&mut self.control_mut().waiting) {
            if !self.strikes(fault, blow) {
                self.control_mut().waiting.push((fault, blow));
            }
        }
        let whole = self.is_whole();
        let since = &mut self.control_mut().whole_since;
        *since = whole.then(|| since.unwrap_or(tick));
    }

    fn control_mut(&mut self) -> &mut Control {
        self.control.as_mut().expect("only a cluster with a coordinator has processes to strike")
    }

    /// Strikes if it may. False when it has to wait.
    fn strikes(&mut self, fault: Fault, blow: Blow) -> bool {
        let kills = matches!(fault, Fault::Crash | Fault::BackupLoss);
        let may = if kills { self.is_whole() && self.is_calm() } else { self.names_only_living() };
        if !may {
            return false;
        }
        let life = &self.recovery.regions[usize::from(blow.server)];
        let process = match fault {
            Fault::BackupLoss => life.keepers.iter().find(|keeper| Some(keeper.backup.life()) == life.heir),
            _ => None,
        }
        .map_or(life.process, |keeper| keeper.process);
        let Some(m) = self.control_mut().index_of_process(process) else { return false };
        let (now, actor) = (self.now, self.control_mut().members[m].actor);
        match fault {
            Fault::Crash | Fault::BackupLoss => {
                self.network.counts.crash += u64::from(fault == Fault::Crash);
                self.network.counts.backup_loss += u64::from(fault == Fault::BackupLoss);
                self.end_process(m, blow.lasts);
            }
            Fault::Partition => {
                self.network.cut_off(actor, now + blow.lasts);
                self.disturb(m, blow.lasts);
            }
            Fault::Suspicion => {
                self.network.counts.suspicion += 1;
                let lasts = SUSPECT_MS * MS + blow.lasts / 2;
                // Half of them go on meanwhile, and half stand still.
                if blow.tick.is_multiple_of(2) {
                    self.network.part(actor, Actor::Coordinator, now + lasts);
                } else {
                    self.put_to_sleep(m, now + lasts);
                }
                self.disturb(m, lasts);
            }
            _ => {
                self.put_to_sleep(m, now + blow.lasts);
                self.disturb(m, blow.lasts);
            }
        }
        true
    }

    fn disturb(&mut self, m: usize, lasts: Nanos) {
        let until = self.now + lasts;
        let member = &mut self.control_mut().members[m];
        member.disturbed_until = member.disturbed_until.max(until);
    }

    /// A process does nothing for a while, and neither does anything in it.
    fn put_to_sleep(&mut self, m: usize, until: Nanos) {
        let member = &mut self.control_mut().members[m];
        member.asleep_until = member.asleep_until.max(until);
        let (process, until) = (member.process, member.asleep_until);
        for (life, asleep_until) in self.recovery.regions.iter().zip(&mut self.asleep_until) {
            if life.process == process {
                *asleep_until = until;
            }
        }
        for zombie in self.recovery.zombies.iter_mut().filter(|zombie| zombie.process == process) {
            zombie.asleep_until = until;
        }
    }

    /// True when nobody is out of reach, or was a moment ago.
    fn is_calm(&self) -> bool {
        let Some(control) = &self.control else { return true };
        control.members.iter().all(|member| member.alive && member.disturbed_until + WARY_NS <= self.now)
    }

    /// True when every process that the roster gives something to do lives.
    fn names_only_living(&self) -> bool {
        let Some(control) = &self.control else { return true };
        let lives = |process| process_of(control, process).is_some();
        control.store.newest().is_some_and(|roster: &Arc<Roster>| {
            roster
                .held()
                .all(|(_, region)| lives(region.server) && region.backup.is_none_or(|seat| lives(seat.process)))
        })
    }

    /// True when every region is served by whom the roster names, and has all of it where the roster says.
    pub(super) fn is_whole(&self) -> bool {
        let Some(control) = &self.control else { return true };
        let Some(roster) = control.store.newest() else { return false };
        self.recovery.regions.iter().zip(&self.nodes).all(|(life, node)| {
            let region = roster.regions.get(&node.region()).filter(|region| region.lost.is_none());
            region.is_some_and(|region| {
                let keeper = life.keepers.iter().find(|keeper| Some(keeper.backup.life()) == life.heir);
                let seated = region.backup.and_then(|seat| process_of(control, seat.process));
                !life.down
                    && region.protected
                    && region.moving.is_none()
                    && region.epoch == node.epoch()
                    && process_of(control, region.server) == Some(life.process)
                    && seated.is_some()
                    && keeper.is_some_and(|it| Some(it.process) == seated && it.backup.kept().is_some())
            })
        })
    }

    /// True when a run may end: everything has been whole for a while.
    pub(super) fn is_settled(&self) -> bool {
        let Some(control) = &self.control else { return true };
        control.whole_since.is_some_and(|since| self.tick.0 >= since + WHOLE_TICKS)
    }
}

/// The living start of a process that has this number in the roster.
fn process_of(control: &Control, incarnation: Incarnation) -> Option<u32> {
    let its = control.members.iter().find(|member| member.alive && member.incarnation == Some(incarnation));
    its.map(|member| member.process)
}
