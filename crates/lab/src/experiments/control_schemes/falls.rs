//! Whether dominoes fall as on one server: every one of them, in the same order, and on time.

use nimbus_model::{Nid, World};
use nimbus_space::PartitionMap;

use super::watch::Record;

/// When a domino fell. Nobody sees a body on its way from one server to the next, so there are two ticks to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fall {
    /// The last tick at which it was seen upright.
    pub(super) upright: u64,
    /// The first at which it was seen fallen.
    pub(super) fallen: u64,
}

impl Fall {
    /// By how many ticks it fell earlier or later than at a tick, at the least.
    fn off(&self, tick: u64) -> u64 {
        tick.saturating_sub(self.fallen).max((self.upright + 1).saturating_sub(tick))
    }

    /// True when it certainly fell after another one.
    fn is_after(&self, other: &Fall) -> bool {
        self.upright >= other.fallen
    }
}

/// How dominoes fell, compared with one server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Falls {
    /// Dominoes that fell on one server and not here.
    pub(super) unfallen: u64,
    /// Neighbours in a line that fell the other way round.
    pub(super) out_of_order: u64,
    /// Dominoes that fell earlier or later by more ticks than their line had crossed boundaries.
    pub(super) mistimed: u64,
    /// The most by which any fell earlier or later, ticks.
    pub(super) worst_ticks: u64,
    /// Dominoes that fell on their way from one server to the next, so that the tick is not known exactly.
    pub(super) unseen: u64,
}

/// A domino of a line: which, and how many boundaries the line has crossed on its way to it.
type Domino = (Nid, u64);

impl Falls {
    pub(super) fn compare(world: &World, record: &Record, control: &Record) -> Falls {
        let mut falls = Falls::default();
        for line in lines(world) {
            let falls_of = |(nid, crossed): &Domino| {
                let there = control.falls.get(nid)?;
                Some((there.fallen, record.falls.get(nid).copied(), *crossed))
            };
            falls.add_line(&line.iter().filter_map(falls_of).collect::<Vec<_>>());
        }
        falls
    }

    /// Adds a line of dominoes: when each fell on one server, when it fell here, and how many boundaries came before.
    fn add_line(&mut self, times: &[(u64, Option<Fall>, u64)]) {
        for &(there, here, crossed) in times {
            let Some(here) = here else {
                self.unfallen += 1;
                continue;
            };
            self.unseen += u64::from(here.fallen - here.upright > 1);
            self.mistimed += u64::from(here.off(there) > crossed);
            self.worst_ticks = self.worst_ticks.max(here.off(there));
        }
        for pair in times.windows(2) {
            let (Some(one), Some(two)) = (pair[0].1, pair[1].1) else { continue };
            let reversed =
                (pair[0].0 < pair[1].0 && one.is_after(&two)) || (pair[0].0 > pair[1].0 && two.is_after(&one));
            self.out_of_order += u64::from(reversed);
        }
    }

    /// True when every domino falls, in order and on time.
    pub(super) fn are_right(&self) -> bool {
        self.unfallen + self.out_of_order + self.mistimed == 0
    }
}

/// The lines of dominoes of a world. Each begins with one that the script pushes; the others follow in order.
fn lines(world: &World) -> Vec<Vec<Domino>> {
    let Ok(map) = PartitionMap::from_layout(&world.layout) else { return Vec::new() };
    let mut lines: Vec<Vec<Domino>> = Vec::new();
    let mut last = None;
    for (i, spawn) in world.owned_bodies() {
        let region = map.region_at(spawn.pose.position);
        let begins = world.script.iter().any(|push| push.body == i);
        if begins || lines.is_empty() {
            lines.push(Vec::new());
            last = Some(region);
        }
        if let Some(line) = lines.last_mut() {
            let before = line.last().map_or(0, |(_, crossed)| *crossed);
            line.push((World::nid(1, i), before + u64::from(last != Some(region))));
        }
        last = Some(region);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_scenes::SceneParams;

    #[test]
    fn a_line_crosses_every_boundary() {
        let world = nimbus_scenes::build("dominoes", &SceneParams { servers: 3, seed: 1, scale: 0.4 }).unwrap();
        let lines = lines(&world);
        assert_eq!(lines.len(), world.script.len());
        assert_eq!(lines[0].last().map(|(_, crossed)| *crossed), Some(2), "straight");
        assert_eq!(lines[1].last().map(|(_, crossed)| *crossed), Some(6), "there, back and there again");
    }

    fn at(tick: u64) -> Option<Fall> {
        Some(Fall { upright: tick - 1, fallen: tick })
    }

    #[test]
    fn late_early_missing_and_reversed_dominoes_are_counted() {
        let mut falls = Falls::default();
        falls.add_line(&[(10, at(10), 0), (14, at(15), 1), (18, at(20), 1), (22, None, 1)]);
        assert_eq!(falls, Falls { unfallen: 1, mistimed: 1, worst_ticks: 2, ..Falls::default() });
        let mut falls = Falls::default();
        falls.add_line(&[(10, at(12), 3), (11, at(10), 3), (11, at(10), 3)]);
        assert_eq!(falls, Falls { out_of_order: 1, worst_ticks: 2, ..Falls::default() });
        assert!(!falls.are_right() && Falls { worst_ticks: 1, ..Falls::default() }.are_right());
    }

    #[test]
    fn what_fell_unseen_is_off_by_no_less_than_was_seen() {
        let fall = Fall { upright: 10, fallen: 13 };
        assert_eq!([9, 10, 11, 13, 14, 16].map(|tick| fall.off(tick)), [2, 1, 0, 0, 1, 3]);
        let mut falls = Falls::default();
        falls.add_line(&[(11, Some(fall), 0), (12, at(12), 0), (13, at(15), 1)]);
        assert_eq!(falls, Falls { mistimed: 1, worst_ticks: 2, unseen: 1, ..Falls::default() });
    }
}
