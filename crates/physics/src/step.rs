//! One tick of the world.

use nimbus_model::{Nid, Pose, StateUpdate, Velocity};

use rapier3d::pipeline::EventHandler;

use crate::events::ContactEvent;
use crate::{PhysicsWorld, convert};

/// What happened during a step. All lists are sorted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Every body that is awake now, close together in memory: the cheapest way to look at all of them. The engine
    /// knows of no reigns, so the epochs are zero, for the owner to fill in.
    pub moved: Vec<StateUpdate>,
    /// Touches that began or ended; empty unless [`PhysicsWorld::report_contacts`] was told to.
    pub contacts: Vec<ContactEvent>,
    /// Bodies whose state had become absurd; they are no longer in the world, nor are their joints.
    pub quarantined: Vec<Nid>,
    /// Bodies that came to rest.
    pub fell_asleep: Vec<Nid>,
    /// Bodies that were at rest before, woken by a call since the last step or by others during this one.
    pub woke: Vec<Nid>,
}

impl PhysicsWorld {
    /// Advances the world by one tick.
    ///
    /// Removed bodies leave the engine first, new joints enter it, then it steps. Afterwards every body whose pose or
    /// velocity is not finite or beyond a million metres or m/s is taken out and reported: one broken body must not
    /// spoil the others.
    pub fn step(&mut self) -> &StepReport {
        self.apply_pending();
        let asking = self.arm_warm_start();
        let listener: &dyn EventHandler = if self.reports_contacts { &self.events } else { &() };
        self.engine.step_with_events(&self.warm_start, listener);
        self.disarm_warm_start(&asking);
        self.fresh.clear();

        self.report.moved.clear();
        self.report.moved.reserve(self.awake.len());
        self.report.contacts.clear();
        self.report.quarantined.clear();
        self.report.fell_asleep.clear();
        self.report.woke.clear();
        if self.reports_contacts {
            self.events.drain_into(&mut self.report.contacts);
            self.continue_touches();
        } else {
            self.carried.clear();
        }
        self.follow_sleep();
        self.quarantine();
        &self.report
    }

    /// Advances the engine by one tick and nothing around it: no events, no sleep list, no quarantine. Only for
    /// measuring what the surroundings cost; the world must not be used for anything else afterwards.
    pub fn step_bare(&mut self) {
        self.apply_pending();
        let asking = self.arm_warm_start();
        self.engine.step_with_events(&self.warm_start, &());
        self.disarm_warm_start(&asking);
        self.carried.clear();
    }

    /// Takes the list of awake bodies out of the last step's report.
    pub fn take_moved(&mut self) -> Vec<StateUpdate> {
        std::mem::take(&mut self.report.moved)
    }

    /// What happened during the last step.
    pub fn last_report(&self) -> &StepReport {
        &self.report
    }

    /// Brings the awake list up to date, and notes absurd bodies on the way.
    fn follow_sleep(&mut self) {
        let PhysicsWorld { engine, slots, awake, report, woken, dozing, .. } = self;
        for handle in dozing.drain(..) {
            if let Some(Some(slot)) = slots.get_mut(handle.into_raw_parts().0 as usize) {
                slot.dozing = false;
            }
        }
        awake.retain(|nid, handle| {
            let body = &engine.bodies[handle];
            let pose = Pose { position: body.translation(), rotation: *body.rotation() };
            let velocity = Velocity { linear: body.linvel(), angular: body.angvel() };
            if !convert::is_sane(&pose, &velocity) {
                report.quarantined.push(nid);
            }
            let stays = !body.is_sleeping();
            if stays {
                report.moved.push(StateUpdate { nid, body_epoch: 0, pose, velocity });
            } else {
                report.fell_asleep.push(nid);
                if let Some(Some(slot)) = slots.get_mut(handle.into_raw_parts().0 as usize) {
                    slot.awake = false;
                }
            }
            stays
        });
        report.woke.append(woken);
        // Every body on our list is active in the engine, so equal counts mean equal sets.
        if engine.islands.num_active_bodies() != awake.len() {
            let mut joined = Vec::new();
            for handle in engine.islands.active_bodies() {
                let slot = slots.get_mut(handle.into_raw_parts().0 as usize).and_then(Option::as_mut);
                if let Some(slot) = slot.filter(|slot| !slot.awake)
                    && !engine.bodies[handle].is_sleeping()
                {
                    slot.awake = true;
                    joined.push((slot.nid, handle));
                }
            }
            report.woke.extend(joined.iter().map(|(nid, _)| *nid));
            awake.merge(&joined);
            report.moved.extend(joined.iter().map(|&(nid, handle)| {
                let body = &engine.bodies[handle];
                let (pose, velocity) = (convert::pose(body.position()), convert::velocity(body));
                StateUpdate { nid, body_epoch: 0, pose, velocity }
            }));
            // Two sorted runs, which this sort merges in one pass.
            report.moved.sort_by_key(|moved| moved.nid);
        }
        report.woke.sort_unstable();
    }

    fn quarantine(&mut self) {
        let found = self.engine.quarantine();
        if found.is_empty() && self.report.quarantined.is_empty() {
            return;
        }
        let mut nids = std::mem::take(&mut self.report.quarantined);
        let parents = found.colliders().iter().filter_map(|collider| self.engine.colliders.get(*collider)?.parent());
        let noticed = found.bodies().iter().copied().chain(parents);
        nids.extend(noticed.filter_map(|handle| self.slot(handle).map(|slot| slot.nid)));
        nids.sort_unstable();
        nids.dedup();
        nids.retain(|nid| self.index.contains(*nid));
        if self.reports_contacts {
            let cut = self.touches(&nids).into_iter().map(|(a, b)| ContactEvent { a, b, began: false });
            self.report.contacts.extend(cut);
            self.report.contacts.sort_by_key(|event| (event.a, event.b));
        }
        self.remove(&nids);
        self.report.moved.retain(|moved| nids.binary_search(&moved.nid).is_err());
        for list in [&mut self.report.fell_asleep, &mut self.report.woke] {
            list.retain(|nid| nids.binary_search(nid).is_err());
        }
        self.report.quarantined = nids;
    }
}
