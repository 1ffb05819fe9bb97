//! What regions are asked to tell, and clients that ask for more than bodies.

use nimbus_model::ClientId;
use nimbus_wire::client::{ToClient, TouchesOf};
use nimbus_wire::{Address, Content, Frame, Places, Wish};

use super::{Gateway, Serves};
use crate::interest::LINGERS;
use crate::{Outputs, wishes};

impl Gateway {
    /// Says to every region what is wanted of it, when that is news or was not said for a while.
    pub(super) fn wish(&mut self, out: &mut Outputs) {
        let Some(wish) = self.wishes.due(self.now, self.needed()) else { return };
        let (from, era, epoch, tick) = (Address::Gateway(self.config.id), self.era, self.config.epoch, self.now);
        self.counters.wishes += 1;
        out.frames.extend(self.regions_to_ask().into_iter().map(|region| {
            let to = Address::Region(region);
            Frame { from, to, era, epoch, tick, content: Content::Wish(wish.clone()) }
        }));
    }

    /// What clients need. Whoever asks what is where may ask anywhere.
    fn needed(&self) -> Wish {
        let everywhere =
            self.config.serves == Serves::Questions || self.sessions.anybody_sees_all() || self.mirror.is_kept();
        let motion = if everywhere {
            Places::Everywhere
        } else {
            Places::Within(wishes::few(
                self.channels.watches().map(|watch| wishes::around(watch.eye, watch.range * LINGERS)),
            ))
        };
        Wish { motion, touches: self.touching.wanted() }
    }

    /// A client wants to hear of touches.
    pub(super) fn listen(&mut self, client: ClientId, seq: Option<u64>, of: TouchesOf) {
        if self.may_ask(client, seq) {
            self.touching.listen(client, of);
            self.sessions.tell(client, ToClient::Done { seq, nid: None });
        }
    }
}
