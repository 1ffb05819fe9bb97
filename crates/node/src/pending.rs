//! Commands near a seam. A body that appears or is pushed there takes its neighbours by surprise, so the command takes
//! effect only when everybody near has had the time to hear of it.

use nimbus_model::{BodyDesc, Extent, Motion, Nid, RegionId, Tick, Vec3};
use nimbus_wire::{Act, Aura, Command, CommandRef, Deed, Order};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::Policy;
use crate::node::Node;

/// Most commands that wait near the seams of one server.
const PENDING_MAX: usize = 4_096;

/// A command that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Waiting {
    /// A body that will appear, and who asked for it.
    Spawn { nid: Nid, desc: Arc<BodyDesc>, motion: Motion, by: CommandRef },
    /// A push to come, or another change of how a body moves.
    Push(Order),
    /// What a game does.
    Deed(Deed),
}

/// Commands that wait for their tick, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pending {
    waiting: Vec<(Tick, Waiting)>,
}

impl Node {
    /// True when something that happens here must be known elsewhere first.
    fn is_near_seam(&self, position: Vec3) -> bool {
        let near = self.announced_from() + 2.0 * self.seam.largest_m;
        self.config.policy == Policy::Aura && self.map.regions().len() > 1 && self.distance_to_edge(position) <= near
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
                self.seam.largest_m = self.seam.largest_m.max(desc.shape.bounding_radius());
                Waiting::Spawn { nid: self.next_nid(), desc: desc.clone(), motion: *motion, by: order.by }
            }
            _ => Waiting::Push(order.clone()),
        };
        self.counters.orders_delayed += 1;
        self.pending.waiting.push((self.now + 2 * self.horizon.legs, waiting));
        true
    }

    /// Keeps what a game does for later if it must wait; else it comes back. A body that is to appear always waits, for the
    /// next tick at least.
    pub(crate) fn defer_deed(&mut self, deed: Deed) -> Option<Deed> {
        let (position, birth) = match &deed.act {
            Act::Birth { desc, motion, .. } => {
                self.seam.largest_m = self.seam.largest_m.max(desc.shape.bounding_radius());
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
        let wait = if near { 2 * self.horizon.legs } else { 1 };
        self.pending.waiting.push((self.now + wait, Waiting::Deed(deed)));
        None
    }

    /// Bodies of a game that are to appear here.
    pub(crate) fn unborn(&self) -> impl Iterator<Item = &Act> {
        self.pending.waiting.iter().filter_map(|(_, waiting)| match waiting {
            Waiting::Deed(Deed { act: act @ Act::Birth { .. }, .. }) => Some(act),
            _ => None,
        })
    }

    /// Carries out what has waited long enough.
    pub(crate) fn end_waits(&mut self) {
        let now = self.now;
        let (due, later) = std::mem::take(&mut self.pending.waiting).into_iter().partition(|(at, _)| *at <= now);
        self.pending.waiting = later;
        let due: Vec<(Tick, Waiting)> = due;
        for (_, waiting) in due {
            match waiting {
                Waiting::Spawn { nid, desc, motion, by } => {
                    let outcome = self.spawn(nid, desc, motion);
                    self.reply(by, outcome);
                }
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
        speeds
    }

    /// Announces bodies that will appear.
    pub(crate) fn announce_spawns(&self, outgoing: &mut BTreeMap<RegionId, Vec<Aura>>) {
        let mut targets = Vec::new();
        for (at, waiting) in &self.pending.waiting {
            if let Waiting::Spawn { nid, desc, motion, .. }
            | Waiting::Deed(Deed { act: Act::Birth { nid, desc, motion, .. }, .. }) = waiting
            {
                self.targets(motion.pose.position, desc.shape.bounding_radius(), self.horizon.speed, &mut targets);
                let speed = motion.velocity.linear.length();
                let extent = Extent::of(&desc.shape, &motion.pose, desc.shape.bounds_at(&motion.pose));
                for to in &targets {
                    let aura = Aura { nid: *nid, host: self.config.region, tick: *at, extent, speed };
                    outgoing.entry(*to).or_default().push(aura);
                }
            }
        }
    }
}
