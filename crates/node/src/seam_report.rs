//! What gateways hear of this server's seams, for people to see: auras, clusters, bodies in transit, breaches.

use nimbus_model::Tick;
use nimbus_wire::{Address, AuraSize, Breach, Content, Frame, Item, SeamReport, SeamTotals, Transit};

use crate::node::Node;

/// Gateways get a report every so many ticks.
const REPORT_TICKS: u64 = 6;
/// A breach is shown for so long.
const RECENT_TICKS: u64 = 60;

impl Node {
    /// Sends gateways a report when one is due. A server that skips tick numbers still reports.
    pub(crate) fn emit_seams(&mut self, out: &mut Vec<Frame>) {
        if self.config.gateways.is_empty() || self.now.0 / REPORT_TICKS == self.seams_told.0 / REPORT_TICKS {
            return;
        }
        let report = self.seam_report(self.seams_told);
        self.seams_told = self.now;
        for &gateway in &self.config.gateways {
            out.push(self.frame(Address::Gateway(gateway), Content::Seams(report.clone())));
        }
    }

    /// What goes on at the seams now. Bodies that left after tick `since` count as in transit even when they have
    /// arrived already: most journeys are shorter than the time between two reports.
    pub(crate) fn seam_report(&self, since: Tick) -> SeamReport {
        let under_way = self.outbox.unacknowledged().filter_map(|(to, item)| match (to, item) {
            (Address::Region(to), Item::Transfer(transfer)) => Some((to, transfer)),
            _ => None,
        });
        let mut in_transit: Vec<Transit> = under_way
            .flat_map(|(to, transfer)| transfer.claims.iter().map(move |claim| Transit { nid: claim.nid, to }))
            .collect();
        let unacknowledged = in_transit.len() as u64;
        let left = self.departed.iter().filter(|(_, (_, at))| *at > since);
        in_transit.extend(left.map(|(nid, (to, _))| Transit { nid: *nid, to: *to }));
        in_transit.sort_by_key(|transit| transit.nid);
        in_transit.dedup_by_key(|transit| transit.nid);

        let auras = self.own_auras();
        let totals = SeamTotals {
            auras: auras.len() as u64,
            ghosts: self.counters.ghosts,
            in_transit: unacknowledged,
            breaches: self.counters.breaches,
        };
        let (clusters, breaches) = (self.seam.clusters.clone(), self.recent_breaches());
        SeamReport { auras, clusters, in_transit, breaches, totals }.bounded()
    }

    /// The auras this server projects, in order of id.
    fn own_auras(&self) -> Vec<AuraSize> {
        let look = 2 * self.horizon.legs;
        let reach =
            |speed| self.horizon.fixed_m.unwrap_or_else(|| self.horizon.reach(speed, self.horizon.gravity, look));
        let mut auras: Vec<AuraSize> =
            self.seam.shown.iter().map(|aura| AuraSize { nid: aura.nid, reach: reach(aura.speed) }).collect();
        auras.sort_by_key(|aura| aura.nid);
        auras
    }

    /// Breaches of the last moments, the latest last.
    fn recent_breaches(&self) -> Vec<Breach> {
        self.seam.recent.iter().filter(|breach| self.now.since(breach.tick) <= RECENT_TICKS).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{NodeConfig, Policy};
    use nimbus_model::{BodyDesc, Layout, Nid, Pose, RegionId, Shape, Vec3, Velocity, World};
    use nimbus_space::PartitionMap;
    use nimbus_wire::GatewayId;
    use std::sync::Arc;

    /// A server of region 0 with one body that flies out of it towards region 1.
    fn leaving() -> Node {
        let mut world = World::new("leaving");
        world.layout = Layout::columns(2, 100.0);
        world.gravity = Vec3::ZERO;
        world.add(
            BodyDesc::dynamic(Shape::ball(0.25)),
            Pose::at(Vec3::new(-0.5, 1.0, 0.0)),
            Velocity::linear(Vec3::X * 30.0),
        );
        let map = PartitionMap::from_layout(&world.layout).unwrap();
        let policy = Policy::Exclusive;
        let config = NodeConfig { gateways: vec![GatewayId(0)], policy, ..NodeConfig::new(RegionId(0)) };
        Node::new(config, Arc::new(world), 1, map, Tick(0))
    }

    fn reports(node: &mut Node) -> Vec<(Tick, SeamReport)> {
        let mut frames = Vec::new();
        node.emit(&mut frames);
        let seams = frames.into_iter().filter_map(|frame| match frame.content {
            Content::Seams(report) => Some((frame.tick, report)),
            _ => None,
        });
        seams.collect()
    }

    #[test]
    fn reports_come_every_few_ticks_and_name_what_is_on_its_way() {
        let mut node = leaving();
        let mut told = Vec::new();
        for tick in 1..=12 {
            node.tick(Tick(tick));
            told.extend(reports(&mut node));
        }
        let ticks: Vec<u64> = told.iter().map(|(tick, _)| tick.0).collect();
        assert_eq!(ticks, [6, 12]);
        let on_its_way = [Transit { nid: Nid::of_world(1, 0), to: RegionId(1) }];
        assert_eq!(told[0].1.in_transit, on_its_way);
        assert_eq!(told[1].1.in_transit, on_its_way, "nobody has acknowledged it");
        assert_eq!(told[1].1.totals.in_transit, 1);
    }

    #[test]
    fn a_server_that_skips_ticks_still_reports() {
        let mut node = leaving();
        node.tick(Tick(5));
        assert_eq!(reports(&mut node).len(), 0);
        node.tick(Tick(7));
        assert_eq!(reports(&mut node).len(), 1);
        node.tick(Tick(8));
        assert_eq!(reports(&mut node).len(), 0);
    }
}
