//! How a coordinator makes a checkpoint of the whole running world: it names a tick some way ahead, every node writes what
//! its regions are after that tick, and when all is there and fits together the list is written.
//!
//! Nobody stops. A server takes one look at its bodies after the tick; encoding and writing are done beside it.

use nimbus_control::{Change, Roster, Timeline};
use nimbus_model::{RegionId, Tick, World};
use nimbus_node::CheckpointError;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

use super::post::Post;
use super::setup::CheckpointPlan;
use crate::checkpoints::{Checkpoints, Filed, KeepError, Manifest};
use crate::mesh::ProcessName;

/// A tick is named so far ahead that everybody hears of it before it comes, and has time to prepare.
const LEAD_TICKS: u64 = 45;
/// But where ticks are far apart not further than this, unless it is the next one.
const LEAD_MAX: Duration = Duration::from_secs(15);
/// How long parts may take to come once the tick is due.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is tried with another tick when parts do not fit together.
const TRIES_MAX: u32 = 5;
/// Orders that wait.
const ORDERS_MAX: usize = 4;

/// How an order ended.
pub(super) type Outcome = Result<Manifest, String>;

/// Where operators order checkpoints.
pub(super) type OrderDesk = SyncSender<SyncSender<Outcome>>;

/// The world as the coordinator knows it now.
pub(super) struct Now<'a> {
    pub(super) at: Duration,
    pub(super) roster: &'a Roster,
    /// When ticks are due.
    pub(super) timeline: &'a Timeline,
    /// The unix microsecond by which they are.
    pub(super) calendar_us: u64,
    /// The last tick that is due.
    pub(super) tick: Tick,
    pub(super) world: &'a Arc<World>,
}

struct UnderWay {
    name: String,
    tick: Tick,
    /// The world that is in force when it begins. Another one may be before it is finished.
    world: Arc<World>,
    era: u16,
    wanted: BTreeSet<RegionId>,
    parts: BTreeMap<RegionId, Filed>,
    until: Duration,
    wish: Wish,
    /// The list is being written.
    finishing: Option<Receiver<Result<Manifest, KeepError>>>,
}

/// A checkpoint that is to be made.
struct Wish {
    tries: u32,
    /// Whoever ordered it, unless time did.
    for_whom: Option<SyncSender<Outcome>>,
}

/// See the description of this file.
pub(super) struct Checkpointing {
    plan: Option<CheckpointPlan>,
    orders: Receiver<SyncSender<Outcome>>,
    under_way: Option<UnderWay>,
    /// One that is to be tried again.
    again: Option<Wish>,
    /// Era and tick of the last that was made, and how many were made of those: while time stands still there may be more.
    last: Option<(u16, Tick, u32)>,
    /// When the next one is due by itself.
    due: Duration,
}

impl Checkpointing {
    /// With where operators order.
    pub(super) fn new(plan: Option<CheckpointPlan>) -> (Checkpointing, OrderDesk) {
        let (desk, orders) = sync_channel(ORDERS_MAX);
        let due = plan.as_ref().and_then(|plan| plan.every).unwrap_or(Duration::MAX);
        (Checkpointing { plan, orders, under_way: None, again: None, last: None, due }, desk)
    }

    /// Goes on. `send` reaches processes, `tell` people.
    pub(super) fn turn(&mut self, now: &Now<'_>, send: impl FnMut(&ProcessName, Post), tell: &mut impl FnMut(String)) {
        let Some(under_way) = &mut self.under_way else {
            return self.begin_if_due(now, send, tell);
        };
        if let Some(finishing) = &under_way.finishing {
            return match finishing.try_recv() {
                Ok(outcome) => self.conclude(outcome, tell),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => self.end(Err("the list could not be written".to_owned()), tell),
            };
        }
        if under_way.wanted.iter().all(|region| under_way.parts.contains_key(region)) {
            under_way.finishing = self.plan.as_ref().map(|plan| finish(plan, under_way, now));
        } else if now.timeline.horizon().is_some_and(|last| last < under_way.tick) {
            self.try_again("time stands still before its tick".to_owned(), tell);
        } else if now.at > under_way.until {
            let missing: Vec<String> =
                under_way.wanted.iter().filter(|r| !under_way.parts.contains_key(r)).map(|r| r.to_string()).collect();
            let why = format!("{} did not contribute in time", missing.join(", "));
            self.end(Err(why), tell);
        }
    }

    /// A node has written parts, or could not.
    pub(super) fn hear(&mut self, name: &str, outcome: Result<Vec<Filed>, String>, tell: &mut impl FnMut(String)) {
        let Some(under_way) = self.under_way.as_mut().filter(|under_way| under_way.name == name) else { return };
        match outcome {
            Ok(parts) => under_way.parts.extend(parts.into_iter().map(|part| (part.region, part))),
            Err(why) => self.end(Err(why), tell),
        }
    }

    /// It does not lead any more.
    pub(super) fn give_up(&mut self, tell: &mut impl FnMut(String)) {
        if self.under_way.is_some() {
            self.end(Err("this coordinator leads no more".to_owned()), tell);
        }
        let again = self.again.take().and_then(|wish| wish.for_whom);
        for order in again.into_iter().chain(self.orders.try_iter()) {
            // Whoever ordered may have lost patience.
            _ = order.try_send(Err("this coordinator does not lead; ask another one".to_owned()));
        }
    }

    fn begin_if_due(&mut self, now: &Now<'_>, send: impl FnMut(&ProcessName, Post), tell: &mut impl FnMut(String)) {
        if now.roster.changes.iter().any(|change| matches!(change, Change::Load { .. })) {
            // Parts would be of one world or of the other, depending on who is how far.
            return;
        }
        let ordered = || self.orders.try_recv().ok().map(|order| Wish { tries: 1, for_whom: Some(order) });
        if let Some(wish) = self.again.take().or_else(ordered) {
            self.begin(wish, now, send, tell);
        } else if now.at >= self.due {
            self.begin(Wish { tries: 1, for_whom: None }, now, send, tell);
        }
    }

    fn begin(
        &mut self,
        wish: Wish,
        now: &Now<'_>,
        mut send: impl FnMut(&ProcessName, Post),
        tell: &mut impl FnMut(String),
    ) {
        let every = self.plan.as_ref().and_then(|plan| plan.every);
        self.due = every.map_or(Duration::MAX, |every| now.at + every);
        let (tick, era) = (tick_ahead(now), now.roster.era);
        let mut name = format!("era-{era:05}-tick-{:012}", tick.0);
        if let Some((_, _, made)) = self.last.filter(|last| (last.0, last.1) == (era, tick)) {
            if wish.for_whom.is_none() {
                // Time stands still, and what it has brought forth is kept.
                return;
            }
            // One that is whole is not written over.
            name = format!("{name}-{}", made + 1);
        }
        let wanted = now.roster.regions.keys().copied().collect();
        let due_us = now.timeline.due_us(tick).unwrap_or_default();
        let until = now.at + Duration::from_micros(due_us.saturating_sub(now.calendar_us)) + PATIENCE;
        self.under_way = Some(UnderWay {
            name: name.clone(),
            tick,
            world: now.world.clone(),
            era,
            wanted,
            parts: BTreeMap::new(),
            until,
            wish,
            finishing: None,
        });
        let lost = now.roster.regions.iter().find(|(_, region)| region.lost.is_some());
        if self.plan.is_none() {
            return self
                .end(Err("the cluster's file does not say where: add `checkpoints = \"DIRECTORY\"`".to_owned()), tell);
        }
        if let Some((region, _)) = lost {
            return self.end(Err(format!("{region} is lost, so the world is not whole")), tell);
        }
        let servers: BTreeSet<&str> = now
            .roster
            .held()
            .filter_map(|(_, region)| now.roster.member(region.server))
            .map(|member| member.name.as_str())
            .collect();
        for server in servers {
            if let Ok(server) = ProcessName::new(server) {
                send(&server, Post::Contribute(name.clone(), tick));
            }
        }
    }

    fn conclude(&mut self, outcome: Result<Manifest, KeepError>, tell: &mut impl FnMut(String)) {
        let unlucky = |error: &KeepError| {
            let KeepError::Unfit { source, .. } = error else { return false };
            matches!(source, CheckpointError::Torn { .. } | CheckpointError::OtherTick(_))
        };
        match outcome {
            Ok(manifest) => {
                let same = self.last.filter(|last| (last.0, last.1) == (manifest.era, manifest.tick));
                self.last = Some((manifest.era, manifest.tick, same.map_or(0, |last| last.2) + 1));
                self.end(Ok(manifest), tell);
            }
            Err(error) if unlucky(&error) => self.try_again(error.to_string(), tell),
            Err(error) => self.end(Err(error.to_string()), tell),
        }
    }

    /// Takes another tick, unless that has been tried often enough.
    fn try_again(&mut self, why: String, tell: &mut impl FnMut(String)) {
        if self.under_way.as_ref().is_some_and(|under_way| under_way.wish.tries >= TRIES_MAX) {
            return self.end(Err(why), tell);
        }
        let wish = self.under_way.take().map(|under_way| under_way.wish);
        self.again = wish.map(|wish| Wish { tries: wish.tries + 1, ..wish });
    }

    fn end(&mut self, outcome: Outcome, tell: &mut impl FnMut(String)) {
        let Some(under_way) = self.under_way.take() else { return };
        match &outcome {
            Ok(manifest) => {
                tell(format!("checkpoint {} has {} bodies at tick {}", manifest.name, manifest.bodies, manifest.tick));
            }
            Err(why) => tell(format!("no checkpoint: {why}")),
        }
        // Whoever ordered may have lost patience.
        under_way.wish.for_whom.into_iter().for_each(|for_whom| _ = for_whom.try_send(outcome.clone()));
    }
}

/// The tick after which the world is to be kept: some way ahead, but one that comes, and comes soon.
fn tick_ahead(now: &Now<'_>) -> Tick {
    let soon = now.timeline.tick_at(now.calendar_us.saturating_add(LEAD_MAX.as_micros() as u64)).unwrap_or_default();
    let tick = (now.tick + LEAD_TICKS).min(soon.max(now.tick.next()));
    now.timeline.horizon().map_or(tick, |last| tick.min(last))
}

/// Reads what the nodes wrote and finishes the checkpoint, on a thread of its own.
fn finish(plan: &CheckpointPlan, under_way: &UnderWay, now: &Now<'_>) -> Receiver<Result<Manifest, KeepError>> {
    let (done, finished) = sync_channel(1);
    let manifest = Manifest {
        version: 0,
        name: under_way.name.clone(),
        cluster: now.roster.cluster.clone(),
        world: under_way.world.name.clone(),
        tick: under_way.tick,
        era: under_way.era,
        // It only grows, so that of now is good for that tick as well.
        issued: now.roster.issued,
        bodies: 0,
        parts: under_way.parts.values().cloned().collect(),
    };
    let (place, world) = (plan.place.clone(), under_way.world.clone());
    let work = move || {
        let outcome = Checkpoints::open(&place).and_then(|checkpoints| checkpoints.finish(&world, manifest));
        _ = done.try_send(outcome);
    };
    // Without a thread the channel closes, and that ends the order.
    _ = std::thread::Builder::new().name("checkpoint".to_owned()).spawn(work);
    finished
}

#[cfg(test)]
#[path = "checkpointing_tests.rs"]
mod tests;
