//! Touches begin and end in turn, whoever tells of them; and in the end those that began and did not end are there.

use nimbus_model::{Nid, RegionId, Tick};
use nimbus_node::{ContactKind, ContactTick};
use std::collections::{BTreeMap, BTreeSet};

use super::{Broken, Scene};

const RULE: &str = "contact turns";

/// When it was, what it was, and who told.
type Told = (Tick, ContactKind, RegionId);

#[derive(Default)]
pub(super) struct ContactTurns {
    /// What was told of each pair, in the order in which it came.
    told: BTreeMap<(Nid, Nid), Vec<Told>>,
    left_out: u64,
}

impl ContactTurns {
    pub(super) fn observe(&mut self, region: RegionId, told: &ContactTick) {
        self.left_out += told.left_out;
        for contact in &told.contacts {
            let pair = (contact.one, contact.two);
            self.told.entry(pair).or_default().push((contact.tick, contact.kind, region));
        }
    }

    pub(super) fn conclude(&mut self, scene: &Scene<'_>, broken: &mut Vec<Broken>) {
        // After touches were left out nothing is promised, and that is said.
        if self.told.is_empty() || self.left_out > 0 {
            return;
        }
        let mut open = BTreeSet::new();
        for (pair, told) in &mut self.told {
            // Servers tell at different times. What one of them says of one tick is in order and stays so.
            told.sort_by_key(|(tick, ..)| *tick);
            if let Some(what) = out_of_turn(told) {
                broken.push(Broken(RULE, format!("{} and {}: {what}", pair.0, pair.1)));
            } else if told.last().is_some_and(|(_, kind, _)| *kind == ContactKind::Began) {
                open.insert(*pair);
            }
        }
        if !scene.recovery.durable {
            compare(scene, &open, broken);
        }
    }
}

/// What is wrong with the order of what was told of a pair, if anything is.
fn out_of_turn(told: &[Told]) -> Option<String> {
    let mut expected = ContactKind::Began;
    for (i, (tick, kind, region)) in told.iter().enumerate() {
        if *kind != expected {
            let before = i.checked_sub(1).map(|before| told[before]);
            return Some(format!("{kind:?} at tick {tick} on {region}, after {before:?}"));
        }
        expected = if *kind == ContactKind::Began { ContactKind::Ended } else { ContactKind::Began };
    }
    None
}

/// Compares what was told with what there is. Bodies on their way are left out: they are in nobody's engine.
fn compare(scene: &Scene<'_>, open: &BTreeSet<(Nid, Nid)>, broken: &mut Vec<Broken>) {
    let flying: BTreeSet<Nid> = scene.nodes.iter().flat_map(|node| node.in_flight()).map(|(nid, _)| nid).collect();
    let mut hosted = BTreeSet::new();
    let mut there = BTreeSet::new();
    for node in &scene.nodes {
        let nids: Vec<Nid> = node.hosted().map(|(nid, _)| nid).collect();
        there.extend(node.physics().touches(&nids));
        hosted.extend(nids);
    }
    let settled =
        |(a, b): &(Nid, Nid)| (hosted.contains(a) || hosted.contains(b)) && !flying.contains(a) && !flying.contains(b);
    for (a, b) in open.difference(&there).filter(|pair| settled(pair)) {
        broken.push(Broken(RULE, format!("{a} and {b} are said to touch and do not")));
    }
    for (a, b) in there.difference(open).filter(|pair| settled(pair)) {
        broken.push(Broken(RULE, format!("{a} and {b} touch, and nobody said so")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_beginning_and_a_lone_end_are_noticed() {
        let (began, ended) = (ContactKind::Began, ContactKind::Ended);
        let verdict = |kinds: &[ContactKind]| {
            let told: Vec<_> = (1..).map(Tick).zip(kinds).map(|(tick, kind)| (tick, *kind, RegionId(0))).collect();
            out_of_turn(&told).is_none()
        };
        assert!(verdict(&[]) && verdict(&[began]) && verdict(&[began, ended, began]));
        assert!(!verdict(&[ended]) && !verdict(&[began, began]) && !verdict(&[began, ended, ended]));
    }
}
