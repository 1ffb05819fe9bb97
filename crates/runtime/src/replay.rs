//! Runs a recording again, server by server, and compares every state that was written down.

use nimbus_model::{RegionId, Tick};
use nimbus_node::{Node, NodeConfig, Rules};
use std::collections::BTreeMap;
use std::path::Path;

use crate::recording::{Entry, Recording, RecordingError, StateMark};
use crate::servers::combine;

/// Longest gap between two ticks of a server: a server runs through every tick that it skipped, and a damaged number
/// would keep it there for years. At 60 Hz this is a server that stood still for more than four hours.
const GAP_TICKS_MAX: u64 = 1_000_000;
/// Last tick that is believed; at 1000 Hz a world reaches it after thirty years.
const TICK_MAX: Tick = Tick(1 << 40);

/// Where a replay first differed from the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// At which server.
    pub region: RegionId,
    /// After which tick, at the latest; states are compared only now and then.
    pub tick: Tick,
    /// The last state that was the same.
    pub last_equal: Option<Tick>,
    /// The state that was recorded.
    pub recorded: u64,
    /// The state that came out.
    pub replayed: u64,
}

/// What became of one server in a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayedNode {
    /// The region it served.
    pub region: RegionId,
    /// Ticks that were run.
    pub ticks: u64,
    /// The last of them.
    pub last: Tick,
    /// States that were compared.
    pub compared: u64,
    /// The last state.
    pub hash: u64,
}

/// What became of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Every server, in order of region.
    pub nodes: Vec<ReplayedNode>,
    /// The earliest difference, when there was one.
    pub divergence: Option<Divergence>,
}

impl Replayed {
    /// One number for the state of all servers.
    pub fn combined_hash(&self) -> u64 {
        combine(self.nodes.iter().map(|node| (node.region, node.hash)))
    }
}

struct Track {
    node: Node,
    ticks: u64,
    compared: u64,
    last_equal: Option<Tick>,
    divergence: Option<Divergence>,
}

/// Replays a recording. `progress` hears the share of the file that has been read.
pub fn replay(path: &Path, progress: impl FnMut(f64)) -> Result<Replayed, RecordingError> {
    replay_with(path, None, progress)
}

/// The same for a recording of a game, which only its own rules can replay.
pub fn replay_with(
    path: &Path,
    rules: Option<&Rules>,
    mut progress: impl FnMut(f64),
) -> Result<Replayed, RecordingError> {
    let damaged = |what: String| RecordingError::Damaged { path: path.to_owned(), what };
    let mut recording = Recording::open(path)?;
    let start = recording.start().clone();
    if start.at > TICK_MAX {
        return Err(damaged(format!("it starts at tick {}", start.at)));
    }
    let mut tracks: BTreeMap<RegionId, Track> = start
        .nodes
        .iter()
        .map(|config| {
            let config = NodeConfig { game: rules.cloned(), ..config.clone() };
            let region = config.region;
            let node = Node::new(config, start.world.clone(), start.era, start.map.clone(), start.at);
            (region, Track { node, ticks: 0, compared: 0, last_equal: None, divergence: None })
        })
        .collect();
    let unknown = |region: RegionId| damaged(format!("{region} was never started"));
    while let Some(entry) = recording.next_entry()? {
        match entry {
            Entry::Log(region, log) => {
                let track = tracks.get_mut(&region).ok_or_else(|| unknown(region))?;
                let last = track.node.now();
                check_order(last, log.tick).map_err(|what| damaged(format!("{region} {what}")))?;
                track.node.replay(&log);
                track.node.take_events();
                track.ticks += 1;
                progress(recording.progress());
            }
            Entry::Mark(region, mark) => tracks.get_mut(&region).ok_or_else(|| unknown(region))?.compare(region, mark),
            Entry::Event(_) => {}
        }
    }
    let divergence = tracks.values().filter_map(|track| track.divergence).min_by_key(|divergence| divergence.tick);
    let nodes = tracks.iter().map(|(region, track)| ReplayedNode {
        region: *region,
        ticks: track.ticks,
        last: track.node.now(),
        compared: track.compared,
        hash: track.node.state_hash(),
    });
    Ok(Replayed { nodes: nodes.collect(), divergence })
}

/// Says what is wrong with a server's next tick.
fn check_order(last: Tick, next: Tick) -> Result<(), String> {
    if next <= last {
        return Err(format!("goes back from tick {last} to tick {next}"));
    }
    if next.since(last) > GAP_TICKS_MAX {
        return Err(format!("jumps from tick {last} to tick {next}, which is more than {GAP_TICKS_MAX} ticks"));
    }
    if next > TICK_MAX {
        return Err(format!("runs beyond tick {TICK_MAX}, which no server reaches"));
    }
    Ok(())
}

impl Track {
    fn compare(&mut self, region: RegionId, mark: StateMark) {
        let replayed = self.node.state_hash();
        self.compared += 1;
        if self.node.now() == mark.tick && replayed == mark.hash {
            self.last_equal = Some(mark.tick);
        } else if self.divergence.is_none() {
            let (tick, last_equal) = (mark.tick, self.last_equal);
            self.divergence = Some(Divergence { region, tick, last_equal, recorded: mark.hash, replayed });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_go_forward_and_not_too_far() {
        for (last, next, expected) in [
            (Tick(0), Tick(1), None),
            (Tick(5), Tick(5) + GAP_TICKS_MAX, None),
            (Tick(5), Tick(5), Some("goes back")),
            (Tick(5), Tick(4), Some("goes back")),
            (Tick(5), Tick(6) + GAP_TICKS_MAX, Some("jumps")),
            (Tick(5), Tick(u64::MAX), Some("jumps")),
            (TICK_MAX, TICK_MAX.next(), Some("beyond")),
        ] {
            let said = check_order(last, next).err();
            assert_eq!(said.is_some(), expected.is_some(), "{last} to {next}: {said:?}");
            assert!(said.unwrap_or_default().contains(expected.unwrap_or_default()));
        }
    }
}
