//! How many bodies the memory of this machine holds.

use nimbus_model::{BYTES_PER_BODY, RegionId, World};
use nimbus_space::PartitionMap;
use std::collections::BTreeMap;

/// Memory that is taken for granted where the system does not say how much there is, bytes.
const MEMORY_ASSUMED: u64 = 8 << 30;
/// Where Linux says how much memory the machine has, and how much of it the control group of this process may use.
const MACHINE: &str = "/proc/meminfo";
const CONTROL_GROUP: &str = "/sys/fs/cgroup/memory.max";

/// Memory that this process may use, bytes: that of the machine, or of its container if that is less.
pub fn memory_bytes() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let machine = read(MACHINE).as_deref().and_then(of_machine).unwrap_or(MEMORY_ASSUMED);
    let container = read(CONTROL_GROUP).and_then(|text| text.trim().parse().ok());
    container.map_or(machine, |container: u64| machine.min(container))
}

/// All memory, from what Linux says about it.
fn of_machine(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The budget of each of so many servers in one process: half of the memory, shared evenly.
pub fn bodies_max(servers: usize) -> usize {
    bodies_max_of(memory_bytes(), servers)
}

fn bodies_max_of(memory_bytes: u64, servers: usize) -> usize {
    (memory_bytes / 2 / BYTES_PER_BODY) as usize / servers.max(1)
}

/// Says which region would start with more bodies than its server may host, if one would.
pub fn crowded_start(world: &World, map: &PartitionMap, bodies_max: usize) -> Option<String> {
    if world.bodies.len() <= bodies_max {
        return None;
    }
    let mut starts: BTreeMap<RegionId, usize> = BTreeMap::new();
    for (_, body) in world.owned_bodies() {
        *starts.entry(map.region_at(body.pose.position)).or_default() += 1;
    }
    let (region, bodies) = starts.into_iter().max_by_key(|(region, bodies)| (*bodies, std::cmp::Reverse(*region)))?;
    (bodies > bodies_max).then(|| {
        format!(
            "{region} would start with {bodies} bodies, and its budget is {bodies_max}; use fewer bodies, cut the world into \
             more regions, or raise bodies_per_region where the machine has more memory ({} KiB a body)",
            BYTES_PER_BODY >> 10
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::{BodyDesc, Layout, Pose, Shape, Vec3, Velocity};

    #[test]
    fn memory_is_read_as_linux_says_it() {
        assert_eq!(of_machine("MemTotal:       24576000 kB\nMemFree:  1 kB\n"), Some(24_576_000 * 1024));
        assert_eq!(of_machine("MemFree: 1 kB\n"), None);
        assert_eq!(of_machine("MemTotal: 99999999999999999999 kB\n"), None);
        assert!(memory_bytes() > 1 << 20);
    }

    #[test]
    fn servers_share_half_of_the_memory() {
        assert_eq!((bodies_max_of(24 << 30, 1), bodies_max_of(24 << 30, 4)), (524_288, 131_072));
        assert_eq!(bodies_max_of(24 << 30, 0), 524_288);
    }

    #[test]
    fn a_region_that_would_start_too_full_is_named() {
        let mut world = World::new("crowd");
        world.layout = Layout::columns(2, 200.0);
        for i in 0..30 {
            let x = if i < 20 { 50.0 } else { -50.0 };
            world.add(BodyDesc::dynamic(Shape::ball(0.5)), Pose::at(Vec3::new(x, i as f32 * 2.0, 0.0)), Velocity::ZERO);
        }
        world.add_ground(9.0, 9.0);
        let map = PartitionMap::from_layout(&world.layout).unwrap();
        assert_eq!(crowded_start(&world, &map, 20), None);
        let said = crowded_start(&world, &map, 19).expect("one body too many");
        assert!(said.contains("r1 would start with 20 bodies") && said.contains("budget is 19"), "{said}");
    }
}
