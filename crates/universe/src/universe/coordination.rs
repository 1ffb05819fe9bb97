//! The coordinator, its store, and what gets to whom: the shell around the core of the control plane.

use nimbus_control::{
    Birth, Change as Announced, FromCoordinator, Input, Link, Note, Order, Output, Roster, ToCoordinator,
};
use nimbus_model::{RegionBox, RegionId};
use nimbus_node::Change;
use std::sync::Arc;

use super::{Happening, Universe};
use crate::actor::Actor;
use crate::config::UniverseError;
use crate::control::{ControlEvent, LOOK_NS, WORLD, in_full};
use crate::network::{MS, Nanos};

/// Regions must be placed by then.
const ASSEMBLE_NS_MAX: Nanos = 60_000 * MS;

impl Universe {
    /// Lets the coordinator and all processes start, and time pass until the roster says when ticks begin.
    pub(super) fn assemble(&mut self) -> Result<(), UniverseError> {
        let Some(control) = &mut self.control else { return Ok(()) };
        let mut starts = vec![(0, Actor::Coordinator)];
        for i in 0..control.members.len() {
            starts.push((control.phase(), control.members[i].actor));
        }
        for (at, actor) in starts {
            self.queue.push(at, (actor, Happening::Control(ControlEvent::Start)));
        }
        while self.roster().is_none_or(|roster| roster.timeline.is_none()) {
            let next = self.queue.pop().filter(|(at, _)| *at < ASSEMBLE_NS_MAX);
            let Some((at, (to, what))) = next else {
                return Err(UniverseError::Usage("the cluster never started: too few processes could join".to_owned()));
            };
            self.now = at;
            self.happen(to, what, &mut |_| {});
        }
        self.align();
        Ok(())
    }

    /// The newest roster in the store, if a coordinator runs and has written one.
    pub(super) fn roster(&self) -> Option<&Arc<Roster>> {
        self.control.as_ref().and_then(|control| control.store.newest())
    }

    /// Ticks are due as the roster says.
    pub(super) fn align(&mut self) {
        let timeline = self.roster().and_then(|roster| roster.timeline.as_ref());
        if let Some(start_us) = timeline.map(|timeline| timeline.start_us()) {
            self.start = start_us * 1_000;
        }
    }

    /// Something happens to a member, to the coordinator or to its store.
    pub(super) fn control_event(&mut self, to: Actor, event: ControlEvent) {
        let Some(control) = &mut self.control else { return };
        let Actor::Coordinator = to else { return self.member_event(to, event) };
        match event {
            ControlEvent::Start => {
                let start = self.recovery.next_process();
                control.desk.boot(start);
                self.look(start);
            }
            ControlEvent::Beat(start) if control.desk.start == start && control.desk.is_up() => self.look(start),
            ControlEvent::Said(process, bytes) => {
                let message = ToCoordinator::decode(&bytes).expect("what a member says, the coordinator understands");
                self.consult(Input::Message { link: Link(u64::from(process)), message });
            }
            ControlEvent::Asked(start, question) => self.ask_store(start, question),
            ControlEvent::Answered(start, answer) if control.desk.start == start => self.consult(answer),
            _ => {}
        }
    }

    /// The coordinator looks at the time, and at what it is ordered.
    fn look(&mut self, start: u32) {
        let Some(control) = &mut self.control else { return };
        if !control.desk.leads() {
            self.consult(Input::Lead);
        } else if let Some(order) = control.orders.pop_front() {
            self.consult(Input::Order { id: self.now, order });
        }
        self.consult(Input::Time);
        self.queue.push(self.now + LOOK_NS, (Actor::Coordinator, Happening::Control(ControlEvent::Beat(start))));
    }

    /// Gives the coordinator an input and does what it says.
    fn consult(&mut self, input: Input) {
        let Some(control) = &mut self.control else { return };
        let (start, outputs) = (control.desk.start, control.desk.handle(input, self.now));
        for output in outputs {
            match output {
                Output::Read { .. } | Output::Store { .. } => {
                    self.after_store_delay(ControlEvent::Asked(start, output));
                }
                Output::Tell { link, message } => self.tell(link, &message),
                Output::Note(Note::Inconsistent(problem)) => {
                    self.checkers.blame_control(self.tick, format!("a plan made no sense: {problem}"));
                }
                Output::Note(Note::StoreUnusable(problem)) => {
                    self.checkers.blame_control(self.tick, problem.to_string())
                }
                Output::Note(_) | Output::Answer { .. } => {}
            }
        }
    }

    fn tell(&mut self, link: Link, message: &FromCoordinator) {
        let Some(control) = &self.control else { return };
        let known = control.members.iter().find(|member| u64::from(member.process) == link.0);
        let Some((to, process)) = known.map(|member| (member.actor, member.process)) else { return };
        let bytes: Arc<[u8]> = message.encode().into();
        for at in self.network.send(self.now, Actor::Coordinator, to, bytes.len()).into_iter().flatten() {
            self.queue.push(at, (to, Happening::Control(ControlEvent::Told(process, bytes.clone()))));
        }
    }

    fn after_store_delay(&mut self, event: ControlEvent) {
        let Some(control) = &mut self.control else { return };
        let at = self.now + control.store_delay();
        self.queue.push(at, (Actor::Coordinator, Happening::Control(event)));
    }

    /// The store does what it is asked, also for a coordinator that has stopped meanwhile.
    fn ask_store(&mut self, start: u32, question: Output) {
        let Some(control) = &mut self.control else { return };
        let answer = match question {
            Output::Read { request } => Input::Contents { request, bytes: control.store.contents() },
            Output::Store { request, expect_revision, bytes } => match control.store.swap(expect_revision, bytes) {
                Some(roster) => {
                    self.note_stored(&roster);
                    Input::Stored { request }
                }
                None => Input::Conflict { request, bytes: control.store.contents() },
            },
            _ => return,
        };
        self.after_store_delay(ControlEvent::Answered(start, answer));
    }

    /// A roster got into the store.
    fn note_stored(&mut self, roster: &Arc<Roster>) {
        let Some(control) = &mut self.control else { return };
        control.counts.revisions += 1;
        let before = control.store.before().cloned();
        let moved = |id: &RegionId, epoch: u32| {
            let former = before.as_ref().and_then(|before| before.regions.get(id));
            former.is_some_and(|former| {
                former.epoch != epoch && former.moving.is_some_and(|moving| moving.stop_after.is_some())
            })
        };
        control.counts.moves += roster.regions.iter().filter(|(id, region)| moved(id, region.epoch)).count() as u64;
        if self.config.checked {
            self.checkers.observe_stored(self.tick, roster);
        }
        let known = |change: &&Announced| before.as_ref().is_none_or(|before| !before.changes.contains(change));
        for change in roster.changes.iter().filter(known) {
            match change {
                Announced::Load { era, .. } => {
                    self.network.counts.reset += 1;
                    self.era = *era;
                }
                Announced::Map(_) => self.network.counts.map += 1,
                Announced::Statics { .. } => self.outcome.statics += 1,
            }
            self.checkers.observe_change(&in_full(change, &self.world));
        }
        self.map = (**roster.newest_map()).clone();
        self.name_heirs();
    }

    /// Has the coordinator announce a change of the whole world, when it can.
    pub(super) fn order_change(&mut self, change: Change) {
        let Some(control) = &mut self.control else { return };
        control.orders.push_back(match change {
            Change::Map(map) => Order::Map { era: self.era, map: Arc::new(map) },
            Change::Load { map, .. } => Order::Load { world: WORLD.to_owned(), map: Arc::new(map) },
            Change::Statics { placed, .. } => Order::Statics(placed),
        });
    }

    /// Has the coordinator announce regions that a client drew.
    pub(super) fn order_regions(&mut self, boxes: Vec<RegionBox>, rest: RegionId) {
        let Some(control) = &mut self.control else { return };
        control.orders.push_back(Order::Regions { boxes, rest });
        self.outcome.redraws += 1;
    }

    /// Has the coordinator move a boundary, and perhaps change ranks.
    pub(super) fn order_boundary(&mut self, index: usize, at: f32, width_min: f32, ranks: Option<Vec<RegionId>>) {
        let Some(control) = &mut self.control else { return };
        control.orders.push_back(Order::MoveCut { index, at, width_min });
        control.orders.extend(ranks.map(Order::Rank));
    }

    /// True when the coordinator has nothing to announce, and nothing that is announced is still to come.
    pub(super) fn is_announced(&self) -> bool {
        let Some(control) = &self.control else { return true };
        let settled = |roster: &Arc<Roster>| roster.changes.iter().all(|change| change.at() <= self.tick);
        control.orders.is_empty() && control.store.newest().is_none_or(settled)
    }

    /// The backup of each region that would take over, as the store has it, and who has not heard of every change.
    pub(super) fn name_heirs(&mut self) {
        let Some(control) = &self.control else { return };
        let Some(roster) = control.store.newest() else { return };
        for (i, life) in self.recovery.regions.iter_mut().enumerate() {
            let id = RegionId(i as u16);
            let Some(region) = roster.regions.get(&id) else { continue };
            life.heir = match region.birth {
                Birth::Promoted { life } if region.epoch > self.nodes[i].epoch() => Some(life),
                _ => region.backup.map(|seat| seat.life),
            };
            let server = control.index_of_process(life.process).map(|m| &control.members[m]);
            let served = server.and_then(|member| Some((member, member.served.get(&id)?)));
            life.behind = served.is_some_and(|(member, served)| {
                let now = self.nodes[i].now();
                let newer = member.heeded < roster.revision;
                let unheard = |change: &Announced| change.at() <= now;
                now < served.late_until || (newer && roster.yet_to_tell(served.told).iter().any(unheard))
            });
        }
    }
}
