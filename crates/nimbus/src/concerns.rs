//! What is said about a world before it runs: what it allows itself and cannot have, and what this machine cannot carry.

use nimbus::model::world_file::Lines;
use nimbus::model::{BYTES_PER_BODY, Concern, Injection, Subject, World};
use nimbus::physics::{DEEP_LEAST_M, DEEP_SHARE, deep_overlaps};
use nimbus::runtime::memory::memory_bytes;
use std::thread::available_parallelism;

/// Awake bodies that one core steps in time at 60 ticks a second. `two-cores` in docs/performance.md found 4,293 to 5,516
/// on one core and 7,482 to 7,498 on two.
const AWAKE_PER_CORE: u64 = 4_000;
/// The rate that it was measured at, ticks a second.
const MEASURED_HZ: u64 = 60;
/// Overlaps and joints that are listed; more are counted.
const LISTED_MAX: usize = 10;

/// What a machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    cores: u64,
    memory_bytes: u64,
}

impl Machine {
    /// This one.
    pub(crate) fn this() -> Machine {
        let cores = available_parallelism().map_or(1, |cores| cores.get() as u64);
        let memory_bytes = memory_bytes();
        Machine { cores, memory_bytes }
    }
}

/// Says on standard error what a world promises and cannot hold.
pub(crate) fn warn_of_promises(world: &World) {
    if let Some(concern) = world.frame_concern() {
        eprintln!("nimbus: warning: `{}`: {concern}", world.name);
    }
}

/// Everything that is worth saying about a world of so many regions.
pub(crate) fn all(world: &World, regions: usize, machine: Machine) -> Vec<Concern> {
    let mut all: Vec<Concern> = world.frame_concern().into_iter().collect();
    all.extend(size_concerns(world, regions as u64, machine));
    all.extend(overlap_concerns(world));
    let joints = world.joint_concerns();
    let more = joints.len().saturating_sub(LISTED_MAX);
    all.extend(joints.into_iter().take(LISTED_MAX));
    if more > 0 {
        let what = format!("has {more} more joints whose anchors start apart");
        all.push(Concern { subject: Subject::World, what, remedy: "mend these first, then check again".to_owned() });
    }
    all
}

fn size_concerns(world: &World, regions: u64, machine: Machine) -> Vec<Concern> {
    let begins = world.owned_bodies().count() as u64;
    let added: u64 = world.injections.iter().filter_map(Injection::finite_count).map(u64::from).sum();
    let bodies = begins + added;
    let subject = if added > begins { Subject::Injections } else { Subject::World };
    let comes_to = match subject {
        Subject::Injections => format!("bring the world to {bodies} bodies"),
        _ if added > 0 => format!("comes to {bodies} bodies"),
        _ => format!("has {bodies} bodies"),
    };
    let lower = if added > 0 { "lower injections.count" } else { "use fewer bodies" };
    let mut concerns = Vec::new();
    let Machine { cores, memory_bytes } = machine;
    let (needs, has) = (bodies.saturating_mul(BYTES_PER_BODY), memory_bytes / 2);
    if needs > has {
        let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        let what = format!(
            "{comes_to}, which may take {:.1} GiB of memory ({} KiB each); half of what this machine has is {:.1} GiB",
            gib(needs),
            BYTES_PER_BODY >> 10,
            gib(has)
        );
        let remedy = format!("{lower} to at most {} in all, or run it on more machines", has / BYTES_PER_BODY);
        concerns.push(Concern { subject, what, remedy });
    }
    let (hz, busy) = (u64::from(world.tick_hz.max(1)), cores.min(regions.max(1)));
    let carried = AWAKE_PER_CORE * busy * MEASURED_HZ / hz;
    if bodies > carried {
        let at_once = format!("about {carried} awake ones at {hz} ticks a second");
        let with = if busy < cores {
            format!("{busy} of the {cores} cores of this machine carry")
        } else {
            format!("the {cores} cores of this machine carry")
        };
        let what = format!("{comes_to}; {regions} regions on {with} {at_once}, and fall behind unless the rest sleeps");
        let cut = if busy < cores { ", or cut the world into more regions" } else { ", or run it on more machines" };
        concerns.push(Concern {
            subject,
            what,
            remedy: format!("{lower} so that at most {carried} move at a time{cut}"),
        });
    }
    concerns
}

fn overlap_concerns(world: &World) -> Vec<Concern> {
    let (found, whole) = deep_overlaps(world);
    let listed = found.iter().take(LISTED_MAX).map(|overlap| Concern {
        subject: Subject::Bodies(overlap.one, overlap.two),
        what: format!(
            "start {:.2} m inside each other ({:.0} % of the smaller one's least half extent, and {DEEP_LEAST_M} m, are \
             tolerated): they are pushed apart in the first ticks",
            overlap.depth,
            DEEP_SHARE * 100.0
        ),
        remedy: "move them apart, or keep them from colliding with groups or a joint".to_owned(),
    });
    let mut concerns: Vec<Concern> = listed.collect();
    let more = found.len().saturating_sub(LISTED_MAX);
    if more > 0 {
        let what = format!(
            "has {}{more} more pairs of bodies that start inside each other",
            if whole { "" } else { "at least " }
        );
        concerns.push(Concern {
            subject: Subject::World,
            what,
            remedy: "mend these first, then check again".to_owned(),
        });
    }
    concerns
}

/// A concern as it is said of a file: with the line, and bodies by the names that they have there.
pub(crate) fn told_of_file(concern: &Concern, file: &str, lines: &Lines) -> String {
    let Concern { subject, what, remedy } = concern;
    let (line, subject) = match *subject {
        Subject::World => (1, "the world".to_owned()),
        Subject::Tolerances => (lines.tolerances(), "tolerances".to_owned()),
        Subject::Injections => (lines.injections(), "injections".to_owned()),
        Subject::Joint(index) => (lines.joint(index), format!("joints[{index}]")),
        Subject::Bodies(one, two) => {
            let ((line, one), (_, two)) = (lines.body(one), lines.body(two));
            (line, format!("{one} and {two}"))
        }
    };
    format!("{file}:{line}: warning: {subject} {what} — {remedy}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus::model::world_file::parse_with_lines;
    use nimbus::model::{BodyDesc, Pose, Shape, Vec3, Velocity};

    const MACHINE: Machine = Machine { cores: 2, memory_bytes: 24 << 30 };

    fn crowd(bodies: u32, injected: u32, tick_hz: u32) -> World {
        let injection = format!(
            "[[injections]]\nvolume = {{ min = [-9, 1, -9], max = [9, 9, 9] }}\nper_second = 60.0\ncount = {injected}\n\
             [[injections.choices]]\nshape = {{ ball = {{ radius = 0.5 }} }}\n"
        );
        let budget = "[budget]\nbodies = 2_000_000";
        let text =
            format!("name = \"crowd\"\ntick_hz = {tick_hz}\n{budget}\n{}", if injected > 0 { &injection } else { "" });
        let (mut world, _) = parse_with_lines(&text, "crowd.toml").unwrap();
        for i in 0..bodies {
            let at = Pose::at(Vec3::new((i % 100) as f32 * 2.0, 1.0, (i / 100) as f32 * 2.0));
            world.add(BodyDesc::dynamic(Shape::ball(0.5)), at, Velocity::ZERO);
        }
        world
    }

    fn sizes(world: &World, regions: usize) -> Vec<String> {
        all(world, regions, MACHINE).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_world_that_the_machine_carries_is_not_worth_a_word() {
        assert_eq!(sizes(&crowd(100, 0, 60), 1), [""; 0]);
        assert_eq!(sizes(&crowd(3_000, 1_000, 60), 1), [""; 0]);
        assert_eq!(sizes(&crowd(3_000, 5_000, 60), 2), [""; 0]);
        assert_eq!(sizes(&crowd(3_000, 13_000, 30), 2)[1..], [""; 0], "half the rate, twice the bodies");
    }

    #[test]
    fn a_world_that_is_too_large_is_told_what_it_would_need() {
        let said = sizes(&crowd(0, 1_000_000, 60), 4);
        assert_eq!(said.len(), 2, "{said:?}");
        for part in
            ["injections bring the world to 1000000 bodies", "22.9 GiB", "24 KiB each", "12.0 GiB", "524288 in all"]
        {
            assert!(said[0].contains(part), "{part}: {}", said[0]);
        }
        for part in ["the 2 cores", "about 8000 awake", "60 ticks a second", "at most 8000 move", "more machines"] {
            assert!(said[1].contains(part), "{part}: {}", said[1]);
        }
        let one_region = sizes(&crowd(5_000, 0, 60), 1);
        assert_eq!(one_region.len(), 1, "{one_region:?}");
        for part in ["the world has 5000 bodies", "1 of the 2 cores", "about 4000 awake", "into more regions"] {
            assert!(one_region[0].contains(part), "{part}: {}", one_region[0]);
        }
        assert_eq!(sizes(&crowd(5_000, 0, 60), 2), [""; 0], "the remedy helps");
    }

    #[test]
    fn concerns_of_a_file_name_its_lines_and_bodies() {
        let text = "name = \"w\"\ntick_hz = 30\n\n[[bodies]]\nname = \"floor\"\nkind = \"static\"\n\
                    shape = { cuboid = { half = [9, 1, 9] } }\n\n[[bodies]]\nname = \"crate\"\n\
                    shape = { cuboid = { half = [0.5, 0.5, 0.5] } }\nposition = [0, 1.5, 0]\n\
                    repeat = { count = [3, 1, 1], spacing = [0.7, 0, 0] }\n\n[[joints]]\na = \"floor\"\nb = \"crate[2]\"\n\
                    kind = \"fixed\"\nanchor_a = [5, 1, 0]\n";
        let (world, lines) = parse_with_lines(text, "w.toml").unwrap();
        let said: Vec<String> = all(&world, 1, MACHINE).iter().map(|one| told_of_file(one, "w.toml", &lines)).collect();
        let begins = [
            "w.toml:1: warning: tolerances cannot hold: frame_ms is 28",
            "w.toml:9: warning: \"crate[0]\" and \"crate[1]\" start 0.30 m inside each other",
            "w.toml:9: warning: \"crate[1]\" and \"crate[2]\" start 0.30 m inside each other",
            "w.toml:15: warning: joints[0] has anchors 3.63",
        ];
        assert_eq!(said.len(), begins.len(), "{said:#?}");
        for (said, begin) in said.iter().zip(begins) {
            assert!(said.starts_with(begin), "{begin}: {said}");
        }
    }
}
