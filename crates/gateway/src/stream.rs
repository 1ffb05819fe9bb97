//! What changed, as messages for clients, encoded once for all of them.

use nimbus_model::{Pose, Tick};
use nimbus_wire::client::bodies::{self, Create};
use std::sync::Arc;

use crate::Message;
use crate::channel::CREATES_PER_MESSAGE;
use crate::replicas::{Replica, Replicas};
use crate::shapes::Shapes;

/// Bodies per `state` message.
const STATES_PER_MESSAGE: usize = 16_384;

/// The writer of the stream. Keeps buffers, so that a tick allocates only the messages themselves.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    shapes: Shapes,
    /// Number of the shape of the body in each slot.
    shape_of: Vec<u32>,
    bytes: Vec<u8>,
    moved: Vec<(Tick, u32)>,
}

impl Stream {
    /// What changed in this tick, for clients that know everything before it. With nobody to hear it only the shapes
    /// are kept up to date.
    /// Shapes that are new go to `news`, which is for everybody, ahead of everything else.
    pub(crate) fn changes(
        &mut self,
        replicas: &Replicas,
        heard: bool,
        news: &mut Vec<Message>,
        out: &mut Vec<Message>,
    ) {
        let changes = replicas.changes();
        for slot in &changes.destroyed {
            self.shapes.release(self.shape_of[*slot as usize]);
        }
        if heard && !changes.destroyed.is_empty() {
            self.binary(out, |bytes| bodies::encode_destroy(&changes.destroyed, bytes));
        }
        let mut created: Vec<Create> = Vec::new();
        for replica in changes.created.iter().filter_map(|slot| replicas.get(*slot)) {
            news.extend(self.name_shape(replica));
            if heard {
                created.push(self.create(replica));
            }
        }
        if !heard {
            return;
        }
        self.creates(&created, out);
        let mut owners: Vec<_> = changes
            .owners
            .iter()
            .filter_map(|slot| replicas.announced(*slot))
            .map(|replica| (replica.slot, replica.region))
            .collect();
        owners.sort_unstable();
        owners.dedup();
        if !owners.is_empty() {
            self.binary(out, |bytes| bodies::encode_owner(owners.into_iter(), bytes));
        }
        self.states(replicas, out);
    }

    /// Everything there is, for clients that know nothing. Must follow [`Stream::changes`] of the same tick.
    pub(crate) fn picture(&mut self, replicas: &Replicas, out: &mut Vec<Message>) {
        out.extend(self.shapes.all());
        let created: Vec<Create> =
            replicas.iter().filter(|r| replicas.announced(r.slot).is_some()).map(|r| self.create(r)).collect();
        self.creates(&created, out);
    }

    pub(crate) fn clear(&mut self) {
        self.shapes.clear();
    }

    fn name_shape(&mut self, replica: &Replica) -> Option<Message> {
        let (number, news) = self.shapes.take(&replica.desc.shape);
        let slot = replica.slot as usize;
        if self.shape_of.len() <= slot {
            self.shape_of.resize(slot + 1, 0);
        }
        self.shape_of[slot] = number;
        news
    }

    /// Announcements of all shapes.
    pub(crate) fn shapes(&self) -> impl Iterator<Item = Message> {
        self.shapes.all()
    }

    /// What a client must know of a body that it has not seen; [`Stream::changes`] must have seen it.
    pub(crate) fn create(&self, replica: &Replica) -> Create {
        Create {
            slot: replica.slot,
            nid: replica.nid,
            shape: self.shape_of[replica.slot as usize],
            region: replica.region,
            kind: replica.desc.kind,
            sensor: replica.desc.sensor,
            pose: replica.pose,
        }
    }

    fn creates(&mut self, created: &[Create], out: &mut Vec<Message>) {
        for part in created.chunks(CREATES_PER_MESSAGE) {
            self.binary(out, |bytes| bodies::encode_create(part.iter().copied(), bytes));
        }
    }

    /// One message per tick that regions spoke of; mostly they all speak of the same one.
    fn states(&mut self, replicas: &Replicas, out: &mut Vec<Message>) {
        let mut moved = std::mem::take(&mut self.moved);
        moved.clear();
        let places = replicas.changes().moved.iter().filter_map(|slot| replicas.announced(*slot));
        moved.extend(places.map(|replica| (replica.stamp.tick, replica.slot)));
        if !moved.is_sorted_by_key(|(tick, _)| *tick) {
            moved.sort_by_key(|(tick, _)| *tick);
        }
        for part in moved.chunk_by(|a, b| a.0 == b.0).flat_map(|same| same.chunks(STATES_PER_MESSAGE)) {
            let pose = |slot: u32| replicas.get(slot).map_or(Pose::IDENTITY, |replica| replica.pose);
            let places = part.iter().map(|(_, slot)| (*slot, pose(*slot)));
            self.binary(out, |bytes| bodies::encode_state(part[0].0, places, bytes));
        }
        self.moved = moved;
    }

    fn binary(&mut self, out: &mut Vec<Message>, write: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.clear();
        write(&mut self.bytes);
        out.push(Message::Binary(Arc::from(self.bytes.as_slice())));
    }
}
