//! Servers of one process that may be killed: each has a backup here, which takes over a moment later.
//!
//! What runs on several machines in earnest runs here to be watched: the same records, the same backups, the same
//! promotion under the next epoch. Only the judgement that a server is dead is missing, because whoever kills it says so.

use nimbus_model::{Origin, RegionId, Tick};
use nimbus_node::{Backup, Change, ContactTick};
use nimbus_wire::{Address, Frame};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::clock::Clock;
use crate::doors::Doors;
use crate::errand::{Errand, ErrandDesk, Errands};
use crate::links::{LinkEnd, Links};
use crate::node_thread::{NodeEnd, NodeThread};
use crate::pace::Pace;
use crate::play::Play;
use crate::reading::Gauge;
use crate::servers::SERVERS_MAX;

/// A region has no server for so long after its server was killed, as where it takes heartbeats to notice.
pub(crate) const DOWN: Duration = Duration::from_millis(500);
/// How long the guard waits for a frame before it looks whether a server is to be killed or replaced.
const POLL: Duration = Duration::from_millis(5);
/// Most servers that wait to be killed.
const KILLS_MAX: usize = 16;

/// The thread of every region's server. One that was killed leaves its place to the next.
pub(crate) type Threads = Arc<Mutex<BTreeMap<RegionId, JoinHandle<Option<NodeEnd>>>>>;

/// Where servers tell of touches.
pub(crate) type Contacts = SyncSender<(RegionId, ContactTick)>;

/// Where it is asked that a server be killed. Cheap to clone.
#[derive(Clone)]
pub(crate) struct KillSwitch {
    kills: SyncSender<RegionId>,
    gauges: Vec<Gauge>,
}

impl KillSwitch {
    /// Kills the server of a region, or says why not: never is the only copy of a region destroyed.
    pub(crate) fn kill(&self, region: RegionId) -> Result<(), String> {
        let gauge = self.gauges.iter().find(|gauge| gauge.read().region == region);
        let reading = gauge.ok_or_else(|| format!("there is no server {}", region.0))?.read();
        if !reading.alive {
            return Err(format!("server {} is dead already", region.0));
        }
        if !reading.is_killable() {
            return Err(format!("server {} has no backup that has everything yet; wait a moment", region.0));
        }
        self.kills.try_send(region).map_err(|_| "too many servers are to be killed; wait a moment".to_owned())
    }
}

/// One region, as its guard has it.
struct Kept {
    backup: Backup,
    epoch: u32,
    errands: ErrandDesk,
    gauge: Gauge,
    /// When its backup takes over, if its server was killed.
    down_until: Option<Duration>,
}

/// See the description of this file.
pub(crate) struct Guard {
    regions: BTreeMap<RegionId, Kept>,
    /// The highest number that names what a server makes.
    origins: u16,
    /// Where all backups listen.
    frames: LinkEnd,
    kills: Receiver<RegionId>,
    links: Links,
    pace: Arc<Pace>,
    doors: Doors,
    threads: Threads,
    contacts: Option<Contacts>,
    play: Option<Play>,
    clock: Clock,
}

impl Guard {
    /// Keeps empty backups for these regions from now on; each server is given the errands it has to take.
    pub(crate) fn new(
        gauges: &[Gauge],
        links: &Links,
        pace: &Arc<Pace>,
        doors: &Doors,
        threads: &Threads,
        (contacts, play): (&Option<Contacts>, &Option<Play>),
    ) -> (Guard, KillSwitch, Vec<Errands>) {
        let (kills, killed) = sync_channel(KILLS_MAX);
        let mut errands = Vec::new();
        let mut regions = BTreeMap::new();
        for gauge in gauges {
            let region = gauge.read().region;
            let (desk, its) = Errands::open();
            errands.push(its);
            let rules = play.as_ref().map(|play| play.rules.clone());
            let (backup, gauge) = (Backup::new(region, 1, 1, None).with_rules(rules), gauge.clone());
            gauge.write(|reading| reading.mortal = true);
            regions.insert(region, Kept { backup, epoch: 1, errands: desk, gauge, down_until: None });
        }
        let frames = links.open_all(regions.keys().map(|region| Address::Backup(*region)));
        let origins = regions.keys().map(|region| region.0 + 1).max().unwrap_or_default();
        let guard = Guard {
            regions,
            origins,
            frames,
            kills: killed,
            links: links.clone(),
            pace: pace.clone(),
            doors: doors.clone(),
            threads: threads.clone(),
            contacts: contacts.clone(),
            play: play.clone(),
            clock: Clock::start(),
        };
        (guard, KillSwitch { kills, gauges: gauges.to_vec() }, errands)
    }

    /// Runs until the run is over.
    pub(crate) fn run(mut self) {
        while !self.pace.is_over() {
            let Guard { frames, regions, links, .. } = &mut self;
            frames.wait(POLL, |frame| keep(regions, links, frame));
            for region in self.kills.try_iter().collect::<Vec<_>>() {
                self.kill(region);
            }
            let now = self.clock.now();
            let due = |kept: &Kept| kept.down_until.is_some_and(|until| until <= now);
            let due: Vec<RegionId> = self.regions.iter().filter(|(_, kept)| due(kept)).map(|(id, _)| *id).collect();
            for region in due {
                if let Err(error) = self.promote(region) {
                    eprintln!("nimbus: cannot serve {region} again: {error}");
                }
            }
        }
    }

    fn kill(&mut self, region: RegionId) {
        let Some(kept) = self.regions.get_mut(&region) else { return };
        // What the backup lacks would be lost, so the last look is at what it has.
        if kept.down_until.is_none() && kept.backup.kept().is_some() && Origin(self.origins + 1) < Origin::GAME {
            kept.errands.hand_in(Errand::Die);
            kept.down_until = Some(self.clock.now() + DOWN);
        }
    }

    /// The backup of a region becomes its server, in the next epoch, and gets an empty backup of its own.
    fn promote(&mut self, region: RegionId) -> std::io::Result<()> {
        let Some(kept) = self.regions.get_mut(&region) else { return Ok(()) };
        kept.down_until = None;
        kept.epoch += 1;
        self.origins += 1;
        let rules = self.play.as_ref().map(|play| play.rules.clone());
        let fresh = Backup::new(region, kept.backup.life() + 1, kept.epoch, None).with_rules(rules);
        let backup = std::mem::replace(&mut kept.backup, fresh);
        let (desk, errands) = Errands::open();
        kept.errands = desk;
        let (changes, announced) = self.doors.reopen(region);
        let gauge = kept.gauge.clone();
        gauge.write(|reading| {
            (reading.alive, reading.began) = (true, None);
            reading.durability = Default::default();
        });
        let (links, inbox) = (self.links.clone(), self.links.open(Address::Region(region)));
        let (pace, epoch, origin) = (self.pace.clone(), kept.epoch, Origin(self.origins));
        let (contacts, play) = (self.contacts.clone(), self.play.clone());
        let run = move || {
            let node = backup.promote(epoch, origin).map(|mut node| {
                for change in still_to_come(announced, node.era(), node.now()) {
                    node.schedule(change);
                }
                node
            });
            let node = match node {
                Ok(node) => node,
                Err(error) => {
                    eprintln!("nimbus: cannot serve {region} again: {error}");
                    gauge.write(|reading| reading.alive = false);
                    return None;
                }
            };
            let (runner, recorder) = (SERVERS_MAX + usize::from(region.0), None);
            Some(
                NodeThread { node, runner, pace, links, inbox, changes, errands, gauge, recorder, contacts, play }
                    .run(),
            )
        };
        let thread = std::thread::Builder::new().name(format!("server {region}")).spawn(run)?;
        let former = lock(&self.threads).insert(region, thread);
        // It has ended half a second ago. One that panicked has said so on its way.
        former.into_iter().for_each(|former| _ = former.join());
        Ok(())
    }
}

/// Lets the backup of a region keep what its server wrote down, and answers.
fn keep(regions: &mut BTreeMap<RegionId, Kept>, links: &Links, frame: Frame) {
    let Address::Backup(region) = frame.to else { return };
    let Some(kept) = regions.get_mut(&region) else { return };
    let mut answers = Vec::new();
    kept.backup.handle(frame, &mut answers);
    answers.iter().for_each(|answer| links.send(answer));
}

/// The changes that a server has yet to make which has loaded `era` worlds and completed tick `now`. Partitions of a former
/// world are none of its business.
fn still_to_come(announced: Vec<Change>, era: u16, now: Tick) -> Vec<Change> {
    let made = |change: &Change| matches!(change, Change::Load { era: its, .. } if *its <= era);
    let past = announced.iter().rposition(made).map_or(0, |last| last + 1);
    let comes = |change: &Change| matches!(change, Change::Load { .. }) || change.at() > now;
    announced.into_iter().skip(past).filter(comes).collect()
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::World;
    use nimbus_scenes::SceneParams;
    use nimbus_space::PartitionMap;

    #[test]
    fn a_server_is_killed_only_while_it_lives_and_its_backup_has_everything() {
        let (kills, killed) = sync_channel(KILLS_MAX);
        let gauge = Gauge::new(RegionId(3));
        let switch = KillSwitch { kills, gauges: vec![gauge.clone()] };
        let refused = |region: u16| switch.kill(RegionId(region)).unwrap_err();
        assert!(refused(4).contains("no server 4"));
        gauge.write(|reading| reading.alive = false);
        assert!(refused(3).contains("dead already"));
        gauge.write(|reading| (reading.alive, reading.mortal) = (true, true));
        assert!(refused(3).contains("no backup"));
        gauge.write(|reading| reading.durability.kept = Some(Tick(7)));
        assert_eq!(switch.kill(RegionId(3)), Ok(()));
        assert_eq!(killed.try_iter().collect::<Vec<_>>(), [RegionId(3)]);
    }

    #[test]
    fn whoever_takes_over_loads_no_world_twice() {
        let world: Arc<World> = nimbus_scenes::build("tower", &SceneParams::on(2)).unwrap().into();
        let map = PartitionMap::from_layout(&world.layout).unwrap();
        let moved = map.move_cut(0, 1.0, 1.0, Tick(50)).unwrap();
        let load = |at, era| Change::Load { at: Tick(at), era, world: world.clone(), map: map.clone() };
        let announced = vec![load(10, 2), Change::Map(moved), load(90, 3)];
        let left = |era, now| -> Vec<Tick> {
            still_to_come(announced.clone(), era, Tick(now)).iter().map(Change::at).collect()
        };
        assert_eq!(left(1, 5), [Tick(10), Tick(50), Tick(90)]);
        assert_eq!(left(2, 40), [Tick(50), Tick(90)]);
        assert_eq!(left(2, 60), [Tick(90)]);
        assert_eq!(left(3, 91), []);
    }
}
