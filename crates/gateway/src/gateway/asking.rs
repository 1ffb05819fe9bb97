//! Questions of clients that the servers answer.

use nimbus_model::{ClientId, RegionId, Tick};
use nimbus_space::PartitionMap;
use nimbus_wire::client::{Query, QueryFilter, ToClient};
use nimbus_wire::{Address, Content, Frame};
use std::collections::{BTreeMap, BTreeSet};

use super::Gateway;
use crate::Outputs;
use crate::fan_outs::Closed;

/// Questions for the price of one command: each is answered by every server.
const QUESTIONS_PER_COMMAND: u64 = 16;

impl Gateway {
    /// Has every region answer questions after one tick to come. They are paid for now.
    pub(super) fn ask_servers(
        &mut self,
        (client, seq): (ClientId, Option<u64>),
        (queries, filter): (Vec<Query>, QueryFilter),
        at: Option<Tick>,
    ) {
        if !self.may_command(client, seq) {
            return;
        }
        let (questions, price) = (queries.len() as u64, queries.len() as u64 / QUESTIONS_PER_COMMAND);
        let opened = if self.paused {
            Err("time stands still, and no server gets to another tick; ask without `authoritative`".to_owned())
        } else if self.sessions.affords(client, self.allowance()) < price {
            Err("so many questions cost more than your allowance covers; ask for less, or wait".to_owned())
        } else {
            let regions = self.regions_to_ask();
            self.fan_outs.open((client, seq), (queries, filter), at, self.now, &regions)
        };
        match opened {
            Ok(()) => {
                self.sessions.charge(client, price, self.allowance());
                self.counters.queries += questions;
                self.counters.asks += 1;
            }
            Err(reason) => self.sessions.refuse(client, seq, reason, &mut self.counters),
        }
    }

    /// Answers clients for whom everything has come or nothing more will, and asks regions.
    pub(super) fn turn_fan_outs(&mut self, out: &mut Outputs) {
        if self.fan_outs.is_empty() {
            return;
        }
        let regions = self.regions_that_came();
        self.fan_outs.include(self.now, &regions);
        let mut closed = Vec::new();
        self.counters.asks_again += self.fan_outs.turn(self.now, &mut closed);
        self.close_fan_outs(closed);
        let (from, era, epoch, tick) = (Address::Gateway(self.config.id), self.era, self.config.epoch, self.now);
        self.fan_outs.emit(self.now, |region, ask| {
            let to = Address::Region(region);
            out.frames.push(Frame { from, to, era, epoch, tick, content: Content::Ask(ask) });
        });
    }

    /// Gives up all questions to servers, for a reason that concerns them all.
    pub(super) fn abandon_fan_outs(&mut self, reason: &str) {
        let closed = self.fan_outs.abandon(reason);
        self.close_fan_outs(closed);
    }

    fn close_fan_outs(&mut self, closed: Vec<Closed>) {
        for Closed { client, seq, outcome } in closed {
            match outcome {
                Ok(hits) => {
                    let whole = hits.missing.as_ref().is_none_or(Vec::is_empty);
                    self.counters.asks_incomplete += u64::from(!whole);
                    self.sessions.tell(client, ToClient::Hits(hits));
                }
                Err(reason) => self.sessions.refuse(client, seq, reason, &mut self.counters),
            }
        }
    }

    /// Every region that has a place, is about to get one, had one not long ago, or still has bodies although it has none.
    pub(super) fn regions_to_ask(&self) -> BTreeSet<RegionId> {
        let placed = self.known_maps().flat_map(|map| map.regions().iter().copied());
        let hosts = self.replicas.iter().map(|replica| replica.region);
        placed.chain(self.fan_outs.former(self.now)).chain(hosts).collect()
    }

    /// Every region that may have come to be one of [`Gateway::regions_to_ask`] since the last tick, and from when on it
    /// may have bodies: those of all maps, and those to which bodies came. When those came is not asked: whoever has
    /// bodies and no place known here may have had them for long.
    fn regions_that_came(&self) -> BTreeMap<RegionId, Tick> {
        let mut since: BTreeMap<RegionId, Tick> = BTreeMap::new();
        for map in self.known_maps() {
            for region in map.regions() {
                let from = since.entry(*region).or_insert(map.effective());
                *from = map.effective().min(*from);
            }
        }
        let changes = self.replicas.changes();
        let came = changes.created.iter().chain(&changes.owners).filter_map(|slot| self.replicas.get(*slot));
        since.extend(came.map(|replica| (replica.region, Tick(0))));
        since
    }

    /// The map in force, and those to come. While a load is awaited, older ones still take effect before it.
    fn known_maps(&self) -> impl Iterator<Item = &PartitionMap> {
        self.maps.iter().map(|(_, map)| map).chain([&self.map])
    }
}
