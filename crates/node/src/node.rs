//! The server itself: its state and the order of things within a tick.

use nimbus_model::{BodyDesc, Keepsake, Mixer, Motion, Nid, Placed, RegionId, Tick, World};
use nimbus_physics::{PhysicsWorld, ScratchWorld};
use nimbus_space::PartitionMap;
use nimbus_wire::lane::RESEND_TICKS;
use nimbus_wire::{Address, Content, Course, Frame, GatewayId, Item, LaneFrame, Linkage, StateUpdate};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::asked::Asked;
use crate::awaited::Latest;
use crate::breach::{Breach, Factor};
use crate::budget::BudgetState;
use crate::config::{NodeConfig, Planted, Policy};
use crate::contact_events::ContactLog;
use crate::counters::Counters;
use crate::event::{Cause, Event, EventKind};
use crate::freight::GROUP_BYTES_MAX;
use crate::horizon::Horizon;
use crate::inbox::{Inbox, Input};
use crate::leg_times::{LegTimes, Meters};
use crate::log::TickLog;
use crate::outbox::Outbox;
use crate::pending::Pending;
use crate::play::{Agenda, GameLog};
use crate::recent::Recent;
use crate::record_stream::RecordStream;
use crate::reigns::Reigns;
use crate::seam::Seam;
use crate::wishes::{Listener, Wishes};

/// Where bodies went is remembered for this long, so that commands can follow them.
const DEPARTED_TICKS: u64 = 600;
/// A server further behind than this skips tick numbers.
const BEHIND_TICKS_MAX: u64 = 8;
/// Most changes of the whole world that may wait for their tick.
const CHANGES_MAX: usize = 64;

/// A change of the whole world. Every server gets it ahead of time and makes it at the same named tick.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// Forget everything and start with this world.
    Load {
        /// When.
        at: Tick,
        /// How often a world has been loaded, this time included.
        era: u16,
        /// The world.
        world: Arc<World>,
        /// Its first partition.
        map: PartitionMap,
    },
    /// Another partition, at its own effective tick.
    Map(PartitionMap),
    /// Other statics beside those of the world's description.
    Statics {
        /// When.
        at: Tick,
        /// The world they are for, by how often one has been loaded.
        era: u16,
        /// All of them.
        placed: Arc<Placed>,
    },
}

impl Change {
    /// When the change takes effect.
    pub fn at(&self) -> Tick {
        match self {
            Change::Load { at, .. } | Change::Statics { at, .. } => *at,
            Change::Map(map) => map.effective(),
        }
    }
}

/// A point within a tick at which a shell may look at its clock. The core has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The engine's step is about to begin.
    StepBegins,
    /// The engine's step is over.
    StepEnds,
}

/// One server. See the crate's description for how a shell drives it.
#[derive(Serialize, Deserialize)]
pub struct Node {
    pub(crate) config: NodeConfig,
    pub(crate) world: Arc<World>,
    pub(crate) era: u16,
    pub(crate) epoch: u32,
    /// The tick under way, or the last one completed.
    pub(crate) now: Tick,
    pub(crate) loaded_at: Tick,
    /// See [`Node::applied_at`].
    #[serde(skip)]
    pub(crate) applied_at: Tick,
    pub(crate) map: PartitionMap,
    /// The partition that decides about births, and those that will, the oldest first. Never empty.
    pub(crate) cradles: Vec<PartitionMap>,
    /// The partition before it, while that still matters.
    pub(crate) former: Option<PartitionMap>,
    pub(crate) changes: Vec<Change>,
    /// Changes that the shell has announced since the last tick.
    #[serde(skip)]
    announced: Vec<Change>,
    pub(crate) physics: PhysicsWorld,
    /// What this server owns, with the epoch of its reign over each.
    pub(crate) hosted: Reigns,
    /// Where bodies went, and when.
    pub(crate) departed: BTreeMap<Nid, (RegionId, Tick)>,
    /// Bodies that a neighbour gave back, and when.
    pub(crate) returned: BTreeMap<Nid, Tick>,
    /// Bodies the policy must look at although they may be asleep.
    pub(crate) suspects: BTreeSet<Nid>,
    /// Awake bodies whose box has left this region's volume in the last step.
    pub(crate) outside: Vec<Nid>,
    /// Where awake bodies were after the last step, for the gateways.
    #[serde(skip)]
    pub(crate) moved: Vec<StateUpdate>,
    /// When gateways last got a report on the seams.
    #[serde(skip)]
    pub(crate) seams_told: Tick,
    /// When gateways were last told of motion.
    #[serde(skip)]
    pub(crate) states_told: Tick,
    /// What gateways want to hear.
    #[serde(skip)]
    pub(crate) wishes: Wishes,
    /// Gateways that hear of touches.
    pub(crate) listeners: BTreeMap<GatewayId, Listener>,
    /// Bodies that gateways have yet to hear of.
    pub(crate) untold: BTreeSet<(GatewayId, Nid)>,
    /// Who watches from the next tick on, as the shell said.
    #[serde(skip)]
    pub(crate) watchers: Option<Vec<GatewayId>>,
    pub(crate) serial: u64,
    pub(crate) inbox: Inbox,
    pub(crate) outbox: Outbox,
    pub(crate) peer_epochs: BTreeMap<Address, u32>,
    pub(crate) counters: Counters,
    pub(crate) budget: BudgetState,
    pub(crate) injected: Vec<Arc<BodyDesc>>,
    pub(crate) horizon: Horizon,
    pub(crate) pending: Pending,
    /// Commands that bodies have obeyed lately.
    pub(crate) recent: Recent,
    /// Where kinematic bodies are on their way to.
    pub(crate) courses: BTreeMap<Nid, Course>,
    /// Joints that wait for their bodies to come together.
    pub(crate) linkages: Vec<Linkage>,
    pub(crate) seam: Seam,
    /// Made when the first group has to be caught up.
    #[serde(skip)]
    pub(crate) scratch: Option<ScratchWorld>,
    /// Questions for a tick. They change nothing, so no log and no successor has to know of them.
    #[serde(skip)]
    pub(crate) asked: Asked,
    /// Measured times that the horizon goes by.
    pub(crate) leg_times: LegTimes,
    #[serde(skip)]
    pub(crate) meters: Meters,
    /// The time on the common timeline, as the shell last said it, microseconds.
    #[serde(skip)]
    pub(crate) clock_us: u64,
    /// When the shell last woke it.
    #[serde(skip)]
    pub(crate) woke_us: u64,
    /// What came last of each neighbour. No state of the world: it says when a shell runs ticks, and not what they do.
    #[serde(skip)]
    pub(crate) latest: BTreeMap<RegionId, Latest>,
    /// The tick after which frames last went to other regions.
    #[serde(skip)]
    emitted: Tick,
    /// The last tick that the backup has, as the log says.
    pub(crate) kept: Tick,
    /// A group that takes more bytes than this stays. The same everywhere but in tests.
    #[serde(skip, default = "group_bytes_max")]
    pub(crate) group_bytes_max: usize,
    pub(crate) contacts: ContactLog,
    /// What a game keeps with bodies that this server owns.
    pub(crate) keepsakes: BTreeMap<Nid, Keepsake>,
    pub(crate) game_log: GameLog,
    #[serde(skip)]
    pub(crate) agenda: Agenda,
    #[serde(skip)]
    pub(crate) stream: RecordStream,
    /// What the planted bug of stale seeds gives to every backup.
    #[serde(skip)]
    pub(crate) former_seed: Option<Vec<u8>>,
    #[serde(skip)]
    log: Vec<TickLog>,
    #[serde(skip)]
    events: Vec<Event>,
    #[serde(skip)]
    pub(crate) breaches: Vec<Breach>,
}

impl Node {
    /// A server for a region of a world that was loaded at tick `at`; its first tick will be `at + 1`.
    pub fn new(config: NodeConfig, world: Arc<World>, era: u16, map: PartitionMap, at: Tick) -> Node {
        let mut node = Node::empty(config, world, era, map, at);
        node.populate();
        node
    }

    /// The same without any bodies.
    pub(crate) fn empty(mut config: NodeConfig, world: Arc<World>, era: u16, map: PartitionMap, at: Tick) -> Node {
        config.aura.commits = config.durable && config.planted != Some(Planted::NoCommitLeg);
        let seam = Seam::of(&world);
        let mut node = Node {
            physics: physics_of(config.contacts || config.game.is_some(), &world, era),
            horizon: Horizon::new(&world, &config.aura),
            pending: Pending::default(),
            recent: Recent::default(),
            courses: BTreeMap::new(),
            linkages: Vec::new(),
            seam,
            scratch: None,
            asked: Asked::default(),
            leg_times: LegTimes::default(),
            meters: Meters::default(),
            clock_us: 0,
            woke_us: 0,
            latest: BTreeMap::new(),
            emitted: Tick(0),
            config,
            world,
            era,
            epoch: 1,
            now: at,
            loaded_at: at,
            applied_at: at,
            cradles: vec![map.clone()],
            map,
            former: None,
            changes: Vec::new(),
            announced: Vec::new(),
            hosted: Reigns::default(),
            departed: BTreeMap::new(),
            returned: BTreeMap::new(),
            suspects: BTreeSet::new(),
            outside: Vec::new(),
            moved: Vec::new(),
            seams_told: at,
            states_told: at,
            wishes: Wishes::default(),
            listeners: BTreeMap::new(),
            untold: BTreeSet::new(),
            watchers: None,
            serial: 0,
            inbox: Inbox::default(),
            outbox: Outbox::default(),
            peer_epochs: BTreeMap::new(),
            counters: Counters::default(),
            budget: BudgetState::default(),
            injected: Vec::new(),
            kept: at,
            group_bytes_max: GROUP_BYTES_MAX,
            contacts: ContactLog::default(),
            keepsakes: BTreeMap::new(),
            game_log: GameLog::default(),
            agenda: Agenda::default(),
            stream: RecordStream::default(),
            former_seed: None,
            log: Vec::new(),
            events: Vec::new(),
            breaches: Vec::new(),
        };
        node.follow_map();
        node
    }

    /// Takes a frame, at any time. What it says takes effect at a later tick.
    pub fn handle(&mut self, frame: Frame) {
        let Some(frame) = self.hear_backup(frame) else { return };
        let known = self.peer_epochs.get(&frame.from).copied().unwrap_or(0);
        let for_me = frame.to == Address::Region(self.config.region) && frame.era == self.era;
        match frame.content {
            Content::Lane(lane) if for_me && frame.epoch >= known && self.outbox.was_sent(frame.from, lane.ack) => {
                self.peer_epochs.insert(frame.from, frame.epoch);
                self.inbox.receive(frame.from, frame.epoch, lane, self.config.planted);
            }
            Content::Auras(auras) if for_me && frame.epoch >= known => {
                self.time_frame(auras.sent_us);
                if let Address::Region(from) = frame.from {
                    self.note_latest(from, frame.tick, &auras);
                }
                self.inbox.receive_auras(frame.from, frame.tick, auras);
            }
            Content::Ask(ask) if for_me && frame.epoch >= known => self.hear_ask(frame.from, ask),
            Content::Wish(wish) if for_me && frame.epoch >= known => self.hear_wish(frame.from, frame.tick, wish),
            _ => self.counters.frames_void += 1,
        }
    }

    /// Takes a change of the whole world, to be made when its tick comes. Refused (false) when too many are waiting.
    pub fn schedule(&mut self, change: Change) -> bool {
        if self.changes.len() + self.announced.len() >= CHANGES_MAX {
            return false;
        }
        self.announced.push(change);
        true
    }

    /// Knows from now on that a change is to come.
    fn expect(&mut self, change: &Change) {
        if let Change::Load { at, .. } = change {
            // Partitions announced before belong to the world that ends.
            self.changes.retain(|earlier| !matches!(earlier, Change::Map(map) if map.effective() >= *at));
        }
        self.changes.push(change.clone());
        self.changes.sort_by_key(Change::at);
    }

    /// Runs one tick. It must be above the last one; a gap means that the server fell behind and skips tick numbers.
    pub fn tick(&mut self, tick: Tick) {
        self.tick_with(tick, &mut |_| {});
    }

    /// The same, and tells the shell when the engine's step begins and ends, so that it can be timed from outside.
    pub fn tick_with(&mut self, tick: Tick, probe: &mut dyn FnMut(Phase)) {
        assert!(tick > self.now, "tick {tick} does not follow {}", self.now);
        let mut inputs = Vec::new();
        for change in std::mem::take(&mut self.announced) {
            self.expect(&change);
            inputs.push(Input::Announced(change));
        }
        let due = self.changes.partition_point(|change| change.at() <= tick);
        let loads = self.changes[..due].iter().any(|change| matches!(change, Change::Load { .. }));
        inputs.extend(self.changes.drain(..due).map(Input::Change));
        if !loads {
            let gate = self.gate();
            self.inbox.due(tick, self.config.policy, gate, &mut inputs);
            inputs.extend(self.listeners_input());
            inputs.extend(self.watchers_input());
        }
        inputs.extend(self.kept_input());
        inputs.extend(self.times_input());
        self.run(tick, &inputs, probe);
        self.record(tick, &inputs);
        if self.config.planted == Some(Planted::UnloggedOrder) {
            inputs.reverse();
        }
        if self.config.log {
            self.log.push(TickLog { tick, inputs });
        }
        self.answer_asks();
    }

    /// Runs one tick again from its log: the same state and the same log give the same bits.
    pub fn replay(&mut self, entry: &TickLog) {
        for input in &entry.inputs {
            match input {
                Input::Item { from, sequence, .. } => self.inbox.replayed(*from, *sequence),
                Input::Announced(change) => self.expect(change),
                _ => {}
            }
        }
        self.changes.retain(|change| change.at() > entry.tick);
        self.run(entry.tick, &entry.inputs, &mut |_| {});
    }

    fn run(&mut self, tick: Tick, inputs: &[Input], probe: &mut dyn FnMut(Phase)) {
        let mut changes = inputs.iter().filter_map(|input| match input {
            Input::Change(change) => Some(change),
            _ => None,
        });
        let mut change = changes.next();
        let mut lost = 0u32;
        for t in self.now.next().0..=tick.0 {
            self.now = Tick(t);
            while let Some(due) = change.filter(|change| change.at() <= self.now) {
                self.make(due);
                change = changes.next();
            }
            if self.now < tick {
                // A tick that is skipped is not stepped, but what the world itself does then still happens.
                self.counters.ticks_lost += 1;
                lost += 1;
                if self.config.planted != Some(Planted::SkippedBirths) {
                    self.inject(self.now);
                }
                self.push_scripted(self.now, self.now, |_| true);
            }
        }
        if self.loaded_at == tick {
            return;
        }
        if lost > 0 {
            self.breach(Factor::TimeLost, lost as f32, 0.0, Vec::new());
        }
        for input in inputs {
            match input {
                Input::Change(_) | Input::Announced(_) | Input::Force { .. } => {}
                Input::Kept { upto } => self.kept = *upto,
                Input::Gateways(gateways) => self.follow_gateways(gateways),
                Input::Listeners(listeners) => self.follow_listeners(listeners),
                Input::Ack { from, upto } => self.take_ack(*from, *upto),
                Input::Item { from, item, said, .. } => {
                    self.time_item(*said, item);
                    self.take_item(*from, item.clone());
                }
                Input::Times(times) => self.go_by(*times),
                Input::Auras { from, tick, frame } => self.seam.hear(*from, *tick, self.now, frame),
                Input::Measured { factor, value } => self.breach_measured(*factor, *value),
            }
        }
        self.forget_former();
        self.end_waits();
        self.inject(tick);
        self.push_scripted(tick, tick, |_| true);
        self.follow_courses();
        self.reorder();
        self.step(probe);
        self.play_turn();
        self.obey(inputs);
        self.link_up();
        self.watch_backup();
        self.watch_budget();
        self.apply_policy();
        self.tell_untold();
        self.release_contacts();
        self.tell_touches();
        if tick.0.is_multiple_of(DEPARTED_TICKS / 4) {
            self.forget_departed(tick - DEPARTED_TICKS);
        }
    }

    /// Says what has to be said. Called once after the ticks of a wake-up.
    pub fn emit(&mut self, out: &mut Vec<Frame>) {
        let peers: BTreeSet<Address> = self.inbox.peers().chain(self.outbox.peers()).collect();
        let regions_too = self.now.since(self.emitted) >= u64::from(self.config.aura.send_every);
        for peer in peers.into_iter().filter(|peer| regions_too || !matches!(peer, Address::Region(_))) {
            let (mark, owed) = self.owed_ack(peer);
            let hurried = matches!(peer, Address::Region(_)) && self.config.aura.copies > 1;
            let patience = if hurried { 1 } else { RESEND_TICKS };
            let lane = self.outbox.poll(peer, self.now, mark, patience, self.forgets());
            let lane = lane.or_else(|| owed.then(|| LaneFrame { ack: mark, first: 1, items: Vec::new() }));
            if let Some(lane) = lane {
                let moves = lane.items.iter().any(|(_, item)| matches!(item, Item::Transfer(_)));
                let copies = if hurried && moves { self.config.aura.copies } else { 1 };
                let frame = self.frame(peer, Content::Lane(lane));
                out.extend(std::iter::repeat_n(frame, usize::from(copies)));
            }
        }
        if regions_too {
            self.emitted = self.now;
            if self.config.policy.announces() {
                self.emit_auras(out);
            }
        }
        self.emit_records(out);
        self.emit_states(out);
        self.emit_seams(out);
        self.emit_replies(out);
    }

    fn make(&mut self, change: &Change) {
        self.applied_at = self.now;
        match change {
            Change::Map(map) => {
                if map.epoch() > self.map.epoch() {
                    self.change_map(map);
                    self.fit_horizon();
                    self.expect_births(map);
                    self.suspect_everyone();
                    self.follow_map();
                }
            }
            Change::Statics { era, placed, .. } => self.place_statics(*era, placed),
            Change::Load { .. } if self.config.planted == Some(Planted::DeafToLoads) => {}
            Change::Load { at, era, world, map } => {
                self.world = world.clone();
                self.era = *era;
                self.loaded_at = if self.config.planted == Some(Planted::LoadsAtNow) { self.now } else { *at };
                self.map = map.clone();
                self.cradles = vec![map.clone()];
                self.former = None;
                self.physics = physics_of(self.wants_contacts(), world, *era);
                self.horizon = Horizon::new(world, &self.config.aura);
                self.leg_times = LegTimes::default();
                self.seam = Seam::of(world);
                self.scratch = None;
                self.asked = Asked::default();
                self.pending = Pending::default();
                self.recent = Recent::default();
                self.keepsakes.clear();
                self.agenda = Agenda::default();
                self.courses.clear();
                self.linkages.clear();
                self.hosted.clear();
                self.departed.clear();
                self.returned.clear();
                self.suspects.clear();
                self.outside.clear();
                self.moved.clear();
                self.untold.clear();
                self.budget = BudgetState::default();
                self.injected.clear();
                self.inbox.clear();
                self.outbox = Outbox::default();
                self.counters.arrived = 0;
                self.counters.left = 0;
                self.follow_map();
                self.populate();
                // One that hears of it too late makes up for what the world has done since.
                for late in at.next().0..self.now.0 {
                    self.inject(Tick(late));
                    self.push_scripted(Tick(late), Tick(late), |_| true);
                }
            }
        }
    }

    fn take_ack(&mut self, from: Address, upto: u64) {
        if self.config.planted != Some(Planted::DeafToAcks) {
            self.outbox.acknowledge(from, upto);
        }
    }

    fn take_item(&mut self, from: Address, item: Item) {
        match (from, item) {
            (Address::Region(region), Item::Transfer(transfer)) => self.adopt(region, transfer),
            (Address::Region(region), Item::Rests(auras)) => self.seam.rest(region, auras),
            (Address::Region(region), Item::Stirs(nids)) => self.seam.stir(region, &nids),
            (Address::Region(region), Item::Offer { id, islands }) => {
                self.seam.offers.heard.push((region, id, islands));
            }
            (Address::Region(region), Item::Accept { id, islands, until }) => {
                self.seam.offers.accepted.push((region, id, islands, until));
            }
            (Address::Region(_), Item::Linkage(linkage)) => self.take_linkage(linkage),
            (Address::Region(region), Item::Seek(nid)) => self.answer_seek(region, nid),
            (Address::Region(region), Item::Found(nid)) => self.note_found(region, nid),
            (Address::Region(_), Item::Deed(deed)) => self.see_to(deed),
            (Address::Region(_), Item::Birth(birth)) => self.take_birth(birth),
            (_, Item::Order(order)) => self.carry_out(order),
            _ => self.counters.frames_void += 1,
        }
    }

    fn step(&mut self, probe: &mut dyn FnMut(Phase)) {
        probe(Phase::StepBegins);
        let report = self.physics.step();
        probe(Phase::StepEnds);
        self.counters.body_ticks += self.hosted.len() as u64;
        let asleep = report.fell_asleep.clone();
        let woke = report.woke.clone();
        let mut lost = report.quarantined.clone();
        self.note_step_contacts();
        self.counters.quarantined += lost.len() as u64;
        lost.sort_unstable();
        self.bury(&lost, Cause::Quarantined);
        let strays = self.survey();
        self.bury(&strays, Cause::LeftWorld);
        self.tell_rested(&asleep);
        self.follow_sleepers(&asleep, &woke);
    }

    /// One look at every awake body: who has left the world (the answer, in order), who has left this region's volume, and
    /// where everybody is, for the gateways.
    fn survey(&mut self) -> Vec<Nid> {
        self.moved = self.physics.take_moved();
        let Node { physics, map, world, config, hosted, outside, moved, .. } = self;
        let mut strays = Vec::new();
        let mut reigns = hosted.iter().peekable();
        outside.clear();
        moved.retain_mut(|StateUpdate { nid, body_epoch, pose, .. }| {
            if !world.kill_box.holds(pose.position) {
                strays.push(*nid);
                return false;
            }
            let leaves = map.region_at(pose.position) != config.region
                && (config.policy == Policy::Naive
                    || physics.view(*nid).is_some_and(|body| !map.meets(config.region, &body.aabb())));
            if leaves {
                outside.push(*nid);
            }
            while reigns.next_if(|(hosted, _)| *hosted < *nid).is_some() {}
            let reign = reigns.next_if(|(hosted, _)| *hosted == *nid);
            *body_epoch = reign.map_or(0, |(_, epoch)| epoch);
            reign.is_some()
        });
        strays
    }

    /// Partitions that were announced and are not in force yet.
    pub(crate) fn next_maps(&self) -> impl Iterator<Item = &PartitionMap> {
        self.changes.iter().filter_map(|change| match change {
            Change::Map(map) => Some(map),
            Change::Load { .. } | Change::Statics { .. } => None,
        })
    }

    /// True when transfers are forgotten as soon as they are sent.
    pub(crate) fn forgets(&self) -> bool {
        self.config.policy == Policy::Forgetful || self.config.planted == Some(Planted::ForgetOnSend)
    }

    pub(crate) fn report(&mut self, nid: Nid, body_epoch: u32, kind: EventKind) {
        let (era, tick, region) = (self.era, self.now, self.config.region);
        self.events.push(Event { era, tick, region, nid, body_epoch, kind });
    }

    pub(crate) fn frame(&self, to: Address, content: Content) -> Frame {
        let from = Address::Region(self.config.region);
        Frame { from, to, era: self.era, epoch: self.epoch, tick: self.now, content }
    }

    /// One shared copy of a description that injections make again and again.
    pub(crate) fn shared_desc(&mut self, desc: &BodyDesc) -> Arc<BodyDesc> {
        if let Some(known) = self.injected.iter().find(|known| ***known == *desc) {
            return known.clone();
        }
        let shared = Arc::new(desc.clone());
        self.injected.push(shared.clone());
        shared
    }

    /// The tick to run first at a wake-up when ticks up to `due` are due: the next one, unless the server is so far
    /// behind that it must skip some.
    pub fn first_due(&self, due: Tick) -> Tick {
        let next = self.now.next();
        if due.since(next) >= BEHIND_TICKS_MAX { due } else { next }
    }

    /// The region it serves.
    pub fn region(&self) -> RegionId {
        self.config.region
    }

    /// The last tick completed.
    pub fn now(&self) -> Tick {
        self.now
    }

    /// How often a world has been loaded.
    pub fn era(&self) -> u16 {
        self.era
    }

    /// Which life of the region this is.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The partition in force.
    pub fn map(&self) -> &PartitionMap {
        &self.map
    }

    /// When its world was loaded.
    pub fn loaded_at(&self) -> Tick {
        self.loaded_at
    }

    /// The last tick at which it made a change of the whole world; a server from a snapshot says that of the snapshot. A
    /// change that it hears of late is made later than the change's own tick.
    pub fn applied_at(&self) -> Tick {
        self.applied_at
    }

    /// The world it runs.
    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    /// What it owns, with the epoch of each, in order of id.
    pub fn hosted(&self) -> impl Iterator<Item = (Nid, u32)> {
        self.hosted.iter()
    }

    /// How many bodies it owns.
    pub fn hosted_count(&self) -> usize {
        self.hosted.len()
    }

    /// How many of them are awake.
    pub fn awake_count(&self) -> usize {
        self.physics.awake_len()
    }

    /// What a body it owns is doing.
    pub fn motion(&self, nid: Nid) -> Option<Motion> {
        self.hosted.get(nid)?;
        self.physics.motion(nid)
    }

    /// Bodies it gave away whose arrival is not acknowledged yet.
    pub fn in_flight(&self) -> impl Iterator<Item = (Nid, u32)> {
        self.outbox.unacknowledged().flat_map(|(_, item)| {
            match item {
                Item::Transfer(transfer) => transfer.claims.as_slice(),
                _ => &[],
            }
            .iter()
            .map(|claim| (claim.nid, claim.body_epoch))
        })
    }

    /// Bodies that will appear: here, or at a server that was asked to make them and has not acknowledged it.
    pub fn unborn(&self) -> impl Iterator<Item = Nid> {
        let passed_on = self.outbox.unacknowledged().filter_map(|(_, item)| match item {
            Item::Birth(birth) => Some(birth.nid),
            _ => None,
        });
        passed_on.chain(self.pending.births().into_iter().map(|birth| birth.nid))
    }

    /// Every queue that something outside can make grow: for whom, how long, and when its oldest item was said.
    pub fn queues(&self) -> impl Iterator<Item = (Address, usize, Option<Tick>)> {
        self.outbox.lengths()
    }

    /// Items that arrived and wait for their turn.
    pub fn held(&self) -> usize {
        self.inbox.held()
    }

    /// Joints that wait here for their bodies to come together.
    pub fn linkages_waiting(&self) -> usize {
        self.linkages.len()
    }

    /// What it counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The physics world, to look at.
    pub fn physics(&self) -> &PhysicsWorld {
        &self.physics
    }

    /// What happened since the last call.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Promises that became void since the last call.
    pub fn take_breaches(&mut self) -> Vec<Breach> {
        std::mem::take(&mut self.breaches)
    }

    /// The log since the last call; empty unless the configuration asks for a log.
    pub fn take_log(&mut self) -> Vec<TickLog> {
        std::mem::take(&mut self.log)
    }

    /// One number for the whole state of what it owns: equal numbers, equal bits.
    pub fn state_hash(&self) -> u64 {
        let mut mixer = Mixer::new();
        mixer.word(self.physics.state_hash());
        mixer.word(u64::from(self.config.region.0));
        mixer.word(u64::from(self.era));
        for (nid, epoch) in self.hosted.iter() {
            mixer.word(nid.0);
            mixer.word(u64::from(epoch));
        }
        for (nid, kept) in &self.keepsakes {
            mixer.word(nid.0);
            mixer.word(u64::from(kept.children));
            mixer.bytes(kept.state.bytes());
        }
        mixer.finish()
    }
}

fn group_bytes_max() -> usize {
    GROUP_BYTES_MAX
}

/// An empty world, which tells of touches if somebody wants to know.
fn physics_of(contacts: bool, world: &World, era: u16) -> PhysicsWorld {
    let mut physics = PhysicsWorld::new(world, era);
    physics.report_contacts(contacts);
    physics
}
