//! What really happened: every body of a run at every tick.

use nimbus_model::{Pose, Tick};
use nimbus_universe::{Universe, UniverseConfig};
use nimbus_wire::stream::BodyState;

use crate::experiment::LabError;

/// Slower than both of these counts as not moving: metres and radians a second.
const SPEED_MIN: f32 = 0.01;
const SPIN_MIN: f32 = 0.05;

/// A recorded run.
pub(super) struct Trace {
    /// By tick; bodies in order of slot, the same ones at every tick.
    pub(super) ticks: Vec<Vec<BodyState>>,
    /// Which of them move, in the same order.
    pub(super) moving: Vec<Vec<bool>>,
}

impl Trace {
    /// Runs a scene on one server.
    pub(super) fn record(scene: &str, ticks: u64, progress: &mut dyn FnMut(f32)) -> Result<Trace, LabError> {
        let mut config = UniverseConfig::new(scene, 1, 1, ticks);
        config.checked = false;
        let mut universe = Universe::new(config).map_err(|error| LabError::Failed(error.to_string()))?;
        let mut trace = Trace { ticks: Vec::new(), moving: Vec::new() };
        while universe.tick() < Tick(ticks) {
            universe.advance();
            let (mut states, mut moving) = (Vec::new(), Vec::new());
            let node = universe.nodes().first().ok_or_else(|| LabError::Failed("no server".to_owned()))?;
            for (slot, (nid, _)) in (0..).zip(node.hosted()) {
                let motion = node.motion(nid).ok_or_else(|| LabError::Failed("a body without motion".to_owned()))?;
                let v = motion.velocity;
                let still = v.linear.length() < SPEED_MIN && v.angular.length() < SPIN_MIN;
                moving.push(!motion.sleeping && !still);
                states.push(BodyState { slot, pose: motion.pose, at_rest: motion.sleeping });
            }
            if trace.ticks.first().is_some_and(|first| first.len() != states.len()) {
                return Err(LabError::Failed("a body came or went".to_owned()));
            }
            trace.ticks.push(states);
            trace.moving.push(moving);
            progress(universe.tick().0 as f32 / ticks as f32);
        }
        Ok(trace)
    }

    /// Bodies that move at a tick, on average.
    pub(super) fn moving_mean(&self) -> f64 {
        let moving: usize = self.moving.iter().flatten().filter(|moves| **moves).count();
        moving as f64 / self.moving.len().max(1) as f64
    }
}

/// A pose between two others.
pub(super) fn between(a: &Pose, b: &Pose, share: f32) -> Pose {
    Pose { position: a.position.lerp(b.position, share), rotation: a.rotation.slerp(b.rotation, share) }
}
