//! Bodies that will appear near a boundary: announced before they exist, and made by the server that has what they would
//! touch.
//!
//! A body that appears beside bodies which a server of lower rank has in this region would have to change server at once,
//! and would be on its way during its first contacts. So its birth is passed on ahead of time. Whatever can be near at
//! the tick of the birth is known a leg before; a birth that is passed on by then takes effect in time.

use nimbus_model::{BodyDesc, Extent, Group, Member, Motion, Nid, Pose, RegionId, Tick, Velocity};
use nimbus_wire::{Address, Aura, BirthCause, Item, Outcome, PlannedBirth, Strike};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::Planted;
use crate::horizon::TOUCH_M;
use crate::node::Node;
use crate::outbox::REGION_LANE_MAX;
use crate::scene::Scene;
use crate::seam::Parted;

impl Node {
    /// For how many ticks a birth or a push near a boundary is known elsewhere before it takes effect.
    pub(crate) fn notice_ticks(&self) -> u64 {
        (2 + self.seam.corner_max) * self.horizon.legs
    }

    /// Bodies that this server will make within the time of notice.
    pub(crate) fn planned_births(&self) -> Vec<PlannedBirth> {
        let mut planned = self.pending.births();
        for ahead in 1..=self.notice_ticks() {
            let cradle = self.cradle(self.now + ahead);
            let makes = |birth: &PlannedBirth| {
                let maker = cradle.region_at(birth.motion.pose.position);
                maker == self.config.region && !self.pending.is_passed_on(birth.nid)
            };
            planned.extend(self.injected_at(self.now + ahead).filter(makes));
        }
        planned
    }

    /// Passes on the births of bodies that will appear within reach of what a server of lower rank has. Returns those
    /// that stay.
    pub(crate) fn pass_births_on(&mut self, scene: &Scene, planned: Vec<PlannedBirth>) -> Vec<(PlannedBirth, Aura)> {
        let mut stay = Vec::with_capacity(planned.len());
        for birth in planned {
            let aura = self.aura_of_unborn(scene, &birth);
            let in_time = birth.at.since(self.now) >= self.horizon.legs;
            match self.maker_of(scene, &birth, &aura).filter(|_| in_time) {
                Some(to) if self.outbox.waiting(Address::Region(to)) < REGION_LANE_MAX => {
                    let aura = Aura { host: to, ..aura };
                    let arrived = Some(birth.at + self.horizon.legs);
                    self.seam.parted.insert(birth.nid, Parted { aura, arrived });
                    self.pending.pass_on(&birth);
                    self.counters.births_passed_on += 1;
                    self.outbox.push(Address::Region(to), self.now, Item::Birth(birth));
                }
                _ => stay.push((birth, aura)),
            }
        }
        stay
    }

    /// The server of lowest rank that has, or will have, something which a body may touch before it could follow there.
    fn maker_of(&self, scene: &Scene, birth: &PlannedBirth, unborn: &Aura) -> Option<RegionId> {
        if self.config.planted == Some(Planted::BirthsStay) {
            return None;
        }
        let horizon = &self.horizon;
        let ticks = horizon.look_ahead() + (1 + self.seam.corner_max) * horizon.legs + u64::from(scene.sweeps());
        let own = horizon.reach(unborn.speed, horizon.gravity, ticks);
        let fastest = scene.auras.iter().map(|aura| aura.speed).fold(0.0, f32::max);
        let reach_of = |speed: f32, tick: Tick| horizon.reach(speed, horizon.gravity, birth.at.since(tick) + ticks);
        let farthest = scene.auras.iter().map(|aura| aura.tick).min().map_or(0.0, |tick| reach_of(fastest, tick));
        let mut maker: Option<RegionId> = None;
        scene.auras_within(self, &unborn.extent.bounds, TOUCH_M + own + farthest, |aura| {
            let draws = self.outranks(aura.host, self.config.region) && !self.is_held_back(aura.host);
            let lower = maker.is_none_or(|known| self.outranks(aura.host, known));
            let gap = TOUCH_M + own + reach_of(aura.speed, aura.tick);
            if draws && lower && aura.nid != birth.nid && aura.extent.is_within(gap, &unborn.extent) {
                maker = Some(aura.host);
            }
        });
        maker
    }

    /// A body that does not exist yet, as neighbours must know it.
    fn aura_of_unborn(&self, scene: &Scene, birth: &PlannedBirth) -> Aura {
        let PlannedBirth { at, nid, desc, motion, .. } = birth;
        let Motion { pose, velocity, .. } = motion;
        let around = scene.speed_at(pose.position, desc.shape.bounding_radius() + self.seam.largest_m);
        let own = speed_of_unborn(desc, pose, velocity);
        let speed = own.max(around).min(self.horizon.speed);
        let (mass, restitution) = (f32::INFINITY, desc.restitution);
        let strike = Strike { speed: own, mass, restitution, spin: 0.0, spin_mass: 0.0 };
        let (host, extent) = (self.config.region, extent_of(desc, pose));
        Aura { nid: *nid, host, tick: *at, extent, speed, strike, sweeps: desc.ccd, anchored: false }
    }

    /// Announces bodies that will appear.
    pub(crate) fn announce_births(&self, births: &[(PlannedBirth, Aura)], out: &mut BTreeMap<RegionId, Vec<Aura>>) {
        let mut targets = Vec::new();
        for (birth, aura) in births {
            let radius = birth.desc.shape.bounding_radius();
            self.targets(birth.motion.pose.position, radius, self.horizon.speed, false, &mut targets);
            for to in &targets {
                out.entry(*to).or_default().push(*aura);
            }
        }
    }

    /// Takes a birth that another server has passed on.
    pub(crate) fn take_birth(&mut self, birth: PlannedBirth) {
        if birth.desc.problem().is_some() || !birth.motion.is_valid() {
            self.counters.frames_void += 1;
            return;
        }
        self.seam.learn(&birth.desc);
        self.pending.expect_birth(birth);
    }

    /// Makes a body whose tick has come, or has come and gone: then it lives through what it missed.
    pub(crate) fn give_birth(&mut self, birth: PlannedBirth) {
        let PlannedBirth { at, nid, desc, motion, cause } = birth;
        if self.hosted.contains(nid) || self.departed.contains_key(&nid) {
            return;
        }
        let motion = self.motion_after(nid, &desc, motion, at);
        match cause {
            BirthCause::World => {
                let desc = self.shared_desc(&desc);
                self.bear_within_budget(Group::single(nid, desc, motion));
            }
            BirthCause::Command(by) => {
                let outcome = self.spawn(nid, desc, motion);
                self.reply(by, outcome);
            }
            BirthCause::Game(keepsake) => {
                if self.spawn(nid, desc, motion) == Outcome::Done(nid) {
                    self.keepsakes.insert(nid, keepsake);
                } else {
                    self.counters.deeds_lost += 1;
                }
            }
        }
    }

    /// What a body does now that should have appeared at an earlier tick.
    fn motion_after(&mut self, nid: Nid, desc: &Arc<BodyDesc>, motion: Motion, at: Tick) -> Motion {
        let missed = self.now.since(at);
        if missed == 0 {
            return motion;
        }
        let member = Member { nid, desc: desc.clone(), motion };
        let (lived, _) = self.live_alone(Group::of(vec![member]), at, missed, false);
        lived.ok().and_then(|group| group.members.first().map(|member| member.motion)).unwrap_or(motion)
    }
}

/// Greatest speed of any point of a body that will appear.
pub(crate) fn speed_of_unborn(desc: &BodyDesc, pose: &Pose, velocity: &Velocity) -> f32 {
    velocity.linear.length() + desc.shape.turning_speed(pose.rotation, velocity.angular)
}

/// The room that a body will take.
pub(crate) fn extent_of(desc: &BodyDesc, pose: &Pose) -> Extent {
    Extent::of(&desc.shape, pose, desc.shape.bounds_at(pose))
}
