//! What a planner promises: boundaries are announced ahead, leave every region wide enough, move a bounded way at once,
//! and then stand still for a while.

use nimbus_control::PlannerConfig;
use nimbus_model::Tick;
use nimbus_space::PartitionMap;
use std::collections::BTreeMap;

use super::Broken;

const RULE: &str = "boundaries";
/// Places are given in single precision.
const ROUNDING_M: f32 = 1e-3;

#[derive(Default)]
pub(super) struct Boundaries {
    /// The partition that a planner made last, and when each of its planes moved last.
    made: Option<(u32, Tick)>,
    moved: BTreeMap<usize, Tick>,
}

impl Boundaries {
    /// A planner made a partition at a tick.
    pub(super) fn observe(
        &mut self,
        tick: Tick,
        before: &PartitionMap,
        after: &PartitionMap,
        config: &PlannerConfig,
        broken: &mut Vec<Broken>,
    ) {
        if Some((before.epoch(), before.effective())) != self.made {
            // Somebody else made the one before. What was promised for a plane is void.
            self.moved.clear();
        }
        self.made = Some((after.epoch(), after.effective()));
        let mut note = |what: String| broken.push(Broken(RULE, what));
        if after.effective() < tick + config.lead_ticks {
            note(format!("partition {} is in force from tick {} on", after.epoch(), after.effective()));
        }
        let least = config.width_min.min(before.narrowest());
        if after.narrowest() < least - ROUNDING_M {
            note(format!("a region is {} m wide; the least is {least} m", after.narrowest()));
        }
        let (planes, then) = (before.cuts().count(), after.cuts().count());
        if planes != then {
            if planes.abs_diff(then) > 1 {
                note(format!("there were {planes} planes, and are {then} at once"));
            }
            let last = self.moved.values().max();
            if let Some(last) = last.filter(|last| after.effective().since(**last) < config.settle_ticks) {
                note(format!("a region comes or goes at tick {}, and a plane moved at tick {last}", after.effective()));
            }
            self.moved = after.cuts().map(|cut| (cut.index, after.effective())).collect();
            return;
        }
        for (was, is) in before.cuts().zip(after.cuts()).filter(|(was, is)| was.at != is.at) {
            if (was.at - is.at).abs() > config.step_m + ROUNDING_M {
                note(format!("plane {} moves from {} m to {} m at once", is.index, was.at, is.at));
            }
            let last = self.moved.insert(is.index, after.effective());
            if let Some(last) = last.filter(|last| after.effective().since(*last) < config.settle_ticks) {
                note(format!("plane {} moves at tick {}, and did at tick {last}", is.index, after.effective()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::{Layout, RegionId};

    fn found(moves: &[(u64, u64, f32)]) -> usize {
        let (mut checker, mut broken) = (Boundaries::default(), Vec::new());
        let mut map = PartitionMap::from_layout(&Layout::columns(3, 100.0)).unwrap();
        let config = PlannerConfig { settle_ticks: 60, lead_ticks: 40, step_m: 16.0, ..PlannerConfig::new(20.0) };
        for (tick, effective, at) in moves {
            let index = map.cuts().next().unwrap().index;
            let next = map.move_cut(index, *at, 0.0, Tick(*effective)).unwrap();
            checker.observe(Tick(*tick), &map, &next, &config, &mut broken);
            map = next;
        }
        broken.len()
    }

    #[test]
    fn regions_come_and_go_one_at_a_time_and_not_too_soon() {
        let one = PartitionMap::from_layout(&Layout::columns(1, 100.0)).unwrap();
        let config = PlannerConfig { settle_ticks: 60, lead_ticks: 40, step_m: 16.0, ..PlannerConfig::new(20.0) };
        let split = |map: &PartitionMap, index: usize, at: f32, effective: u64| {
            let next = RegionId(map.regions().len() as u16);
            map.split(index, (0, at), next, 0.0, Tick(effective)).unwrap()
        };
        let two = split(&one, 0, 0.0, 40);
        let found = |three: &PartitionMap, before: &PartitionMap| {
            let (mut checker, mut broken) = (Boundaries::default(), Vec::new());
            checker.observe(Tick(0), &one, &two, &config, &mut broken);
            let announced = Tick(three.effective().0 - 40);
            checker.observe(announced, before, three, &config, &mut broken);
            broken.len()
        };
        assert_eq!(found(&split(&two, 2, 50.0, 140), &two), 0);
        assert_eq!(found(&split(&two, 2, 50.0, 90), &two), 1, "too soon");
        assert_eq!(found(&split(&two, 2, 5.0, 140), &two), 1, "too narrow");
        assert_eq!(found(&two.merge(0, Tick(90)).unwrap(), &two), 1, "gone too soon");
        assert_eq!(found(&split(&split(&two, 2, 50.0, 140), 3, 25.0, 140), &two), 1, "two at once");
    }

    #[test]
    fn each_promise_can_be_broken() {
        let first = (0, 40, -40.0);
        assert_eq!(found(&[first, (100, 140, -30.0)]), 0);
        assert_eq!(found(&[(0, 10, -40.0)]), 1, "announced too late");
        assert_eq!(found(&[(0, 40, -10.0)]), 1, "too far at once");
        assert_eq!(found(&[first, (50, 90, -30.0)]), 1, "too soon again");
        assert_eq!(found(&[(0, 40, 35.0)]), 2, "too far, and too narrow");
    }
}
