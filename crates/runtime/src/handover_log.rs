//! Says line by line who gives, takes, refuses and shows which body.
//!
//! Every change of owner raises a body's epoch, so the body and that epoch name the hand-over. Whoever has to do with it
//! knows both anyhow, and calls it by the same name without a word to the others.

use nimbus_gateway::Gateway;
use nimbus_model::{Nid, RegionId, Tick};
use nimbus_node::{Event, EventKind};
use std::collections::BTreeMap;
use std::fmt;
use tracing::level_filters::LevelFilter;

/// What became of a body at one place.
struct Line<'a> {
    what: &'a str,
    nid: Nid,
    body_epoch: u32,
    region: RegionId,
    /// Which life of the region.
    epoch: u32,
    /// The other region of a hand-over.
    peer: Option<RegionId>,
    reason: Option<String>,
    tick: Tick,
    era: u16,
}

/// A body and the epoch that it has from then on.
struct Name(Nid, u32);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.0, self.1)
    }
}

impl Line<'_> {
    fn tell(self) {
        let Line { what, region, epoch, era, .. } = self;
        let (name, tick) = (Name(self.nid, self.body_epoch), self.tick.0);
        let reason = self.reason.as_deref();
        match self.peer {
            Some(peer) => tracing::debug!(
                target: "nimbus::handover", %what, handover = %name, %region, epoch, %peer, tick, era, reason
            ),
            None => tracing::debug!(target: "nimbus::life", %what, body = %name, %region, epoch, tick, era, reason),
        }
    }
}

/// One look at a number, for each tick, where nobody listens.
fn is_on() -> bool {
    LevelFilter::current() >= LevelFilter::DEBUG
}

/// Tells what happened to the bodies of a region in this epoch of it.
pub(crate) fn tell_events(epoch: u32, events: &[Event]) {
    if !is_on() {
        return;
    }
    for &Event { era, tick, region, nid, body_epoch, kind } in events {
        let (what, peer, reason) = match kind {
            EventKind::Born => ("born", None, None),
            EventKind::NotBorn => ("not born", None, Some("the budget is used up".to_owned())),
            EventKind::Died(cause) => ("died", None, Some(format!("{cause:?}"))),
            EventKind::Granted(to) => ("granted", Some(to), None),
            EventKind::Adopted(from) => ("adopted", Some(from), None),
            EventKind::Refused(from, reason) => ("refused", Some(from), Some(reason.to_string())),
        };
        Line { what, nid, body_epoch, region, epoch, peer, reason, tick, era }.tell();
    }
}

/// What a gateway has shown so far, to tell when it shows another owner.
#[derive(Default)]
pub(crate) struct Sightings {
    /// Births and hand-overs that the gateway had counted when it was looked at last.
    counted: (u64, u64),
    /// The owner and epoch of every body.
    owners: BTreeMap<Nid, (RegionId, u32)>,
}

impl Sightings {
    /// Tells which bodies have another owner than when it looked last. It looks at all of them, but only when there is
    /// something new and somebody listens.
    pub(crate) fn tell(&mut self, gateway: &Gateway, tick: Tick) {
        let counters = gateway.counters();
        let counted = (counters.births, counters.hand_overs);
        if !is_on() || std::mem::replace(&mut self.counted, counted) == counted {
            return;
        }
        let owner = |replica: &nimbus_gateway::Replica| (replica.region, replica.stamp.body_epoch);
        let known = std::mem::take(&mut self.owners);
        self.owners = gateway.replicas().map(|replica| (replica.nid, owner(replica))).collect();
        for replica in gateway.replicas() {
            let Some((former, _)) = known.get(&replica.nid).filter(|known| **known != owner(replica)) else { continue };
            let (nid, region, stamp) = (replica.nid, replica.region, replica.stamp);
            let (body_epoch, epoch, era) = (stamp.body_epoch, stamp.region_epoch, gateway.era());
            let (what, peer, reason) = ("shown", Some(*former), None);
            Line { what, nid, body_epoch, region, epoch, peer, reason, tick, era }.tell();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_node::Cause;
    use nimbus_wire::Refusal;
    use std::io::Write;
    use std::sync::{Arc, Mutex};
    use tracing::Level;

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn said(level: Level, act: impl FnOnce()) -> String {
        let paper = Paper::default();
        let writer = paper.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(level)
            .without_time()
            .with_level(false)
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, act);
        let bytes = paper.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn both_sides_call_a_hand_over_by_the_same_name() {
        let nid = Nid(7);
        let event = |region, body_epoch, kind| Event { era: 1, tick: Tick(9), region, nid, body_epoch, kind };
        let (left, right) = (RegionId(0), RegionId(1));
        let events = [
            event(left, 2, EventKind::Granted(right)),
            event(right, 2, EventKind::Refused(left, Refusal::Full)),
            event(left, 3, EventKind::Adopted(right)),
            event(left, 4, EventKind::Died(Cause::Despawned)),
        ];
        let lines = said(Level::DEBUG, || tell_events(5, &events));
        let expected = "\
nimbus::handover: what=granted handover=0.7@2 region=r0 epoch=5 peer=r1 tick=9 era=1
nimbus::handover: what=refused handover=0.7@2 region=r1 epoch=5 peer=r0 tick=9 era=1 reason=\"the receiver hosts as many bodies as it may\"
nimbus::handover: what=adopted handover=0.7@3 region=r0 epoch=5 peer=r1 tick=9 era=1
nimbus::life: what=died body=0.7@4 region=r0 epoch=5 tick=9 era=1 reason=\"Despawned\"
";
        assert_eq!(lines, expected);
        assert_eq!(said(Level::INFO, || tell_events(5, &events)), "", "nobody asked for it");
    }
}
