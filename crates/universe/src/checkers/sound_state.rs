//! Every body is somewhere: finite, inside the world, no faster than anything may be.

use super::{Broken, Scene};

const RULE: &str = "sound state";

pub(super) fn inspect(scene: &Scene<'_>, broken: &mut Vec<Broken>) {
    for node in &scene.nodes {
        let world = node.world();
        let speed_max = world.speed_max();
        let room = world.kill_box.grown(speed_max * world.tick_s());
        for (nid, _) in node.hosted() {
            let Some(motion) = node.motion(nid) else {
                broken.push(Broken(RULE, format!("{} hosts {nid} without simulating it", node.region())));
                continue;
            };
            let speed = motion.velocity.linear.length();
            if !motion.is_valid() || speed > speed_max || !room.holds(motion.pose.position) {
                let at = motion.pose.position;
                broken.push(Broken(RULE, format!("{nid} on {} is at {at} with {speed} m/s", node.region())));
            }
        }
    }
}
