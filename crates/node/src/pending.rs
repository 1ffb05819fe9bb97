//! Commands near a seam. A body that appears or is pushed there takes its neighbours by surprise, so the command takes
//! effect only when everybody near has had the time to hear of it.

use nimbus_model::{Nid, Tick, Vec3, World};
use nimbus_wire::{Act, BirthCause, Command, Deed, Order, PlannedBirth};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::config::{Planted, Policy};
use crate::node::Node;

/// Most commands that wait near the seams of one server.
const PENDING_MAX: usize = 4_096;

/// A command that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Waiting {
    /// A body that will appear.
    Birth(PlannedBirth),
    /// A push to come, or another change of how a body moves.
    Push(Order),
    /// What a game does.
    Deed(Deed),
}

/// Commands that wait for their tick, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pending {
    waiting: Vec<(Tick, Waiting)>,
    /// Injected bodies that another server will make, and when.
    passed_on: BTreeMap<Nid, Tick>,
}

impl Pending {
    /// Bodies that will appear here, other than by injections.
    pub(crate) fn births(&self) -> Vec<PlannedBirth> {
        let waiting = self.waiting.iter();
        waiting
            .filter_map(|(_, waiting)| if let Waiting::Birth(birth) = waiting { Some(birth.clone()) } else { None })
            .collect()
    }

    /// True for an injected body that another server will make, or has made lately.
    pub(crate) fn is_passed_on(&self, nid: Nid) -> bool {
        self.passed_on.contains_key(&nid)
    }

    /// Another server will make a body.
    pub(crate) fn pass_on(&mut self, birth: &PlannedBirth) {
        self.waiting.retain(|(_, waiting)| !matches!(waiting, Waiting::Birth(waits) if waits.nid == birth.nid));
        if birth.cause == BirthCause::World {
            self.passed_on.insert(birth.nid, birth.at);
        }
    }

    /// This server will make a body.
    pub(crate) fn expect_birth(&mut self, birth: PlannedBirth) {
        self.waiting.push((birth.at, Waiting::Birth(birth)));
    }

    /// Forgets births whose tick has passed.
    pub(crate) fn forget_passed_on(&mut self, before: Tick) {
        self.passed_on.retain(|_, at| *at >= before);
    }
}

impl Node {
    /// True when something that happens here must be known elsewhere first.
    fn is_near_seam(&self, position: Vec3) -> bool {
        let near = self.announced_from() + 2.0 * self.seam.largest_m;
        let beside_guests = self.seam.guests.is_some_and(|bounds| bounds.holds(position));
        self.config.policy == Policy::Aura
            && self.map.regions().len() > 1
            && (self.distance_to_edge(position) <= near || beside_guests)
    }

    /// Keeps a command for later if it must wait. A spawn must have been found good.
    pub(crate) fn must_wait(&mut self, order: &Order) -> bool {
        let position = match &order.command {
            Command::Spawn { motion, .. } => Some(motion.pose.position),
            Command::Push { nid, .. } | Command::Turn { nid, .. } | Command::Steer { nid, .. } => {
                self.physics.view(*nid).map(|body| body.pose.position)
            }
            Command::Despawn { .. } | Command::Join { .. } | Command::Game { .. } => None,
        };
        let waits = position.is_some_and(|position| self.is_near_seam(position));
        if !waits || self.pending.waiting.len() >= PENDING_MAX {
            return false;
        }
        let waiting = match &order.command {
            Command::Spawn { desc, motion } => {
                self.seam.learn(desc);
                let (at, nid) = (self.now + self.notice_ticks(), self.next_nid());
                let (desc, cause) = (desc.clone(), BirthCause::Command(order.by));
                Waiting::Birth(PlannedBirth { at, nid, desc, motion: *motion, cause })
            }
            _ => Waiting::Push(order.clone()),
        };
        self.counters.orders_delayed += 1;
        self.pending.waiting.push((self.now + self.notice_ticks(), waiting));
        true
    }

    /// Keeps what a game does for later if it must wait; else it comes back. A body that is to appear always waits, for the
    /// next tick at least.
    pub(crate) fn defer_deed(&mut self, deed: Deed) -> Option<Deed> {
        let (position, birth) = match &deed.act {
            Act::Birth { desc, motion, .. } => {
                self.seam.learn(desc);
                (Some(motion.pose.position), true)
            }
            Act::Push { nid, .. } | Act::Velocity { nid, .. } => {
                (self.physics.view(*nid).map(|body| body.pose.position), false)
            }
        };
        let near = position.is_some_and(|position| self.is_near_seam(position));
        let full = self.pending.waiting.len() >= PENDING_MAX;
        if birth && full {
            self.counters.deeds_lost += 1;
            return None;
        }
        if full || !(near || birth) {
            return Some(deed);
        }
        let at = self.now + if near { self.notice_ticks() } else { 1 };
        let waiting = match deed.act {
            Act::Birth { nid, desc, motion, keepsake } => {
                Waiting::Birth(PlannedBirth { at, nid, desc, motion, cause: BirthCause::Game(keepsake) })
            }
            Act::Push { .. } | Act::Velocity { .. } => Waiting::Deed(deed),
        };
        self.pending.waiting.push((at, waiting));
        None
    }

    /// Carries out what has waited long enough.
    pub(crate) fn end_waits(&mut self) {
        let now = self.now;
        let (due, later) = std::mem::take(&mut self.pending.waiting).into_iter().partition(|(at, _)| *at <= now);
        self.pending.waiting = later;
        let due: Vec<(Tick, Waiting)> = due;
        for (_, waiting) in due {
            match waiting {
                Waiting::Birth(birth) => self.give_birth(birth),
                Waiting::Push(order) => self.carry_out_now(order),
                Waiting::Deed(deed) => self.act(deed),
            }
        }
    }

    /// The speeds that bodies will have once the pushes that wait for them have come.
    pub(crate) fn expected_speeds(&self) -> BTreeMap<Nid, f32> {
        let mut speeds = BTreeMap::new();
        for (_, waiting) in &self.pending.waiting {
            let (nid, speed) = match waiting {
                Waiting::Push(Order { command, .. }) => {
                    let Some((nid, body)) = command.target().and_then(|nid| Some((nid, self.physics.view(nid)?)))
                    else {
                        continue;
                    };
                    let speed = match command {
                        Command::Push { impulse, .. } => {
                            (body.velocity.linear + *impulse / body.mass().max(1e-6)).length()
                        }
                        Command::Turn { linear, .. } => linear.unwrap_or(body.velocity.linear).length(),
                        Command::Steer { pose, ticks, .. } => {
                            body.pose.position.distance(pose.position) / (*ticks as f32 * self.world.tick_s())
                        }
                        _ => continue,
                    };
                    (nid, speed)
                }
                Waiting::Deed(Deed { act: Act::Push { nid, impulse }, .. }) => {
                    let Some(body) = self.physics.view(*nid) else { continue };
                    (*nid, (body.velocity.linear + *impulse / body.mass().max(1e-6)).length())
                }
                Waiting::Deed(Deed { act: Act::Velocity { nid, velocity }, .. }) => (*nid, velocity.linear.length()),
                _ => continue,
            };
            let known: &mut f32 = speeds.entry(nid).or_default();
            *known = known.max(speed.min(self.world.speed_max()));
        }
        self.expect_scripted(&mut speeds);
        speeds
    }

    /// The same for the pushes of the world's script that are so near.
    fn expect_scripted(&self, speeds: &mut BTreeMap<Nid, f32>) {
        if self.world.script.is_empty() || self.config.planted == Some(Planted::UnannouncedPushes) {
            return;
        }
        for ahead in 1..=self.notice_ticks() {
            for push in self.world.pushes_at(self.now + ahead, self.loaded_at) {
                let nid = World::nid(self.era, push.body);
                let Some(body) = self.physics.view(nid).filter(|_| self.hosted.contains(nid)) else { continue };
                let turns = body.desc.shape.turning_speed(body.pose.rotation, body.velocity.angular + push.angular);
                let speed = (body.velocity.linear + push.linear).length() + turns;
                let known: &mut f32 = speeds.entry(nid).or_default();
                *known = known.max(speed);
            }
        }
    }
}
