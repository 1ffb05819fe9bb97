//! The gateway on its own thread, at the rate of ticks; it looks in now and then while the timeline stands still.

use nimbus_gateway::{Gateway, Message, Outputs, Request};
use nimbus_model::{ClientId, Nid, Placed, RegionBox, RegionId, Tick, World};
use nimbus_node::{AuraConfig, Change, Horizon};
use nimbus_space::PartitionMap;
use nimbus_wire::client::{ClientRole, Parsed, Reject};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;
use tokio::sync::mpsc;

use crate::balancer::Balancer;
use crate::board::Board;
use crate::client_queue::{ClientQueue, cost};
use crate::council::{Answer, Council, News, Wish};
use crate::doors::Doors;
use crate::edits::{StaticEdit, regions_problem};
use crate::embedded::Scenes;
use crate::guard::KillSwitch;
use crate::handover_log::Sightings;
use crate::links::{LinkEnd, Links};
use crate::pace::{Pace, RealTime, Shown};

/// How often it looks in while the timeline stands still.
const POLL: Duration = Duration::from_millis(50);
/// How often clients get figures.
const STATS_EVERY: Duration = Duration::from_millis(500);
/// How often the pace of the world is looked at.
const DILATE_EVERY: Duration = Duration::from_millis(250);
/// A world is loaded this many ticks after it was asked for, so that every server knows in time.
const LOAD_AHEAD_TICKS: u64 = 30;
/// The same in a world that is slow, at the least: servers prepare for some changes.
const LOAD_AHEAD_TICKS_MIN: u64 = 12;
/// Changes of statics that may be announced and not made yet.
const STATICS_UNDER_WAY_MAX: usize = 8;
/// Most events of clients taken in one go.
pub(crate) const EVENTS_MAX: usize = 512;

/// What clients do.
pub(crate) enum ClientEvent {
    /// One came in; this is what it may do, whether it sees only what it watches, and where its messages go.
    Connected(ClientId, (ClientRole, bool), ClientQueue),
    /// One asks for something.
    Asked(ClientId, Parsed),
    /// One sent so many messages that are no commands, and what was wrong with the last.
    Rubbish(ClientId, u32, Reject),
    /// One is gone.
    Gone(ClientId),
    /// An operator wants to know of every body, and who was last known to own it.
    Bodies(SyncSender<Vec<(Nid, RegionId)>>),
}

/// A gateway with everything it needs to run.
pub(crate) struct GatewayThread {
    /// How the aura policy judges.
    pub(crate) aura: AuraConfig,
    pub(crate) gateway: Gateway,
    pub(crate) pace: Arc<Pace>,
    pub(crate) links: Links,
    pub(crate) inbox: LinkEnd,
    pub(crate) events: mpsc::Receiver<ClientEvent>,
    pub(crate) doors: Doors,
    pub(crate) board: Arc<Board>,
    pub(crate) scenes: Scenes,
    pub(crate) servers: u16,
    pub(crate) regions: Vec<RegionId>,
    pub(crate) world: Arc<World>,
    /// The world that will be there presently.
    pub(crate) next_world: Option<(u16, Arc<World>)>,
    pub(crate) queues: BTreeMap<ClientId, ClientQueue>,
    /// Moves boundaries, where they follow the load.
    pub(crate) balancer: Option<Balancer>,
    /// Whoever decides about the clock and the world, where it is not this thread.
    pub(crate) council: Option<Council>,
    /// Kills servers, where clients may.
    pub(crate) kill_switch: Option<KillSwitch>,
    /// Which servers live, as clients know.
    pub(crate) lives: Vec<(bool, u32)>,
    /// The newest partition that was announced, where this thread decides.
    pub(crate) map: PartitionMap,
    /// When the pace is looked at next.
    pub(crate) dilate_at: Duration,
    /// The newest statics that were announced, and when those take effect that have not yet.
    pub(crate) placed: Arc<Placed>,
    pub(crate) placed_at: Vec<Tick>,
}

impl GatewayThread {
    /// Runs until the pace says that it is over.
    pub(crate) fn run(mut self) {
        let _going_home = MarksDead(self.board.clone());
        let pace = self.pace.clone();
        let Some(time) = pace.real_time() else { return };
        let mut out = Outputs::default();
        let mut now = Tick(0);
        let mut stats_at = Duration::ZERO;
        let mut sightings = Sightings::default();
        while let Some(due) = time.wait_briefly(now, POLL) {
            now = due;
            self.take_events();
            self.take_news();
            // Answers need not wait until pictures of this tick are made.
            self.carry_away(&mut out, time);
            let gateway = &mut self.gateway;
            self.inbox.drain(|frame| gateway.handle(frame));
            self.gateway.tick(now, &mut out);
            sightings.tell(&self.gateway, now);
            self.welcome_next_world();
            self.balance(now);
            self.dilate(time);
            self.show(now, time);
            // Nobody should miss that a server dies or is back.
            let lives = self.board.lives();
            let news = lives != self.lives;
            self.lives = lives;
            if news || time.now() >= stats_at {
                stats_at = time.now() + STATS_EVERY;
                self.let_go(time.now());
                self.gateway.set_stats(self.board.world_stats());
                let shown = time.shown();
                if news || shown.paused || shown.speed * shown.dilation < 1.0 {
                    self.gateway.broadcast_stats(&mut out);
                }
            }
            self.carry_away(&mut out, time);
        }
        for queue in std::mem::take(&mut self.queues).into_values() {
            queue.close("the server is shutting down".to_owned());
        }
    }

    /// Takes what was decided elsewhere.
    fn take_news(&mut self) {
        let news: Vec<News> = self.council.iter().flat_map(Council::news).collect();
        for news in news {
            match news {
                News::Map(map) => self.gateway.set_map(map),
                News::Load { at, era, world, map } => {
                    self.gateway.load(world.clone(), era, map, at);
                    self.next_world = Some((era, world));
                }
                News::Statics { at, era, placed } => self.gateway.set_statics(at, era, placed),
                News::Answer(Answer { client, seq, outcome }) => self.gateway.answer(client, seq, outcome),
            }
        }
    }

    fn take_events(&mut self) {
        for _ in 0..EVENTS_MAX {
            match self.events.try_recv() {
                Ok(ClientEvent::Connected(client, (role, watches), queue)) => {
                    let let_in = if watches {
                        self.gateway.connect_watching(client, role)
                    } else {
                        self.gateway.connect(client, role)
                    };
                    match let_in {
                        Ok(()) => _ = self.queues.insert(client, queue),
                        Err(reason) => queue.close(reason),
                    }
                }
                Ok(ClientEvent::Asked(client, parsed)) => self.gateway.client_command(client, parsed),
                Ok(ClientEvent::Rubbish(client, count, last)) => self.gateway.client_rubbish(client, count, last),
                Ok(ClientEvent::Gone(client)) => {
                    self.queues.remove(&client);
                    self.gateway.disconnect(client);
                }
                Ok(ClientEvent::Bodies(answer)) => {
                    let bodies = self.gateway.replicas().map(|replica| (replica.nid, replica.region)).collect();
                    // Whoever asked may have lost patience.
                    _ = answer.try_send(bodies);
                }
                Err(_) => return,
            }
        }
    }

    /// Sends what the gateway said, does what clients asked of the process, and sends the answers to that.
    fn carry_away(&mut self, out: &mut Outputs, time: &RealTime) {
        for (client, seq, request) in std::mem::take(&mut out.requests) {
            let outcome = match &self.council {
                Some(council) => match council.wish(Wish { client, seq, request }) {
                    Ok(()) => continue,
                    Err(refused) => Err(refused),
                },
                None => self.grant(request, time),
            };
            self.gateway.answer(client, seq, outcome);
        }
        self.gateway.poll(out);
        for frame in out.frames.drain(..) {
            self.links.send(&frame);
        }
        let mut bytes = 0;
        let mut too_slow = 0;
        for (client, message) in out.messages.drain(..) {
            let Some(queue) = self.queues.get_mut(&client) else { continue };
            bytes += cost(&message) as u64;
            let is_frequent = matches!(message, Message::Binary(_));
            if !queue.push(message) {
                too_slow += 1;
                self.gateway.disconnect(client);
                self.close(client, "you read too slowly: too much was waiting for you".to_owned());
            } else if is_frequent {
                self.gateway.waits(client, queue.arrears());
            }
        }
        for (client, reason) in out.closed.drain(..) {
            self.close(client, reason);
        }
        self.board.write_gateway(|reading| {
            reading.bytes_sent += bytes;
            reading.clients_too_slow += too_slow;
        });
    }

    /// Ends connections to clients that have read nothing for long.
    fn let_go(&mut self, now: Duration) {
        let still = self.queues.iter_mut().filter_map(|(client, queue)| queue.stands_still(now).then_some(*client));
        let still: Vec<ClientId> = still.collect();
        if !still.is_empty() {
            self.board.write_gateway(|reading| reading.clients_too_slow += still.len() as u64);
        }
        for client in still {
            self.gateway.disconnect(client);
            self.close(client, "you read too slowly: nothing was taken for a long time".to_owned());
        }
    }

    fn close(&mut self, client: ClientId, reason: String) {
        if let Some(queue) = self.queues.remove(&client) {
            queue.close(reason);
        }
    }

    fn grant(&mut self, request: Request, time: &RealTime) -> Result<Option<Nid>, String> {
        let mut about = None;
        match request {
            Request::Reset => self.load(self.world.clone(), time)?,
            Request::Scene(name) => {
                // A world takes long to build, and everybody waits for this thread meanwhile.
                self.may_load()?;
                let world = (self.scenes.build)(&name, self.servers)?;
                self.load(Arc::new(world), time)?;
            }
            Request::Pause(true) => time.with(|timeline, now| timeline.pause(now)),
            Request::Pause(false) => time.with(|timeline, now| timeline.resume(now)),
            Request::Step(ticks) => {
                if !time.with(|timeline, now| timeline.step(u64::from(ticks), now)) {
                    return Err("time is running; pause it before you step".to_owned());
                }
            }
            Request::Speed(factor) => time.with(|timeline, now| timeline.set_speed(factor, now)),
            Request::Kill(region) => {
                let switch =
                    self.kill_switch.as_ref().ok_or("servers cannot be killed here; `nimbus demo` lets you")?;
                switch.kill(region)?;
            }
            Request::PlaceStatic(desc, pose) => about = Some(self.build(&StaticEdit::Place(desc, pose), time)?),
            Request::RemoveStatic(nid) => about = Some(self.build(&StaticEdit::Remove(nid), time)?),
            Request::Regions(boxes, rest) => self.redraw(&boxes, rest, time)?,
        }
        self.show_clock(time);
        Ok(about)
    }

    /// Lets every server and the gateway change the statics of the world at one tick.
    fn build(&mut self, edit: &StaticEdit, time: &RealTime) -> Result<Nid, String> {
        self.may_load()?;
        let now = time.look(|timeline, now| timeline.horizon(now));
        self.placed_at.retain(|at| *at > now);
        if self.placed_at.len() >= STATICS_UNDER_WAY_MAX {
            return Err("too many statics come and go at once; wait a moment".to_owned());
        }
        let era = self.gateway.era();
        let (placed, nid) = edit.of(&self.placed, &self.world, era)?;
        let (at, placed) = (self.next_change(time), Arc::new(placed));
        let change = Change::Statics { at, era, placed: placed.clone() };
        self.doors.announce(&change).map_err(|closed| closed.to_string())?;
        self.gateway.set_statics(at, era, placed.clone());
        self.placed = placed;
        self.placed_at.push(at);
        self.make_due(at, time);
        Ok(nid)
    }

    /// Lets every server and the gateway go by other regions from one tick on.
    fn redraw(&mut self, boxes: &[RegionBox], rest: RegionId, time: &RealTime) -> Result<(), String> {
        self.may_load()?;
        let served = |region: &RegionId| self.regions.binary_search(region).is_ok();
        if let Some(problem) = regions_problem(&self.map, (boxes, rest), (&self.world, &self.aura), served) {
            return Err(problem);
        }
        let at = self.next_change(time);
        if self.map.effective() >= at {
            return Err("boundaries are about to move already; wait a moment".to_owned());
        }
        let map = self.map.redraw(boxes, rest, at).map_err(|error| error.to_string())?;
        self.doors.announce(&Change::Map(map.clone())).map_err(|closed| closed.to_string())?;
        self.balancer.iter_mut().for_each(|balancer| balancer.announced(&map));
        self.gateway.set_map(map.clone());
        self.map = map;
        self.make_due(at, time);
        Ok(())
    }

    /// The tick of a change that everybody can hear of in time.
    fn next_change(&self, time: &RealTime) -> Tick {
        let (paused, horizon) = time.look(|timeline, now| (timeline.is_paused(), timeline.horizon(now)));
        let pace = u64::from(time.look(|timeline, _| timeline.pace_permille())).min(1000);
        horizon + if paused { 1 } else { (LOAD_AHEAD_TICKS * pace / 1000).max(LOAD_AHEAD_TICKS_MIN) }
    }

    /// While time stands still nobody would reach the tick of a change: it is run.
    fn make_due(&self, at: Tick, time: &RealTime) {
        time.with(|timeline, now| timeline.is_paused() && timeline.horizon(now) < at && timeline.step(1, now));
    }

    /// Says why no world can be loaded now, whichever it is.
    fn may_load(&self) -> Result<(), String> {
        if self.next_world.is_some() {
            return Err("a world is being loaded already; wait a moment".to_owned());
        }
        self.doors.check().map_err(|closed| closed.to_string())
    }

    /// Lets every server and the gateway load a world at one tick.
    fn load(&mut self, world: Arc<World>, time: &RealTime) -> Result<(), String> {
        self.may_load()?;
        let era = self.gateway.era().checked_add(1).ok_or("too many worlds were loaded; restart the server")?;
        let map = PartitionMap::from_layout(&world.layout).map_err(|error| error.to_string())?;
        if let Some(problem) = Horizon::layout_problem(&world, &self.aura, &map) {
            return Err(problem);
        }
        if let Some(region) = map.regions().iter().find(|region| self.regions.binary_search(region).is_err()) {
            let needed = map.regions().len();
            return Err(format!("`{}` needs a server for {region}; start again with --servers {needed}", world.name));
        }
        let paused = time.look(|timeline, _| timeline.is_paused());
        let at = self.next_change(time);
        let change = Change::Load { at, era, world: world.clone(), map: map.clone() };
        self.doors.announce(&change).map_err(|closed| closed.to_string())?;
        (self.map, self.placed) = (map.clone(), Arc::default());
        self.placed_at.clear();
        let again = |former: Balancer| Balancer::new(&world, &self.aura, map.clone()).with_budget(former.budget_us());
        self.balancer = self.balancer.take().map(again);
        self.gateway.load(world.clone(), era, map, at);
        time.with(|timeline, now| {
            timeline.set_hz(world.tick_hz, now);
            // While time stands still nobody would reach the tick of the load.
            paused && timeline.step(1, now)
        });
        self.next_world = Some((era, world));
        Ok(())
    }

    /// Lets the planner look, and announces what it plans.
    fn balance(&mut self, now: Tick) {
        let Some(balancer) = self.balancer.as_mut().filter(|_| self.next_world.is_none()) else { return };
        if !balancer.is_due(now) {
            return;
        }
        let Some(map) = balancer.plan(now, self.board.loads(self.gateway.era())) else { return };
        // Where a server cannot take it now, another will be planned.
        if self.doors.announce(&Change::Map(map.clone())).is_ok() {
            balancer.announced(&map);
            self.map = map.clone();
            self.gateway.set_map(map);
        }
    }

    fn welcome_next_world(&mut self) {
        if let Some((_, world)) = self.next_world.take_if(|(era, _)| *era == self.gateway.era()) {
            self.world = world;
        }
    }

    fn show(&mut self, now: Tick, time: &RealTime) {
        let clock = self.show_clock(time);
        self.board.write_gateway(|reading| {
            reading.tick = now;
            reading.scene.clone_from(&self.world.name);
            reading.era = self.gateway.era();
            reading.bodies = self.gateway.bodies();
            reading.clients = self.gateway.clients();
            reading.views = self.gateway.views();
            reading.counters = self.gateway.counters().clone();
            reading.seams.clone_from(self.gateway.seam_totals());
            (reading.paused, reading.speed, reading.dilation) = (clock.paused, clock.speed, clock.dilation);
        });
    }

    /// Tells clients how time passes.
    fn show_clock(&mut self, time: &RealTime) -> Shown {
        let clock = time.shown();
        self.gateway.set_clock(clock.paused, clock.speed, clock.dilation);
        clock
    }

    /// Slows the whole world down when a server cannot keep up, where this thread decides.
    fn dilate(&mut self, time: &RealTime) {
        if self.council.is_some() || time.now() < self.dilate_at {
            return;
        }
        self.dilate_at = time.now() + DILATE_EVERY;
        time.dilate(self.board.strains());
    }
}

/// Says that the thread is gone, even when it panics.
struct MarksDead(Arc<Board>);

impl Drop for MarksDead {
    fn drop(&mut self) {
        self.0.write_gateway(|reading| reading.alive = false);
    }
}
