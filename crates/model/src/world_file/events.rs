//! What happens while the world runs: injections of bodies, and scripted pushes.

use glam::Vec3;

use super::bodies::{DESC_KEYS, Names, Rules, read_desc};
use super::reader::{Node, Table};
use super::{INJECTED_MAX, INJECTIONS_MAX, PUSHES_MAX, SPIN_MAX, TICK_MAX, read_box};
use crate::{BodyKind, Choice, Injection, ScriptedPush, Tick};

/// Keys of an injection.
pub(super) const INJECTION_KEYS: &[&str] =
    &["volume", "per_second", "start_tick", "count", "velocity_min", "velocity_max", "turned", "choices"];

/// Words that may stand for the count of an injection.
pub(super) const COUNT_WORDS: &[&str] = &["endless"];

/// Keys of a push.
pub(super) const PUSH_KEYS: &[&str] = &["tick", "body", "linear", "angular"];

/// Reads all injections and bounds what they add in all.
pub(super) fn read_injections(node: &Node<'_>, rules: &Rules) -> Vec<Injection> {
    let remedy = "write each injection under its own [[injections]] line";
    let Some(items) = node.items("a list of injections", remedy) else { return Vec::new() };
    if items.len() > INJECTIONS_MAX {
        let what = format!("has {} injections; there may be at most {INJECTIONS_MAX}", items.len());
        node.problem(what, "join some of them: one injection may have several choices");
        return Vec::new();
    }
    let injections: Vec<Injection> = items.filter_map(|item| read_injection(&item, rules)).collect();
    let total: u64 = injections.iter().filter_map(Injection::finite_count).map(u64::from).sum();
    if total > INJECTED_MAX {
        node.problem(
            format_args!("add {total} bodies in all; there may be at most {INJECTED_MAX}"),
            "lower their counts",
        );
    }
    injections
}

fn read_injection(node: &Node<'_>, rules: &Rules) -> Option<Injection> {
    let table = node.table("a table that describes an injection", INJECTION_KEYS)?;
    let volume = table.need("volume", "add volume = { min = [x, y, z], max = [x, y, z] }").and_then(|node| {
        let volume = read_box(&node)?;
        let inside = volume.min.cmpge(rules.kill_box.min).all() && volume.max.cmplt(rules.kill_box.max).all();
        if !inside {
            let what = "reaches outside the kill box, where bodies would die at once";
            node.problem(what, "move it inside, or enlarge kill_box");
        }
        Some(volume)
    });
    let per_second = table
        .need("per_second", "add per_second, how many bodies appear a second")
        .and_then(|n| n.size(1e5, "write how many bodies appear a second"));
    let start = read_tick(&table, "start_tick");
    let count = table.need("count", "add count, how many bodies appear in all").and_then(|n| read_count(&n));
    let velocity = |key: &str| table.or(key, Vec3::ZERO, |n| n.vector());
    let (velocity_min, velocity_max) = (velocity("velocity_min"), velocity("velocity_max"));
    let turned = table.or("turned", false, |n| n.flag());
    let choices = table.need("choices", "add choices = [{ shape = { ball = { radius = 0.5 } } }]");
    let choices = choices.and_then(|node| read_choices(&node, rules));
    let (velocity_min, velocity_max) = (velocity_min?, velocity_max?);
    let velocity_node = table.get("velocity_min").or(table.get("velocity_max"));
    let velocity_node = velocity_node.as_ref().unwrap_or(node);
    if !velocity_min.cmple(velocity_max).all() {
        let remedy = "write velocity_min and velocity_max; on every axis the lower value belongs to velocity_min";
        velocity_node.problem("does not fit: velocity_min is above velocity_max", remedy);
        return None;
    }
    rules.check_speed(velocity_node, velocity_min.abs().max(velocity_max.abs()));
    Some(Injection {
        volume: volume?,
        per_second: per_second?,
        start: start?,
        count: count? as u32,
        velocity_min,
        velocity_max,
        turned: turned?,
        choices: choices?,
    })
}

/// A number of bodies, or the word for one that goes on.
fn read_count(node: &Node<'_>) -> Option<u64> {
    if node.is_text() {
        return node.word(COUNT_WORDS).map(|_| u64::from(Injection::ENDLESS));
    }
    node.whole(1, INJECTED_MAX, "write how many bodies appear in all, or \"endless\"")
}

fn read_choices(node: &Node<'_>, rules: &Rules) -> Option<Vec<Choice>> {
    let keys = [&["weight"], DESC_KEYS].concat();
    let read: Vec<Option<Choice>> = node
        .items("a list of choices", "write each choice under its own [[injections.choices]] line")?
        .map(|item| {
            let table = item.table("a table that describes a body", &keys)?;
            let remedy = "write how often it is picked relative to the others";
            let weight = table.or("weight", 1, |n| n.whole(0, u64::from(u32::MAX), remedy));
            let body = read_desc(&table, rules)?;
            if let Some(kind) = table.get("kind").filter(|_| body.kind == BodyKind::Static) {
                let remedy = "list it under [[bodies]], or change its kind";
                kind.problem("is static; an injection cannot add static bodies", remedy);
            }
            Some(Choice { weight: weight? as u32, body })
        })
        .collect();
    let choices: Vec<Choice> = read.into_iter().collect::<Option<_>>()?;
    if choices.iter().all(|choice| choice.weight == 0) {
        let what = if choices.is_empty() { "is empty" } else { "has only choices of weight 0" };
        node.problem(what, "add at least one choice with a weight above 0");
        return None;
    }
    Some(choices)
}

/// Reads all pushes and puts them in order of tick, as the world wants them.
pub(super) fn read_script(node: &Node<'_>, names: &Names, rules: &Rules) -> Vec<ScriptedPush> {
    let Some(items) = node.items("a list of pushes", "write each push under its own [[script]] line") else {
        return Vec::new();
    };
    if items.len() > PUSHES_MAX {
        node.problem(format_args!("has {} pushes; there may be at most {PUSHES_MAX}", items.len()), "use fewer pushes");
        return Vec::new();
    }
    let mut script: Vec<ScriptedPush> = items.filter_map(|item| read_push(&item, names, rules)).collect();
    script.sort_by_key(|push| push.tick);
    script
}

fn read_push(node: &Node<'_>, names: &Names, rules: &Rules) -> Option<ScriptedPush> {
    let table = node.table("a table that describes a push", PUSH_KEYS)?;
    table.need("tick", "add tick, when the push happens");
    let tick = read_tick(&table, "tick");
    let body = table.need("body", "add body = \"...\", the name of a body").and_then(|node| {
        let (body, kind) = names.find(&node)?;
        if kind == Some(BodyKind::Static) {
            node.problem("is a static body, which cannot be pushed", "name a dynamic or kinematic body");
        }
        Some(body)
    });
    let linear = table.or("linear", Vec3::ZERO, |node| node.vector().inspect(|push| rules.check_speed(node, *push)));
    let angular = table.or("angular", Vec3::ZERO, |node| node.vector_within(SPIN_MAX, "write radians a second"));
    Some(ScriptedPush { tick: tick?, body: body?, linear: linear?, angular: angular? })
}

fn read_tick(table: &Table<'_>, key: &str) -> Option<Tick> {
    table.or(key, Tick(0), |node| node.whole(0, TICK_MAX, "write a tick, counted from 0").map(Tick))
}
