//! Commands: carried out here, or passed on to where the body went, or refused with a reason.

use nimbus_model::{BodyKind, Group, Motion, RegionId};
use nimbus_wire::{Address, Command, CommandRef, Item, Order, Outcome};

use crate::config::Planted;
use crate::event::{Cause, EventKind};
use crate::node::Node;

/// A command that was passed on this often is refused.
const HOPS_MAX: u8 = 8;

impl Node {
    pub(crate) fn carry_out(&mut self, order: Order) {
        let destination = match &order.command {
            Command::Spawn { motion, .. } => {
                let at = self.map.region_at(motion.pose.position);
                (at != self.config.region).then_some(at)
            }
            Command::Push { nid, .. } | Command::Despawn { nid } => {
                self.departed.get(nid).filter(|_| !self.hosted.contains_key(nid)).map(|(to, _)| *to)
            }
        };
        match destination {
            Some(to) => self.pass_on(order, to),
            None => {
                let outcome = self.execute(order.command);
                self.reply(order.by, outcome);
            }
        }
    }

    fn execute(&mut self, command: Command) -> Outcome {
        let unknown = |nid| Outcome::Refused(format!("there is no body {nid}"));
        match command {
            Command::Spawn { desc, motion } => {
                if let Some(problem) = self.spawn_problem(&desc, &motion) {
                    return Outcome::Refused(problem);
                }
                let nid = self.next_nid();
                self.bear(Group::single(nid, desc, motion));
                if self.hosted.contains_key(&nid) {
                    Outcome::Done(nid)
                } else {
                    Outcome::Refused("the physics engine cannot build this body".to_owned())
                }
            }
            Command::Push { nid, impulse } => {
                if !impulse.is_finite() {
                    return Outcome::Refused("the impulse is not a number".to_owned());
                }
                if self.hosted.contains_key(&nid) && self.physics.push(nid, impulse, None) {
                    Outcome::Done(nid)
                } else {
                    unknown(nid)
                }
            }
            Command::Despawn { nid } => {
                if self.hosted.contains_key(&nid) {
                    self.bury(nid, Cause::Despawned);
                    Outcome::Done(nid)
                } else {
                    unknown(nid)
                }
            }
        }
    }

    fn spawn_problem(&self, desc: &nimbus_model::BodyDesc, motion: &Motion) -> Option<String> {
        let world = &self.world;
        if desc.kind == BodyKind::Static {
            return Some("a static body cannot be spawned while the world runs".to_owned());
        }
        if let Some(problem) = desc.problem() {
            return Some(problem);
        }
        if desc.shape.bounding_radius() > world.radius_max {
            let radius = desc.shape.bounding_radius();
            return Some(format!("the body's radius is {radius} m; this world allows {} m", world.radius_max));
        }
        if !motion.is_valid() {
            return Some("its pose or velocity is not a number".to_owned());
        }
        if !world.kill_box.holds(motion.pose.position) {
            return Some("it would start outside the world".to_owned());
        }
        if motion.velocity.linear.length() > 16.0 * world.tolerances.speed {
            return Some(format!("it is faster than {} m/s", 16.0 * world.tolerances.speed));
        }
        (self.hosted.len() >= self.config.bodies_max).then(|| "this server hosts as many bodies as it may".to_owned())
    }

    /// Removes a body for good. Death is one epoch above life, so nothing that is still on its way can revive it.
    pub(crate) fn bury(&mut self, nid: nimbus_model::Nid, cause: Cause) {
        let body_epoch = self.hosted.remove(&nid).unwrap_or(0) + 1;
        self.physics.remove(&[nid]);
        self.report(nid, body_epoch, EventKind::Died(cause));
        if self.config.planted != Some(Planted::SilentDeath) {
            self.tell(&Item::Died { nid, body_epoch });
        }
    }

    fn pass_on(&mut self, mut order: Order, to: RegionId) {
        order.hops += 1;
        if order.hops > HOPS_MAX {
            self.reply(order.by, Outcome::Refused("the body changes server too often to catch".to_owned()));
            return;
        }
        self.counters.orders_forwarded += 1;
        self.outbox.push(Address::Region(to), self.now, Item::Order(order));
    }

    fn reply(&mut self, by: CommandRef, outcome: Outcome) {
        self.counters.orders_refused += u64::from(matches!(outcome, Outcome::Refused(_)));
        if self.config.gateways.contains(&by.gateway) {
            self.outbox.push(Address::Gateway(by.gateway), self.now, Item::Outcome(by, outcome));
        }
    }
}
