//! What clients ask for, and who carries it out: a region, the shell, or the gateway itself.

use nimbus_model::{ClientId, Nid, Placed, RegionId, nearest};
use nimbus_wire::client::{
    Authority, BodyCard, ClientRole, FromClient, Hits, Overlay, Parsed, Query, QueryFilter, ToClient, Watch, bodies,
};
use nimbus_wire::{Command, CommandRef, Order};
use std::sync::Arc;

use super::{Gateway, Serves};
use crate::mirror::Picture;
use crate::orders::spawn_command;
use crate::sessions::Allowance;
use crate::{Message, Request};

/// Bodies that may be looked at closely for the price of one command, to answer questions. One takes about a
/// microsecond, a moving shape against a hull several.
const TRIES_PER_COMMAND: u64 = 256;

impl Gateway {
    pub(super) fn command(&mut self, client: ClientId, parsed: Parsed) {
        let Parsed { seq, command } = parsed;
        let needed = ClientRole::needed_for(&command);
        if let Some(role) = self.sessions.role(client).filter(|role| *role < needed) {
            return self.forbid(client, seq, role, needed);
        }
        if self.config.serves == Serves::Questions
            && !matches!(command, FromClient::Query { .. } | FromClient::Inspect { .. })
        {
            let reason = "this gateway answers questions and nothing else; connect to another one for that";
            return self.sessions.hasty(client, seq, reason, &mut self.counters);
        }
        let ordered = match command {
            FromClient::Spawn(spawn) => {
                spawn_command(&self.world, &spawn).map(|command| (self.map.region_at(spawn.pose.position), command))
            }
            FromClient::Impulse { nid, impulse } => {
                self.owner(nid).map(|region| (region, Command::Push { nid, impulse }))
            }
            FromClient::Despawn { nid } if Placed::may_name(nid) => {
                return self.request(client, seq, Request::RemoveStatic(nid));
            }
            FromClient::Despawn { nid } => self.owner(nid).map(|region| (region, Command::Despawn { nid })),
            FromClient::Join { one, two, joint } => {
                self.owner(one).map(|region| (region, Command::Join { one, two, joint }))
            }
            FromClient::Reset => return self.request(client, seq, Request::Reset),
            FromClient::Scene { name } => return self.request(client, seq, Request::Scene(name)),
            FromClient::Pause { paused } => return self.request(client, seq, Request::Pause(paused)),
            FromClient::Step { ticks } => return self.request(client, seq, Request::Step(ticks)),
            FromClient::Speed { factor } => return self.request(client, seq, Request::Speed(factor)),
            FromClient::Kill { server } => return self.request(client, seq, Request::Kill(RegionId(server))),
            FromClient::Overlays { on } => return self.choose_overlays(client, seq, on),
            FromClient::Inspect { nid } => return self.inspect(client, seq, nid),
            FromClient::Query { queries, filter, authority: Authority::Gateway } => {
                return self.query(client, seq, &queries, &filter);
            }
            FromClient::Query { queries, filter, authority: Authority::Servers { at } } => {
                return self.ask_servers((client, seq), (queries, filter), at);
            }
            FromClient::Watch(watch) => return self.watch(client, seq, &watch),
            FromClient::Touches { of } => return self.listen(client, seq, of),
            FromClient::Game { nid, payload } => self.owner(nid).map(|region| (region, Command::Game { nid, payload })),
            FromClient::Velocity { nid, linear, angular } => {
                self.owner(nid).map(|region| (region, Command::Turn { nid, linear, angular }))
            }
            FromClient::Target { nid, pose, ticks } => {
                self.owner(nid).map(|region| (region, Command::Steer { nid, pose, ticks }))
            }
            FromClient::Static(fixed) => {
                return self.request(client, seq, Request::PlaceStatic(Arc::new(fixed.desc()), fixed.pose));
            }
            FromClient::Regions { boxes, rest } => return self.request(client, seq, Request::Regions(boxes, rest)),
        };
        if !self.may_command(client, seq) {
            return;
        }
        let sent = ordered.and_then(|(region, command)| self.order(client, seq, region, command));
        if let Err(reason) = sent {
            self.sessions.refuse(client, seq, reason, &mut self.counters);
        }
    }

    fn forbid(&mut self, client: ClientId, seq: Option<u64>, role: ClientRole, needed: ClientRole) {
        self.counters.commands_forbidden += 1;
        let reason = format!("that takes the role {needed}, and you are here as {role}");
        if self.sessions.control(client) {
            self.sessions.refuse(client, seq, reason, &mut self.counters);
        } else {
            self.sessions.hasty(client, seq, &reason, &mut self.counters);
        }
    }

    fn owner(&self, nid: Nid) -> Result<RegionId, String> {
        self.replicas.of(nid).map(|replica| replica.region).ok_or_else(|| format!("there is no body {nid}"))
    }

    fn order(&mut self, client: ClientId, seq: Option<u64>, to: RegionId, command: Command) -> Result<(), String> {
        if !self.lanes.has_room(to) {
            return Err(format!("the server of region {to} does not answer; try again later"));
        }
        let spawns = matches!(command, Command::Spawn { .. }) && self.sessions.role(client) != Some(ClientRole::Admin);
        let max = self.config.bodies_per_client;
        if spawns && !self.quotas.take(client, max) {
            return Err(format!("{max} bodies that you made live, which is all that one client may have; remove some"));
        }
        let opened = self.orders.open((client, seq), to, spawns, self.now);
        if opened.is_err() && spawns {
            self.quotas.give_back(client);
        }
        let sequence = opened?;
        let by = CommandRef { gateway: self.config.id, client, sequence };
        self.lanes.push(to, self.now, Order { by, hops: 0, command });
        Ok(())
    }

    /// True when a client has paid for a command; if it cannot, it is told.
    pub(super) fn may_command(&mut self, client: ClientId, seq: Option<u64>) -> bool {
        let may = self.sessions.pay(client, self.allowance());
        if may {
            self.counters.commands += 1;
        } else {
            let Allowance { commands_per_second, .. } = self.allowance();
            let reason = format!("too many commands; this gateway takes {commands_per_second} a second from a client");
            self.sessions.hasty(client, seq, &reason, &mut self.counters);
        }
        may
    }

    /// Answers at once, from what is known as of the last tick. Answers that cost more than a command are paid for
    /// afterwards, and given up when the client cannot.
    fn query(&mut self, client: ClientId, seq: Option<u64>, queries: &[Query], filter: &QueryFilter) {
        if !self.may_command(client, seq) {
            return;
        }
        let tries_max = (1 + self.sessions.affords(client, self.allowance())) * TRIES_PER_COMMAND;
        let picture = Picture { world: &self.world, era: self.era, replicas: &self.replicas, now: self.now };
        let answered = self.mirror.answer(picture, queries, filter, tries_max, &mut self.counters);
        let tried = answered.as_ref().map_or_else(|tried| *tried, |(_, _, tried)| *tried);
        self.sessions.charge(client, tried / TRIES_PER_COMMAND, self.allowance());
        self.counters.queries += queries.len() as u64;
        match answered {
            Ok((tick, answers, _)) => {
                let age = self.now.since(tick);
                self.sessions.tell(client, ToClient::Hits(Hits { seq, tick, age, answers, missing: None }));
            }
            Err(_) => {
                let reason = "these questions look at more bodies than your allowance covers; ask for less, or wait";
                self.sessions.refuse(client, seq, reason.to_owned(), &mut self.counters);
            }
        }
    }

    /// A client looks somewhere. One that saw everything so far loses sight of it first.
    fn watch(&mut self, client: ClientId, seq: Option<u64>, watch: &Watch) {
        if !self.may_ask(client, seq) {
            return;
        }
        self.counters.watches += 1;
        if self.sessions.watches(client) {
            let slots: Vec<u32> = self.replicas.in_slots().map(|replica| replica.slot).collect();
            let mut bytes = Vec::new();
            bodies::encode_leave(&slots, &mut bytes);
            self.sessions.mail.push((client, Message::Binary(Arc::from(bytes))));
        }
        self.channels.watch(client, watch);
        self.sessions.tell(client, ToClient::Done { seq, nid: None });
    }

    /// True when a client may ask for something that costs no tick; if not, it is told.
    pub(super) fn may_ask(&mut self, client: ClientId, seq: Option<u64>) -> bool {
        let may = self.sessions.control(client);
        if may {
            self.counters.commands += 1;
        } else {
            let reason = "too many questions and commands to the clock and the scene at once";
            self.sessions.hasty(client, seq, reason, &mut self.counters);
        }
        may
    }

    fn choose_overlays(&mut self, client: ClientId, seq: Option<u64>, on: Vec<Overlay>) {
        if self.may_ask(client, seq) {
            self.sessions.choose(client, on);
            self.sessions.tell(client, ToClient::Done { seq, nid: None });
        }
    }

    fn inspect(&mut self, client: ClientId, seq: Option<u64>, nid: Nid) {
        if !self.may_ask(client, seq) {
            return;
        }
        let Some(replica) = self.replicas.of(nid) else {
            self.sessions.refuse(client, seq, format!("there is no body {nid}"), &mut self.counters);
            return;
        };
        let (hand_overs, history) = self.replicas.history(nid);
        let card = BodyCard {
            seq,
            nid,
            region: replica.region,
            epoch: replica.stamp.body_epoch,
            tick: replica.stamp.tick,
            velocity: replica.velocity,
            sleeping: replica.sleeping,
            desc: Arc::clone(&replica.desc),
            hand_overs,
            history,
        };
        self.sessions.tell(client, ToClient::Body(card));
    }

    fn request(&mut self, client: ClientId, seq: Option<u64>, request: Request) {
        if !self.may_ask(client, seq) {
            return;
        }
        let names = || self.scenes.iter().map(|scene| scene.name.as_str());
        if let Request::Scene(name) = &request
            && !self.scenes.is_empty()
            && !names().any(|known| known == name)
        {
            let reason = match nearest(name, names()) {
                Some(near) => format!("there is no scene `{name}`; did you mean `{near}`?"),
                None => format!("there is no scene `{name}`"),
            };
            self.sessions.refuse(client, seq, reason, &mut self.counters);
            return;
        }
        self.sessions.requests.push((client, seq, request));
    }
}
