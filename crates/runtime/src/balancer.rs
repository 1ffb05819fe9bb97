//! Boundaries of an embedded cluster that follow the load: what servers measured goes to the planner, and what it plans to
//! the servers and the gateway.

use nimbus_control::{LoadReport, Planner, PlannerConfig};
use nimbus_model::{Tick, World};
use nimbus_node::{AuraConfig, Horizon, Node};
use nimbus_space::PartitionMap;
use std::time::Duration;

/// A server reports every so many ticks, and the planner is asked as often.
const REPORT_TICKS: u64 = 10;

/// Measured CPU time differs by so much without a reason, microseconds a tick; no boundary moves for less.
const NOISE_US: u32 = 200;

/// Adds up what a server costs, on its own thread.
#[derive(Debug, Default)]
pub(crate) struct LoadMeter {
    last: Tick,
    spent: Duration,
    ticks: u64,
}

impl LoadMeter {
    /// A wake-up took so much CPU time for so many ticks.
    pub(crate) fn add(&mut self, spent: Duration, ticks: u64) {
        self.spent += spent;
        self.ticks += ticks;
    }

    /// What there is to report, if it is time to.
    pub(crate) fn report(&mut self, node: &Node) -> Option<LoadReport> {
        if self.ticks == 0 || node.now().since(self.last) < REPORT_TICKS {
            return None;
        }
        let cost_us = self.spent.as_micros() / u128::from(self.ticks);
        *self = LoadMeter { last: node.now(), ..LoadMeter::default() };
        Some(LoadReport {
            region: node.region(),
            tick: node.now(),
            map_epoch: node.map().epoch(),
            cost_us: u32::try_from(cost_us).unwrap_or(u32::MAX),
            bodies: node.hosted_count() as u32,
            spread: node.spread(),
        })
    }
}

/// See the description of this file.
pub(crate) struct Balancer {
    planner: Planner,
    /// The newest partition that was announced.
    map: PartitionMap,
    asked: Tick,
}

impl Balancer {
    /// A balancer of a world that begins with a partition.
    pub(crate) fn new(world: &World, aura: &AuraConfig, map: PartitionMap) -> Balancer {
        let lead_ticks = PlannerConfig::new(0.0).lead_ticks;
        Balancer::with_lead(world, aura, map, lead_ticks)
    }

    /// The same, when partitions have to be announced this long before they take effect.
    pub(crate) fn with_lead(world: &World, aura: &AuraConfig, map: PartitionMap, lead_ticks: u64) -> Balancer {
        let reach_m = Horizon::new(world, aura).depth_m();
        let width_min = Horizon::planned_width_min(world, aura);
        let config = PlannerConfig { reach_m, lead_ticks, gain_us_min: NOISE_US, ..PlannerConfig::new(width_min) };
        Balancer { planner: Planner::new(config), map, asked: Tick(0) }
    }

    /// The same with a budget: what a tick of a region may cost, microseconds, before an idle region shares its place.
    pub(crate) fn with_budget(mut self, budget_us: Option<u32>) -> Balancer {
        self.planner = Planner::new(PlannerConfig { budget_us, ..*self.planner.config() });
        self
    }

    /// What a tick of a region may cost.
    pub(crate) fn budget_us(&self) -> Option<u32> {
        self.planner.config().budget_us
    }

    /// True when it is time to ask for a partition.
    pub(crate) fn is_due(&mut self, now: Tick) -> bool {
        let due = now.since(self.asked) >= REPORT_TICKS;
        if due {
            self.asked = now;
        }
        due
    }

    /// The partition to announce, if there should be another one.
    pub(crate) fn plan(&mut self, now: Tick, loads: Vec<LoadReport>) -> Option<PartitionMap> {
        for load in loads {
            self.planner.report(load, &self.map);
        }
        self.planner.plan(now, &self.map)
    }

    /// A partition was announced.
    pub(crate) fn announced(&mut self, map: &PartitionMap) {
        self.map = map.clone();
    }
}
