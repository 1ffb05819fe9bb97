//! The gateway itself: the order in which a tick does things, and the way in for frames, clients and the shell.

mod asking;
mod commanding;
mod wishing;

use nimbus_model::{ClientId, Nid, Placed, RegionId, Tick, World};
use nimbus_space::PartitionMap;
use nimbus_wire::client::{
    Bounds, CLIENT_PROTOCOL, ClientRole, FromClient, Overlay, Parsed, RegionShape, Reject, SceneInfo, ToClient,
    WorldStats,
};
use nimbus_wire::{Address, Content, Frame, GatewayId, Item, Outcome, SeamTotals, StateUpdate};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::channel::Scenery;
use crate::channels::Channels;
use crate::fan_outs::FanOuts;
use crate::lanes::{Lanes, Sender};
use crate::mirror::Mirror;
use crate::orders::Orders;
use crate::quotas::Quotas;
use crate::replicas::{Replica, Replicas, Voice};
use crate::seams::Seams;
use crate::sessions::{Allowance, Sessions};
use crate::statics::StaticChanges;
use crate::stats::Stats;
use crate::stream::Stream;
use crate::touching::Touching;
use crate::wishes::Wishes;
use crate::{Counters, Message, Outputs};

/// State frames kept between two ticks.
const STATE_FRAMES_MAX: usize = 4096;
/// Frames kept that speak of a world that is about to be loaded.
const EARLY_FRAMES_MAX: usize = 4096;
/// Maps that wait for their tick.
const MAPS_MAX: usize = 64;

/// What a gateway is told once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayConfig {
    /// Which gateway of the deployment it is.
    pub id: GatewayId,
    /// Which life of the gateway it is; raised with every restart.
    pub epoch: u32,
    /// Clients it serves at once.
    pub clients_max: usize,
    /// Commands to the world that one client may give in a second of the timeline.
    pub commands_per_second: u32,
    /// Living bodies that one client may have made; admins have no limit.
    pub bodies_per_client: usize,
    /// Commands it may save up.
    pub command_burst: u32,
    /// Regions have backups: births, deaths and outcomes are shown only once they are certain to stand.
    pub durable: bool,
    /// Whom it serves.
    pub serves: Serves,
}

/// Whom a gateway serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Serves {
    /// Whoever looks, plays or asks.
    #[default]
    Everybody,
    /// Whoever asks what is where. It shows nothing and takes no commands, so nothing delays its answers, and it always knows
    /// where everything is.
    Questions,
}

impl Default for GatewayConfig {
    fn default() -> Self {
        let id = GatewayId::default();
        GatewayConfig {
            id,
            epoch: 1,
            clients_max: 1000,
            commands_per_second: 200,
            bodies_per_client: 1000,
            command_burst: 400,
            durable: false,
            serves: Serves::Everybody,
        }
    }
}

/// A world that takes effect at a named tick.
#[derive(Debug)]
struct Upcoming {
    world: Arc<World>,
    era: u16,
    map: PartitionMap,
    at: Tick,
}

/// One gateway, sans-IO and deterministic.
///
/// Between ticks, [`Gateway::handle`] takes frames and [`Gateway::client_text`] takes commands; both only note what
/// came. [`Gateway::tick`] applies it all and appends to [`Outputs`]. While the timeline stands still the shell either
/// calls `tick` again with the same tick or calls [`Gateway::poll`], so that clients are still let in and answered.
#[derive(Debug)]
pub struct Gateway {
    config: GatewayConfig,
    scenes: Vec<SceneInfo>,
    world: Arc<World>,
    era: u16,
    map: PartitionMap,
    now: Tick,
    upcoming: Option<Upcoming>,
    /// Maps that wait for their tick, each with the number of loads asked for before it: a load voids older ones.
    maps: Vec<(u64, PartitionMap)>,
    loads: u64,
    statics: StaticChanges,
    early: Vec<Frame>,
    paused: bool,
    speed: f32,
    dilation: f32,
    /// Texts for everybody who is settled.
    news: Vec<Message>,
    lanes: Lanes,
    states: Vec<(Voice, Vec<StateUpdate>)>,
    replicas: Replicas,
    mirror: Mirror,
    stream: Stream,
    channels: Channels,
    seams: Seams,
    sessions: Sessions,
    orders: Orders,
    fan_outs: FanOuts,
    quotas: Quotas,
    touching: Touching,
    wishes: Wishes,
    stats: Stats,
    counters: Counters,
}

impl Gateway {
    /// A gateway to a world that runs already or is about to; bodies become known as regions tell of them.
    pub fn new(
        config: GatewayConfig,
        scenes: Vec<SceneInfo>,
        world: Arc<World>,
        era: u16,
        map: PartitionMap,
    ) -> Gateway {
        let durable = config.durable;
        Gateway {
            stats: Stats::of_new_world(&world.name, era, Tick(0)),
            config,
            scenes,
            world,
            era,
            map,
            now: Tick(0),
            upcoming: None,
            maps: Vec::new(),
            loads: 0,
            statics: StaticChanges::default(),
            early: Vec::new(),
            paused: false,
            speed: 1.0,
            dilation: 1.0,
            news: Vec::new(),
            lanes: Lanes::new(durable),
            states: Vec::new(),
            replicas: Replicas::default(),
            mirror: Mirror::default(),
            stream: Stream::default(),
            channels: Channels::default(),
            seams: Seams::default(),
            sessions: Sessions::default(),
            orders: Orders::default(),
            fan_outs: FanOuts::default(),
            quotas: Quotas::default(),
            touching: Touching::default(),
            wishes: Wishes::default(),
            counters: Counters::default(),
        }
    }

    /// Another world takes over at a named tick. Until then the present one goes on; then every replica, lane and
    /// command under way is void. A later call replaces one that has not taken effect.
    pub fn load(&mut self, world: Arc<World>, era: u16, map: PartitionMap, at: Tick) {
        self.loads += 1;
        self.early.clear();
        self.upcoming = Some(Upcoming { world, era, map, at });
    }

    /// Boundaries change at the tick that the map names.
    pub fn set_map(&mut self, map: PartitionMap) {
        if self.maps.len() == MAPS_MAX {
            self.maps.remove(0);
        }
        self.maps.push((self.loads, map));
    }

    /// The statics put into the world of an era change at a tick.
    pub fn set_statics(&mut self, at: Tick, era: u16, placed: Arc<Placed>) {
        self.statics.expect(at, era, placed);
    }

    /// The timeline stops, resumes or changes its speed, or the share of that speed at which it really passes; clients are
    /// told.
    pub fn set_clock(&mut self, paused: bool, speed: f32, dilation: f32) {
        if (paused, speed, dilation) != (self.paused, self.speed, self.dilation) {
            (self.paused, self.speed, self.dilation) = (paused, speed, dilation);
            if paused {
                self.abandon_fan_outs("time was stopped before every server had answered");
            }
            self.news.push(ToClient::Clock { paused, speed, dilation }.into());
        }
    }

    /// New figures, sent to clients twice a second of the timeline.
    pub fn set_stats(&mut self, stats: WorldStats) {
        self.stats.set(stats);
    }

    /// Sends the figures now. For the shell, twice a second of real time, while the timeline stands still.
    pub fn broadcast_stats(&mut self, out: &mut Outputs) {
        let message = self.stats.message();
        self.news.push(message);
        self.show_overlays(out);
        self.poll(out);
    }

    /// Lets a client in; its first picture comes with the next tick or poll. Or the reason why not, for a person.
    pub fn connect(&mut self, client: ClientId, role: ClientRole) -> Result<(), String> {
        let watches = self.config.serves == Serves::Questions;
        self.sessions.connect((client, role, watches), self.config.clients_max, self.allowance())
    }

    /// Lets a client in that sees no bodies until it says what it watches.
    pub fn connect_watching(&mut self, client: ClientId, role: ClientRole) -> Result<(), String> {
        self.sessions.connect((client, role, true), self.config.clients_max, self.allowance())
    }

    /// A client is gone. What it asked for is still carried out.
    pub fn disconnect(&mut self, client: ClientId) {
        self.sessions.disconnect(client);
        self.forget(client);
    }

    /// Whoever is gone, of its own accord or not, is shown and answered nothing more.
    fn forget(&mut self, client: ClientId) {
        self.channels.disconnect(client);
        self.fan_outs.forget(client);
        self.quotas.forget(client);
        self.touching.forget(client);
    }

    /// So many bytes wait to be sent to a client. One that watches is sent less while it does not keep up, and is let go when
    /// that is no use.
    pub fn waits(&mut self, client: ClientId, bytes: usize) {
        if self.sessions.knows(client) && !self.channels.waits(client, bytes) {
            self.counters.clients_hopeless += 1;
            let reason = "you read far less than you asked for; watch with fewer kbit";
            self.sessions.close(client, reason, &mut self.counters);
        }
    }

    /// How many different views there are, and how many bodies they show in all.
    pub fn views(&self) -> (usize, usize) {
        self.channels.figures()
    }

    /// A text message from a client.
    pub fn client_text(&mut self, client: ClientId, text: &str) {
        match FromClient::parse(text) {
            Ok(parsed) => self.client_command(client, parsed),
            Err(reject) => self.client_rubbish(client, 1, reject),
        }
    }

    /// A command from a client, for a shell that has read the text itself.
    pub fn client_command(&mut self, client: ClientId, parsed: Parsed) {
        if self.sessions.knows(client) {
            self.command(client, parsed);
        } else {
            self.counters.messages_unknown_client += 1;
        }
    }

    /// So many messages of a client that are no commands, and what was wrong with the last. A shell may collect them, so that
    /// whoever pours them out costs nobody else's time.
    pub fn client_rubbish(&mut self, client: ClientId, count: u32, last: Reject) {
        if self.sessions.knows(client) {
            self.sessions.rubbish(client, count, last, &mut self.counters);
        } else {
            self.counters.messages_unknown_client += u64::from(count);
        }
    }

    /// The shell's answer to a [`Request`](crate::Request): the body it was about, if any, or why not.
    pub fn answer(&mut self, client: ClientId, seq: Option<u64>, outcome: Result<Option<Nid>, String>) {
        match outcome {
            Ok(nid) => self.sessions.tell(client, ToClient::Done { seq, nid }),
            Err(reason) => self.sessions.refuse(client, seq, reason, &mut self.counters),
        }
    }

    /// A frame from a region. Frames of another era, for somebody else, or of a former life of the region are dropped
    /// and counted.
    pub fn handle(&mut self, frame: Frame) {
        let region = match (frame.from, &frame.content) {
            (Address::Region(region), _) => region,
            (Address::Backup(region), Content::Commit(commit)) if commit.region == region => {
                self.lanes.note_commit(*commit);
                return;
            }
            _ => {
                self.counters.frames_misaddressed += 1;
                return;
            }
        };
        if frame.to != Address::Gateway(self.config.id) {
            self.counters.frames_misaddressed += 1;
        } else if frame.era != self.era {
            self.keep_if_early(frame);
        } else if !self.lanes.admit(region, frame.epoch) {
            self.counters.frames_old_epoch += 1;
        } else {
            match frame.content {
                Content::Lane(lane) => self.lanes.receive(region, frame.epoch, lane),
                Content::Auras(_) => self.counters.items_bad += 1,
                Content::States(_) if self.states.len() >= STATE_FRAMES_MAX => self.counters.frames_overflow += 1,
                Content::States(updates) => {
                    self.states.push((Voice { region, epoch: frame.epoch, tick: frame.tick }, updates));
                }
                Content::Seams(report) => {
                    self.seams.take(Voice { region, epoch: frame.epoch, tick: frame.tick }, report);
                }
                Content::Reply(reply) => {
                    self.counters.replies_unknown += u64::from(!self.fan_outs.hear(region, reply));
                }
                Content::Records(_) | Content::Kept(_) | Content::Commit(_) | Content::Ask(_) | Content::Wish(_) => {
                    self.counters.frames_misaddressed += 1
                }
            }
        }
    }

    /// Runs a tick: applies everything that came, passes orders on, and tells clients what changed.
    pub fn tick(&mut self, now: Tick, out: &mut Outputs) {
        let elapsed = now.since(self.now);
        self.now = self.now.max(now);
        self.load_if_due(out);
        self.adopt_maps();
        self.adopt_statics();
        self.apply_items();
        self.replicas.settle();
        for (voice, updates) in self.states.drain(..) {
            self.replicas.states(voice, &updates, &mut self.counters);
        }
        for pending in self.orders.expired(self.now) {
            // It may or may not be there; nobody will say.
            if pending.spawns {
                self.quotas.give_back(pending.client);
            }
            let reason = "no server answered; it may or may not have happened".to_owned();
            self.sessions.refuse(pending.client, pending.seq, reason, &mut self.counters);
        }
        let sender =
            Sender { from: Address::Gateway(self.config.id), era: self.era, epoch: self.config.epoch, tick: self.now };
        self.lanes.emit(sender, &mut out.frames);
        self.turn_fan_outs(out);
        self.wish(out);
        let mut messages = Vec::new();
        let mut shapes = Vec::new();
        let heard = self.sessions.all_seeing().next().is_some();
        self.stream.changes(&self.replicas, heard, &mut shapes, &mut messages);
        self.to_settled(shapes, out);
        self.channels.note(self.replicas.changes());
        self.mirror.follow(self.now, &self.replicas, &mut self.counters);
        self.replicas.end_tick(self.now);
        for client in self.sessions.all_seeing() {
            out.messages.extend(messages.iter().map(|message| (client, message.clone())));
        }
        if self.seams.due(self.now, self.world.tick_hz) {
            self.show_overlays(out);
        }
        self.touching.tell(&mut out.messages);
        self.sessions.earn(elapsed, self.allowance());
        self.news.extend(self.stats.due(self.now, self.world.tick_hz));
        self.poll(out);
        self.show_views(out);
    }

    /// Hands out what does not need a tick: first pictures, answers, requests, and who must go.
    pub fn poll(&mut self, out: &mut Outputs) {
        let news = std::mem::take(&mut self.news);
        self.to_settled(news, out);
        self.greet(out);
        out.messages.append(&mut self.sessions.mail);
        out.requests.append(&mut self.sessions.requests);
        for (client, reason) in std::mem::take(&mut self.sessions.closed) {
            self.forget(client);
            out.closed.push((client, reason));
        }
        self.sessions.polled();
    }

    /// All bodies as of the last tick, in order of id.
    pub fn replicas(&self) -> impl Iterator<Item = &Replica> {
        self.replicas.iter()
    }

    /// The replica of one body, as of the last tick.
    pub fn replica(&self, nid: Nid) -> Option<&Replica> {
        self.replicas.of(nid)
    }

    /// How many bodies there are.
    pub fn bodies(&self) -> usize {
        self.replicas.len()
    }

    /// How many clients are connected.
    pub fn clients(&self) -> usize {
        self.sessions.len()
    }

    /// How often the world was loaded.
    pub fn era(&self) -> u16 {
        self.era
    }

    /// The map in force.
    pub fn map(&self) -> &PartitionMap {
        &self.map
    }

    /// The world as it is now, with what was put into it.
    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    /// The figures of every region's seams, as of its latest report.
    pub fn seam_totals(&self) -> &BTreeMap<RegionId, SeamTotals> {
        self.seams.totals()
    }

    /// What was done and what was dropped.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    fn allowance(&self) -> Allowance {
        Allowance {
            commands_per_second: self.config.commands_per_second,
            burst: self.config.command_burst,
            tick_hz: self.world.tick_hz,
        }
    }

    /// Servers may reach the tick of a load a little before the gateway does; what they say then is not lost.
    fn keep_if_early(&mut self, frame: Frame) {
        let expected = self.upcoming.as_ref().is_some_and(|upcoming| upcoming.era == frame.era);
        if !expected {
            self.counters.frames_wrong_era += 1;
        } else if self.early.len() >= EARLY_FRAMES_MAX {
            self.counters.frames_overflow += 1;
        } else {
            self.early.push(frame);
        }
    }

    fn load_if_due(&mut self, out: &mut Outputs) {
        let now = self.now;
        let Some(Upcoming { world, era, map, .. }) = self.upcoming.take_if(|upcoming| upcoming.at <= now) else {
            return;
        };
        for pending in self.orders.abandon() {
            let reason = "the world was loaded anew".to_owned();
            self.sessions.refuse(pending.client, pending.seq, reason, &mut self.counters);
        }
        self.abandon_fan_outs("the world was loaded anew");
        self.stats = Stats::of_new_world(&world.name, era, now);
        (self.world, self.era, self.map) = (world, era, map);
        let loads = self.loads;
        self.maps.retain(|(after, _)| *after == loads);
        self.lanes.clear();
        self.states.clear();
        self.replicas.clear();
        self.mirror.clear();
        self.seams.clear();
        self.quotas.clear();
        self.touching.clear();
        self.stream.clear();
        self.channels.clear();
        self.to_settled(vec![self.world_message(), self.map_message()], out);
        for frame in std::mem::take(&mut self.early) {
            self.handle(frame);
        }
    }

    fn adopt_maps(&mut self) {
        let before = self.map.epoch();
        let (now, loads) = (self.now, self.loads);
        let waits_for_load = self.upcoming.is_some();
        let due = |(after, map): &(u64, PartitionMap)| map.effective() <= now && !(waits_for_load && *after == loads);
        for (_, map) in self.maps.extract_if(.., |entry| due(entry)) {
            if map.epoch() > self.map.epoch() {
                self.fan_outs.succeeded(self.map.regions(), map.effective());
                self.map = map;
            }
        }
        if self.map.epoch() != before {
            self.news.push(self.map_message());
        }
    }

    fn adopt_statics(&mut self) {
        if let Some(message) = self.statics.take_effect(self.now, self.era, &mut self.world) {
            self.mirror.clear();
            self.news.push(message);
        }
    }

    fn apply_items(&mut self) {
        let Gateway { lanes, replicas, orders, sessions, quotas, touching, counters, config, now, .. } = self;
        lanes.apply(|voice, item| match item {
            Item::Hosted { nid, body_epoch, desc, motion } => {
                replicas.hosted(voice, (nid, body_epoch), &desc, &motion, counters);
            }
            Item::Rested { nid, body_epoch, motion } => replicas.rested(voice, nid, body_epoch, &motion, counters),
            Item::Died { nid, body_epoch } => {
                quotas.died(nid);
                replicas.died(*now, nid, body_epoch, counters);
            }
            Item::Outcome(by, outcome) => {
                let pending = if by.gateway == config.id { orders.close(by.sequence) } else { None };
                match (pending, outcome) {
                    (None, _) => counters.outcomes_unknown += 1,
                    (Some(pending), Outcome::Done(nid)) => {
                        if pending.spawns {
                            quotas.made(pending.client, nid, !replicas.is_dead(nid));
                        }
                        sessions.tell(pending.client, ToClient::Done { seq: pending.seq, nid: Some(nid) });
                    }
                    (Some(pending), Outcome::Refused(reason)) => {
                        if pending.spawns {
                            quotas.give_back(pending.client);
                        }
                        sessions.tell(pending.client, ToClient::Refused { seq: pending.seq, reason });
                    }
                }
            }
            Item::Touches(told) => touching.hear(told),
            Item::Transfer(_)
            | Item::Order(_)
            | Item::Birth(_)
            | Item::Rests(_)
            | Item::Stirs(_)
            | Item::Offer { .. }
            | Item::Accept { .. }
            | Item::Linkage(_)
            | Item::Seek(_)
            | Item::Found(_)
            | Item::Deed(_) => counters.items_bad += 1,
        });
    }

    /// Sends every overlay that changed to those who want it, and to those who just chose it in any case.
    fn show_overlays(&mut self, out: &mut Outputs) {
        for overlay in Overlay::ALL {
            if !self.sessions.anybody_wants(overlay) {
                continue;
            }
            let changed = self.seams.draw(overlay, &self.replicas);
            let Some(message) = self.seams.drawn(overlay) else { continue };
            let viewers = self.sessions.viewers(overlay, changed);
            out.messages.extend(viewers.map(|client| (client, message.clone())));
        }
        self.sessions.pictured();
    }

    fn to_settled(&self, messages: Vec<Message>, out: &mut Outputs) {
        for client in self.sessions.settled() {
            out.messages.extend(messages.iter().map(|message| (client, message.clone())));
        }
    }

    /// Sends what is due to clients that watch. They know the world by then.
    fn show_views(&mut self, out: &mut Outputs) {
        let (now, tick_hz, paused) = (self.now, self.world.tick_hz, self.paused);
        let scenery = Scenery { replicas: &self.replicas, stream: &self.stream, now, tick_hz, paused };
        self.channels.send(&scenery, &mut out.messages);
    }

    /// The first picture, encoded once for all who came since the last one.
    fn greet(&mut self, out: &mut Outputs) {
        let newcomers = self.sessions.take_newcomers();
        if newcomers.is_empty() {
            return;
        }
        let clock = ToClient::Clock { paused: self.paused, speed: self.speed, dilation: self.dilation }.into();
        let facts = [clock, self.world_message(), self.map_message(), self.stats.message()];
        let mut picture = Vec::new();
        if newcomers.iter().any(|(_, sees_all)| *sees_all) {
            self.stream.picture(&self.replicas, &mut picture);
        }
        for (client, sees_all) in newcomers {
            let role = self.sessions.role(client).unwrap_or(ClientRole::Viewer);
            let welcome = ToClient::Welcome { protocol: CLIENT_PROTOCOL, client, role, scenes: self.scenes.clone() };
            out.messages.push((client, welcome.into()));
            let picture = if sees_all { &picture[..] } else { &[] };
            out.messages.extend(facts.iter().chain(picture).map(|message| (client, message.clone())));
        }
    }

    fn world_message(&self) -> Message {
        ToClient::world(&self.world, self.era).into()
    }

    fn map_message(&self) -> Message {
        let regions = self
            .map
            .regions()
            .iter()
            .map(|id| RegionShape { id: *id, boxes: self.map.leaves(*id).map(Bounds::from).collect() });
        ToClient::Map { epoch: u64::from(self.map.epoch()), regions: regions.collect() }.into()
    }
}
