//! The planner on loads that are made up: whether it evens them out, comes to rest, and keeps its promises on the way.

use nimbus_control::{LoadReport, Misplan, Planner, PlannerConfig};
use nimbus_model::{Layout, RegionId, Rng, Tick, Vec3};
use nimbus_space::{PartitionMap, Spread};
use proptest::prelude::*;

const REPORT_TICKS: u64 = 15;
const WIDTH_MIN: f32 = 8.0;

/// Bodies that lie still, and a partition that follows what they cost.
struct Stage {
    bodies: Vec<(Vec3, u32)>,
    first: PartitionMap,
    map: PartitionMap,
    /// Partitions announced, each with the tick of the announcement.
    announced: Vec<(Tick, PartitionMap)>,
    planner: Planner,
    tick: Tick,
    /// All bodies are one lump, and belong to where its middle lies.
    lumped: bool,
    /// What a server costs without any body, microseconds.
    upkeep_us: u32,
    /// Servers without a place of their own.
    spare: u16,
    /// Reports are wrong by up to so many thousandths.
    noise_permille: u64,
    rng: Rng,
}

impl Stage {
    fn new(layout: &Layout, bodies: Vec<(Vec3, u32)>, config: PlannerConfig) -> Stage {
        let map = PartitionMap::from_layout(layout).expect("the layout is good");
        Stage {
            bodies,
            first: map.clone(),
            map,
            announced: Vec::new(),
            planner: Planner::new(config),
            tick: Tick(0),
            lumped: false,
            upkeep_us: 40,
            spare: 0,
            noise_permille: 0,
            rng: Rng::stream(1, 9),
        }
    }

    /// Who has each body.
    fn hosts(&self) -> Vec<RegionId> {
        let middle = self.bodies.iter().map(|(position, _)| *position).sum::<Vec3>() / self.bodies.len() as f32;
        let place = |position: Vec3| if self.lumped { middle } else { position };
        self.bodies.iter().map(|(position, _)| self.map.region_at(place(*position))).collect()
    }

    fn costs(&self) -> Vec<u32> {
        let mut costs = vec![self.upkeep_us; self.first.regions().len() + usize::from(self.spare)];
        for ((_, weight), host) in self.bodies.iter().zip(self.hosts()) {
            costs[usize::from(host.0)] += weight;
        }
        costs
    }

    fn report(&mut self, region: RegionId, cost_us: u32, hosts: &[RegionId]) -> LoadReport {
        let held: Vec<_> = self.bodies.iter().zip(hosts).filter(|(_, host)| **host == region).collect();
        let along = |axis: usize| Spread::of(&mut held.iter().map(|((p, weight), _)| (p[axis], *weight)).collect());
        let wrong = self.rng.below(2 * self.noise_permille + 1) as i64 - self.noise_permille as i64;
        let cost_us = (i64::from(cost_us) * (1000 + wrong) / 1000) as u32;
        let (tick, map_epoch, bodies) = (self.tick, self.map.epoch(), held.len() as u32);
        LoadReport { region, tick, map_epoch, cost_us, bodies, spread: [0, 1, 2].map(along) }
    }

    /// Lets some ticks pass; `change` may move bodies at each report.
    fn run(&mut self, ticks: u64, mut change: impl FnMut(u64, &mut Vec<(Vec3, u32)>)) {
        for _ in 0..ticks / REPORT_TICKS {
            self.tick = self.tick + REPORT_TICKS;
            change(self.tick.0, &mut self.bodies);
            if let Some((_, next)) = self.announced.last().filter(|(_, next)| next.effective() <= self.tick) {
                self.map = next.clone();
            }
            let newest = self.announced.last().map_or(&self.map, |(_, map)| map).clone();
            let hosts = self.hosts();
            for (region, cost) in (0..).zip(self.costs()) {
                let report = self.report(RegionId(region), cost, &hosts);
                self.planner.report(report, &newest);
            }
            if let Some(next) = self.planner.plan(self.tick, &newest) {
                self.announced.push((self.tick, next));
            }
        }
    }

    /// Greatest difference between two servers as a share of the dearest.
    fn uneven(&self) -> f64 {
        let costs = self.costs();
        let (most, least) = (costs.iter().max().expect("regions"), costs.iter().min().expect("regions"));
        f64::from(most - least) / f64::from(*most)
    }

    /// What a promise of the planner was broken by, if any.
    fn broken(&self) -> Option<String> {
        let config = self.planner.config();
        let mut before = self.first.clone();
        let mut last: Vec<Option<Tick>> = Vec::new();
        for (at, map) in &self.announced {
            if map.narrowest() < config.width_min - 1e-3 {
                return Some(format!("a leaf is {} m wide", map.narrowest()));
            }
            if map.effective() < *at + config.lead_ticks {
                return Some("announced too late".to_owned());
            }
            if before.cuts().count() != map.cuts().count() {
                if before.cuts().count().abs_diff(map.cuts().count()) > 1 {
                    return Some("more than one region came or went at once".to_owned());
                }
                let latest = last.iter().flatten().max();
                if latest.is_some_and(|latest| map.effective().since(*latest) < config.settle_ticks) {
                    return Some("a region came or went before the last change had settled".to_owned());
                }
                last = vec![Some(map.effective()); map.cuts().count()];
                before = map.clone();
                continue;
            }
            last.resize(map.cuts().count(), None);
            for (n, (was, is)) in before.cuts().zip(map.cuts()).enumerate() {
                if (was.at - is.at).abs() > config.step_m + 1e-3 {
                    return Some(format!("a plane leapt from {} to {}", was.at, is.at));
                }
                if was.at != is.at && last[n].is_some_and(|last| map.effective().since(last) < config.settle_ticks) {
                    return Some("a plane moved twice within the settling time".to_owned());
                }
                if was.at != is.at {
                    last[n] = Some(map.effective());
                }
            }
            before = map.clone();
        }
        None
    }
}

/// Bodies around a place, dense in the middle and thinner outside.
fn heap(count: usize, at: Vec3, size: f32, seed: u64) -> Vec<(Vec3, u32)> {
    let mut rng = Rng::stream(seed, 5);
    let mut around = || (rng.between(-1.0, 1.0) + rng.between(-1.0, 1.0)) * 0.5 * size;
    (0..count).map(|_| (at + Vec3::new(around(), 1.0, around()), 5)).collect()
}

fn background(count: usize, width: f32, seed: u64) -> Vec<(Vec3, u32)> {
    let mut rng = Rng::stream(seed, 6);
    let half = width / 2.0;
    (0..count).map(|_| (Vec3::new(rng.between(-half, half), 1.0, rng.between(-half, half)), 5)).collect()
}

fn columns() -> Layout {
    Layout::columns(8, 50.0)
}

fn grid() -> Layout {
    Layout::Grid { count: [4, 1, 2], size: [100.0, 100.0, 100.0] }
}

fn hot() -> Vec<(Vec3, u32)> {
    let mut bodies = background(800, 400.0, 3);
    bodies.extend(heap(3_200, Vec3::new(-90.0, 0.0, 40.0), 70.0, 4));
    bodies
}

#[test]
fn a_hot_spot_is_shared_out_and_then_left_alone() {
    for layout in [columns(), grid()] {
        let mut stage = Stage::new(&layout, hot(), PlannerConfig::new(WIDTH_MIN));
        let before = *stage.costs().iter().max().unwrap();
        stage.run(60 * 180, |_, _| {});
        let after = *stage.costs().iter().max().unwrap();
        assert!(after * 2 < before, "from {before} to {after}");
        assert!(stage.uneven() <= 0.12, "{:?}", stage.costs());
        assert_eq!(stage.broken(), None);
        let moves = stage.announced.len();
        stage.noise_permille = 30;
        stage.run(60 * 120, |_, _| {});
        assert!(stage.announced.len() <= moves + 2, "{} moves on a constant load", stage.announced.len() - moves);
    }
}

/// What the dearest server costs on average while a hot spot wanders, and what an even share would be.
fn wandering(config: PlannerConfig) -> (f64, f64) {
    let mut stage = Stage::new(&columns(), hot(), config);
    stage.run(60 * 60, |_, _| {});
    let (mut most, mut looks) = (0.0, 0.0);
    for _ in 0..40 {
        stage.run(60, |_, bodies| bodies.iter_mut().skip(800).for_each(|(p, _)| p.x += 0.5));
        most += f64::from(*stage.costs().iter().max().expect("regions"));
        looks += 1.0;
    }
    assert_eq!(stage.broken(), None);
    let mean: f64 = stage.costs().iter().map(|cost| f64::from(*cost)).sum::<f64>() / 8.0;
    (most / looks, mean)
}

#[test]
fn a_hot_spot_that_wanders_is_followed() {
    let ahead = PlannerConfig { bodies_max: 2_000, ..PlannerConfig::new(WIDTH_MIN) };
    let (with, mean) = wandering(ahead);
    let (without, _) = wandering(PlannerConfig { looks_ahead: false, ..ahead });
    assert!(with < 1.5 * mean, "the dearest costs {with} on average, an even share is {mean}");
    assert!(
        with - mean < 0.8 * (without - mean),
        "{with} looking ahead, {without} looking back, an even share is {mean}"
    );
}

#[test]
fn small_differences_and_small_loads_are_not_worth_a_move() {
    let mut even = Stage::new(&columns(), background(8_000, 400.0, 8), PlannerConfig::new(WIDTH_MIN));
    even.run(60 * 60, |_, _| {});
    assert_eq!(even.announced.len(), 0, "{:?}", even.costs());
    let mut idle = Stage::new(&columns(), heap(8, Vec3::ZERO, 4.0, 1), PlannerConfig::new(WIDTH_MIN));
    idle.run(60 * 60, |_, _| {});
    assert_eq!(idle.announced.len(), 0, "{:?}", idle.costs());
}

#[test]
fn nothing_is_planned_while_a_region_is_silent() {
    let config = PlannerConfig::new(WIDTH_MIN);
    let mut stage = Stage::new(&columns(), hot(), config);
    for _ in 0..40 {
        stage.tick = stage.tick + REPORT_TICKS;
        let (newest, hosts) = (stage.map.clone(), stage.hosts());
        for region in 0..7 {
            let report = stage.report(RegionId(region), 1_000 * u32::from(region), &hosts);
            stage.planner.report(report, &newest);
        }
        assert_eq!(stage.planner.plan(stage.tick, &newest), None);
    }
    let (newest, hosts) = (stage.map.clone(), stage.hosts());
    let report = stage.report(RegionId(999), 7, &hosts);
    stage.planner.report(report, &newest);
    assert_eq!(stage.planner.plan(stage.tick, &newest), None);
}

/// Two heaps that lie apart, and an even share of which ends within one of them.
#[test]
fn a_plane_stops_in_a_gap_when_that_is_as_good() {
    let mut bodies: Vec<(Vec3, u32)> = Vec::new();
    for k in 0..40 {
        bodies.extend(heap(50, Vec3::new(-100.0 + 6.0 * k as f32, 0.0, 0.0), 0.7, k));
    }
    let config = PlannerConfig { reach_m: 1.0, ..PlannerConfig::new(WIDTH_MIN) };
    let mut stage = Stage::new(&Layout::columns(2, 400.0), bodies, config);
    stage.run(60 * 120, |_, _| {});
    let at = stage.map.cuts().next().unwrap().at;
    let beside = stage.bodies.iter().filter(|(p, _)| (p.x - at).abs() < 1.0).count();
    assert!(!stage.announced.is_empty() && stage.uneven() < 0.1, "{:?}", stage.costs());
    assert_eq!(beside, 0, "{beside} bodies within reach of the plane at {at}");
}

/// Whoever has the lump is the dearest, wherever the plane is.
#[test]
fn a_plane_that_cannot_win_turns_back_ever_more_rarely() {
    let lump = |planted| {
        let config = PlannerConfig { planted, ..PlannerConfig::new(WIDTH_MIN) };
        let mut stage = Stage::new(&Layout::columns(2, 100.0), heap(100, Vec3::X * 5.0, 20.0, 3), config);
        stage.lumped = true;
        stage.run(60 * 600, |_, _| {});
        stage.announced.len()
    };
    let (calm, restless) = (lump(None), lump(Some(Misplan::Restless)));
    assert!(calm <= 16, "{calm} moves in ten minutes");
    assert!(restless > 4 * calm, "{restless} against {calm}");
}

#[test]
fn every_planted_mistake_is_noticed() {
    let careful = PlannerConfig { settle_ticks: 90, step_m: 8.0, ..PlannerConfig::new(24.0) };
    for (name, planted) in Misplan::ALL {
        let config = PlannerConfig { planted: Some(planted), ..careful };
        let mut stage = Stage::new(&columns(), hot(), config);
        stage.run(60 * 60, |_, _| {});
        assert!(stage.broken().is_some(), "{name} was not noticed");
    }
    let mut sound = Stage::new(&columns(), hot(), careful);
    sound.run(60 * 60, |_, _| {});
    assert_eq!(sound.broken(), None);
    assert!(sound.announced.len() > 5);
}

/// A stage with one region, seven idle servers and a budget.
fn burst(bodies: Vec<(Vec3, u32)>, budget_us: u32) -> Stage {
    let config = PlannerConfig { budget_us: Some(budget_us), ..PlannerConfig::new(WIDTH_MIN) };
    let mut stage = Stage::new(&Layout::columns(1, 400.0), bodies, config);
    stage.spare = 7;
    stage
}

#[test]
fn a_crowd_is_shared_with_idle_servers_and_gathered_again() {
    let mut stage = burst(hot(), 4_000);
    let before = *stage.costs().iter().max().unwrap();
    assert!(before > 20_000, "{before}");
    stage.run(60 * 120, |_, _| {});
    let after = *stage.costs().iter().max().unwrap();
    assert!(after <= 4_000, "{:?}", stage.costs());
    let regions = stage.map.regions().len();
    assert!((6..=8).contains(&regions), "{regions} regions");
    let changes = stage.announced.len();
    stage.noise_permille = 30;
    stage.run(60 * 60, |_, _| {});
    assert!(stage.announced.len() <= changes + 2, "{} changes on a constant load", stage.announced.len() - changes);
    stage.bodies.truncate(200);
    stage.run(60 * 60, |_, _| {});
    assert_eq!(stage.map.regions(), [RegionId(0)], "{:?}", stage.costs());
    assert_eq!(stage.broken(), None);
}

#[test]
fn a_load_that_fits_stays_where_it_is() {
    let mut stage = burst(hot(), 40_000);
    stage.run(60 * 60, |_, _| {});
    assert_eq!(stage.announced.len(), 0);
}

#[test]
fn what_cannot_be_cut_is_not_cut_again_and_again() {
    let mut stage = burst(heap(1_000, Vec3::X * 5.0, 60.0, 3), 2_000);
    stage.lumped = true;
    stage.run(60 * 300, |_, _| {});
    let regions = stage.map.regions().len();
    assert!(regions <= 4, "{regions} regions, and one of them has it all: {:?}", stage.costs());
    assert!(stage.announced.len() <= 24, "{} changes in five minutes", stage.announced.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Whatever lies wherever: promises are kept, and a load that stands still is left alone in the end.
    #[test]
    fn promises_are_kept_on_any_load(
        seed in 0u64..1_000,
        heaps in prop::collection::vec((-200.0f32..200.0, -200.0f32..200.0, 2.0f32..80.0, 50usize..600), 1..4),
        flat in any::<bool>(),
        width_min in 2.0f32..24.0,
    ) {
        let mut bodies = background(300, 400.0, seed);
        for (x, z, size, count) in heaps {
            bodies.extend(heap(count, Vec3::new(x, 0.0, z), size, seed));
        }
        let layout = if flat { columns() } else { grid() };
        let mut stage = Stage::new(&layout, bodies, PlannerConfig::new(width_min));
        let before = *stage.costs().iter().max().unwrap();
        stage.run(60 * 150, |_, _| {});
        prop_assert_eq!(stage.broken(), None);
        let after = *stage.costs().iter().max().unwrap();
        prop_assert!(f64::from(after) <= 1.1 * f64::from(before), "from {} to {}", before, after);
        let moves = stage.announced.len();
        stage.run(60 * 60, |_, _| {});
        prop_assert!(stage.announced.len() <= moves + 2, "{} moves more", stage.announced.len() - moves);
    }
}
