//! What people and policies order, and why it cannot be.

use nimbus_model::{RegionId, Tick};
use nimbus_space::PartitionMap;
use std::sync::Arc;

use super::Plan;
use crate::change::{CHANGES_MAX, Change};
use crate::exchange::{Order, OrderError};
use crate::roster::{Birth, Region, Role};
use crate::timeline::{PACE_PERMILLE, Timeline};
use crate::told::Told;
use crate::validity::check_name;

/// Changes are announced at least this many ticks ahead, however slow the world is: servers prepare for some of them.
const ANNOUNCE_TICKS_MIN: u64 = 12;
/// Changes of statics that may be announced at once: each has all statics in it.
const STATICS_UNDER_WAY_MAX: usize = 8;

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
        let ahead = match order {
            // Servers have nothing to prepare for these.
            Order::Statics(_) => self.announced_ahead() / 2,
            _ => self.announced_ahead(),
        };
        let effective = self.tick() + ahead;
        let effective = self.roster.changes.last().map_or(effective, |last| effective.max(last.at().next()));
        match order {
            Order::Drain(_) | Order::Stay(_) => Ok(()),
            Order::Restart(region) => self.restart(*region),
            Order::Move { region, to } => self.order_move(*region, to),
            Order::MoveCut { index, at, width_min } => {
                let map = self.roster.newest_map().move_cut(*index, *at, *width_min, effective);
                self.announce_map(map.map_err(|error| OrderError::Map(error.to_string()))?)
            }
            Order::Map { era, map } => {
                let newest = Told::everything(&self.roster);
                self.check_regions(map)?;
                if (*era, map.epoch()) != (newest.era, newest.epoch + 1) {
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
            Order::Load { world, map } => self.load(world, map),
            Order::Regions { boxes, rest } => {
                let map = self.roster.newest_map().redraw(boxes, *rest, effective);
                let map = map.map_err(|error| OrderError::Map(error.to_string()))?;
                self.check_regions(&map)?;
                self.announce_map(map)
            }
            Order::Statics(placed) => {
                let (era, newest) = self.roster.newest_placed();
                if placed.revision != newest.revision + 1 {
                    return Err(OrderError::Invalid("other statics were put in meanwhile; try again".to_owned()));
                }
                if let Some(problem) = placed.problem() {
                    return Err(OrderError::Invalid(problem));
                }
                let statics = |change: &&Change| matches!(change, Change::Statics { .. });
                if self.roster.changes.iter().filter(statics).count() >= STATICS_UNDER_WAY_MAX {
                    return Err(OrderError::TooManyChanges);
                }
                self.announce(Change::Statics { at: effective, era, placed: Arc::clone(placed) })
            }
            Order::Pace(permille) => {
                if !PACE_PERMILLE.contains(permille) {
                    let (least, most) = (PACE_PERMILLE.start(), PACE_PERMILLE.end());
                    let what = format!("a pace of {permille} is not between {least} and {most} thousandths");
                    return Err(OrderError::Invalid(what));
                }
                let (from, _) = self.pace_lead();
                self.timeline()?.set_speed(from, *permille);
                Ok(())
            }
            Order::Pause => {
                let (at, _) = self.pace_lead();
                self.timeline()?.pause(at);
                Ok(())
            }
            Order::Resume => {
                let (_, due_us) = self.pace_lead();
                self.timeline()?.resume(due_us);
                Ok(())
            }
            Order::Step(ticks) => {
                let (_, due_us) = self.pace_lead();
                let steps = self.timeline()?.step(u64::from(*ticks), due_us);
                if steps { Ok(()) } else { Err(OrderError::Running) }
            }
        }
    }

    /// Announces another world. People wait for it, so it is a time ahead and not a number of ticks, however fast these
    /// follow each other; and while time stands still, just as many ticks are made due as it takes.
    fn load(&mut self, world: &str, map: &Arc<PartitionMap>) -> Result<(), OrderError> {
        check_name(world).map_err(|error| OrderError::Invalid(error.to_string()))?;
        self.check_regions(map)?;
        let ticks = self.facts.config.announce_ticks;
        let now_us = self.now_us();
        let timeline = self.timeline()?;
        let due_us = now_us.saturating_add(ticks.saturating_mul(1_000_000) / u64::from(timeline.tick_hz()));
        let at = timeline.tick_at(due_us).unwrap_or_default().next();
        // Partitions announced before belong to the world that ends.
        self.roster.changes.retain(|change| matches!(change, Change::Load { .. }) || change.at() < at);
        let at = self.roster.changes.last().map_or(at, |last| at.max(last.at().next()));
        let loads = |change: &&Change| matches!(change, Change::Load { .. });
        let era = match self.roster.changes.iter().rev().find(loads) {
            Some(Change::Load { era, .. }) => *era,
            _ => self.roster.era,
        };
        let era = era.checked_add(1).ok_or(OrderError::Exhausted)?;
        self.announce(Change::Load { at, era, world: world.to_owned(), map: Arc::clone(map) })?;
        let timeline = self.timeline()?;
        if let Some(last) = timeline.horizon().filter(|last| *last < at) {
            timeline.step(at.since(last), due_us);
        }
        Ok(())
    }

    /// How many ticks ahead a change is announced: a time that all hear of it in, so fewer ticks while the world is slow.
    fn announced_ahead(&self) -> u64 {
        let ticks = self.facts.config.announce_ticks;
        let pace = self.roster.timeline.as_ref().map_or(1000, Timeline::pace_permille).min(1000);
        (ticks * u64::from(pace) / 1000).max(ticks.min(ANNOUNCE_TICKS_MIN))
    }

    /// From when on a change of pace can hold so that everybody hears of it in time: the tick and the microsecond.
    pub(super) fn pace_lead(&self) -> (Tick, u64) {
        let due_us = self.now_us().saturating_add(self.facts.config.pace_ms.saturating_mul(1000));
        let tick = self.roster.timeline.as_ref().and_then(|timeline| timeline.tick_at(due_us));
        (tick.unwrap_or_default().next(), due_us)
    }

    fn timeline(&mut self) -> Result<&mut Timeline, OrderError> {
        self.roster.timeline.as_mut().ok_or(OrderError::NotStarted)
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

    /// Refuses a partition with regions that nobody serves.
    fn check_regions(&self, map: &PartitionMap) -> Result<(), OrderError> {
        let served = |region: &RegionId| self.roster.regions.contains_key(region);
        map.regions().iter().all(served).then_some(()).ok_or(OrderError::OtherRegions)
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
