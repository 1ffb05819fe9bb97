//! Processes die, are given up too early, or lose their backup; and the cluster goes on.
//!
//! The part of a control plane that recovery needs: it notices, promotes a backup under the next epoch, gives the new
//! server an empty backup and tells it which changes of the whole world are still to come.

use nimbus_model::{Nid, Origin, RegionId, Tick};
use nimbus_node::{Backup, Change, Event, Node, Planted};
use nimbus_wire::Frame;
use std::collections::{BTreeSet, VecDeque};

use crate::faults::Fault;
use crate::network::Nanos;
use crate::plan::Blow;

/// State hashes of a server are remembered for this many ticks, to compare its backup with.
const HASHES_KEPT: usize = 64;

/// What recovery knows of one region.
pub(crate) struct RegionLife {
    pub(crate) backup: Option<Backup>,
    /// The process is gone and nobody has taken over yet.
    pub(crate) down: bool,
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
    pub(crate) fn new(durable: bool, planted: Option<Planted>, regions: usize) -> Recovery {
        let mut recovery = Recovery {
            durable,
            planted,
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
            let backup = durable.then(|| recovery.fresh_backup(i, 1));
            let process = recovery.next_process();
            let (unkept, hashes) = (VecDeque::new(), VecDeque::new());
            recovery.regions.push(RegionLife { backup, down: false, process, unkept, hashes });
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
        let Some(kept) = region.backup.as_ref().and_then(Backup::kept) else { return Vec::new() };
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
            self.announced.retain(|earlier| !matches!(earlier, Change::Map(map) if map.effective() >= *at));
        }
        self.announced.push(change.clone());
    }

    /// A backup hears a frame and answers.
    pub(crate) fn hear(&mut self, i: usize, frame: Frame) -> Vec<Frame> {
        let mut out = Vec::new();
        if let Some(backup) = &mut self.regions[i].backup {
            backup.handle(frame, &mut out);
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
            let seeded = region.backup.as_ref().is_some_and(|backup| backup.kept().is_some());
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
        self.regions[i].backup = None;
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
            let backup = self.fresh_backup(i, nodes[i].epoch());
            self.regions[i].backup = Some(backup);
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
        let backup = self.regions[i].backup.take()?;
        self.origins += 1;
        let mut node = backup.promote(epoch + 1, Origin(self.origins)).ok()?;
        let restored = node.now();
        for change in self.announced.iter().filter(|change| change.at() > restored) {
            assert!(node.schedule(change.clone()), "there are few changes");
        }
        let backup = self.fresh_backup(i, node.epoch());
        let process = self.next_process();
        let region = &mut self.regions[i];
        (region.backup, region.down, region.process) = (Some(backup), false, process);
        region.unkept.clear();
        region.hashes.clear();
        self.promoted += 1;
        Some(node)
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

    fn fresh_backup(&mut self, i: usize, epoch: u32) -> Backup {
        self.lives += 1;
        Backup::new(RegionId(i as u16), self.lives, epoch, self.planted)
    }

    fn next_process(&mut self) -> u32 {
        self.processes += 1;
        self.processes
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
