//! The whole world slows down when its dearest region cannot keep up, and comes back.

use super::Plan;
use crate::dilation::{Dilation, Strain};
use crate::messages::Service;

/// A pace must have held for so long before another is decided on: reports speak of the ticks of the latest quarter of a
/// second.
const SETTLE_US: u64 = 300_000;

impl Plan<'_> {
    /// Decides how fast the world may run, if that is to change. A region that is not heard changes nothing: that its
    /// server is gone is another matter.
    pub(super) fn dilate(&mut self) {
        let (from, _) = self.pace_lead();
        let (now_us, slowest) = (self.now_us(), self.facts.config.slowest_permille);
        let reports = self.roster.held().filter(|(_, region)| !self.is_silent(region.server));
        let reports = reports.filter_map(|(id, region)| self.facts.heard.report(region.server, id, region.epoch));
        let running = reports.filter(|report| report.service == Service::Running);
        let strains: Vec<Strain> =
            running.map(|report| Strain { tick_us: report.tick_us, behind: report.behind }).collect();
        let Some(timeline) = self.roster.timeline.as_mut() else { return };
        let settles = timeline.paces().last().is_none_or(|pace| now_us < pace.due_us.saturating_add(SETTLE_US));
        if settles || timeline.horizon().is_some() || strains.is_empty() {
            return;
        }
        let (ordered, present) = (timeline.speed_permille(), timeline.pace_permille());
        let law = Dilation { tick_hz: timeline.tick_hz(), ordered, present, slowest };
        if let Some(next) = law.next(strains) {
            timeline.hold(from, next);
        }
    }
}
