//! Bodies that the gateway told of, by slot and by id.

use nimbus_model::{BodyKind, Nid, Pose, RegionId, Tick};
use nimbus_wire::client::bodies::Create;
use nimbus_wire::stream::BodyState;
use std::collections::BTreeMap;

/// A body as this client knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Body {
    /// Its name for life.
    pub nid: Nid,
    /// The gateway's short name for it.
    pub slot: u32,
    /// Number of its shape.
    pub shape: u32,
    /// Who owns it.
    pub region: RegionId,
    /// Dynamic or kinematic.
    pub kind: BodyKind,
    /// Reports touches without pushing back.
    pub sensor: bool,
    /// Where it was last seen.
    pub pose: Pose,
    /// The tick of that sight; none while only its creation is known.
    pub tick: Option<Tick>,
    /// It was said to stay there until it is told of again. Only a [packed](nimbus_wire::client::Watch::packed) view says so.
    pub at_rest: bool,
}

/// The replica store. A map by slot, not an array: a message that names slot one million must not cost a million.
#[derive(Clone, Debug, Default)]
pub(crate) struct BodyStore {
    by_slot: BTreeMap<u32, Body>,
    by_nid: BTreeMap<Nid, u32>,
}

impl BodyStore {
    /// Takes a new body. Whatever had its slot or its name before is replaced.
    pub(crate) fn create(&mut self, create: Create) {
        let Create { slot, nid, shape, region, kind, sensor, pose } = create;
        self.destroy(slot);
        if let Some(former) = self.by_nid.insert(nid, slot) {
            self.by_slot.remove(&former);
        }
        self.by_slot.insert(slot, Body { nid, slot, shape, region, kind, sensor, pose, tick: None, at_rest: false });
    }

    /// False when there is no such body.
    pub(crate) fn destroy(&mut self, slot: u32) -> bool {
        match self.by_slot.remove(&slot) {
            Some(body) => self.by_nid.remove(&body.nid).is_some(),
            None => false,
        }
    }

    /// False when there is no such body.
    pub(crate) fn own(&mut self, slot: u32, region: RegionId) -> bool {
        let body = self.by_slot.get_mut(&slot);
        body.map(|body| body.region = region).is_some()
    }

    /// False when there is no such body, or it was seen later already.
    pub(crate) fn place(&mut self, slot: u32, tick: Tick, pose: Pose) -> bool {
        match self.by_slot.get_mut(&slot) {
            Some(body) if body.tick.is_none_or(|seen| seen <= tick) => {
                (body.tick, body.pose, body.at_rest) = (Some(tick), pose, false);
                true
            }
            _ => false,
        }
    }

    /// A body as a compressed stream has it. One that moves and is where it was is only not told of. False when there is no
    /// such body.
    pub(crate) fn show(&mut self, tick: Tick, state: &BodyState) -> bool {
        match self.by_slot.get_mut(&state.slot) {
            Some(body) => {
                if body.pose != state.pose || state.at_rest {
                    (body.tick, body.pose) = (Some(tick), state.pose);
                }
                body.at_rest = state.at_rest;
                true
            }
            None => false,
        }
    }

    pub(crate) fn by_slot(&self, slot: u32) -> Option<&Body> {
        self.by_slot.get(&slot)
    }

    pub(crate) fn by_nid(&self, nid: Nid) -> Option<&Body> {
        self.by_nid.get(&nid).and_then(|slot| self.by_slot.get(slot))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Body> {
        self.by_nid.values().filter_map(|slot| self.by_slot.get(slot))
    }

    pub(crate) fn len(&self) -> usize {
        self.by_slot.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::Vec3;

    fn body(slot: u32, nid: u64) -> Create {
        Create {
            slot,
            nid: Nid(nid),
            shape: 0,
            region: RegionId(0),
            kind: BodyKind::Dynamic,
            sensor: false,
            pose: Pose::IDENTITY,
        }
    }

    #[test]
    fn a_slot_and_a_name_hold_one_body_each() {
        let mut store = BodyStore::default();
        store.create(body(5, 1));
        store.create(body(5, 2));
        assert!(store.by_nid(Nid(1)).is_none() && store.by_nid(Nid(2)).is_some());
        store.create(body(6, 2));
        assert!(store.by_slot(5).is_none());
        assert_eq!(store.len(), 1);
        assert!(store.destroy(6) && !store.destroy(6));
        assert_eq!((store.len(), store.iter().count()), (0, 0));
    }

    #[test]
    fn an_older_sight_does_not_move_a_body() {
        let mut store = BodyStore::default();
        store.create(body(1, 1));
        assert!(store.place(1, Tick(5), Pose::at(Vec3::X)));
        assert!(!store.place(1, Tick(4), Pose::at(Vec3::Y)));
        assert!(!store.place(2, Tick(9), Pose::at(Vec3::Y)));
        assert_eq!(store.by_slot(1).unwrap().pose.position, Vec3::X);
    }
}
