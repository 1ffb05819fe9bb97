//! A game for the servers of a process, and where they tell what it says.

use nimbus_model::RegionId;
use nimbus_node::{Game, GameTick, Node, Rules};
use std::sync::mpsc::SyncSender;

use crate::reading::Gauge;

/// A game that servers play.
#[derive(Clone, Debug)]
pub struct Play {
    /// Its rules.
    pub rules: Rules,
    /// Where servers tell what the game says, once it is certain. A server never waits for a full channel: what does not fit
    /// is dropped and counted. After a server has died its successor may begin with ticks that were told before, the same
    /// again: whoever adds up drops what is not above the last tick heard of a region.
    pub events: Option<SyncSender<(RegionId, GameTick)>>,
}

impl Play {
    /// A game that nobody listens to.
    pub fn new(game: impl Game + 'static) -> Play {
        Play { rules: Rules::new(game), events: None }
    }
}

/// Least share of the speed asked for to which a world slows down unless told otherwise, thousandths.
pub const SLOWEST_PERMILLE: u32 = 50;

/// The share to which a world may slow down, thousandths: as it is configured, unless its game forbids it.
pub(crate) fn slowest_permille(configured: u32, play: Option<&Play>) -> u32 {
    if play.is_some_and(|play| !play.rules.may_slow_down()) { 1000 } else { configured.min(1000) }
}

/// Tells what the game of a server has said.
pub(crate) fn tell_game_events(node: &mut Node, play: Option<&Play>, gauge: &Gauge) {
    let Some(play) = play else { return };
    for tick in node.take_game_events() {
        let count = tick.events.len() as u64;
        if let Some(events) = &play.events
            && events.try_send((node.region(), tick)).is_err()
        {
            gauge.write(|reading| reading.game_events_dropped += count);
        }
    }
}
