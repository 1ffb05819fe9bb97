//! The universe itself: actors, an event queue, and the order of things.

mod blows;
mod coordination;
mod edits;
mod hosting;
mod partitions;
mod timing;

use cpu_time::ThreadTime;
use nimbus_client::Client;
use nimbus_control::{LoadReport, PlannerConfig};
use nimbus_gateway::{Gateway, GatewayConfig, Message, Outputs};
use nimbus_model::{ClientId, Mixer, Nid, Placed, RegionId, Rng, Tick, Vec3, World};
use nimbus_node::{Change, Event, EventKind, Horizon, Node, NodeConfig, Phase, Policy};
use nimbus_space::PartitionMap;
use nimbus_wire::client::{ClientRole, TouchesOf, Watch};
use nimbus_wire::{Address, Frame, GatewayId};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::actor::Actor;
use crate::balance::Balance;
use crate::checkers::{Checkers, ReplayProof};
use crate::config::{NodeCost, Outcome, UniverseConfig, UniverseError};
use crate::control::{Control, ControlEvent};
use crate::faults::{Fault, Faults};
use crate::network::{MS, Nanos, Network};
use crate::plan::Plan;
use crate::players::Players;
use crate::queue::Queue;
use crate::recovery::{APART, Recovery, Zombie};

/// How far ahead changes of the whole world are announced.
const LEAD_TICKS: u64 = 40;
/// The same for partitions that a planner has the coordinator announce, which may take a moment.
const ORDER_LEAD_TICKS: u64 = 60;
/// How often the checkers look at everything.
const INSPECT_TICKS: u64 = 20;
/// How long everything may take to settle once the faults have ended.
const SETTLE_TICKS: u64 = 240;
/// And how much longer until every region is served and protected, where a coordinator sees to that.
const WHOLE_TICKS_MAX: u64 = 1_200;
/// How many breaches an outcome lists.
const BREACHES_KEPT: usize = 4_096;
/// What the client sees that watches beside the others, in every checked universe: everything, as a compressed stream. Its
/// gateway is in the same place, so that its presence changes nothing.
const WATCH: Watch =
    Watch { eye: Vec3::ZERO, toward: None, field: 360.0, range: 1e5, kbit: 100_000, hz: 60, packed: true };
/// Servers wake up to this long after a tick is due, each always by the same delay.
const PHASE_MAX: Nanos = 2 * MS;

enum Happening {
    Wake,
    /// A server's process, by number, wakes up.
    WakeProcess(u32),
    Frame(Arc<[u8]>),
    ToClient(Message),
    FromClient(String),
    Report(Box<LoadReport>),
    Control(ControlEvent),
}

/// A whole cluster under virtual time.
pub struct Universe {
    config: UniverseConfig,
    world: Arc<World>,
    era: u16,
    map: PartitionMap,
    /// The newest statics that were announced, where nobody else keeps them.
    placed: Arc<Placed>,
    nodes: Vec<Node>,
    gateway: Vec<Gateway>,
    clients: Vec<Client>,
    players: Players,
    network: Network,
    rng: Rng,
    plan: Plan,
    queue: Queue<(Actor, Happening)>,
    now: Nanos,
    tick: Tick,
    phases: Vec<Nanos>,
    gateway_phase: Nanos,
    asleep_until: Vec<Nanos>,
    checkers: Checkers,
    proofs: Vec<ReplayProof>,
    hashes: Vec<Option<u64>>,
    recovery: Recovery,
    balance: Option<Balance>,
    control: Option<Control>,
    /// What servers of the first epoch are made of.
    node_configs: Vec<NodeConfig>,
    /// When tick 0 is due.
    start: Nanos,
    /// How far the contacts of each region have been heard.
    heard: Vec<Tick>,
    /// The same for what its game says.
    game_heard: Vec<Tick>,
    /// Ticks by which backups were behind at wake-ups, and how many wake-ups.
    lag: (u64, u64),
    outcome: Outcome,
}

impl Universe {
    /// The universe of a configuration, before its first tick.
    pub fn new(config: UniverseConfig) -> Result<Universe, UniverseError> {
        let world = config.world()?;
        Universe::of_world(config, world)
    }

    /// A universe of a world that is not a scene.
    pub fn of_world(config: UniverseConfig, world: World) -> Result<Universe, UniverseError> {
        let map = PartitionMap::from_layout(&world.layout).map_err(|e| UniverseError::Layout(e.to_string()))?;
        if let Some(over) = world.over_budget() {
            return Err(UniverseError::Usage(format!("the world `{}` is beyond its budget: {over}", world.name)));
        }
        let (durable, aura) = (config.has_backups(), config.judged_by());
        if let Some(problem) = Horizon::layout_problem(&world, &aura, &map).filter(|_| config.policy == Policy::Aura) {
            return Err(UniverseError::Layout(problem));
        }
        let config = UniverseConfig { aura, ..config };
        let count = map.regions().len() + usize::from(config.spare);
        if map.regions().iter().enumerate().any(|(i, region)| usize::from(region.0) != i) {
            return Err(UniverseError::Layout("regions must be numbered from 0 without gaps".to_owned()));
        }
        let world = Arc::new(world);
        let mut rng = Rng::stream(config.seed, 4);
        let gateways = if config.clients > 0 { vec![GatewayId(0)] } else { Vec::new() };
        let watchers = u32::from(config.clients > 0 && config.checked);
        if config.control.is_some() && count < 2 {
            return Err(UniverseError::Usage(
                "a coordinator needs two servers or more: one keeps what the other has".to_owned(),
            ));
        }
        let mut node_configs = Vec::with_capacity(count);
        let mut nodes: Vec<Node> = Vec::with_capacity(count);
        for i in 0..count {
            let mut node_config = NodeConfig::new(RegionId(i as u16));
            node_config.gateways.clone_from(&gateways);
            node_config.policy = config.policy;
            node_config.aura = config.aura;
            if config.faults.has(Fault::Loss) {
                node_config.aura.copies = node_config.aura.copies.max(3);
            }
            node_config.bodies_max = config.bodies_per_region.map_or(node_config.bodies_max, |most| most as usize);
            node_config.planted = config.planted;
            node_config.reorder = config.reorder;
            node_config.log = config.checked;
            node_config.durable = durable;
            node_config.contacts = config.contacts;
            node_config.game.clone_from(&config.game);
            if config.faults.has(Fault::Full) && i == 0 {
                let node = Node::new(node_config.clone(), world.clone(), 1, map.clone(), Tick(0));
                let most = node.hosted_count() + injected_early(&world, &map, config.ticks) + rng.below(3) as usize;
                node_config.bodies_max = node_config.bodies_max.min(most);
            }
            node_configs.push(node_config.clone());
            nodes.push(Node::new(node_config, world.clone(), 1, map.clone(), Tick(0)));
        }
        let gateway = gateways
            .iter()
            .map(|&id| {
                let config = GatewayConfig { id, durable, ..GatewayConfig::default() };
                Gateway::new(config, Vec::new(), world.clone(), 1, map.clone())
            })
            .collect();
        let control = config.control.as_ref().map(|control| {
            let members = (count, gateways.len());
            Control::new(control, &world, &map, members, (config.seed, &config.faults), config.ticks)
        });
        let mut universe = Universe {
            network: match config.link {
                Some(model) => Network::exact(model, config.seed),
                None => Network::new(config.faults.link_model(config.seed), config.seed),
            },
            plan: Plan::new(&config.faults, config.seed, count as u16, config.ticks),
            players: Players::new(config.seed, config.commands, config.game_commands),
            clients: (0..config.clients + watchers).map(|_| Client::default()).collect(),
            phases: (0..count).map(|_| rng.below(config.frame_ns.unwrap_or(PHASE_MAX))).collect(),
            gateway_phase: rng.below(PHASE_MAX),
            asleep_until: vec![0; count],
            hashes: vec![None; count],
            recovery: Recovery::new(durable, config.planted, config.game.clone(), count),
            balance: config.balance.map(|mut balance| {
                if config.control.is_some() {
                    let usual = balance.planner_for(&world, &config.aura);
                    balance.planner = Some(PlannerConfig { lead_ticks: ORDER_LEAD_TICKS, ..usual });
                }
                Balance::new(&balance, &world, &config.aura, count)
            }),
            control,
            node_configs,
            start: 0,
            heard: vec![Tick(0); count],
            game_heard: vec![Tick(0); count],
            lag: (0, 0),
            world,
            era: 1,
            map,
            placed: Arc::default(),
            nodes,
            gateway,
            rng,
            queue: Queue::new(),
            now: 0,
            tick: Tick(0),
            checkers: Checkers::new(config.policy),
            proofs: Vec::new(),
            outcome: Outcome { costs: vec![NodeCost::default(); count], ..Outcome::default() },
            config,
        };
        universe.begin()?;
        Ok(universe)
    }

    /// Runs to the end and says what became of it. `progress` is told every completed tick.
    pub fn run(self, progress: impl FnMut(Tick)) -> Outcome {
        self.run_watching(&mut |_| {}, progress)
    }

    /// The same, and shows every server after each of its ticks.
    pub fn run_watching(mut self, look: &mut dyn FnMut(&Node), mut progress: impl FnMut(Tick)) -> Outcome {
        let last = Tick(self.config.ticks);
        let proof_from = Tick(self.config.ticks * 7 / 10);
        let end = last + if self.config.checked { SETTLE_TICKS } else { 0 };
        while self.tick < end || (self.tick < end + WHOLE_TICKS_MAX && self.awaits_wholeness()) {
            self.advance_watching(look);
            progress(self.tick);
            if self.config.checked {
                if self.keeps_promises() {
                    self.inspect_seams();
                }
                if self.tick.0.is_multiple_of(INSPECT_TICKS) {
                    self.inspect();
                }
                if self.tick == proof_from {
                    self.proofs = self.nodes.iter().map(ReplayProof::begin).collect();
                }
            }
            if self.tick == last {
                self.network.heal();
                self.recovery.rest();
                self.control.iter_mut().for_each(Control::rest);
                self.players.rest();
            }
        }
        self.conclude()
    }

    fn begin(&mut self) -> Result<(), UniverseError> {
        if self.control.is_some() {
            self.recovery.await_processes();
            self.assemble()?;
        }
        for i in 0..if self.control.is_none() { self.nodes.len() } else { 0 } {
            self.watch(i);
            let process = self.recovery.regions[i].process;
            let first = self.wake_time(Tick(1)) + self.phases[i];
            self.queue.push(first, (Actor::Node(i as u16), Happening::WakeProcess(process)));
        }
        for g in 0..self.gateway.len() {
            let first = self.wake_time(Tick(1)) + self.gateway_phase;
            self.queue.push(first, (Actor::Gateway(g as u16), Happening::Wake));
            for (c, client) in (0..).zip(&mut self.clients) {
                let gateway = &mut self.gateway[g];
                if c < self.config.clients {
                    gateway.connect(ClientId(c), ClientRole::Admin).expect("a fresh gateway has room");
                } else {
                    gateway.connect_watching(ClientId(c), ClientRole::Viewer).expect("a fresh gateway has room");
                    gateway.client_text(ClientId(c), &client.watch(WATCH));
                    if self.config.contacts {
                        gateway.client_text(ClientId(c), &client.touches(TouchesOf::Everything));
                    }
                }
            }
        }
        Ok(())
    }

    /// The tick of the timeline that has passed.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// What has become of it so far.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Frames that were sent so far between servers, backups and gateways, and the bytes in them.
    pub fn traffic(&self) -> (u64, u64) {
        (self.network.frames, self.network.bytes)
    }

    /// The servers, in order of region.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How many bodies lie in the region of each server, whoever hosts them.
    pub fn residents(&self) -> Vec<usize> {
        let mut counts = vec![0; self.nodes.len()];
        for node in &self.nodes {
            for motion in node.hosted().filter_map(|(nid, _)| node.motion(nid)) {
                let region = node.map().region_at(motion.pose.position);
                if let Some(count) = counts.get_mut(usize::from(region.0)) {
                    *count += 1;
                }
            }
        }
        counts
    }

    /// The servers, to be given orders that no client could give.
    pub fn nodes_mut(&mut self) -> &mut [Node] {
        &mut self.nodes
    }

    /// The clients, to be asked what they see and to write commands with.
    pub fn clients_mut(&mut self) -> &mut [Client] {
        &mut self.clients[..self.config.clients as usize]
    }

    /// Sends what a client says to its gateway, over the same network as everything else.
    pub fn say(&mut self, client: u32, text: String) {
        assert!(client < self.config.clients, "there is no client {client}");
        self.outcome.commands += 1;
        let (from, to) = (Actor::Client(client), Actor::Gateway(0));
        let at = self.network.send(self.now, from, to, 0)[0].unwrap_or(self.now);
        self.queue.push(at, (from, Happening::FromClient(text)));
    }

    /// The latest partition that was announced.
    pub fn map(&self) -> &PartitionMap {
        &self.map
    }

    /// Lets one tick of the timeline pass everywhere it can.
    pub fn advance(&mut self) {
        self.advance_watching(&mut |_| {});
    }

    /// The same, and shows every server after each of its ticks: servers that wake rarely run several ticks at once, so
    /// looking between two ticks of the timeline would miss some.
    pub fn advance_watching(&mut self, look: &mut dyn FnMut(&Node)) {
        self.tick = self.tick.next();
        self.strike();
        let until = self.wake_time(self.tick.next());
        while let Some((at, (to, what))) = self.queue.pop() {
            if at >= until {
                self.queue.push(at, (to, what));
                break;
            }
            self.now = at;
            self.happen(to, what, look);
        }
        let alive: usize = self.nodes.iter().map(Node::hosted_count).sum();
        self.outcome.bodies_max = self.outcome.bodies_max.max(alive);
    }

    fn happen(&mut self, to: Actor, what: Happening, look: &mut dyn FnMut(&Node)) {
        match (to, what) {
            (Actor::Node(i), Happening::WakeProcess(process)) => self.wake_process(usize::from(i), process, look),
            (Actor::Node(i), Happening::Frame(bytes)) => {
                let start = self.config.measured.then(ThreadTime::now);
                let frame = Frame::decode(&bytes).expect("what an actor says, another understands");
                self.recovery.haunt(usize::from(i), &frame);
                if !self.recovery.regions[usize::from(i)].down {
                    let clock_us = self.clock_of(usize::from(i)) / 1_000;
                    let node = &mut self.nodes[usize::from(i)];
                    node.set_clock(clock_us);
                    node.handle(frame);
                }
                if let Some(start) = start {
                    self.worked(usize::from(i), start.elapsed().as_nanos() as u64);
                }
            }
            (Actor::Coordinator, Happening::Report(report)) => {
                if let Some(balance) = &mut self.balance {
                    balance.planner.report(*report, &self.map);
                }
            }
            (Actor::Backup(i), Happening::Frame(bytes)) => {
                let frame = Frame::decode(&bytes).expect("what an actor says, another understands");
                let stored = self.now + self.config.store_ns;
                for answer in self.recovery.hear(usize::from(i), APART, frame) {
                    self.send(stored, to, actor(answer.to), &answer.encode().into());
                }
                self.observe(usize::from(i), Vec::new());
            }
            (to, Happening::Control(event)) => self.control_event(to, event),
            (Actor::Gateway(g), Happening::Wake) => self.wake_gateway(usize::from(g)),
            (Actor::Gateway(g), Happening::Frame(bytes)) => {
                let frame = Frame::decode(&bytes).expect("what an actor says, another understands");
                self.gateway[usize::from(g)].handle(frame);
            }
            (Actor::Client(c), Happening::ToClient(Message::Text(text))) => self.clients[c as usize].handle_text(&text),
            (Actor::Client(c), Happening::ToClient(Message::Binary(bytes))) => {
                self.clients[c as usize].handle_binary(&bytes);
            }
            (Actor::Client(c), Happening::FromClient(text)) => self.gateway[0].client_text(ClientId(c), &text),
            _ => unreachable!("happenings are scheduled for actors that know them"),
        }
    }

    fn wake_process(&mut self, i: usize, process: u32, look: &mut dyn FnMut(&Node)) {
        let region = &self.recovery.regions[i];
        if region.process == process {
            if !region.down {
                self.wake_node(i, process, look);
            }
            return;
        }
        let (now, due) = (self.now, self.due());
        let last = self.runs_to(i, process, due);
        let Some(zombie) = self.recovery.zombie(i, process) else { return };
        let mut frames = Vec::new();
        let mut next_wake = zombie.asleep_until;
        if now >= zombie.asleep_until {
            frames = zombie.wake(last);
            next_wake = self.config.frame_ns.map_or(self.wake_time(due.next()) + self.phases[i], |frame| now + frame);
        }
        for frame in frames {
            self.post(now, Actor::Node(i as u16), process, frame.to, &frame.encode().into());
        }
        self.queue.push(next_wake, (Actor::Node(i as u16), Happening::WakeProcess(process)));
    }

    fn wake_node(&mut self, i: usize, process: u32, look: &mut dyn FnMut(&Node)) {
        if self.now < self.asleep_until[i] {
            self.network.counts.stall += 1;
            self.queue.push(self.asleep_until[i], (Actor::Node(i as u16), Happening::WakeProcess(process)));
            return;
        }
        let due = self.due_at(i);
        let last = self.runs_to(i, process, due);
        let clock_us = self.clock_of(i) / 1_000;
        let compute_us = self.config.compute_ns / 1_000;
        let node = &mut self.nodes[i];
        node.set_clock(clock_us);
        node.wake(clock_us);
        let mut next = node.first_due(last);
        while next <= last {
            let mut spent = None;
            if self.config.measured {
                let (tick_ns, step_ns) = timed_tick(node, next);
                self.outcome.costs[i].ticked(tick_ns, step_ns);
                spent = Some(tick_ns);
            } else {
                node.tick(next);
            }
            if let Some(balance) = &mut self.balance {
                balance.ticked(i, node, spent);
            }
            if self.hashes[i].is_none() && next.0 >= self.config.ticks {
                self.hashes[i] = Some(node.state_hash());
            }
            look(node);
            if self.recovery.durable && self.config.checked && next.0 >= self.config.ticks {
                self.recovery.note_hash(i, node);
            }
            next = next.next();
        }
        self.lag = (self.lag.0 + node.durability().lag_ticks, self.lag.1 + 1);
        let start = self.config.measured.then(ThreadTime::now);
        let mut frames = Vec::new();
        node.computed(compute_us);
        node.set_clock(clock_us + compute_us);
        node.emit(&mut frames);
        if self.config.checked && self.keeps_promises() {
            self.checkers.depart(&self.nodes[i], &frames);
        }
        let from = Actor::Node(i as u16);
        let sent: Vec<(Address, Arc<[u8]>)> = frames.iter().map(|f| (f.to, f.encode().into())).collect();
        if let Some(start) = start {
            self.worked(i, start.elapsed().as_nanos() as u64);
        }
        let departs = self.now + self.config.compute_ns;
        for (to, bytes) in sent {
            self.post(departs, from, process, to, &bytes);
        }
        self.report_load(i);
        self.watch(i);
        let next_wake = self.next_wake(i, due);
        self.queue.push(next_wake, (from, Happening::WakeProcess(process)));
    }

    fn wake_gateway(&mut self, g: usize) {
        let due = self.due();
        let mut outputs = Outputs::default();
        self.gateway[g].tick(due, &mut outputs);
        let from = Actor::Gateway(g as u16);
        let process = self.process_of(from);
        for frame in &outputs.frames {
            self.post(self.now, from, process, frame.to, &frame.encode().into());
        }
        for (client, seq, request) in outputs.requests {
            let outcome = self.grant(request);
            self.gateway[g].answer(client, seq, outcome);
        }
        for (client, message) in outputs.messages {
            if client.0 >= self.config.clients {
                let watcher = &mut self.clients[client.0 as usize];
                match message {
                    Message::Text(text) => watcher.handle_text(&text),
                    Message::Binary(bytes) => watcher.handle_binary(&bytes),
                }
                let (touches, left_out) = watcher.take_touches();
                self.checkers.hear_touches(touches, left_out);
                continue;
            }
            let to = Actor::Client(client.0);
            let at = self.network.send(self.now, from, to, 0)[0].unwrap_or(self.now);
            self.queue.push(at, (to, Happening::ToClient(message)));
        }
        for (c, client) in self.clients.iter_mut().take(self.config.clients as usize).enumerate() {
            let said = [self.players.act(client), self.players.play(client)];
            for text in said.into_iter().flatten() {
                self.outcome.commands += 1;
                let client = Actor::Client(c as u32);
                let at = self.network.send(self.now, client, from, 0)[0].unwrap_or(self.now);
                self.queue.push(at, (client, Happening::FromClient(text)));
            }
        }
        let next_wake = self.wake_time(due.next()) + self.gateway_phase;
        self.queue.push(next_wake, (from, Happening::Wake));
    }

    /// Sends a frame to whoever has this address: as the process of its sender knows, where there are processes.
    fn post(&mut self, departs: Nanos, from: Actor, process: u32, to: Address, bytes: &Arc<[u8]>) {
        if self.control.is_some() {
            self.dispatch(departs, process, to, bytes);
        } else {
            self.send(departs, from, actor(to), bytes);
        }
    }

    fn send(&mut self, departs: Nanos, from: Actor, to: Actor, bytes: &Arc<[u8]>) {
        for at in self.network.send(departs, from, to, bytes.len()).into_iter().flatten() {
            self.queue.push(at, (to, Happening::Frame(bytes.clone())));
        }
    }

    /// Takes note of what a server did between its ticks.
    fn worked(&mut self, i: usize, ns: u64) {
        self.outcome.costs[i].worked(ns);
        if let Some(balance) = &mut self.balance {
            balance.worked(i, ns);
        }
    }

    /// Lets the planned faults of this tick strike.
    fn strike(&mut self) {
        let tick = self.tick.0;
        for _ in 0..self.plan.maps.iter().filter(|at| **at == tick).count() {
            self.move_a_boundary();
        }
        if self.plan.resets.contains(&tick) {
            self.reset();
        }
        self.plan_partition();
        if self.control.is_some() {
            return self.strike_processes();
        }
        for blow in self.plan.partitions.iter().filter(|blow| blow.tick == tick) {
            self.network.cut_off(Actor::Node(blow.server), self.now + blow.lasts);
        }
        for blow in self.plan.stalls.iter().filter(|blow| blow.tick == tick) {
            self.asleep_until[usize::from(blow.server)] = self.now + blow.lasts;
        }
        self.lose_processes();
    }

    /// Lets processes and backups die that are to die now, and others take over.
    fn lose_processes(&mut self) {
        let tick = self.tick.0;
        for (fault, blow) in self.plan.losses.iter().filter(|(_, blow)| blow.tick == tick) {
            self.recovery.plan(*fault, *blow);
        }
        for (fault, blow) in self.recovery.ripe() {
            let i = usize::from(blow.server);
            let later = tick + blow.lasts / self.tick_ns();
            match fault {
                Fault::Crash => {
                    self.network.counts.crash += 1;
                    self.recovery.crash(i, later);
                }
                Fault::BackupLoss => {
                    self.network.counts.backup_loss += 1;
                    self.recovery.lose_backup(i, later);
                }
                _ => {
                    self.network.counts.suspicion += 1;
                    let (process, until) = (self.recovery.regions[i].process, self.now + blow.lasts);
                    let asleep_until = self.asleep_until[i];
                    if let Some(node) = self.take_over(i) {
                        self.recovery.zombies.push(Zombie { region: i, process, node, until, asleep_until });
                    }
                }
            }
        }
        for i in self.recovery.due(tick, &self.nodes) {
            self.take_over(i);
        }
        let now = self.now;
        self.recovery.zombies.retain(|zombie| now < zombie.until);
    }

    /// Makes the backup of a region its server, and returns the former one.
    fn take_over(&mut self, i: usize) -> Option<Node> {
        let node = self.recovery.promote(i, self.nodes[i].epoch())?;
        Some(self.install(i, node))
    }

    /// Has a region served by this server from now on, and returns the former one.
    fn install(&mut self, i: usize, node: Node) -> Node {
        let former = std::mem::replace(&mut self.nodes[i], node);
        self.nodes[i].contacts_heard(self.heard[i]);
        self.nodes[i].game_events_heard(self.game_heard[i]);
        self.asleep_until[i] = 0;
        if let Some(proof) = self.proofs.get_mut(i) {
            *proof = ReplayProof::begin(&self.nodes[i]);
        }
        let process = self.recovery.regions[i].process;
        let first = self.wake_time(self.tick) + self.phases[i];
        self.queue.push(first.max(self.now), (Actor::Node(i as u16), Happening::WakeProcess(process)));
        former
    }

    /// Tells every server of a change of the whole world.
    fn announce(&mut self, change: &Change) {
        self.recovery.announce(change);
        self.checkers.observe_change(change);
        for node in self.nodes.iter_mut().chain(self.recovery.zombies.iter_mut().map(|zombie| &mut zombie.node)) {
            assert!(node.schedule(change.clone()), "there are few changes");
        }
    }

    /// Takes note of what happened to bodies at a server, as far as it is certain.
    fn observe(&mut self, i: usize, events: Vec<Event>) {
        for event in self.recovery.note(i, events) {
            self.outcome.hand_overs += u64::from(matches!(event.kind, EventKind::Adopted(_)));
            self.network.counts.full += u64::from(matches!(event.kind, EventKind::Refused(..) | EventKind::NotBorn));
            if self.config.checked {
                self.checkers.observe(&event);
            }
        }
    }

    /// Takes note of what happened at a server.
    fn watch(&mut self, i: usize) {
        let events = self.nodes[i].take_events();
        self.observe(i, events);
        let node = &mut self.nodes[i];
        let room = BREACHES_KEPT.saturating_sub(self.outcome.breaches.len());
        self.outcome.breaches.extend(node.take_breaches().into_iter().take(room));
        let region = RegionId(i as u16);
        if self.config.checked {
            self.checkers.tells_touches(region, node, GatewayId(0));
        }
        for told in node.take_contacts() {
            self.heard[i] = told.tick;
            if self.config.checked {
                self.checkers.observe_contacts(region, &told);
            }
            self.outcome.contacts.extend(told.contacts.into_iter().map(|contact| (region, contact)));
        }
        for told in node.take_game_events() {
            self.game_heard[i] = told.tick;
            self.outcome.game_events.extend(told.events.into_iter().map(|event| (RegionId(i as u16), event)));
        }
        let log = node.take_log();
        if let Some(proof) = self.proofs.get_mut(i) {
            proof.extend(log);
        }
    }

    /// True while nothing happened that the policy does not answer for.
    fn keeps_promises(&self) -> bool {
        self.config.faults == Faults::default() && self.outcome.breaches.is_empty()
    }

    /// True while it is worth waiting for a coordinator to mend what was struck.
    fn awaits_wholeness(&self) -> bool {
        self.config.checked && self.checkers.found().is_empty() && !self.is_settled()
    }

    fn inspect_seams(&mut self) {
        let scene = self.checkers.scene(self.tick, &self.nodes, &self.gateway, &self.clients, &self.recovery);
        self.checkers.inspect_seams(&scene);
    }

    fn inspect(&mut self) {
        self.name_heirs();
        let scene = self.checkers.scene(self.tick, &self.nodes, &self.gateway, &self.clients, &self.recovery);
        self.checkers.inspect(&scene);
    }

    fn conclude(mut self) -> Outcome {
        if self.config.checked {
            self.name_heirs();
            let scene = self.checkers.scene(self.tick, &self.nodes, &self.gateway, &self.clients, &self.recovery);
            self.checkers.conclude(&scene);
            for (proof, node) in self.proofs.iter().zip(&self.nodes) {
                self.checkers.prove(self.tick, proof, node);
            }
        }
        let resident = self.residents();
        let game_states = self.game_states();
        let mut outcome = self.outcome;
        outcome.game_states = game_states;
        let mut mixer = Mixer::new();
        for (i, node) in self.nodes.iter().enumerate() {
            let hash = self.hashes[i].unwrap_or_else(|| node.state_hash());
            mixer.word(hash);
        }
        outcome.hash = mixer.finish();
        let transit: u64 = self.nodes.iter().map(|node| node.counters().ticks_in_transit).sum();
        outcome.transit_ticks_mean = transit as f64 / outcome.hand_overs.max(1) as f64;
        outcome.violations = self.checkers.found().to_vec();
        outcome.faults = self.network.counts;
        outcome.frames = self.network.frames;
        outcome.bytes = self.network.bytes;
        outcome.ticks_lost = self.nodes.iter().map(|node| node.counters().ticks_lost).sum();
        outcome.births_refused = self.nodes.iter().map(|node| node.counters().births_refused).sum();
        // A server that is nearly full says so, and islands stay where they are: it need not refuse any.
        outcome.faults.full += self.nodes.iter().map(|node| node.counters().islands_kept).sum::<u64>();
        outcome.refused = self.nodes.iter().map(|node| node.counters().refused).sum();
        outcome.promotions = self.recovery.promoted;
        outcome.control = self.control.map(|control| control.counts).unwrap_or_default();
        outcome.record_bytes = self.nodes.iter().map(|node| node.durability().bytes_sent).sum();
        outcome.kept_lag_ticks_mean = self.lag.0 as f64 / self.lag.1.max(1) as f64;
        outcome.hosted = self.nodes.iter().map(Node::hosted_count).collect();
        outcome.resident = resident;
        outcome
    }

    /// What the game keeps with each body, also with those on their way.
    fn game_states(&self) -> BTreeMap<Nid, Vec<u8>> {
        let flying = self.nodes.iter().flat_map(|node| node.game_states_in_flight());
        // Whoever has the body knows better than whoever has not heard that it arrived.
        let hosted = self.nodes.iter().flat_map(|node| node.hosted().map(move |(nid, _)| (nid, node.game_state(nid))));
        let mut states: BTreeMap<Nid, Vec<u8>> = flying.chain(hosted).map(|(nid, kept)| (nid, kept.to_vec())).collect();
        states.retain(|_, kept| !kept.is_empty());
        states
    }

    fn tick_ns(&self) -> Nanos {
        1_000_000_000 / u64::from(self.world.tick_hz)
    }

    fn wake_time(&self, tick: Tick) -> Nanos {
        self.start + tick.0 * self.tick_ns()
    }

    /// The last tick that is due.
    fn due(&self) -> Tick {
        Tick(self.now.saturating_sub(self.start) / self.tick_ns())
    }
}

/// Runs a tick and returns what it cost, nanoseconds: the whole of it, and the engine's step within it.
fn timed_tick(node: &mut Node, tick: Tick) -> (u64, u64) {
    let (start, mut begun, mut step_ns) = (ThreadTime::now(), None, 0);
    node.tick_with(tick, &mut |phase| match phase {
        Phase::StepBegins => begun = Some(ThreadTime::now()),
        Phase::StepEnds => step_ns = begun.take().map_or(0, |begun| begun.elapsed().as_nanos() as u64),
    });
    (start.elapsed().as_nanos() as u64, step_ns)
}

fn actor(address: Address) -> Actor {
    match address {
        Address::Region(region) => Actor::Node(region.0),
        Address::Gateway(gateway) => Actor::Gateway(gateway.0),
        Address::Backup(region) => Actor::Backup(region.0),
    }
}

/// Bodies that injections add in region 0 in the first quarter of a run: a server that may host no more begins with room and
/// runs out of it.
fn injected_early(world: &World, map: &PartitionMap, ticks: u64) -> usize {
    let mut count = 0;
    for (i, injection) in world.injections.iter().enumerate() {
        for ordinal in (1..=ticks / 4).flat_map(|age| injection.due(Tick(age), world.tick_hz)) {
            let (_, pose, _) = injection.body(world.seed, i, ordinal);
            count += usize::from(map.region_at(pose.position) == RegionId(0));
        }
    }
    count
}
