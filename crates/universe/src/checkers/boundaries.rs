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
    use nimbus_model::Layout;

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
    fn each_promise_can_be_broken() {
        let first = (0, 40, -40.0);
        assert_eq!(found(&[first, (100, 140, -30.0)]), 0);
        assert_eq!(found(&[(0, 10, -40.0)]), 1, "announced too late");
        assert_eq!(found(&[(0, 40, -10.0)]), 1, "too far at once");
        assert_eq!(found(&[first, (50, 90, -30.0)]), 1, "too soon again");
        assert_eq!(found(&[(0, 40, 35.0)]), 2, "too far, and too narrow");
    }
}
