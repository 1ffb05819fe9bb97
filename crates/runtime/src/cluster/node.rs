//! A node as a process: it serves the regions and keeps the backups that the roster gives it.

use nimbus_control::{Birth, Keep, RegionReport, Roster, Serve, Service, Told};
use nimbus_model::{RegionId, Tick};
use nimbus_node::{Backup, Change, Node, NodeConfig};
use nimbus_wire::{Address, Frame};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Sender, channel};

use super::desk::Desk;
use super::member::{Heard, Member, tell_all};
use super::post::Post;
use super::setup::{ClusterError, ClusterSetup};
use super::upcoming::in_full;
use super::worlds::Worlds;
use crate::clock::Clock;
use crate::errand::{Errand, ErrandDesk, Errands};
use crate::links::Links;
use crate::mesh::{ProcessName, Role};
use crate::node_thread::{GoesHome, NodeEnd, NodeThread};
use crate::operator::Operator;
use crate::pace::{Pace, RealTime};
use crate::reading::{Gauge, known_by};

/// How long it waits for the network at most before it looks after itself.
const POLL: Duration = Duration::from_millis(10);
/// How long it stays at the most when it was asked to end, so that others can take over without losing a tick.
const LEAVE_MAX: Duration = Duration::from_secs(20);
/// Most changes of the world that wait at a server's door.
const CHANGES_MAX: usize = 64;

/// A region that is served here.
struct Served {
    duty: Serve,
    door: Sender<Change>,
    errands: ErrandDesk,
    /// The changes that it has been told.
    told: Told,
    /// A world that it was told of and that cannot be made, with what came with it; it goes on without.
    passed_over: Option<Told>,
    gauge: Gauge,
    /// The last tick that gateways have been shown.
    shown: Tick,
    thread: JoinHandle<Option<NodeEnd>>,
}

struct Host {
    setup: ClusterSetup,
    member: Member,
    links: Links,
    pace: Option<Arc<Pace>>,
    served: BTreeMap<RegionId, Served>,
    kept: BTreeMap<RegionId, (Keep, Backup)>,
    /// Regions whose server could not come into being, and the epoch of it.
    failed: BTreeMap<RegionId, u32>,
    worlds: Worlds,
    desk: Desk,
}

/// Runs a node until `ends` says so, or until it is told that it is no member any more. `tell` gets what people should
/// know.
pub fn run_node(
    setup: &ClusterSetup,
    name: &ProcessName,
    token: u64,
    mut ends: impl FnMut() -> bool,
    mut tell: impl FnMut(String),
) -> Result<(), ClusterError> {
    let member = Member::new(setup, name, Role::Node, token)?;
    let mut host = Host {
        setup: setup.clone(),
        member,
        links: Links::default().with_copies(setup.aura.copies),
        pace: None,
        served: BTreeMap::new(),
        kept: BTreeMap::new(),
        failed: BTreeMap::new(),
        worlds: Worlds::new(setup),
        desk: Desk::default(),
    };
    let facts = host.desk.facts(host.links.clone(), host.member.mesh.clone(), setup.experiments);
    let _operator = setup.operators.get(name).map(|address| Operator::start(*address, facts)).transpose()?;
    let clock = Clock::start();
    let mut leave_by = None;
    let outcome = loop {
        if leave_by.is_none() && ends() {
            tell("leaves: its regions go to others first".to_owned());
            host.member.leave();
            leave_by = Some(clock.now() + LEAVE_MAX);
        }
        if leave_by.is_some_and(|by| clock.now() > by || host.member.process().is_none()) {
            tell("ends before everything it served was taken over".to_owned());
            break Ok(());
        }
        match host.turn(&mut tell) {
            Ok(false) => {}
            Ok(true) => {
                tell("has left".to_owned());
                break Ok(());
            }
            Err(error) => break Err(error),
        }
    };
    host.stop();
    outcome
}

impl Host {
    /// Does what there is to do. True when it has left.
    fn turn(&mut self, tell: &mut impl FnMut(String)) -> Result<bool, ClusterError> {
        let mesh = self.member.mesh.clone();
        mesh.wait(POLL);
        let mut newest = None;
        let mut outcome = Ok(false);
        mesh.drain(|received| match self.member.hear(received) {
            Ok(Heard::Frame(to, bytes)) => self.take(to, bytes),
            Ok(Heard::Roster(roster)) => newest = Some(roster),
            Ok(Heard::Contribute(name, tick)) => self.contribute(name, tick),
            Ok(Heard::Left) => outcome = Ok(true),
            Ok(Heard::Nothing | Heard::Shown(_) | Heard::Answered(..)) => {}
            Err(error) => outcome = Err(error),
        });
        if outcome? {
            return Ok(true);
        }
        if let Some(roster) = newest {
            self.follow(&roster, tell)?;
        } else if let Some(roster) = self.member.unheeded() {
            self.announce(&roster);
        }
        if let Some(time) = self.pace.as_deref().and_then(Pace::real_time) {
            self.member.align(time);
        }
        let tick = self.served.values().map(|served| served.gauge.read().tick).min().unwrap_or(Tick(0));
        let (served, failed) = (&self.served, &self.failed);
        if self.member.beat(tick, || reports(served, failed)) {
            self.desk.note(self.member.revision(), self.kept.len(), self.member.misplaced);
            for served in self.served.values_mut() {
                // One that is still being made is nobody yet.
                let shown = served.gauge.look(|reading| (reading.epoch > 0).then(|| reading.shown(served.shown)));
                if let Some(shown) = shown {
                    served.shown = shown.tick;
                    self.member.show(shown);
                }
                if let Some(load) = served.gauge.take_load() {
                    self.member.tell_load(load);
                }
            }
        }
        Ok(false)
    }

    /// Writes the part of a checkpoint of everything that is served here.
    fn contribute(&self, name: String, tick: Tick) {
        let place = self.setup.checkpoints.as_ref().map(|plan| plan.place.clone());
        let coordinators: Vec<ProcessName> = self.setup.named(Role::Coordinator).cloned().collect();
        let (mesh, of) = (self.member.mesh.clone(), name.clone());
        self.desk.contribute(place, name, tick, move |outcome| {
            tell_all(&mesh, coordinators.iter(), &Post::Contributed(of, outcome));
        });
    }

    /// A frame for somebody here. Backups answer at once; servers look when they wake.
    fn take(&mut self, to: Address, bytes: Vec<u8>) {
        let Address::Backup(region) = to else {
            self.links.deliver(to, || bytes);
            return;
        };
        let mut answers = Vec::new();
        if let (Some((_, backup)), Ok(frame)) = (self.kept.get_mut(&region), Frame::decode(&bytes)) {
            backup.handle(frame, &mut answers);
        }
        answers.iter().for_each(|answer| self.links.send(answer));
    }

    /// Does what a roster says.
    fn follow(&mut self, roster: &Roster, tell: &mut impl FnMut(String)) -> Result<(), ClusterError> {
        let Some(process) = self.member.process() else { return Ok(()) };
        self.links.route(&self.member.mesh, self.member.routes());
        let duties = roster.duties(process);
        let ceased: Vec<RegionId> = self
            .served
            .iter()
            .filter(|(region, served)| {
                !duties.serve.iter().any(|duty| duty.region == **region && duty.epoch == served.duty.epoch)
            })
            .map(|(region, _)| *region)
            .collect();
        for region in ceased {
            tell(format!("{region} is served elsewhere now"));
            self.cease(region);
        }
        if roster.timeline.is_some() && self.pace.is_none() {
            let time = RealTime::common(self.setup.slowest());
            self.member.align(&time);
            let pace = Arc::new(Pace::RealTime(time));
            self.desk.go_by(&pace);
            self.pace = Some(pace);
        }
        for duty in duties.serve {
            if let Some(served) = self.served.get_mut(&duty.region) {
                served.errands.hand_in(Errand::StopAfter(duty.stop_after));
                served.duty = duty;
            } else if self.failed.get(&duty.region) != Some(&duty.epoch) {
                self.serve(roster, duty, tell)?;
            }
        }
        let gateways = self.member.gateways();
        for served in self.served.values() {
            served.errands.hand_in(Errand::Gateways(gateways.clone()));
        }
        self.announce(roster);
        self.kept.retain(|region, (kept, _)| {
            duties.keep.iter().any(|keep| keep.region == *region && (keep.life, keep.epoch) == (kept.life, kept.epoch))
        });
        for keep in duties.keep {
            let rules = self.setup.play.as_ref().map(|play| play.rules.clone());
            let fresh = || (keep, Backup::new(keep.region, keep.life, keep.epoch, None).with_rules(rules));
            self.kept.entry(keep.region).or_insert_with(fresh);
        }
        Ok(())
    }

    /// Begins to serve a region.
    fn serve(&mut self, roster: &Roster, duty: Serve, tell: &mut impl FnMut(String)) -> Result<(), ClusterError> {
        let Some(pace) = self.pace.clone() else { return Ok(()) };
        let upcoming = Arc::new(roster.clone());
        let make: Box<dyn FnOnce() -> Result<Node, String> + Send> = match duty.birth {
            Birth::World => {
                let config = NodeConfig {
                    origin: duty.origin,
                    gateways: self.member.gateways(),
                    durable: self.setup.is_durable(),
                    aura: self.setup.aura(),
                    bodies_max: self.setup.bodies_max(),
                    game: self.setup.play.as_ref().map(|play| play.rules.clone()),
                    ..NodeConfig::new(duty.region)
                };
                let (its, worlds, restored) = (upcoming.clone(), self.worlds.clone(), self.setup.restored.clone());
                Box::new(move || {
                    if let Some(restored) = restored.filter(|restored| restored.checkpoint.era == its.era) {
                        return Ok(Node::resume(config, &restored.checkpoint, (*its.map).clone()));
                    }
                    let world = worlds.wait(&its.world)?;
                    Ok(Node::new(config, world, its.era, (*its.map).clone(), its.loaded_at))
                })
            }
            Birth::Promoted { life } => match self.kept.remove(&duty.region) {
                Some((keep, backup)) if keep.life == life => {
                    Box::new(move || backup.promote(duty.epoch, duty.origin).map_err(|error| error.to_string()))
                }
                _ => return self.cannot_serve(duty, "its backup is not here", tell),
            },
            Birth::Empty { .. } => {
                return self.cannot_serve(duty, "regions that begin empty are not supported yet", tell);
            }
        };
        tell(format!("serves {} in epoch {}", duty.region, duty.epoch));
        let (door, changes) = channel(CHANGES_MAX);
        let (desk, errands) = Errands::open();
        let gauge = Gauge::new(duty.region);
        gauge.write(|reading| reading.load_wanted = self.setup.balance);
        let (links, inbox) = (self.links.clone(), self.links.open(Address::Region(duty.region)));
        // Which world and partition hold at which tick must be known before the first tick is run: a server that takes
        // over makes up for ticks in which others went by a new one.
        let told = Told::everything(roster);
        let (its_gauge, worlds, play) = (gauge.clone(), self.worlds.clone(), self.setup.play.clone());
        let run = move || {
            // What makes a server may panic, too.
            let _going_home = GoesHome { gauge: its_gauge.clone(), pace: pace.clone(), runner: 0 };
            // A backup may take a while to become a server, and several may do so at once.
            let node = make().and_then(|mut node| {
                for change in upcoming.yet_to_tell(known_by(&node)) {
                    let change = in_full(&change, |name| Some(worlds.wait(name))).transpose()?;
                    if !change.is_none_or(|change| node.schedule(change)) {
                        return Err("too many changes are announced".to_owned());
                    }
                }
                Ok(node)
            });
            let node = match node {
                Ok(node) => node,
                Err(why) => {
                    eprintln!("nimbus: cannot serve {}: {why}", duty.region);
                    return None;
                }
            };
            let (recorder, contacts) = (None, None);
            let thread = NodeThread {
                node,
                runner: 0,
                pace,
                links,
                inbox,
                changes,
                errands,
                gauge: its_gauge,
                recorder,
                contacts,
                play,
            };
            Some(thread.run())
        };
        let name = format!("server {}", duty.region);
        let spawned = std::thread::Builder::new().name(name.clone()).spawn(run);
        let thread = spawned.map_err(|error| ClusterError::Io(name, error))?;
        self.desk.open(duty.region, gauge.clone(), desk.clone());
        let served = Served { duty, door, errands: desk, told, passed_over: None, gauge, shown: Tick(0), thread };
        self.served.insert(duty.region, served);
        Ok(())
    }

    fn cannot_serve(&mut self, duty: Serve, why: &str, tell: &mut impl FnMut(String)) -> Result<(), ClusterError> {
        tell(format!("cannot serve {}: {why}", duty.region));
        self.failed.insert(duty.region, duty.epoch);
        Ok(())
    }

    /// Tells every server the changes that it has not been told, up to the first whose world is still being made.
    fn announce(&mut self, roster: &Roster) {
        self.worlds.keep(roster.worlds());
        let mut heeded = true;
        for served in self.served.values_mut() {
            for change in roster.yet_to_tell(served.told) {
                let mut passed_over = false;
                let told = match in_full(&change, |name| self.worlds.ready(name)) {
                    // A server that has ended is nobody to wait for.
                    Some(Ok(full)) => !matches!(served.door.try_send(full), Err(TrySendError::Full(_))),
                    Some(Err(why)) => {
                        eprintln!("nimbus: {} goes on as it is: {why}", served.duty.region);
                        passed_over = true;
                        true
                    }
                    None => false,
                };
                if !told {
                    heeded = false;
                    break;
                }
                served.told.hear(&change);
                if passed_over {
                    served.passed_over = Some(served.told);
                }
            }
        }
        if heeded {
            self.member.heed(roster);
        }
    }

    fn cease(&mut self, region: RegionId) {
        if let Some(served) = self.served.remove(&region) {
            self.desk.close(region);
            self.links.close(Address::Region(region));
            drop(served.door);
            // It ends at its next wake-up. One that panicked has said so on its way.
            _ = served.thread.join();
        }
    }

    fn stop(&mut self) {
        if let Some(pace) = &self.pace {
            pace.stop();
        }
        let regions: Vec<RegionId> = self.served.keys().copied().collect();
        regions.into_iter().for_each(|region| self.cease(region));
    }
}

fn reports(served: &BTreeMap<RegionId, Served>, failed: &BTreeMap<RegionId, u32>) -> Vec<RegionReport> {
    let running = served.iter().map(|(region, served)| {
        let reading = served.gauge.read();
        let durability = reading.durability;
        let (applied, applied_at) = reading.applied;
        // Nobody waits for a world that this server will never make.
        let passed_over = served.passed_over.filter(|told| told.era > applied.era);
        RegionReport {
            region: *region,
            epoch: served.duty.epoch,
            service: match served.duty.stop_after {
                _ if !reading.alive => Service::Failed,
                Some(last) if reading.tick >= last && durability.kept.is_some_and(|kept| kept >= last) => {
                    Service::Stopped
                }
                _ => Service::Running,
            },
            bodies: reading.bodies as u32,
            tick_us: reading.strain.tick_us,
            behind: reading.strain.behind,
            life: durability.life,
            kept: durability.kept,
            applied: passed_over.unwrap_or(applied),
            applied_at,
        }
    });
    let failed = failed.iter().filter(|(region, _)| !served.contains_key(region)).map(|(region, epoch)| RegionReport {
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
