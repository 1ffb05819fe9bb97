//! Every scene that people are offered, for half a minute on 2, 4 and 9 servers, with nothing going wrong.

use nimbus_universe::{Universe, UniverseConfig};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const SERVERS: [u16; 3] = [2, 4, 9];
const TICKS: u64 = 1_800;
/// Small enough for two processors.
const SCALE: f32 = 0.1;

/// `SCALE=0.3` makes more of it.
#[test]
fn no_rule_is_broken_in_any_scene_without_faults() {
    let scale = std::env::var("SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(SCALE);
    let runs: Vec<(&str, u16)> =
        nimbus_scenes::all().iter().flat_map(|scene| SERVERS.map(|servers| (scene.name, servers))).collect();
    let (next, broken) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((scene, servers)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut config = UniverseConfig::new(scene, *servers, 1, TICKS);
                    config.scale = scale;
                    let outcome = Universe::new(config).expect("the configuration is good").run(|_| {});
                    assert!(outcome.bodies_max > 0, "{scene} has bodies");
                    let found = outcome.violations.iter().map(|what| format!("{scene} on {servers}: {what}"));
                    broken.lock().expect("no test panicked").extend(found);
                }
            });
        }
    });
    let broken = broken.into_inner().expect("no test panicked");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
