//! Where boundaries should lie, from what regions cost.
//!
//! Servers report what a tick costs them and where their bodies lie; the planner answers with the next partition, or
//! nothing. It goes down the tree of cuts and shifts every plane by as much cost as makes the servers on its two sides
//! equally dear on average. What was measured decides how much, where bodies lie decides how far that is. So it ends up
//! right even where costs do not follow the bodies: a mistake is measured and corrected at the next move.
//!
//! With a budget it also sees to it that there are as many regions as are needed (`elastic`).
//!
//! Bodies pay for every move, so it is slow to begin, goes a bounded way at once, waits until what it did can be
//! measured, and waits longer each time a plane turns back.

mod config;
mod elastic;
mod landscape;
mod load;
mod shift;
mod trend;

use nimbus_model::Tick;
use nimbus_space::PartitionMap;
use std::collections::BTreeMap;

pub use config::{Misplan, PlannerConfig};
use elastic::{Elastic, Resize};
use landscape::{costs_of, dearest};
use load::Gauges;
pub use load::LoadReport;
use shift::{Shift, Step};
use trend::Trends;

/// A plane that turned back so many times waits no longer than one that did so once less.
const TURNS_MAX: u32 = 8;
/// A plane that stood still for so many times as long as it had to has forgotten that it ever turned back.
const TURNS_KEPT: u64 = 8;

/// Sides that differ by so many times as much as when their plane moved last do so because the load has changed.
const CHANGED: f64 = 2.0;

/// A plan after which the dearest region should cost more than so many times what the dearest costs now is not carried out.
const HARM: f64 = 1.05;

/// What a planner remembers of a plane that it moved.
#[derive(Clone, Copy, Debug)]
struct Moved {
    up: bool,
    /// When the move took effect.
    at: Tick,
    /// How often it turned back lately.
    turns: u32,
    /// By how much its sides differed, as a share of the dearer one.
    uneven: f64,
}

/// Plans partitions; see the description of this file. Give it every report with [`Planner::report`], and ask it for a
/// partition now and then with [`Planner::plan`].
#[derive(Clone, Debug)]
pub struct Planner {
    config: PlannerConfig,
    gauges: Gauges,
    /// The partition that the gauges are about: its epoch, which a world loaded anew may use again, and its tick.
    about: (u32, Tick),
    /// The tick from which reports count.
    counts_from: Tick,
    /// The partition that this planner made last.
    made: Option<(u32, Tick)>,
    moved: BTreeMap<usize, Moved>,
    trends: Trends,
    /// When it last made one, the tick at which that takes effect.
    settles_from: Option<Tick>,
    /// It has begun to even out, and goes on until all is even.
    busy: bool,
    elastic: Elastic,
}

impl Planner {
    /// A planner that knows nothing yet.
    pub fn new(config: PlannerConfig) -> Planner {
        Planner {
            config,
            gauges: Gauges::default(),
            about: (0, Tick(0)),
            counts_from: Tick(0),
            made: None,
            moved: BTreeMap::new(),
            trends: Trends::default(),
            settles_from: None,
            busy: false,
            elastic: Elastic::default(),
        }
    }

    /// What it was told.
    pub fn config(&self) -> &PlannerConfig {
        &self.config
    }

    /// Takes what a server says, with the newest partition that was announced. Repeated and late reports do no harm.
    pub fn report(&mut self, report: LoadReport, newest: &PartitionMap) {
        self.follow(newest);
        let counts = report.map_epoch == self.about.0 && report.tick >= self.counts_from;
        match newest.regions().binary_search(&report.region) {
            Ok(_) if counts => self.gauges.take(report),
            Err(_) if counts => self.elastic.hear(&report),
            _ => {}
        }
    }

    /// The partition that should come after the newest one that was announced; it takes effect `lead_ticks` from now.
    /// Nothing when all is well, too little is known, or the last one has not settled.
    pub fn plan(&mut self, now: Tick, newest: &PartitionMap) -> Option<PartitionMap> {
        self.follow(newest);
        let restless = self.has(Misplan::Restless);
        let config = self.config;
        let settled = self.settles_from.is_none_or(|from| now >= from + config.settle_ticks);
        if !settled && !restless {
            return None;
        }
        let reports_min = if restless { 1 } else { config.reports_min };
        if !self.gauges.are_complete(newest, reports_min, now - config.stale_ticks) {
            return None;
        }
        let shift = self.shift(now, newest)?;
        let evens_out = !shift.moves.is_empty();
        let effective = if self.has(Misplan::Hasty) { now } else { now + config.lead_ticks };
        let resize = self.elastic.plan(&config, &self.gauges, newest, now, evens_out);
        let next = match &resize {
            Some(resize) => self.resized(resize, newest, effective),
            None if evens_out => self.shifted(&shift, newest, effective),
            None => None,
        }?;
        self.settles_from = Some(effective);
        self.made = Some((next.epoch(), effective));
        Some(next)
    }

    /// Which planes should move. `None` when something is missing.
    fn shift(&mut self, now: Tick, newest: &PartitionMap) -> Option<Shift> {
        if !self.is_worth_it(newest) {
            return Some(Shift::default());
        }
        let (held, heard) = (self.held(now), self.gauges.heard());
        let mut shift = Shift::plan(&self.config, &self.gauges, newest, &held, (heard, &mut self.trends))?;
        self.busy = !shift.moves.is_empty() || shift.uneven;
        if self.harms(&shift, newest)? && !held.is_empty() {
            // What waits stands in the way of what goes on.
            shift = Shift::plan(&self.config, &self.gauges, newest, &BTreeMap::new(), (heard, &mut self.trends))?;
        }
        if self.harms(&shift, newest)? {
            shift.moves.clear();
        }
        Some(shift)
    }

    /// True when the dearest region would cost more afterwards than the dearest does now. Sides that are even on average may
    /// still leave somebody worse off than anybody was.
    fn harms(&self, shift: &Shift, newest: &PartitionMap) -> Option<bool> {
        let leaves = costs_of(&self.gauges, newest)?;
        let boxes = newest.regions().iter().flat_map(|region| newest.leaves(*region).map(|leaf| (*region, leaf)));
        let planned = shift.shares.iter().map(|(region, share)| (*region, share));
        Some(self.config.planted.is_none() && dearest(&leaves, planned) > HARM * dearest(&leaves, boxes))
    }

    fn shifted(&mut self, shift: &Shift, newest: &PartitionMap, effective: Tick) -> Option<PartitionMap> {
        let width_min = if self.has(Misplan::Narrow) { 0.0 } else { self.config.width_min };
        let places: Vec<(usize, f32)> = shift.moves.iter().map(|step| (step.index, step.to)).collect();
        let next = newest.move_cuts(&places, width_min, effective).ok()?;
        for step in &shift.moves {
            self.note(step, effective);
        }
        Some(next)
    }

    /// The partition with one region more or less. Planes have other names in it, so what is remembered of them goes.
    fn resized(&mut self, resize: &Resize, newest: &PartitionMap, effective: Tick) -> Option<PartitionMap> {
        let next = match *resize {
            Resize::Split { index, axis, at, idle, .. } => {
                newest.split(index, (axis, at), idle, self.config.width_min, effective)
            }
            Resize::Merge { index } => newest.merge(index, effective),
        };
        self.elastic.note(resize, effective, &self.gauges);
        self.moved.clear();
        self.trends.clear();
        next.ok()
    }

    /// Notices that another partition was announced. One that somebody else made starts everything anew.
    fn follow(&mut self, newest: &PartitionMap) {
        if (newest.epoch(), newest.effective()) == self.about {
            return;
        }
        if self.made != Some((newest.epoch(), newest.effective())) {
            self.moved.clear();
            self.trends.clear();
            self.elastic.forget_splits();
        }
        self.elastic.forget_idle();
        self.about = (newest.epoch(), newest.effective());
        let drain_ticks = if self.has(Misplan::Restless) { 0 } else { self.config.drain_ticks };
        self.counts_from = newest.effective() + drain_ticks;
        self.gauges.clear();
    }

    /// True when evening out is under way, or there is enough to be gained to begin with it.
    fn is_worth_it(&mut self, map: &PartitionMap) -> bool {
        let costs: Vec<f64> =
            map.regions().iter().filter_map(|region| Some(self.gauges.get(*region)?.cost_us())).collect();
        let most = costs.iter().copied().fold(0.0, f64::max);
        let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
        let mean = costs.iter().sum::<f64>() / costs.len().max(1) as f64;
        if self.has(Misplan::Restless) {
            return true;
        }
        if most - mean < f64::from(self.config.gain_us_min) {
            self.busy = false;
        } else if (most - least) * 1e3 > most * f64::from(self.config.start_permille) {
            self.busy = true;
        }
        self.busy
    }

    /// The planes that wait because they turned back, each with the difference between its sides from which on it does not.
    fn held(&self, now: Tick) -> BTreeMap<usize, f64> {
        let start = f64::from(self.config.start_permille) / 1e3;
        let waits = |moved: &Moved| now < moved.at + self.wait(moved) && !self.has(Misplan::Restless);
        let held = self.moved.iter().filter(|(_, moved)| waits(moved));
        held.map(|(index, moved)| (*index, CHANGED * moved.uneven.max(start))).collect()
    }

    /// How long a plane stands still after a move.
    fn wait(&self, moved: &Moved) -> u64 {
        self.config.settle_ticks << moved.turns.min(TURNS_MAX)
    }

    fn note(&mut self, step: &Step, effective: Tick) {
        let kept = |moved: &&Moved| effective.since(moved.at) < TURNS_KEPT * self.wait(moved);
        let up = step.to > step.from;
        let turns = match self.moved.get(&step.index).filter(kept) {
            Some(moved) if moved.up == up => moved.turns.saturating_sub(1),
            Some(moved) => (moved.turns + 1).min(TURNS_MAX),
            None => 0,
        };
        self.moved.insert(step.index, Moved { up, at: effective, turns, uneven: step.uneven });
    }

    fn has(&self, planted: Misplan) -> bool {
        self.config.planted == Some(planted)
    }
}
