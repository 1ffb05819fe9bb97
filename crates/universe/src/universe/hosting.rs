//! Processes of a cluster that a coordinator runs: each does what the newest roster says that it has heard of.

use nimbus_control::{
    Birth, Change as Announced, FromCoordinator, Heartbeat, RegionReport, Roster, Serve, Service, ToCoordinator, Told,
};
use nimbus_model::{RegionId, Tick};
use nimbus_node::{Backup, Node};
use nimbus_wire::{Address, Frame};
use std::sync::Arc;

use super::{Happening, Universe};
use crate::actor::Actor;
use crate::control::{BEAT_NS, ControlEvent, Served, Word, in_full, known_by};
use crate::network::{MS, Nanos};
use crate::recovery::{APART, Keeper, Zombie};

/// A process that was told that it is no member starts again after this time.
const RESTART_NS: Nanos = 200 * MS;

impl Universe {
    /// Something happens to a member.
    pub(super) fn member_event(&mut self, actor: Actor, event: ControlEvent) {
        let Some(control) = &mut self.control else { return };
        let Some(m) = control.index_of(actor) else { return };
        let member = &mut control.members[m];
        if !member.alive {
            if matches!(event, ControlEvent::Start) {
                member.start(self.recovery.next_process());
                self.beat(m);
            }
            return;
        }
        if self.now < member.asleep_until {
            // It takes notice when it wakes.
            self.queue.push(member.asleep_until, (actor, Happening::Control(event)));
            return;
        }
        match event {
            ControlEvent::Beat(process) if process == member.process => self.beat(m),
            ControlEvent::Told(process, bytes) if process == member.process => {
                let message = FromCoordinator::decode(&bytes).expect("what the coordinator says, members understand");
                match member.obey(message) {
                    Word::Roster(roster) => self.follow(m, &roster),
                    Word::Fenced(revision) => self.end_fenced(m, revision),
                    Word::Nothing => {}
                }
            }
            ControlEvent::Frame(from, bytes) => self.take_frame(m, from, &bytes),
            _ => {}
        }
    }

    /// A process says that it is there, or wants to be a member.
    fn beat(&mut self, m: usize) {
        let Some(control) = &self.control else { return };
        let unheeded = |roster: &Arc<Roster>| control.members[m].heeded < roster.revision;
        if let Some(roster) = control.members[m].roster.clone().filter(unheeded) {
            self.pass_on_changes(m, &roster);
            self.name_heirs();
        }
        let Some(control) = &self.control else { return };
        let member = &control.members[m];
        let message = match (member.incarnation, &member.roster) {
            (Some(process), Some(_)) => {
                let nodes = member.served.keys().filter_map(|id| self.server(*id, member.process));
                let tick = nodes.map(Node::now).min().unwrap_or_default();
                let regions = self.reports(m);
                ToCoordinator::Heartbeat(Heartbeat { process, revision: member.heeded, tick, regions })
            }
            _ => member.wish(),
        };
        let (actor, process) = (member.actor, member.process);
        let bytes: Arc<[u8]> = message.encode().into();
        for at in self.network.send(self.now, actor, Actor::Coordinator, bytes.len()).into_iter().flatten() {
            let said = ControlEvent::Said(process, bytes.clone());
            self.queue.push(at, (Actor::Coordinator, Happening::Control(said)));
        }
        self.queue.push(self.now + BEAT_NS, (actor, Happening::Control(ControlEvent::Beat(process))));
    }

    fn reports(&self, m: usize) -> Vec<RegionReport> {
        let Some(control) = &self.control else { return Vec::new() };
        let member = &control.members[m];
        let running = member.served.iter().filter_map(|(region, served)| {
            let node = self.server(*region, member.process)?;
            let durability = node.durability();
            let has = |last: Tick| node.now() >= last && durability.kept.is_some_and(|kept| kept >= last);
            Some(RegionReport {
                region: *region,
                epoch: served.epoch,
                service: if served.stop_after.is_some_and(has) { Service::Stopped } else { Service::Running },
                bodies: node.hosted_count() as u32,
                tick_us: node.modelled_cost_us(),
                behind: 0,
                life: durability.life,
                kept: durability.kept,
                applied: known_by(node),
                applied_at: node.applied_at(),
            })
        });
        let failed = member.failed.iter().filter(|(region, _)| !member.served.contains_key(region));
        let failed = failed.map(|(region, epoch)| RegionReport {
            region: *region,
            epoch: *epoch,
            service: Service::Failed,
            bodies: 0,
            tick_us: 0,
            behind: 0,
            life: 0,
            kept: None,
            applied: Told::default(),
            applied_at: Tick(0),
        });
        running.chain(failed).collect()
    }

    /// The server of a region in a process: the one that counts, or one that does not know yet that it was replaced.
    fn server(&self, region: RegionId, process: u32) -> Option<&Node> {
        let i = usize::from(region.0);
        let life = &self.recovery.regions[i];
        if life.process == process && !life.down {
            return Some(&self.nodes[i]);
        }
        let zombie = self.recovery.zombies.iter().find(|zombie| zombie.region == i && zombie.process == process);
        zombie.map(|zombie| &zombie.node)
    }

    fn server_mut(&mut self, region: RegionId, process: u32) -> Option<&mut Node> {
        let i = usize::from(region.0);
        let life = &self.recovery.regions[i];
        if life.process == process && !life.down {
            return Some(&mut self.nodes[i]);
        }
        self.recovery.zombie(i, process).map(|zombie| &mut zombie.node)
    }

    /// Which start of a process an actor is; of none where there are no processes.
    pub(super) fn process_of(&self, actor: Actor) -> u32 {
        let control = self.control.as_ref();
        control.and_then(|control| Some(control.members[control.index_of(actor)?].process)).unwrap_or(APART)
    }

    /// The last tick that a server may run: what is due, unless it was told to stop before.
    pub(super) fn runs_to(&self, i: usize, process: u32, due: Tick) -> Tick {
        let member =
            self.control.as_ref().and_then(|control| Some(&control.members[control.index_of_process(process)?]));
        let served = member.and_then(|member| member.served.get(&RegionId(i as u16)));
        served.and_then(|served| served.stop_after).map_or(due, |last| due.min(last))
    }

    /// A process does what a roster says.
    fn follow(&mut self, m: usize, roster: &Arc<Roster>) {
        self.align();
        let Some(control) = &mut self.control else { return };
        if self.config.checked {
            self.checkers.observe_acted_on(self.tick, roster, control.store.at(roster.revision));
        }
        let member = &mut control.members[m];
        let (Some(own), process) = (member.incarnation, member.process) else { return };
        if let Actor::Gateway(g) = member.actor {
            return self.show(m, usize::from(g), roster);
        }
        let duties = roster.duties(own);
        let stays = |region: &RegionId, epoch: u32| {
            duties.serve.iter().any(|duty| duty.region == *region && duty.epoch == epoch)
        };
        let ceased = member.served.iter().filter(|(region, served)| !stays(region, served.epoch));
        for region in ceased.map(|(region, _)| *region).collect::<Vec<_>>() {
            self.cease(m, region);
        }
        for duty in &duties.serve {
            let Some(control) = &mut self.control else { return };
            let member = &mut control.members[m];
            if let Some(served) = member.served.get_mut(&duty.region) {
                served.stop_after = duty.stop_after;
            } else if member.failed.get(&duty.region) != Some(&duty.epoch) {
                self.serve(m, roster, duty);
            }
        }
        self.pass_on_changes(m, roster);
        for (i, life) in self.recovery.regions.iter_mut().enumerate() {
            let keep = duties.keep.iter().find(|keep| usize::from(keep.region.0) == i);
            life.keepers.retain(|keeper| {
                let same = keep.is_some_and(|keep| (keep.life, keep.epoch) == (keeper.backup.life(), keeper.epoch));
                keeper.process != process || same
            });
            if let Some(keep) = keep.filter(|_| !life.keepers.iter().any(|keeper| keeper.process == process)) {
                let backup = Backup::new(keep.region, keep.life, keep.epoch, self.config.planted);
                let backup = backup.with_rules(self.config.game.clone());
                life.keepers.push(Keeper { process, epoch: keep.epoch, backup });
            }
        }
        self.name_heirs();
    }

    /// A process begins to serve a region.
    fn serve(&mut self, m: usize, roster: &Arc<Roster>, duty: &Serve) {
        let Some(control) = &self.control else { return };
        let (process, i) = (control.members[m].process, usize::from(duty.region.0));
        let made = match duty.birth {
            Birth::World => {
                let mut config = self.node_configs[i].clone();
                config.origin = duty.origin;
                Ok(Node::new(config, self.world.clone(), roster.era, (*roster.map).clone(), roster.loaded_at))
            }
            Birth::Promoted { life } => {
                let keepers = &mut self.recovery.regions[i].keepers;
                let place = keepers.iter().position(|keeper| keeper.process == process);
                match place.map(|place| keepers.remove(place)).filter(|keeper| keeper.backup.life() == life) {
                    Some(keeper) => keeper.backup.promote(duty.epoch, duty.origin).map_err(|error| error.to_string()),
                    None => Err(format!("the process has no backup of life {life}")),
                }
            }
            Birth::Empty { .. } => Err("nobody ordered that it begins anew".to_owned()),
        };
        let mut node = match made {
            Ok(node) => node,
            Err(why) => {
                self.checkers.blame_control(self.tick, format!("{} cannot be served: {why}", duty.region));
                if let Some(control) = &mut self.control {
                    control.members[m].failed.insert(duty.region, duty.epoch);
                }
                return;
            }
        };
        let mut served = Served {
            epoch: duty.epoch,
            stop_after: duty.stop_after,
            told: Told::everything(roster),
            late_until: Tick(0),
        };
        if self.config.checked && duty.birth != Birth::World {
            let (made, in_force) = (known_by(&node), Told::in_force(roster));
            self.checkers.observe_succession(self.tick, duty.region, made, in_force);
        }
        for change in roster.yet_to_tell(known_by(&node)) {
            if change.at() <= node.now() {
                served.late_until = node.now().next();
            }
            assert!(node.schedule(in_full(&change, &self.world)), "there are few changes");
        }
        if self.config.checked {
            self.checkers.observe_service(self.tick, duty.region, duty.epoch, process);
        }
        let (former_process, was_up) = (self.recovery.regions[i].process, !self.recovery.regions[i].down);
        let asleep_until = self.asleep_until[i];
        self.recovery.succeed(i, process, node.epoch());
        self.recovery.promoted += u64::from(duty.birth != Birth::World);
        let former = self.install(i, node);
        if was_up {
            let (region, process, until) = (i, former_process, Nanos::MAX);
            self.recovery.zombies.push(Zombie { region, process, node: former, until, asleep_until });
        }
        if let Some(control) = &mut self.control {
            control.members[m].served.insert(duty.region, served);
        }
        self.name_heirs();
        self.watch(i);
    }

    /// A process serves a region no more.
    fn cease(&mut self, m: usize, region: RegionId) {
        let Some(control) = &mut self.control else { return };
        let member = &mut control.members[m];
        member.served.remove(&region);
        let (i, process) = (usize::from(region.0), member.process);
        let life = &mut self.recovery.regions[i];
        if life.process == process {
            life.down = true;
        } else {
            self.recovery.zombies.retain(|zombie| zombie.region != i || zombie.process != process);
        }
    }

    /// Tells every server in a process the changes that it has not been told, up to the first whose world is being made.
    fn pass_on_changes(&mut self, m: usize, roster: &Roster) {
        let Some(control) = &self.control else { return };
        let process = control.members[m].process;
        let regions: Vec<RegionId> = control.members[m].served.keys().copied().collect();
        let mut heeded = true;
        for region in regions {
            let Some(now) = self.server(region, process).map(Node::now) else { continue };
            let Some(control) = &mut self.control else { return };
            let member = &mut control.members[m];
            let Some(told) = member.served.get(&region).map(|served| served.told) else { continue };
            let mut news = roster.yet_to_tell(told);
            let makes =
                |change: &Announced| matches!(change, Announced::Load { era, .. } if member.makes(*era, self.now));
            if let Some(first) = news.iter().position(makes) {
                heeded = false;
                news.truncate(first);
            }
            let Some(served) = member.served.get_mut(&region) else { continue };
            let late = news.iter().filter(|change| change.at() <= now).count() as u64;
            if late > 0 {
                served.late_until = now.next();
            }
            control.counts.late_changes += late;
            news.iter().for_each(|change| _ = served.told.hear(change));
            let changes: Vec<_> = news.iter().map(|change| in_full(change, &self.world)).collect();
            let Some(node) = self.server_mut(region, process) else { continue };
            for change in changes {
                assert!(node.schedule(change), "there are few changes");
            }
        }
        if let Some(control) = self.control.as_mut().filter(|_| heeded) {
            control.members[m].heeded = roster.revision;
        }
    }

    /// Tells a gateway of worlds and partitions that it has not been told.
    fn show(&mut self, m: usize, g: usize, roster: &Roster) {
        let Some(control) = &mut self.control else { return };
        let shown = &mut control.members[m].shown;
        for change in roster.yet_to_tell(*shown) {
            shown.hear(&change);
            match change {
                Announced::Load { at, era, map, .. } => {
                    self.gateway[g].load(self.world.clone(), era, (*map).clone(), at);
                }
                Announced::Map(map) => self.gateway[g].set_map((*map).clone()),
                Announced::Statics { at, era, placed } => self.gateway[g].set_statics(at, era, placed),
            }
        }
    }

    /// A process was told that it is no member any more. It ends, and starts again as another one.
    fn end_fenced(&mut self, m: usize, revision: u64) {
        let Some(control) = &mut self.control else { return };
        control.counts.fenced += 1;
        let member = &mut control.members[m];
        if let Some(own) = member.incarnation.filter(|_| self.config.checked) {
            self.checkers.observe_fenced(self.tick, own, revision, control.store.at(revision));
        }
        self.end_process(m, RESTART_NS);
    }

    /// A process ends with everything in it, and starts again after a while.
    pub(super) fn end_process(&mut self, m: usize, away: Nanos) {
        let Some(control) = &mut self.control else { return };
        let member = &mut control.members[m];
        member.end();
        self.recovery.bury(member.process);
        self.queue.push(self.now + away, (member.actor, Happening::Control(ControlEvent::Start)));
    }

    /// Somebody in a process says something to somebody who may live elsewhere, as far as the process knows.
    pub(super) fn dispatch(&mut self, departs: Nanos, process: u32, to: Address, bytes: &Arc<[u8]>) {
        let Some(control) = &self.control else { return };
        let Some(m) = control.index_of_process(process) else { return };
        let from = control.members[m].actor;
        let to = match to {
            Address::Gateway(gateway) => Some(Actor::Gateway(gateway.0)),
            _ => control.members[m].house_of(to).and_then(|name| control.actor_named(name)),
        };
        let Some(to) = to else { return };
        if to == from {
            self.queue.push(departs, (to, Happening::Control(ControlEvent::Frame(from, bytes.clone()))));
            return;
        }
        for at in self.network.send(departs, from, to, bytes.len()).into_iter().flatten() {
            self.queue.push(at, (to, Happening::Control(ControlEvent::Frame(from, bytes.clone()))));
        }
    }

    /// A frame reaches a process. It counts only if its sender lives where it came from, as far as the process knows.
    fn take_frame(&mut self, m: usize, from: Actor, bytes: &Arc<[u8]>) {
        let Some(control) = &mut self.control else { return };
        let frame = Frame::decode(bytes).expect("what an actor says, another understands");
        let member = &control.members[m];
        let house = match frame.from {
            Address::Gateway(gateway) => Some(Actor::Gateway(gateway.0)),
            _ => member.house_of(frame.from).and_then(|name| control.actor_named(name)),
        };
        if house != Some(from) && from != member.actor {
            control.counts.misplaced += 1;
            return;
        }
        let process = member.process;
        match frame.to {
            Address::Gateway(gateway) => self.gateway[usize::from(gateway.0)].handle(frame),
            Address::Region(region) => {
                let now_us = self.clock_of(usize::from(region.0)) / 1_000;
                if let Some(node) = self.server_mut(region, process) {
                    node.set_clock(now_us);
                    node.handle(frame);
                }
            }
            Address::Backup(region) => {
                let i = usize::from(region.0);
                let stored = self.now + self.config.store_ns;
                for answer in self.recovery.hear(i, process, frame) {
                    self.dispatch(stored, process, answer.to, &answer.encode().into());
                }
                self.observe(i, Vec::new());
            }
        }
    }
}
