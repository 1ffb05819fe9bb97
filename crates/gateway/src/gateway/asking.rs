//! Questions of clients that the servers answer.

use nimbus_model::{ClientId, RegionId, Tick};
use nimbus_wire::client::{Query, QueryFilter, ToClient};
use nimbus_wire::{Address, Content, Frame};
use std::collections::BTreeSet;

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
        if self.fan_outs.is_ripe(self.now) {
            let (regions, mut closed) = (self.regions_to_ask(), Vec::new());
            self.counters.asks_again += self.fan_outs.turn(self.now, &regions, &mut closed);
            self.close_fan_outs(closed);
        }
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

    /// Every region that has a place, is about to get one, or still has bodies although it has none.
    pub(super) fn regions_to_ask(&self) -> BTreeSet<RegionId> {
        let maps = self.maps.iter().filter(|(after, _)| *after == self.loads).map(|(_, map)| map).chain([&self.map]);
        let placed = maps.flat_map(|map| map.regions().iter().copied());
        placed.chain(self.replicas.iter().map(|replica| replica.region)).collect()
    }
}
