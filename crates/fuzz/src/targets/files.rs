//! What is read from disk: recordings and world files.

use nimbus_model::{RegionId, Rng, Tick, world_file};
use nimbus_node::NodeConfig;
use nimbus_runtime::recording::{Note, Recorder, Recording, Start, StateMark};
use nimbus_space::PartitionMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::servers::{some_log, some_world};
use crate::Verdict;

/// Reads a recording to its end.
pub(super) fn recording(bytes: &[u8]) -> Verdict {
    let Ok(mut recording) = Recording::from_bytes(bytes.to_vec()) else { return Verdict::Refused };
    loop {
        match recording.next_entry() {
            Ok(Some(_)) => {}
            Ok(None) => return Verdict::Accepted,
            Err(_) => return Verdict::Refused,
        }
    }
}

pub(super) fn world(bytes: &[u8]) -> Verdict {
    Verdict::of(std::str::from_utf8(bytes).is_ok_and(|text| world_file::parse(text, "fuzz").is_ok()))
}

pub(super) fn make_world(rng: &mut Rng) -> Vec<u8> {
    match rng.below(4) {
        0 => include_bytes!("../../../../examples/hello.toml").to_vec(),
        1 => include_bytes!("../../../../examples/playground.toml").to_vec(),
        _ => world_file::write(&some_world(rng)).into_bytes(),
    }
}

/// A short recording whose checksums say "not computed", so that damage gets past them to the decoders.
pub(super) fn make_recording(rng: &mut Rng) -> Vec<u8> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("nimbus-fuzz-{}-{number}.mcap", std::process::id()));
    let world = some_world(rng);
    let map = PartitionMap::from_layout(&world.layout).unwrap_or_else(|error| unreachable!("{error}"));
    let start = Start { nodes: vec![NodeConfig::new(RegionId(0))], world: Arc::new(world), era: 1, map, at: Tick(0) };
    let recorder = Recorder::create(&path, &start).unwrap_or_else(|error| panic!("{error}"));
    let handle = recorder.handle();
    handle.note(Note::Log(RegionId(0), (0..rng.below(3)).map(|_| some_log(rng)).collect()));
    handle.note(Note::Mark(RegionId(0), StateMark { tick: Tick(9), hash: rng.next_u64() }));
    drop(handle);
    let written = recorder.finish().map(|_| std::fs::read(&path));
    _ = std::fs::remove_file(&path);
    match written {
        Ok(Ok(bytes)) => without_checksums(bytes),
        _ => panic!("cannot write {}", path.display()),
    }
}

/// Sets the checksums of an MCAP file to zero, which its format takes for absent.
fn without_checksums(mut bytes: Vec<u8>) -> Vec<u8> {
    const MAGIC_BYTES: usize = 8;
    const HEAD_BYTES: usize = 9;
    let mut at = MAGIC_BYTES;
    while let Some(head) = bytes.get(at..at + HEAD_BYTES) {
        let length = head[1..].iter().rev().fold(0usize, |sum, byte| sum << 8 | usize::from(*byte));
        let checksum = match head[0] {
            // Footer, chunk, end of data.
            0x02 => Some(16),
            0x06 => Some(24),
            0x0f => Some(0),
            _ => None,
        };
        let body = at + HEAD_BYTES;
        if let Some(field) = checksum.and_then(|offset| bytes.get_mut(body + offset..body + offset + 4)) {
            field.fill(0);
        }
        at = body.saturating_add(length);
    }
    bytes
}
