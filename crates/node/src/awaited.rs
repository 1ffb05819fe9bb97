//! Which neighbours a server should hear of before it runs on, where its world may slow down.
//!
//! A server that is late by the common clock says late what it gives away and what comes near. A neighbour that runs on without
//! it meets bodies where they were. So a shell whose world may slow down asks before each tick whose word that tick still
//! needs, and waits for it for a while. Links that are slow are another matter: what comes over them is late at every tick,
//! and was sent in time.

use nimbus_model::{RegionId, Tick};
use nimbus_wire::AuraFrame;

use crate::announce::QUIET_TICKS;
use crate::node::Node;

/// A server is late from so many ticks on.
const LATE_TICKS: u64 = 2;

/// The latest auras of a neighbour, as they came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Latest {
    tick: Tick,
    /// All that it had to say up to this tick has gone.
    settled: Tick,
    /// When they were sent and when they came, microseconds of world time.
    sent_us: u64,
    at_us: u64,
    /// It had nothing to say, and says so now and then only.
    is_quiet: bool,
}

impl Node {
    /// Takes note of a neighbour's auras when they come.
    pub(crate) fn note_latest(&mut self, from: RegionId, tick: Tick, auras: &AuraFrame) {
        let (settled, sent_us) = (auras.settled.min(tick), auras.sent_us);
        let is_quiet = auras.auras.is_empty() && auras.others.is_empty();
        let latest = Latest { tick, settled, sent_us, at_us: self.clock_us, is_quiet };
        let known = self.latest.entry(from).or_insert(latest);
        if tick >= known.tick {
            *known = latest;
        }
    }

    /// Neighbours whose word a tick needs and that are late, or have said nothing for a while, each with the tick up to which
    /// it has said everything. One that was never heard of is not among them. While the world `is_slow`, those are too whose
    /// backups keep their word back: then that is for want of computing time.
    pub fn awaited(&self, tick: Tick, now_us: u64, is_slow: bool) -> impl Iterator<Item = (RegionId, Tick)> {
        let tick_hz = u64::from(self.world.tick_hz.max(1));
        let us = move |ticks: u64| ticks * 1_000_000 / tick_hz;
        let legs = self.horizon.promised;
        self.map.neighbours(self.config.region).iter().filter_map(move |neighbour| {
            let latest = self.latest.get(&neighbour.region)?;
            let quiet = if latest.is_quiet { QUIET_TICKS } else { 0 };
            let is_late = latest.sent_us > us(latest.tick.0 + LATE_TICKS);
            let is_silent = now_us > latest.at_us + us(LATE_TICKS + quiet);
            // One that is late says at every tick that it has nothing to say.
            let needed = legs + if is_late { 0 } else { quiet };
            let lacks = |word: Tick| tick.since(word) > needed;
            let waits = (lacks(latest.tick) && (is_late || is_silent)) || (lacks(latest.settled) && is_slow);
            waits.then_some((neighbour.region, latest.settled))
        })
    }

    /// True when its own ticks are late by the common clock.
    pub(crate) fn is_late(&self) -> bool {
        let tick_hz = u64::from(self.world.tick_hz.max(1));
        self.clock_us > (self.now.0 + LATE_TICKS) * 1_000_000 / tick_hz
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NodeConfig;
    use nimbus_model::{Layout, Tolerances, World};
    use nimbus_space::PartitionMap;
    use nimbus_wire::{Address, Content, Frame};
    use std::sync::Arc;

    const OTHER: RegionId = RegionId(1);
    /// A tick of the world below.
    const TICK_US: u64 = 20_000;

    /// A server that must know what its neighbour said two ticks ago.
    fn node() -> Node {
        let mut world = World::new("awaited");
        world.tick_hz = 50;
        world.tolerances = Tolerances { latency_ms: 5.0, frame_ms: 20.0, ..world.tolerances };
        world.layout = Layout::columns(2, 200.0);
        let map = PartitionMap::from_layout(&world.layout).unwrap();
        let node = Node::new(NodeConfig::new(RegionId(0)), Arc::new(world), 1, map, Tick(0));
        assert_eq!(node.horizon.promised, 2);
        node
    }

    /// The neighbour says after its tick, so many ticks late, what it has to.
    fn say(node: &mut Node, tick: u64, settled: u64, late: u64, is_quiet: bool) {
        let sent_us = (tick + late) * TICK_US + 5_000;
        let others = if is_quiet { vec![] } else { vec![RegionId(7)] };
        let auras = AuraFrame { sent_us, settled: Tick(settled), others, ..AuraFrame::default() };
        let (from, to) = (Address::Region(OTHER), Address::Region(RegionId(0)));
        node.set_clock(sent_us + 1_000);
        node.handle(Frame { from, to, era: 1, epoch: 1, tick: Tick(tick), content: Content::Auras(auras) });
    }

    fn awaited(node: &Node, tick: u64, is_slow: bool) -> Option<Tick> {
        node.awaited(Tick(tick), node.clock_us, is_slow).next().map(|(_, upto)| upto)
    }

    #[test]
    fn a_neighbour_that_is_late_is_waited_for_once_its_word_is_needed() {
        let mut node = node();
        assert_eq!(awaited(&node, 9, true), None, "it was never heard of");
        say(&mut node, 10, 10, 4, false);
        assert_eq!((awaited(&node, 12, false), awaited(&node, 13, false)), (None, Some(Tick(10))));
        say(&mut node, 11, 11, 4, true);
        assert_eq!(awaited(&node, 14, false), Some(Tick(11)), "also when it has nothing to say");
        say(&mut node, 10, 10, 5, true);
        assert_eq!(awaited(&node, 13, false), None, "an older word changes nothing");
    }

    #[test]
    fn a_slow_link_is_not_waited_for_and_silence_is() {
        let mut node = node();
        say(&mut node, 10, 10, 0, false);
        assert_eq!(awaited(&node, 20, false), None, "sent in time");
        let after = |ticks: u64| node.awaited(Tick(13), node.clock_us + ticks * TICK_US, false).count();
        assert_eq!((after(LATE_TICKS), after(LATE_TICKS + 1)), (0, 1));
        let mut node = super::tests::node();
        say(&mut node, 10, 10, 0, true);
        let after = |ticks: u64| node.awaited(Tick(17), node.clock_us + ticks * TICK_US, false).count();
        assert_eq!((after(LATE_TICKS + QUIET_TICKS), after(LATE_TICKS + QUIET_TICKS + 1)), (0, 1), "it says so rarely");
    }

    #[test]
    fn word_that_a_backup_keeps_back_is_waited_for_while_the_world_is_slow() {
        let mut node = node();
        say(&mut node, 12, 9, 0, false);
        assert_eq!((awaited(&node, 12, false), awaited(&node, 12, true)), (None, Some(Tick(9))));
        say(&mut node, 13, 10, 0, false);
        assert_eq!(awaited(&node, 12, true), None);
    }

    #[test]
    fn one_that_is_late_says_so_at_every_tick() {
        let mut node = node();
        let mut said = |tick: u64, late: u64| {
            node.set_clock((tick + late) * TICK_US);
            node.tick(Tick(tick));
            let mut frames = Vec::new();
            node.emit(&mut frames);
            frames.iter().filter(|frame| matches!(frame.content, Content::Auras(_))).count()
        };
        let in_time: usize = (1..=8).map(|tick| said(tick, 1)).sum();
        let late: usize = (9..=16).map(|tick| said(tick, 4)).sum();
        assert_eq!((in_time, late), (2, 8));
    }
}
