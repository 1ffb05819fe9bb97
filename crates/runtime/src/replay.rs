//! Runs a recording again, server by server, and compares every state that was written down.

use nimbus_model::{RegionId, Tick};
use nimbus_node::Node;
use std::collections::BTreeMap;
use std::path::Path;

use crate::recording::{Entry, Recording, RecordingError, StateMark};
use crate::servers::combine;

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
pub fn replay(path: &Path, mut progress: impl FnMut(f64)) -> Result<Replayed, RecordingError> {
    let mut recording = Recording::open(path)?;
    let start = recording.start().clone();
    let mut tracks: BTreeMap<RegionId, Track> = start
        .nodes
        .iter()
        .map(|config| {
            let node = Node::new(config.clone(), start.world.clone(), start.era, start.map.clone(), start.at);
            (config.region, Track { node, ticks: 0, compared: 0, last_equal: None, divergence: None })
        })
        .collect();
    let unknown = |region: RegionId| RecordingError::Damaged {
        path: path.to_owned(),
        what: format!("{region} was never started"),
    };
    while let Some(entry) = recording.next_entry()? {
        match entry {
            Entry::Log(region, log) => {
                let track = tracks.get_mut(&region).ok_or_else(|| unknown(region))?;
                if log.tick <= track.node.now() {
                    let what = format!("tick {} of {region} comes after tick {}", log.tick, track.node.now());
                    return Err(RecordingError::Damaged { path: path.to_owned(), what });
                }
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
