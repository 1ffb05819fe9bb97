//! What people and policies order, and why it cannot be.

use nimbus_model::RegionId;
use nimbus_space::PartitionMap;
use std::sync::Arc;

use super::Plan;
use crate::change::{CHANGES_MAX, Change};
use crate::exchange::{Order, OrderError};
use crate::roster::{Birth, Region, Role};
use crate::timeline::PACE_PERMILLE;
use crate::validity::check_name;

impl Plan<'_> {
    /// Carries out what was ordered, in the order in which it was.
    pub(super) fn carry_out_orders(&mut self) {
        for (id, order) in self.facts.orders {
            let result = self.carry_out(order);
            self.answers.push((*id, result));
        }
    }

    fn carry_out(&mut self, order: &Order) -> Result<(), OrderError> {
        if let Order::Drain(name) | Order::Stay(name) = order {
            let (process, _) = self.roster.member_named(name).ok_or_else(|| OrderError::NoProcess(name.clone()))?;
            match order {
                Order::Drain(_) => self.drain(process),
                _ => self.stay(process),
            }
            return Ok(());
        }
        if self.roster.regions.is_empty() {
            return Err(OrderError::NotStarted);
        }
        let effective = self.tick() + self.facts.config.announce_ticks;
        let effective = self.roster.changes.last().map_or(effective, |last| effective.max(last.at().next()));
        match order {
            Order::Drain(_) | Order::Stay(_) => Ok(()),
            Order::Restart(region) => self.restart(*region),
            Order::Move { region, to } => self.order_move(*region, to),
            Order::MoveCut { index, at, width_min } => {
                let map = self.roster.newest_map().move_cut(*index, *at, *width_min, effective);
                self.announce_map(map.map_err(|error| OrderError::Map(error.to_string()))?)
            }
            Order::Map(map) => {
                let newest = self.roster.newest_map();
                if map.regions() != newest.regions() {
                    return Err(OrderError::OtherRegions);
                }
                if map.epoch() != newest.epoch() + 1 {
                    return Err(OrderError::Map("the partition was not made from the newest one".to_owned()));
                }
                if map.effective() < effective {
                    return Err(OrderError::Map(format!("the partition must take effect at {effective} or later")));
                }
                self.announce_map((**map).clone())
            }
            Order::Rank(order) => {
                let map = self.roster.newest_map().with_ranks(order, effective);
                self.announce_map(map.map_err(|error| OrderError::Map(error.to_string()))?)
            }
            Order::Load { world, map } => {
                check_name(world).map_err(|error| OrderError::Invalid(error.to_string()))?;
                if map.regions() != self.roster.map.regions() {
                    return Err(OrderError::OtherRegions);
                }
                let loads = |change: &&Change| matches!(change, Change::Load { .. });
                let era = match self.roster.changes.iter().rev().find(loads) {
                    Some(Change::Load { era, .. }) => *era,
                    _ => self.roster.era,
                };
                let era = era.checked_add(1).ok_or(OrderError::Exhausted)?;
                self.announce(Change::Load { at: effective, era, world: world.clone(), map: Arc::clone(map) })
            }
            Order::Pace(permille) => {
                if !PACE_PERMILLE.contains(permille) {
                    let (least, most) = (PACE_PERMILLE.start(), PACE_PERMILLE.end());
                    let what = format!("a pace of {permille} is not between {least} and {most} thousandths");
                    return Err(OrderError::Invalid(what));
                }
                let timeline = self.roster.timeline.as_mut().ok_or(OrderError::NotStarted)?;
                timeline.set_pace(effective, *permille);
                Ok(())
            }
        }
    }

    fn restart(&mut self, id: RegionId) -> Result<(), OrderError> {
        let after = self.tick() + self.facts.config.handover_ticks;
        let region = self.roster.regions.get(&id).ok_or(OrderError::NoRegion(id))?;
        let epoch = region.epoch.checked_add(1).ok_or(OrderError::Exhausted)?;
        if region.lost.is_none() {
            return Err(OrderError::NotLost(id));
        }
        let server = self.idlest(None).ok_or(OrderError::Nobody(id))?;
        let origin = self.issue_origin().ok_or(OrderError::Exhausted)?;
        if let Some(region) = self.roster.regions.get_mut(&id) {
            *region = Region {
                server,
                epoch,
                origin,
                birth: Birth::Empty { after },
                backup: None,
                lives: region.lives,
                protected: false,
                moving: None,
                lost: None,
            };
        }
        *self.loads.entry(server).or_default() += 1;
        self.seat(id, self.idlest(Some(server)));
        Ok(())
    }

    fn order_move(&mut self, id: RegionId, to: &str) -> Result<(), OrderError> {
        let region = self.roster.regions.get(&id).ok_or(OrderError::NoRegion(id))?;
        if region.lost.is_some() {
            return Err(OrderError::Lost(id));
        }
        let node = self.roster.member_named(to).filter(|(_, member)| member.role == Role::Node);
        let (target, _) = node.ok_or_else(|| OrderError::NoProcess(to.to_owned()))?;
        if region.server == target {
            return Ok(());
        }
        if region.moving.is_some() || !self.is_settled(id) {
            return Err(OrderError::Settling(id));
        }
        if !self.is_ready(target) || !self.is_served(id) {
            return Err(OrderError::Nobody(id));
        }
        self.begin_move(id, target);
        Ok(())
    }

    fn announce_map(&mut self, map: PartitionMap) -> Result<(), OrderError> {
        self.announce(Change::Map(Arc::new(map)))
    }

    fn announce(&mut self, change: Change) -> Result<(), OrderError> {
        if self.roster.changes.len() >= CHANGES_MAX {
            return Err(OrderError::TooManyChanges);
        }
        self.roster.changes.push(change);
        Ok(())
    }
}
