//! Ordered lanes: the one mechanism by which anything is delivered in order and exactly once.
//!
//! The sender numbers items and sends what is not yet acknowledged again and again; the receiver applies number
//! `mark + 1` and nothing else, and acknowledges only what has taken effect. Loss, duplication and reordering of
//! frames are therefore harmless. There is no clock: resending is counted in ticks.

use nimbus_model::{BodyDesc, Tick};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

use crate::command::Command;
use crate::deed::{Act, BirthCause};
use crate::frame::LaneFrame;
use crate::item::Item;

/// Unacknowledged items are sent again after this many ticks, where nothing is in a hurry.
pub const RESEND_TICKS: u64 = 4;
/// How far ahead of its mark a receiver keeps items; what is further is dropped and comes again.
pub const WINDOW: u64 = 4096;
/// Payload bytes after which a frame takes no further item.
const FRAME_BYTES: usize = 1 << 20;

/// The sending end of a lane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outgoing {
    /// Sequence number of the first item in `unacked`, less one: everything up to here is acknowledged.
    acked: u64,
    unacked: VecDeque<(Tick, Item)>,
    /// Up to here everything has been sent at least once.
    sent: u64,
    /// When the oldest of them were last sent, or at the earliest could have been.
    last_sent: Tick,
}

impl Outgoing {
    /// Puts an item on the lane and returns its sequence number.
    pub fn push(&mut self, tick: Tick, item: Item) -> u64 {
        self.unacked.push_back((tick, item));
        self.acked + self.unacked.len() as u64
    }

    /// Continues a lane from a record of it. What is on it may all have been sent by the former life, and goes out
    /// again at once.
    pub fn resume(&mut self) {
        self.sent = self.acked + self.unacked.len() as u64;
        self.last_sent = Tick(0);
    }

    /// True when everything up to here was sent at least once: nothing else can have been acknowledged.
    pub fn was_sent(&self, upto: u64) -> bool {
        upto <= self.sent
    }

    /// Takes an acknowledgement: the items it covers are forgotten. Old ones change nothing; ones for items that do
    /// not exist are ignored. Returns how many items were forgotten.
    pub fn acknowledge(&mut self, ack: u64) -> usize {
        if ack <= self.acked || ack > self.acked + self.unacked.len() as u64 {
            return 0;
        }
        let count = (ack - self.acked) as usize;
        self.unacked.drain(..count);
        self.acked = ack;
        self.sent = self.sent.max(ack);
        // What is the oldest now was not sent before it was said, so its turn to be sent again comes later.
        if let Some((said, _)) = self.unacked.front() {
            self.last_sent = self.last_sent.max(*said);
        }
        count
    }

    /// Forgets everything that was sent, acknowledged or not: what the fire-and-forget scheme does.
    pub fn forget_sent(&mut self) {
        let sent = self.sent;
        self.acknowledge(sent);
    }

    /// Everything up to this number is acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.acked
    }

    /// Items that no acknowledgement covers yet.
    pub fn waiting(&self) -> impl ExactSizeIterator<Item = &(Tick, Item)> {
        self.unacked.iter()
    }

    /// What to send now, if anything: new items at once, old ones again after `patience` ticks.
    pub fn poll(&mut self, now: Tick, ack: u64, patience: u64) -> Option<LaneFrame> {
        let end = self.acked + self.unacked.len() as u64;
        let news = self.sent < end;
        let again = !self.unacked.is_empty() && now.since(self.last_sent) >= patience;
        if !news && !again {
            return None;
        }
        let skip = if again { 0 } else { (self.sent - self.acked) as usize };
        let mut items = Vec::new();
        let mut bytes = 0;
        for (tick, item) in self.unacked.iter().skip(skip).take(WINDOW as usize / 2) {
            bytes += approximate_bytes(item);
            if bytes > FRAME_BYTES && !items.is_empty() {
                break;
            }
            items.push((*tick, item.clone()));
        }
        let first = self.acked + skip as u64 + 1;
        self.sent = self.sent.max(first + items.len() as u64 - 1);
        if skip == 0 {
            self.last_sent = now;
        }
        Some(LaneFrame { ack, first, items })
    }
}

/// An item that waits for its turn, and the life of the sender that said it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Held {
    epoch: u32,
    said: Tick,
    item: Item,
}

/// The receiving end of a lane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Incoming {
    /// Everything up to here has taken effect, once.
    mark: u64,
    ahead: BTreeMap<u64, Held>,
    /// Something arrived or took effect since the last acknowledgement went out.
    owes_ack: bool,
}

impl Incoming {
    /// Takes the items of a frame that a life of the sender sent. Known ones are dropped, as are those too far ahead.
    /// A later life says only what is so; what an earlier one said under the same number and has not taken effect may
    /// never have happened, and gives way.
    pub fn receive(&mut self, epoch: u32, first: u64, items: Vec<(Tick, Item)>) {
        self.owes_ack |= !items.is_empty();
        for (offset, (said, item)) in items.into_iter().enumerate() {
            let sequence = first.saturating_add(offset as u64);
            if sequence > self.mark
                && sequence <= self.mark + WINDOW
                && self.ahead.get(&sequence).is_none_or(|held| held.epoch < epoch)
            {
                self.ahead.insert(sequence, Held { epoch, said, item });
            }
        }
    }

    /// The next item in sequence, when its time has come: an item made at tick `t` takes effect at `t + 1` or later,
    /// and only once it is certain that the sender's word (its life, the tick) will stand. The mark moves with it.
    pub fn next_due(&mut self, tick: Tick, certain: impl Fn(u32, Tick) -> bool) -> Option<(u64, Tick, Item)> {
        let sequence = self.mark + 1;
        let next = self.ahead.get(&sequence)?;
        if next.said >= tick || !certain(next.epoch, next.said) {
            return None;
        }
        let Held { said, item, .. } = self.ahead.remove(&sequence)?;
        self.mark = sequence;
        self.owes_ack = true;
        Some((sequence, said, item))
    }

    /// How many items wait although they have come in sequence, because it is not certain that they will stand.
    pub fn uncertain(&self, certain: impl Fn(u32, Tick) -> bool) -> usize {
        let in_sequence = self.ahead.iter().zip(self.mark + 1..).take_while(|((at, _), next)| *at == next);
        in_sequence.skip_while(|((_, held), _)| certain(held.epoch, held.said)).count()
    }

    /// Gives up on items that have not come, when later ones have: what the fire-and-forget scheme does.
    pub fn skip_gap(&mut self) {
        if let Some((&first, _)) = self.ahead.first_key_value() {
            self.mark = self.mark.max(first - 1);
        }
    }

    /// Moves the mark without an item, as a replay does when it takes items from a log.
    pub fn replayed(&mut self, sequence: u64) {
        self.mark = self.mark.max(sequence);
        self.ahead = self.ahead.split_off(&(self.mark + 1));
        self.owes_ack = true;
    }

    /// Everything up to here has taken effect.
    pub fn mark(&self) -> u64 {
        self.mark
    }

    /// Items that arrived and wait for their turn.
    pub fn held(&self) -> usize {
        self.ahead.len()
    }

    /// True once when an acknowledgement should go out.
    pub fn take_owed_ack(&mut self) -> bool {
        std::mem::take(&mut self.owes_ack)
    }
}

fn approximate_bytes(item: &Item) -> usize {
    match item {
        Item::Transfer(transfer) => {
            let obeyed: usize = transfer.obeyed.iter().map(|(_, obeyed)| 16 + 16 * obeyed.len()).sum();
            let kept: usize = transfer.keepsakes.iter().map(|(_, kept)| 16 + kept.state.bytes().len()).sum();
            64 + transfer.payload.len() + 12 * transfer.claims.len() + obeyed + kept + 48 * transfer.courses.len()
        }
        Item::Hosted { desc, .. } => approximate_body_bytes(desc),
        Item::Order(order) => match &order.command {
            Command::Spawn { desc, .. } => approximate_body_bytes(desc),
            Command::Push { .. } | Command::Despawn { .. } | Command::Turn { .. } | Command::Steer { .. } => 64,
            Command::Join { .. } => 256,
            Command::Game { payload, .. } => 64 + payload.len(),
        },
        Item::Deed(deed) => match &deed.act {
            Act::Birth { desc, keepsake, .. } => approximate_body_bytes(desc) + keepsake.state.bytes().len(),
            Act::Push { .. } | Act::Velocity { .. } => 64,
        },
        Item::Birth(birth) => {
            let kept = if let BirthCause::Game(kept) = &birth.cause { kept.state.bytes().len() } else { 0 };
            approximate_body_bytes(&birth.desc) + kept
        }
        Item::Rests(auras) => 80 * auras.len(),
        Item::Stirs(nids) => 16 + 8 * nids.len(),
        Item::Offer { islands, .. } => 16 + islands.iter().map(|island| 8 + 8 * island.len()).sum::<usize>(),
        Item::Linkage(_) => 320,
        Item::Seek(_) | Item::Found(_) => 16,
        Item::Accept { islands, .. } => 32 + 2 * islands.len(),
        Item::Touches(told) => 16 + 32 * told.touches.len(),
        Item::Rested { .. } | Item::Died { .. } | Item::Outcome(..) => 128,
    }
}

/// About how many bytes a body takes on the wire, on the large side.
pub fn approximate_body_bytes(desc: &BodyDesc) -> usize {
    256 + 20 * desc.shape.elements()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::{Nid, Rng};
    use proptest::prelude::*;

    fn item(n: u64) -> Item {
        Item::Died { nid: Nid(n), body_epoch: 1 }
    }

    proptest! {
        /// Whatever the network does, every item takes effect once and in order.
        #[test]
        fn each_item_takes_effect_once_in_order(seed in any::<u64>(), loss in 0.0f32..0.6, dup in 0.0f32..0.6) {
            let mut rng = Rng::new(seed);
            let (mut out, mut inc) = (Outgoing::default(), Incoming::default());
            let mut flying: Vec<LaneFrame> = Vec::new();
            let mut acks: Vec<u64> = Vec::new();
            let mut seen = Vec::new();
            let mut made = 0;
            for t in 0..4000u64 {
                let now = Tick(t);
                if made < 40 && rng.chance(0.3) {
                    out.push(now, item(made));
                    made += 1;
                }
                if let Some(frame) = out.poll(now, 0, RESEND_TICKS) && !rng.chance(loss) {
                    if rng.chance(dup) {
                        flying.push(frame.clone());
                    }
                    flying.push(frame);
                }
                while !flying.is_empty() && rng.chance(0.5) {
                    let frame = flying.swap_remove(rng.below(flying.len() as u64) as usize);
                    inc.receive(1, frame.first, frame.items);
                }
                while let Some((_, made_at, item)) = inc.next_due(now, |_, _| true) {
                    prop_assert!(made_at < now);
                    seen.push(item);
                }
                if inc.take_owed_ack() && !rng.chance(loss) {
                    acks.push(inc.mark());
                }
                while !acks.is_empty() && rng.chance(0.5) {
                    let ack = acks.swap_remove(rng.below(acks.len() as u64) as usize);
                    out.acknowledge(ack);
                }
                if made == 40 && out.waiting().len() == 0 {
                    break;
                }
            }
            prop_assert_eq!(seen, (0..40).map(item).collect::<Vec<_>>());
            prop_assert_eq!(out.waiting().len(), 0);
        }
    }

    #[test]
    fn lying_acknowledgements_change_nothing() {
        let mut out = Outgoing::default();
        out.push(Tick(1), item(1));
        assert!(!out.was_sent(1));
        assert!(out.poll(Tick(1), 0, RESEND_TICKS).is_some() && out.was_sent(1));
        assert_eq!(out.acknowledge(2), 0);
        assert_eq!(out.acknowledge(u64::MAX), 0);
        assert_eq!(out.waiting().len(), 1);
        assert_eq!(out.acknowledge(1), 1);
        assert_eq!(out.acknowledge(1), 0);
    }

    #[test]
    fn steady_news_does_not_keep_what_was_lost_from_coming_again() {
        let (mut out, mut inc) = (Outgoing::default(), Incoming::default());
        for t in 1..100 {
            out.push(Tick(t), item(t));
            let frame = out.poll(Tick(t), 0, RESEND_TICKS).unwrap();
            if t != 10 {
                inc.receive(1, frame.first, frame.items);
            }
            while inc.next_due(Tick(t + 1), |_, _| true).is_some() {}
            out.acknowledge(inc.mark());
            assert!(inc.mark() + RESEND_TICKS >= t, "at tick {t} only {} have come", inc.mark());
        }
    }

    #[test]
    fn what_is_answered_in_time_is_sent_once() {
        let mut out = Outgoing::default();
        let mut sent = 0;
        for t in 1..100 {
            out.push(Tick(t), item(t));
            sent += out.poll(Tick(t), 0, RESEND_TICKS).unwrap().items.len();
            // Each answer takes three ticks.
            out.acknowledge(t.saturating_sub(3));
        }
        assert_eq!(sent, 99);
        let again: usize = (100..104).filter_map(|t| out.poll(Tick(t), 0, RESEND_TICKS)).map(|f| f.items.len()).sum();
        assert_eq!(again, 3, "and again when no answer comes");
    }

    #[test]
    fn what_takes_effect_is_acknowledged() {
        let mut inc = Incoming::default();
        inc.receive(1, 1, vec![(Tick(5), item(1))]);
        assert!(inc.take_owed_ack());
        assert!(!inc.take_owed_ack());
        assert!(inc.next_due(Tick(6), |_, _| true).is_some());
        assert!(inc.take_owed_ack(), "the mark has moved since");
    }

    #[test]
    fn a_receiver_keeps_no_more_than_its_window() {
        let mut inc = Incoming::default();
        inc.receive(1, 2, (0..3 * WINDOW).map(|n| (Tick(0), item(n))).collect());
        assert_eq!(inc.held() as u64, WINDOW - 1);
        inc.receive(1, u64::MAX - 1, vec![(Tick(0), item(1)); 2]);
        assert_eq!(inc.held() as u64, WINDOW - 1);
    }
    #[test]
    fn a_later_life_replaces_what_an_earlier_one_said_and_nothing_uncertain_takes_effect() {
        let mut inc = Incoming::default();
        inc.receive(1, 1, vec![(Tick(5), item(1)), (Tick(6), item(2))]);
        assert_eq!(inc.next_due(Tick(9), |epoch, said| epoch == 1 && said <= Tick(5)).unwrap().2, item(1));
        assert_eq!(inc.next_due(Tick(9), |epoch, said| epoch == 1 && said <= Tick(5)), None);
        assert_eq!(inc.uncertain(|_, said| said <= Tick(5)), 1);
        inc.receive(2, 1, vec![(Tick(5), item(1)), (Tick(8), item(22))]);
        inc.receive(1, 2, vec![(Tick(6), item(2))]);
        assert_eq!(inc.next_due(Tick(9), |epoch, _| epoch == 2).unwrap().2, item(22));
        assert_eq!(inc.mark(), 2);
    }

    #[test]
    fn a_lane_that_is_resumed_believes_acknowledgements_of_what_its_former_life_sent() {
        let mut former = Outgoing::default();
        former.push(Tick(1), item(1));
        let mut resumed = former.clone();
        assert!(former.poll(Tick(1), 0, RESEND_TICKS).is_some());
        assert!(!resumed.was_sent(1));
        resumed.resume();
        assert!(resumed.was_sent(1) && !resumed.was_sent(2));
        assert_eq!(resumed.poll(Tick(40), 0, RESEND_TICKS).unwrap().items.len(), 1, "and says it again");
    }
}
