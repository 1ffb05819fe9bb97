//! Catching a group up: bodies that were under way for some ticks live through them in a world of their own.

use nimbus_model::{Group, Nid, World};
use rapier3d::pipeline::PhysicsWorld as Engine;
use std::collections::BTreeMap;

use crate::shapes::ShapeStore;
use crate::{ContactEvent, InsertError, PhysicsWorld};

/// The smallest number of bodies a scratch world is laid out for.
const SLOTS_AT_LEAST: usize = 32;

/// Steps groups through ticks that they missed, with the statics of the world and nothing else around them.
///
/// Every group enters a copy of the same untouched world, so the result depends on the group, the number of ticks and
/// the pushes, and on nothing that was caught up before. A copy costs little: the forms of the statics are shared.
pub struct ScratchWorld {
    world: World,
    era: u16,
    /// Untouched worlds by the number of bodies they are laid out for, each made when first needed. The bodies must
    /// come before the statics inside the engine, as they do in every other world, or the last bits differ.
    pristine: BTreeMap<usize, PhysicsWorld>,
    /// Forms of the groups, kept from one to the next.
    shapes: ShapeStore,
    reports_contacts: bool,
    contacts: Vec<(u64, ContactEvent)>,
    quarantined: Vec<Nid>,
}

impl PhysicsWorld {
    /// A place to catch groups up in, with the same statics as [`PhysicsWorld::new`].
    pub fn scratch(world: &World, era: u16) -> ScratchWorld {
        ScratchWorld {
            world: world.clone(),
            era,
            pristine: BTreeMap::new(),
            shapes: ShapeStore::default(),
            reports_contacts: false,
            contacts: Vec::new(),
            quarantined: Vec::new(),
        }
    }
}

impl ScratchWorld {
    /// Whether touches that begin and end on the way are noted; off at first.
    pub fn report_contacts(&mut self, wanted: bool) {
        self.reports_contacts = wanted;
    }

    /// Steps a group through `ticks` ticks and returns it as it is then, in canonical order.
    ///
    /// `each` is called before every step with the number of the tick, from 0, to push and throw as it would have
    /// been done at that tick. What it inserts is returned with the group. Members whose state became absurd are
    /// missing from the result, and so are their joints; [`ScratchWorld::quarantined`] names them.
    pub fn catch_up(
        &mut self,
        group: Group,
        ticks: u64,
        mut each: impl FnMut(&mut PhysicsWorld, u64),
    ) -> Result<Group, InsertError> {
        self.contacts.clear();
        self.quarantined.clear();
        let slots = group.members.len().next_power_of_two().max(SLOTS_AT_LEAST);
        let (world, era) = (&self.world, self.era);
        let pristine = self.pristine.entry(slots).or_insert_with(|| {
            let mut fresh = PhysicsWorld::with_slots(world, era, slots);
            // The statics enter the engine's search tree here, once and not with every group.
            fresh.step();
            fresh
        });
        let mut scratch = pristine.duplicate();
        scratch.report_contacts(self.reports_contacts);
        std::mem::swap(&mut scratch.shapes, &mut self.shapes);
        let taken = scratch.insert(group);
        std::mem::swap(&mut scratch.shapes, &mut self.shapes);
        taken?;
        for tick in 0..ticks {
            each(&mut scratch, tick);
            let report = scratch.step();
            self.contacts.extend(report.contacts.iter().map(|event| (tick, *event)));
            self.quarantined.extend_from_slice(&report.quarantined);
        }
        let all: Vec<Nid> = scratch.nids().collect();
        let touches = if self.reports_contacts { scratch.touches(&all) } else { Vec::new() };
        let group = scratch.remove(&all);
        let last = ticks.saturating_sub(1);
        let cut = touches.into_iter().filter(|pair| !group.carries(*pair));
        self.contacts.extend(cut.map(|(a, b)| (last, ContactEvent { a, b, began: false })));
        Ok(group)
    }

    /// Touches that began or ended while the last group was caught up, each with the number of its tick, in order.
    /// What touches and cannot be taken along has ended. None unless [`ScratchWorld::report_contacts`] was told to.
    pub fn contacts(&self) -> &[(u64, ContactEvent)] {
        &self.contacts
    }

    /// Bodies of the last group whose state became absurd on the way.
    pub fn quarantined(&self) -> &[Nid] {
        &self.quarantined
    }
}

impl PhysicsWorld {
    /// A second world in the same state.
    fn duplicate(&self) -> PhysicsWorld {
        let from = &self.engine;
        let mut engine = Engine::new();
        engine.gravity = from.gravity;
        engine.integration_parameters = from.integration_parameters;
        engine.islands.clone_from(&from.islands);
        engine.broad_phase.clone_from(&from.broad_phase);
        engine.narrow_phase.clone_from(&from.narrow_phase);
        engine.bodies.clone_from(&from.bodies);
        engine.colliders.clone_from(&from.colliders);
        engine.impulse_joints.clone_from(&from.impulse_joints);
        engine.multibody_joints.clone_from(&from.multibody_joints);
        engine.soft_bodies.clone_from(&from.soft_bodies);
        let mut copy = PhysicsWorld::around(engine);
        copy.slots.clone_from(&self.slots);
        copy.statics.clone_from(&self.statics);
        copy
    }
}
