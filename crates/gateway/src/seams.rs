//! What regions say of their seams, put together for clients who asked to see it.

use nimbus_model::{Nid, RegionId, Tick};
use nimbus_wire::client::{BreachNews, Overlay, ToClient, bodies};
use nimbus_wire::{Breach, SeamReport, SeamTotals};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Message;
use crate::replicas::{Replicas, Voice};

/// Pictures of the seams in a second of the timeline.
const PICTURES_PER_SECOND: u32 = 10;
/// Most records of one kind in a picture, whatever the number of regions.
const RECORDS_MAX: usize = 16_384;
/// Breaches told to clients at most.
const BREACHES_MAX: usize = 64;

#[derive(Debug)]
struct Told {
    epoch: u32,
    tick: Tick,
    report: SeamReport,
}

/// The latest report of each region, and the picture that clients have.
#[derive(Debug, Default)]
pub(crate) struct Seams {
    reports: BTreeMap<RegionId, Told>,
    /// Figures outlive a loaded world: they count since the servers started.
    totals: BTreeMap<RegionId, SeamTotals>,
    drawn: Tick,
    picture: BTreeMap<Overlay, Message>,
}

impl Seams {
    /// A region reports. Only the latest counts.
    pub(crate) fn take(&mut self, voice: Voice, report: SeamReport) {
        let Voice { region, epoch, tick } = voice;
        if self.reports.get(&region).is_some_and(|told| (told.epoch, told.tick) > (epoch, tick)) {
            return;
        }
        self.totals.insert(region, report.totals);
        self.reports.insert(region, Told { epoch, tick, report });
    }

    /// The figures of every region that ever reported.
    pub(crate) fn totals(&self) -> &BTreeMap<RegionId, SeamTotals> {
        &self.totals
    }

    /// Another world was loaded; clients know nothing any more.
    pub(crate) fn clear(&mut self) {
        self.reports.clear();
        self.picture.clear();
    }

    /// True when it is time for a picture.
    pub(crate) fn due(&mut self, now: Tick, tick_hz: u32) -> bool {
        if now.since(self.drawn) < u64::from(tick_hz / PICTURES_PER_SECOND).max(1) {
            return false;
        }
        self.drawn = now;
        true
    }

    /// Draws an overlay anew; true when it differs from what clients have.
    pub(crate) fn draw(&mut self, overlay: Overlay, replicas: &Replicas) -> bool {
        let message = match overlay {
            Overlay::Auras => {
                binary(&self.auras(replicas), |records, out| bodies::encode_auras(records.iter().copied(), out))
            }
            Overlay::Clusters => {
                binary(&self.clusters(replicas), |records, out| bodies::encode_clusters(records.iter().copied(), out))
            }
            Overlay::InTransit => binary(&self.in_transit(replicas), |records, out| {
                bodies::encode_in_transit(records.iter().copied(), out);
            }),
            Overlay::Breaches => self.breaches(),
        };
        let changed = self.picture.get(&overlay) != Some(&message);
        self.picture.insert(overlay, message);
        changed
    }

    /// What was drawn last of an overlay.
    pub(crate) fn drawn(&self, overlay: Overlay) -> Option<&Message> {
        self.picture.get(&overlay)
    }

    fn auras(&self, replicas: &Replicas) -> Vec<(u32, f32)> {
        let all = self.reports.values().flat_map(|told| &told.report.auras);
        all.filter_map(|aura| Some((slot(replicas, aura.nid)?, aura.reach))).take(RECORDS_MAX).collect()
    }

    /// Clusters keep together; one of which fewer than two members are known is nothing to see.
    fn clusters(&self, replicas: &Replicas) -> Vec<(u32, u32)> {
        let mut records = Vec::new();
        let all = self.reports.values().flat_map(|told| &told.report.clusters);
        for (number, cluster) in all.enumerate() {
            let before = records.len();
            records.extend(cluster.iter().filter_map(|nid| Some((slot(replicas, *nid)?, number as u32))));
            if records.len() - before < 2 || records.len() > RECORDS_MAX {
                records.truncate(before);
            }
        }
        records
    }

    fn in_transit(&self, replicas: &Replicas) -> Vec<(u32, RegionId)> {
        let all = self.reports.values().flat_map(|told| &told.report.in_transit);
        all.filter_map(|transit| Some((slot(replicas, transit.nid)?, transit.to))).take(RECORDS_MAX).collect()
    }

    fn breaches(&self) -> Message {
        let mut recent: Vec<&Breach> = self.reports.values().flat_map(|told| &told.report.breaches).collect();
        recent.sort_by_key(|breach| (breach.tick, breach.region));
        recent.drain(..recent.len().saturating_sub(BREACHES_MAX));
        let total = self.totals.values().fold(0u64, |sum, totals| sum.saturating_add(totals.breaches_in_all()));
        ToClient::Breaches { total, recent: recent.into_iter().map(BreachNews::from).collect() }.into()
    }
}

/// What clients call a body, if they know it.
fn slot(replicas: &Replicas, nid: Nid) -> Option<u32> {
    let replica = replicas.of(nid)?;
    replicas.announced(replica.slot).map(|replica| replica.slot)
}

fn binary<T>(records: &[T], write: impl FnOnce(&[T], &mut Vec<u8>)) -> Message {
    let mut bytes = Vec::new();
    write(records, &mut bytes);
    Message::Binary(Arc::from(bytes))
}
