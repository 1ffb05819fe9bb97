//! One server with a whole world to itself, in real time: the control of the experiment `two-cores`. Built with
//! `--features parallel` its engine steps on as many threads as RAYON_NUM_THREADS says.
//!
//! `one_server WORLD.toml FIRST LAST` runs up to tick LAST and prints figures of the ticks from FIRST on: the time that
//! half of them and 99 of 100 did not exceed in microseconds, how many there were and how many were skipped, bodies at
//! the end, and 2 if the engine was built for threads, otherwise 1.

#![allow(clippy::disallowed_methods, reason = "what is measured here is real time")]

use nimbus_model::{RegionId, Tick, world_file};
use nimbus_node::{Node, NodeConfig};
use nimbus_space::PartitionMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The same allocator as that of the processes it is compared with.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, first, last] = arguments.as_slice() else { return usage("three arguments are needed") };
    let (Ok(first), Ok(last)) = (first.parse::<u64>(), last.parse::<u64>()) else { return usage("a tick is a number") };
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => return usage(&format!("{path}: {error}")),
    };
    let world = match world_file::parse(&text, path) {
        Ok(world) => Arc::new(world),
        Err(problems) => return usage(&problems.to_string()),
    };
    let map = match PartitionMap::from_layout(&world.layout) {
        Ok(map) if map.regions().len() == 1 => map,
        _ => return usage("the world must have one region"),
    };
    let tick_time = Duration::from_secs(1) / world.tick_hz;
    let mut node = Node::new(NodeConfig::new(RegionId(0)), world, 1, map, Tick(0));
    let (start, mut steps, mut frames) = (Instant::now(), Vec::new(), Vec::new());
    let mut lost_before = 0;
    while node.now() < Tick(last) {
        let next = node.now().next();
        let due_in = (tick_time * next.0 as u32).saturating_sub(start.elapsed());
        std::thread::sleep(due_in);
        let due = Tick((start.elapsed().as_nanos() / tick_time.as_nanos()) as u64).max(next);
        for tick in node.first_due(due).0..=due.0 {
            if tick <= first {
                lost_before = node.counters().ticks_lost;
            }
            let began = Instant::now();
            node.tick(Tick(tick));
            if tick >= first {
                steps.push(began.elapsed());
            }
        }
        node.emit(&mut frames);
        frames.clear();
        node.take_events();
    }
    steps.sort_unstable();
    let quantile = |share: f64| steps.get(((steps.len() as f64 * share).ceil() as usize).max(1) - 1);
    let us = |share: f64| quantile(share).map_or(0, Duration::as_micros);
    let lost = node.counters().ticks_lost - lost_before;
    let built_for = if cfg!(feature = "parallel") { 2 } else { 1 };
    println!("{} {} {} {lost} {} {built_for}", us(0.5), us(0.99), steps.len(), node.hosted_count());
}

fn usage(why: &str) {
    eprintln!("{why}\none_server WORLD.toml FIRST LAST");
    std::process::exit(2);
}
