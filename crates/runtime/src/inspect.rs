//! Who owned a body when: the events of a recording, put in order.

use nimbus_model::{Nid, RegionId, Tick};
use nimbus_node::{Cause, Event, EventKind};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

use crate::recording::{Entry, Recording, RecordingError};

/// Everything a recording says about who owned what.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Inspection {
    /// Name of the world.
    pub world: String,
    /// Ticks a second.
    pub tick_hz: u32,
    /// How many servers there were.
    pub servers: usize,
    /// The tick before the first.
    pub first: Tick,
    /// The last tick.
    pub last: Tick,
    /// How often a world was loaded while recording.
    pub loads: u64,
    /// Bodies that came into being.
    pub born: u64,
    /// Bodies that died, by cause.
    pub died: BTreeMap<String, u64>,
    /// Transfers that could not be taken and went back.
    pub refused: u64,
    /// Hand-overs by pair of regions.
    pub pairs: Vec<PairCount>,
    /// Every hand-over, in order of arrival; only when asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hand_overs: Vec<HandOver>,
}

/// How many bodies one region handed to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PairCount {
    /// The former owner.
    pub from: RegionId,
    /// The new owner.
    pub to: RegionId,
    /// How many.
    pub count: u64,
}

/// One change of owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HandOver {
    /// When the new owner had it.
    pub tick: Tick,
    /// The body, as people write it.
    #[serde(serialize_with = "as_text")]
    pub body: Nid,
    /// The former owner.
    pub from: RegionId,
    /// The new owner.
    pub to: RegionId,
    /// The epoch of the new reign.
    pub body_epoch: u32,
}

/// The time during which one region owned a body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reign {
    /// The owner.
    pub region: RegionId,
    /// Since when.
    pub since: Tick,
    /// Until when; none when the recording ends first.
    pub until: Option<Tick>,
    /// The epoch.
    pub body_epoch: u32,
    /// How it began.
    pub began: String,
    /// How it ended, when it did.
    pub ended: Option<String>,
}

impl Inspection {
    /// Bodies that changed owner.
    pub fn hand_over_count(&self) -> u64 {
        self.pairs.iter().map(|pair| pair.count).sum()
    }

    /// Bodies that died, of whatever cause.
    pub fn died_count(&self) -> u64 {
        self.died.values().sum()
    }

    /// Length of the recording on the timeline, seconds.
    pub fn seconds(&self) -> f64 {
        self.last.since(self.first) as f64 / f64::from(self.tick_hz.max(1))
    }
}

/// Reads a whole recording and counts. `keep_hand_overs` also lists every one.
pub fn inspect(path: &Path, keep_hand_overs: bool) -> Result<Inspection, RecordingError> {
    let mut recording = Recording::open(path)?;
    let start = recording.start();
    let mut found = Inspection {
        world: start.world.name.clone(),
        tick_hz: start.world.tick_hz,
        servers: start.nodes.len(),
        first: start.at,
        last: start.at,
        ..Inspection::default()
    };
    let mut pairs = BTreeMap::<(RegionId, RegionId), u64>::new();
    let mut loads = BTreeMap::<RegionId, u64>::new();
    while let Some(entry) = recording.next_entry()? {
        match entry {
            Entry::Log(region, log) => {
                found.last = found.last.max(log.tick);
                let is_load = |input: &&nimbus_node::Input| {
                    matches!(input, nimbus_node::Input::Change(nimbus_node::Change::Load { .. }))
                };
                *loads.entry(region).or_default() += log.inputs.iter().filter(is_load).count() as u64;
            }
            Entry::Mark(_, mark) => found.last = found.last.max(mark.tick),
            Entry::Event(event) => match event.kind {
                EventKind::Born => found.born += 1,
                EventKind::Died(cause) => *found.died.entry(cause_text(cause).to_owned()).or_default() += 1,
                EventKind::Refused(..) => found.refused += 1,
                EventKind::Granted(_) | EventKind::NotBorn => {}
                EventKind::Adopted(from) => {
                    *pairs.entry((from, event.region)).or_default() += 1;
                    if keep_hand_overs {
                        found.hand_overs.push(HandOver {
                            tick: event.tick,
                            body: event.nid,
                            from,
                            to: event.region,
                            body_epoch: event.body_epoch,
                        });
                    }
                }
            },
        }
    }
    found.loads = loads.values().copied().max().unwrap_or(0);
    found.pairs = pairs.into_iter().map(|((from, to), count)| PairCount { from, to, count }).collect();
    found.hand_overs.sort_by_key(|hand_over| (hand_over.tick, hand_over.body, hand_over.body_epoch));
    Ok(found)
}

/// The life of one body, reign by reign. Empty when the recording does not know it.
pub fn life_of(path: &Path, body: Nid) -> Result<Vec<Reign>, RecordingError> {
    let mut recording = Recording::open(path)?;
    let mut events: Vec<Event> = Vec::new();
    while let Some(entry) = recording.next_entry()? {
        if let Entry::Event(event) = entry
            && event.nid == body
        {
            events.push(event);
        }
    }
    Ok(reigns(events))
}

/// Puts the events of one body in order. Servers write independently, so the file has them in any order.
fn reigns(mut events: Vec<Event>) -> Vec<Reign> {
    let rank = |kind: &EventKind| match kind {
        EventKind::Born | EventKind::Adopted(_) => 1,
        _ => 0,
    };
    events.sort_by_key(|event| (event.body_epoch, rank(&event.kind), event.tick));
    let mut reigns: Vec<Reign> = Vec::new();
    for event in events {
        let began = match event.kind {
            EventKind::Born => "born".to_owned(),
            EventKind::Adopted(from) => format!("from {from}"),
            EventKind::Granted(to) => {
                end(&mut reigns, event.tick, format!("given to {to}"));
                continue;
            }
            EventKind::Died(cause) => {
                end(&mut reigns, event.tick, cause_text(cause).to_owned());
                continue;
            }
            EventKind::NotBorn => continue,
            EventKind::Refused(from, refusal) => {
                end(&mut reigns, event.tick, format!("refused by {}, back to {from}: {refusal}", event.region));
                continue;
            }
        };
        reigns.push(Reign {
            region: event.region,
            since: event.tick,
            until: None,
            body_epoch: event.body_epoch,
            began,
            ended: None,
        });
    }
    reigns
}

fn end(reigns: &mut [Reign], tick: Tick, how: String) {
    if let Some(last) = reigns.last_mut().filter(|reign| reign.ended.is_none()) {
        last.until = Some(tick);
        last.ended = Some(how);
    }
}

fn cause_text(cause: Cause) -> &'static str {
    match cause {
        Cause::LeftWorld => "left the world",
        Cause::Despawned => "removed by command",
        Cause::Quarantined => "state was no longer a number",
        Cause::Unplaceable => "could not be placed",
    }
}

fn as_text<S: serde::Serializer>(body: &Nid, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_is_put_in_order() {
        let event = |tick, region, body_epoch, kind| Event {
            tick: Tick(tick),
            region: RegionId(region),
            era: 1,
            nid: Nid(7),
            body_epoch,
            kind,
        };
        let life = reigns(vec![
            event(12, 1, 2, EventKind::Adopted(RegionId(0))),
            event(40, 1, 3, EventKind::Died(Cause::LeftWorld)),
            event(0, 0, 1, EventKind::Born),
            event(10, 0, 2, EventKind::Granted(RegionId(1))),
        ]);
        let short: Vec<_> =
            life.iter().map(|reign| (reign.region.0, reign.since.0, reign.until.map(|tick| tick.0))).collect();
        assert_eq!(short, [(0, 0, Some(10)), (1, 12, Some(40))]);
        assert_eq!(life[0].ended.as_deref(), Some("given to r1"));
        assert_eq!(life[1].began, "from r0");
    }
}
