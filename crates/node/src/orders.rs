//! Commands: carried out here, or passed on to where the body went, or refused with a reason.

use nimbus_model::{BodyDesc, Group, Motion, Nid, RegionId, Vec3, Velocity};
use nimbus_wire::{Address, Command, CommandRef, Item, Order, Outcome};
use std::sync::Arc;

use crate::config::Planted;
use crate::event::{Cause, EventKind};
use crate::node::Node;
use crate::outbox::REGION_LANE_MAX;

/// A command that was passed on this often is refused.
const HOPS_MAX: u8 = 8;
/// No command makes a body turn faster, rad/s: at 60 Hz it would seem to turn the other way.
const SPIN_MAX: f32 = 100.0;

impl Node {
    pub(crate) fn carry_out(&mut self, order: Order) {
        let destination = match &order.command {
            Command::Spawn { motion, .. } => {
                let at = self.map.region_at(motion.pose.position);
                (at != self.config.region).then_some(at)
            }
            _ => self.whereabouts(&order.command),
        };
        match destination {
            Some(to) => self.pass_on(order, to),
            None => {
                let refused = match &order.command {
                    Command::Spawn { desc, motion } => self.spawn_refusal(desc, motion, &[]),
                    _ => None,
                };
                if let Some(reason) = refused {
                    self.reply(order.by, Outcome::Refused(reason));
                } else if !self.must_wait(&order) {
                    self.carry_out_now(order);
                }
            }
        }
    }

    /// Carries a command out here, or passes it on to where the body has gone since it came.
    pub(crate) fn carry_out_now(&mut self, order: Order) {
        if let Some(to) = self.whereabouts(&order.command) {
            self.pass_on(order, to);
            return;
        }
        let by = order.by;
        let target = order.command.target();
        if let Some(nid) = target.filter(|nid| self.recent.has(*nid, by)) {
            self.counters.orders_repeated += 1;
            self.reply(by, Outcome::Done(nid));
            return;
        }
        let outcome = match order.command {
            Command::Spawn { desc, motion } => {
                let nid = self.next_nid();
                self.spawn(nid, desc, motion)
            }
            Command::Push { nid, impulse } => self.push(nid, impulse),
            Command::Despawn { nid } => self.despawn(nid),
            Command::Join { one, two, joint } => return self.begin_linkage(by, one, two, joint),
            Command::Game { nid, payload } => return self.note_game_command(by, nid, payload),
            Command::Turn { nid, linear, angular } => self.set_velocity(nid, linear, angular),
            Command::Steer { nid, pose, ticks } => self.steer(nid, pose, ticks),
        };
        if let Some(nid) = target.filter(|nid| self.hosted.contains(*nid) && outcome == Outcome::Done(*nid)) {
            self.recent.note(nid, by);
        }
        self.reply(by, outcome);
    }

    /// Where the body went that a command is for, if it is not here and that is known.
    fn whereabouts(&self, command: &Command) -> Option<RegionId> {
        let nid = command.target().filter(|nid| !self.hosted.contains(*nid))?;
        self.departed.get(&nid).map(|(to, _)| *to)
    }

    /// Why a body cannot appear here, if it cannot. One that does not fit is counted, and reported if it has a name.
    fn spawn_refusal(&mut self, desc: &BodyDesc, motion: &Motion, named: &[Nid]) -> Option<String> {
        let problem = self.world.spawn_problem(desc, motion);
        if problem.is_some() {
            return problem;
        }
        let refused = self.budget_refusal();
        match named {
            _ if refused.is_none() => {}
            [] => self.count_refused_births(1, &[]),
            named => self.refuse_births(named),
        }
        refused
    }

    /// Makes a body that was asked for.
    pub(crate) fn spawn(&mut self, nid: Nid, desc: Arc<BodyDesc>, motion: Motion) -> Outcome {
        if let Some(reason) = self.spawn_refusal(&desc, &motion, &[nid]) {
            return Outcome::Refused(reason);
        }
        self.bear(Group::single(nid, desc, motion), |_| 1);
        if self.hosted.contains(nid) {
            Outcome::Done(nid)
        } else {
            Outcome::Refused("the physics engine cannot build this body".to_owned())
        }
    }

    pub(crate) fn push(&mut self, nid: Nid, impulse: Vec3) -> Outcome {
        if !impulse.is_finite() {
            return Outcome::Refused("the impulse is not a number".to_owned());
        }
        if !self.hosted.contains(nid) {
            return unknown(nid);
        }
        if !self.physics.push(nid, impulse, None) {
            return Outcome::Refused("the impulse is too great, or the body is not moved by impulses".to_owned());
        }
        self.hold_speed(nid);
        Outcome::Done(nid)
    }

    /// Gives a body another velocity, as far as it is named. One that was on its way somewhere is not any more.
    fn set_velocity(&mut self, nid: Nid, linear: Option<Vec3>, angular: Option<Vec3>) -> Outcome {
        let Some(present) = self.physics.motion(nid).filter(|_| self.hosted.contains(nid)) else {
            return unknown(nid);
        };
        let wanted = Velocity {
            linear: linear.unwrap_or(present.velocity.linear).clamp_length_max(self.world.speed_max()),
            angular: angular.unwrap_or(present.velocity.angular).clamp_length_max(SPIN_MAX),
        };
        if !self.physics.set_velocity(nid, wanted) {
            return Outcome::Refused("the velocity is not a number".to_owned());
        }
        self.courses.remove(&nid);
        Outcome::Done(nid)
    }

    fn despawn(&mut self, nid: Nid) -> Outcome {
        if !self.hosted.contains(nid) {
            return unknown(nid);
        }
        self.bury(&[nid], Cause::Despawned);
        Outcome::Done(nid)
    }

    /// Keeps a push from making a body faster than any may be.
    fn hold_speed(&mut self, nid: Nid) {
        if let Some(Velocity { linear, angular }) = self.physics.motion(nid).map(|motion| motion.velocity)
            && linear.length() > self.world.speed_max()
        {
            let linear = linear.clamp_length_max(self.world.speed_max());
            self.physics.set_velocity(nid, Velocity { linear, angular });
        }
    }

    /// Removes bodies for good, which are in order: all at once, because many may leave the world in one tick. Death is one
    /// epoch above life, so nothing that is still on its way can revive them.
    pub(crate) fn bury(&mut self, nids: &[Nid], cause: Cause) {
        if nids.is_empty() {
            return;
        }
        let touches = self.touches_of(nids);
        self.physics.remove(nids);
        self.end_contacts(touches);
        let epochs: Vec<u32> = nids.iter().map(|nid| self.hosted.get(*nid).unwrap_or(0) + 1).collect();
        self.hosted.remove_sorted(nids);
        for (&nid, body_epoch) in nids.iter().zip(epochs) {
            self.recent.take(nid);
            self.keepsakes.remove(&nid);
            self.courses.remove(&nid);
            self.seam.drop_body(nid);
            self.report(nid, body_epoch, EventKind::Died(cause));
            if self.config.planted != Some(Planted::SilentDeath) {
                self.tell(&Item::Died { nid, body_epoch });
            }
        }
    }

    fn pass_on(&mut self, mut order: Order, to: RegionId) {
        order.hops += 1;
        if order.hops > HOPS_MAX {
            self.reply(order.by, Outcome::Refused("the body changes server too often to catch".to_owned()));
            return;
        }
        if self.outbox.waiting(Address::Region(to)) >= REGION_LANE_MAX {
            self.reply(order.by, Outcome::Refused("the server that has the body does not answer".to_owned()));
            return;
        }
        self.counters.orders_forwarded += 1;
        self.outbox.push(Address::Region(to), self.now, Item::Order(order));
    }

    pub(crate) fn reply(&mut self, by: CommandRef, outcome: Outcome) {
        self.counters.orders_refused += u64::from(matches!(outcome, Outcome::Refused(_)));
        if self.config.gateways.contains(&by.gateway) {
            self.outbox.push(Address::Gateway(by.gateway), self.now, Item::Outcome(by, outcome));
        }
    }
}

fn unknown(nid: Nid) -> Outcome {
    Outcome::Refused(format!("there is no body {nid}"))
}
