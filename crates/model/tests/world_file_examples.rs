//! The worlds that people read first, the examples and the code blocks of the manual, are good world files.

use nimbus_model::{Layout, World, world_file};
use std::fs;
use std::path::{Path, PathBuf};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read_good(name: &str) -> World {
    let text = fs::read_to_string(project().join(name)).expect("an example");
    let world = world_file::parse(&text, name).unwrap_or_else(|problems| panic!("{problems}"));
    let again =
        world_file::parse(&world_file::write(&world), "written").unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(again, world, "{name} must survive writing and reading");
    world
}

#[test]
fn every_example_is_good() {
    let mut count = 0;
    for entry in fs::read_dir(project().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        let is_toml = path.extension().is_some_and(|e| e == "toml");
        // A cluster's file names a world and is none.
        if is_toml && !fs::read_to_string(&path).unwrap().contains("[[coordinator]]") {
            read_good(&format!("examples/{}", path.file_name().unwrap().to_str().unwrap()));
            count += 1;
        }
    }
    assert!(count >= 2);
}

#[test]
fn hello_holds_what_its_comments_say() {
    let world = read_good("examples/hello.toml");
    assert_eq!(world.layout, Layout::columns(2, 100.0));
    assert_eq!(world.bodies.len(), 1 + 4 * 3 * 2 + 2);
    assert_eq!(world.statics().count(), 2);
    assert_eq!(world.injections.len(), 1);
    let pushed = &world.bodies[world.script[0].body as usize];
    let highest = world.bodies[1..25].iter().map(|b| b.pose.position.y).fold(0.0, f32::max);
    assert_eq!(pushed.pose.position.y, highest, "box[11] is one of the top boxes");
    let joint = &world.joints[0];
    let ends = [(joint.a, joint.desc.anchor_a), (joint.b, joint.desc.anchor_b)];
    let [post, bob] = ends.map(|(body, anchor)| world.bodies[body as usize].pose.transform(anchor.position));
    assert!((post - bob).length() < 1e-5, "the pendulum starts with its anchors together");
}

#[test]
fn playground_joints_start_closed() {
    let world = read_good("examples/playground.toml");
    assert_eq!(world.layout, Layout::Grid { count: [2, 1, 2], size: [80.0, 200.0, 80.0] });
    assert_eq!(world.joints.len(), 4 + 5 + 2);
    for joint in &world.joints {
        let ends = [(joint.a, joint.desc.anchor_a), (joint.b, joint.desc.anchor_b)];
        let [a, b] = ends.map(|(body, anchor)| world.bodies[body as usize].pose.transform(anchor.position));
        let slack = if let nimbus_model::JointKind::Rope { length } = joint.desc.kind { length } else { 1e-4 };
        assert!((a - b).length() <= slack, "{joint:?} starts {} apart", (a - b).length());
    }
}

#[test]
fn every_code_block_of_the_manual_is_good() {
    let manual = fs::read_to_string(project().join("docs/world-file.md")).unwrap();
    let mut blocks = 0;
    for (index, _) in manual.match_indices("```toml\n") {
        let block = manual[index + 8..].split("```").next().unwrap();
        let line = manual[..index].lines().count() + 1;
        let fragment = !block.lines().any(|l| l.starts_with("name = ") && block.starts_with(l));
        let text = if fragment { format!("name = \"fragment\"\n{block}") } else { block.to_owned() };
        if let Err(problems) = world_file::parse(&text, "block") {
            panic!("docs/world-file.md, block at line {line}:\n{problems}");
        }
        blocks += 1;
    }
    assert!(blocks >= 8, "only {blocks} blocks found");
}
