//! Processes die, are given up too early, or lose their backup; and the cluster goes on.
//!
//! What is kept here of regions, backups and processes that were given up serves every run. The rest is the part of a
//! control plane that recovery needs where no coordinator runs: it notices, promotes a backup under the next epoch, gives
//! the new server an empty backup and tells it which changes of the whole world are still to come.

use nimbus_model::{Nid, Origin, RegionId, Tick};
use nimbus_node::{Backup, Change, Event, Node, Planted, Rules};
use nimbus_wire::Frame;
use std::collections::{BTreeSet, VecDeque};

use crate::faults::Fault;
use crate::network::Nanos;
use crate::plan::Blow;

/// State hashes of a server are remembered for this many ticks, to compare its backup with.
const HASHES_KEPT: usize = 64;

/// Where backups live that die by decree, apart from every server.
pub(crate) const APART: u32 = 0;

/// Whoever keeps what a server wrote down, and in which process it lives.
pub(crate) struct Keeper {
    pub(crate) process: u32,
    /// The epoch whose server it hears.
    pub(crate) epoch: u32,
    pub(crate) backup: Backup,
}

/// What recovery knows of one region.
pub(crate) struct RegionLife {
    /// The backups that there are: some may be former ones whose processes do not know it yet.
    pub(crate) keepers: Vec<Keeper>,
    /// The life of the backup that would take over.
    pub(crate) heir: Option<u32>,
    /// The epoch of its server.
    epoch: u32,
    /// The process is gone and nobody has taken over yet.
    pub(crate) down: bool,
    /// Its server has not heard of a change of the whole world whose tick has come.
    pub(crate) behind: bool,
    /// Which process serves the region; wake-ups of former ones are void.
    pub(crate) process: u32,
    /// What happened at ticks that the backup may not have yet, and so may never have happened.
    unkept: VecDeque<Event>,
    /// State hashes of the last ticks, by tick.
    hashes: VecDeque<(Tick, u64)>,
}

/// A process that was given up and still runs.
pub(crate) struct Zombie {
    pub(crate) region: usize,
    pub(crate) process: u32,
    pub(crate) node: Node,
    pub(crate) until: Nanos,
    pub(crate) asleep_until: Nanos,
}

/// See the description of this file.
pub(crate) struct Recovery {
    pub(crate) durable: bool,
    planted: Option<Planted>,
    rules: Option<Rules>,
    pub(crate) regions: Vec<RegionLife>,
    pub(crate) zombies: Vec<Zombie>,
    /// Blows that wait until they cost nothing that nobody has a copy of.
    waiting: Vec<(Fault, Blow)>,
    /// Regions to take over, and regions to give a new backup, with the tick at which it is done.
    promotions: Vec<(u64, usize)>,
    replacements: Vec<(u64, usize)>,
    /// Changes of the whole world, for servers that take over before they are due.
    announced: Vec<Change>,
    processes: u32,
    lives: u32,
    origins: u16,
    pub(crate) promoted: u64,
}

impl Recovery {
    pub(crate) fn new(durable: bool, planted: Option<Planted>, rules: Option<Rules>, regions: usize) -> Recovery {
        let mut recovery = Recovery {
            durable,
            planted,
            rules,
            regions: Vec::new(),
            zombies: Vec::new(),
            waiting: Vec::new(),
            promotions: Vec::new(),
            replacements: Vec::new(),
            announced: Vec::new(),
            processes: 0,
            lives: 0,
            origins: regions as u16,
            promoted: 0,
        };
        for i in 0..regions {
            let process = recovery.next_process();
            let (unkept, hashes) = (VecDeque::new(), VecDeque::new());
            let (keepers, heir) = (Vec::new(), None);
            let (epoch, down, behind) = (1, false, false);
            let region = RegionLife { keepers, heir, epoch, down, behind, process, unkept, hashes };
            recovery.regions.push(region);
            if durable {
                recovery.give_backup(i, 1);
            }
        }
        recovery
    }

    /// Notes what happened at a server, and hands over what is certain to have happened.
    pub(crate) fn note(&mut self, i: usize, events: Vec<Event>) -> Vec<Event> {
        let region = &mut self.regions[i];
        region.unkept.extend(events);
        if !self.durable {
            return region.unkept.drain(..).collect();
        }
        let Some(kept) = region.kept() else { return Vec::new() };
        let certain = region.unkept.partition_point(|event| event.tick <= kept);
        region.unkept.drain(..certain).collect()
    }

    /// Bodies of which something is not certain yet.
    pub(crate) fn unsettled(&self) -> BTreeSet<Nid> {
        self.regions.iter().flat_map(|region| &region.unkept).map(|event| event.nid).collect()
    }

    /// Remembers the state of a server after a tick.
    pub(crate) fn note_hash(&mut self, i: usize, node: &Node) {
        let hashes = &mut self.regions[i].hashes;
        hashes.push_back((node.now(), node.state_hash()));
        if hashes.len() > HASHES_KEPT {
            hashes.pop_front();
        }
    }

    /// The state that a region had at a tick, if remembered.
    pub(crate) fn hash_at(&self, i: usize, tick: Tick) -> Option<u64> {
        self.regions[i].hashes.iter().find(|(at, _)| *at == tick).map(|(_, hash)| *hash)
    }

    /// A change of the whole world was announced.
    pub(crate) fn announce(&mut self, change: &Change) {
        if let Change::Load { at, .. } = change {
            self.announced.retain(|earlier| matches!(earlier, Change::Load { .. }) || earlier.at() < *at);
        }
        self.announced.push(change.clone());
    }

    /// The backup of a region in a process hears a frame and answers.
    pub(crate) fn hear(&mut self, i: usize, process: u32, frame: Frame) -> Vec<Frame> {
        let mut out = Vec::new();
        if let Some(keeper) = self.regions[i].keepers.iter_mut().find(|keeper| keeper.process == process) {
            keeper.backup.handle(frame, &mut out);
        }
        out
    }

    /// A blow is to strike as soon as it may.
    pub(crate) fn plan(&mut self, fault: Fault, blow: Blow) {
        self.waiting.push((fault, blow));
    }

    /// No more blows.
    pub(crate) fn rest(&mut self) {
        self.waiting.clear();
    }

    /// The blows that may strike now: never is the only copy of anything destroyed.
    pub(crate) fn ripe(&mut self) -> Vec<(Fault, Blow)> {
        let mut struck = BTreeSet::new();
        let waiting = std::mem::take(&mut self.waiting);
        let (ripe, waiting) = waiting.into_iter().partition(|(fault, blow)| {
            let i = usize::from(blow.server);
            let region = &self.regions[i];
            let busy = region.down
                || self.promotions.iter().chain(&self.replacements).any(|(_, r)| *r == i)
                || self.zombies.iter().any(|zombie| zombie.region == i);
            let seeded = region.backup().is_some_and(|backup| backup.kept().is_some());
            !busy && (seeded || *fault == Fault::BackupLoss) && struck.insert(i)
        });
        self.waiting = waiting;
        ripe
    }

    pub(crate) fn crash(&mut self, i: usize, promote_at: u64) {
        self.regions[i].down = true;
        self.promotions.push((promote_at, i));
    }

    pub(crate) fn lose_backup(&mut self, i: usize, replace_at: u64) {
        self.regions[i].keepers.clear();
        self.replacements.push((replace_at, i));
    }

    /// Gives regions whose backup was lost a new one, and says which regions are to be taken over now.
    pub(crate) fn due(&mut self, tick: u64, nodes: &[Node]) -> Vec<usize> {
        let mut replaced = Vec::new();
        self.replacements.retain(|(at, i)| {
            replaced.extend((*at <= tick).then_some(*i));
            *at > tick
        });
        for i in replaced {
            self.give_backup(i, nodes[i].epoch());
        }
        let mut promoted = Vec::new();
        self.promotions.retain(|(at, i)| {
            promoted.extend((*at <= tick).then_some(*i));
            *at > tick
        });
        promoted
    }

    /// The backup of a region becomes its server. What was not kept never happened.
    pub(crate) fn promote(&mut self, i: usize, epoch: u32) -> Option<Node> {
        let keeper = self.regions[i].keepers.pop()?;
        self.origins += 1;
        let mut node = keeper.backup.promote(epoch + 1, Origin(self.origins)).ok()?;
        let restored = node.now();
        for change in self.announced.iter().filter(|change| change.at() > restored) {
            assert!(node.schedule(change.clone()), "there are few changes");
        }
        self.give_backup(i, node.epoch());
        let process = self.next_process();
        self.succeed(i, process, node.epoch());
        self.promoted += 1;
        Some(node)
    }

    /// Another process serves a region from now on. What happened there and is not certain never happened.
    pub(crate) fn succeed(&mut self, i: usize, process: u32, epoch: u32) {
        let region = &mut self.regions[i];
        (region.down, region.process, region.epoch) = (false, process, epoch);
        region.unkept.clear();
        region.hashes.clear();
    }

    /// Nobody serves or keeps anything yet.
    pub(crate) fn await_processes(&mut self) {
        for region in &mut self.regions {
            region.keepers.clear();
            (region.heir, region.down, region.process) = (None, true, APART);
        }
    }

    /// A process is gone, with all servers and backups in it.
    pub(crate) fn bury(&mut self, process: u32) {
        for region in &mut self.regions {
            region.down |= region.process == process;
            region.keepers.retain(|keeper| keeper.process != process);
        }
        self.zombies.retain(|zombie| zombie.process != process);
    }

    /// Which process a wake-up or frame is for, of those given up.
    pub(crate) fn zombie(&mut self, i: usize, process: u32) -> Option<&mut Zombie> {
        self.zombies.iter_mut().find(|zombie| zombie.region == i && zombie.process == process)
    }

    /// A frame for a region also reaches the process that once served it.
    pub(crate) fn haunt(&mut self, i: usize, frame: &Frame) {
        for zombie in self.zombies.iter_mut().filter(|zombie| zombie.region == i) {
            zombie.node.handle(frame.clone());
        }
    }

    fn give_backup(&mut self, i: usize, epoch: u32) {
        self.lives += 1;
        let backup = Backup::new(RegionId(i as u16), self.lives, epoch, self.planted).with_rules(self.rules.clone());
        let region = &mut self.regions[i];
        (region.keepers, region.heir) = (vec![Keeper { process: APART, epoch, backup }], Some(self.lives));
    }

    /// The number of the next start of a process.
    pub(crate) fn next_process(&mut self) -> u32 {
        self.processes += 1;
        self.processes
    }
}

impl RegionLife {
    /// The last tick that is certain: a backup of this epoch has it. One that is to be replaced counts as well, because
    /// whoever replaces it may not take over before it has everything that the server has.
    fn kept(&self) -> Option<Tick> {
        let of_epoch = self.keepers.iter().filter(|keeper| keeper.epoch == self.epoch);
        of_epoch.filter_map(|keeper| keeper.backup.kept()).max()
    }

    /// The backup that would take over, if it is there.
    pub(crate) fn backup(&self) -> Option<&Backup> {
        self.keepers.iter().map(|keeper| &keeper.backup).find(|backup| Some(backup.life()) == self.heir)
    }
}

impl Zombie {
    /// Runs what is due and says what a process says that does not know it was given up.
    pub(crate) fn wake(&mut self, due: Tick) -> Vec<Frame> {
        let mut next = self.node.first_due(due);
        while next <= due {
            self.node.tick(next);
            next = next.next();
        }
        let mut frames = Vec::new();
        self.node.emit(&mut frames);
        self.node.take_events();
        self.node.take_breaches();
        self.node.take_log();
        frames
    }
}
