//! Boundaries that follow the load: servers report, a planner answers, and what it plans is announced.
//!
//! Reports cross the same network as everything else, so they come late, twice or not at all. Costs are modelled unless
//! they are measured, so that a run stays the same every time.

use nimbus_control::{LoadReport, Misplan, Planner, PlannerConfig};
use nimbus_model::{RegionId, Tick, World};
use nimbus_node::{AuraConfig, Horizon, Node};
use nimbus_space::PartitionMap;

/// A server reports every so many ticks.
const REPORT_TICKS: u64 = 10;
/// The planner is asked every so many ticks.
const PLAN_TICKS: u64 = 5;

/// How boundaries follow the load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BalanceConfig {
    /// How eagerly; by the world's needs unless told.
    pub planner: Option<PlannerConfig>,
    /// How much a region may cost, microseconds a tick, before it shares its place with a spare one.
    pub budget_us: Option<u32>,
    /// A mistake of the planner on purpose.
    pub planted: Option<Misplan>,
    /// Plan with measured CPU time. Only in a universe that measures, and then no two runs are the same.
    pub measured: bool,
}

impl BalanceConfig {
    /// The settings of a planner for a world, as this universe uses them.
    pub fn planner_for(&self, world: &World, aura: &AuraConfig) -> PlannerConfig {
        let horizon = Horizon::new(world, aura);
        let width_min = Horizon::planned_width_min(world, aura);
        let usual = PlannerConfig { reach_m: horizon.depth_m(), ..PlannerConfig::new(width_min) };
        let config = self.planner.unwrap_or(usual);
        PlannerConfig { planted: self.planted, budget_us: self.budget_us.or(config.budget_us), ..config }
    }
}

/// See the description of this file.
pub(crate) struct Balance {
    pub(crate) planner: Planner,
    measured: bool,
    /// By region: the tick of the last report, and what ticks have cost since, with how many.
    since: Vec<(Tick, u64, u64)>,
}

impl Balance {
    pub(crate) fn new(config: &BalanceConfig, world: &World, aura: &AuraConfig, regions: usize) -> Balance {
        let planner = Planner::new(config.planner_for(world, aura));
        Balance { planner, measured: config.measured, since: vec![(Tick(0), 0, 0); regions] }
    }

    /// A server has run a tick; `ns` is what that cost if it was measured.
    pub(crate) fn ticked(&mut self, i: usize, node: &Node, ns: Option<u64>) {
        let (_, sum, count) = &mut self.since[i];
        let ns = ns.filter(|_| self.measured);
        // Counting pairs that touch at every tick would cost more than it tells.
        if ns.is_some() || node.now().0.is_multiple_of(PLAN_TICKS) {
            *sum += ns.unwrap_or_else(|| 1_000 * u64::from(node.modelled_cost_us()));
            *count += 1;
        }
    }

    /// A server has done something else; that costs, too.
    pub(crate) fn worked(&mut self, i: usize, ns: u64) {
        if self.measured {
            self.since[i].1 += ns;
        }
    }

    /// What a server has to report, if it is time to.
    pub(crate) fn report(&mut self, i: usize, node: &Node) -> Option<LoadReport> {
        let (last, sum, count) = self.since[i];
        if node.now().since(last) < REPORT_TICKS || count == 0 {
            return None;
        }
        self.since[i] = (node.now(), 0, 0);
        Some(LoadReport {
            region: RegionId(i as u16),
            tick: node.now(),
            map_epoch: node.map().epoch(),
            cost_us: u32::try_from(sum / count / 1_000).unwrap_or(u32::MAX),
            bodies: node.hosted_count() as u32,
            spread: node.spread(),
        })
    }

    /// The next partition, if there should be another one.
    pub(crate) fn plan(&mut self, tick: Tick, newest: &PartitionMap) -> Option<PartitionMap> {
        if tick.0.is_multiple_of(PLAN_TICKS) { self.planner.plan(tick, newest) } else { None }
    }
}
