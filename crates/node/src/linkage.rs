//! Joints that are asked for. Bodies of one server are joined at once. Bodies of two servers are brought together
//! first: the server of the higher rank gives its cluster to the other. Until then the joint is a pending linkage, a
//! thing that exists once and always lies with the server that can do the next step.

use nimbus_model::{BodyKind, JointDesc, Link, Nid, Placed, RegionId};
use nimbus_wire::{Address, CommandRef, Item, Linkage, Outcome, Sighting, join_problem};
use std::collections::BTreeSet;

use crate::node::Node;
use crate::outbox::REGION_LANE_MAX;

/// A joint whose bodies have not come together after so many ticks is refused.
const PATIENCE_TICKS: u64 = 60;
/// While it is unknown where a body is, everybody is asked every so many ticks.
const ASK_TICKS: u64 = 10;
/// Most joints that wait at one server.
const WAITING_MAX: usize = 64;
/// Most joints in one order between the same two bodies.
const JOINTS_PER_PAIR_MAX: u16 = 16;
/// Most bodies that joints hold to one body by command.
const PARTNERS_MAX: usize = 64;

impl Node {
    /// Joins two bodies, or begins to. The first of them must be here unless it is nowhere.
    pub(crate) fn begin_linkage(&mut self, by: CommandRef, one: Nid, two: Nid, joint: JointDesc) {
        let moves = |nid: Nid| self.physics.view(nid).is_none_or(|body| body.desc.kind != BodyKind::Static);
        let problem = join_problem(one, two, &joint);
        let problem = problem.or_else(|| Placed::may_name(two).then(|| unfit(two)));
        let problem = problem.or_else(|| (!moves(one)).then(|| format!("{one} does not move; name it second")));
        let problem = problem.or_else(|| (!self.hosted.contains(one)).then(|| gone(one)));
        if let Some(reason) = problem {
            self.reply(by, Outcome::Refused(reason));
        } else if self.hosted.contains(two) || !moves(two) {
            let outcome = self.join(by, one, two, joint);
            self.reply(by, outcome);
        } else if self.linkages.iter().any(|linkage| linkage.by == by) {
            self.counters.orders_repeated += 1;
        } else {
            let until = self.now + PATIENCE_TICKS;
            self.counters.linkages += 1;
            self.take_linkage(Linkage { by, bodies: [one, two], joint, until, seen: [None; 2] });
        }
    }

    /// Takes a pending linkage over, or refuses the joint when too many wait.
    pub(crate) fn take_linkage(&mut self, linkage: Linkage) {
        if self.linkages.len() >= WAITING_MAX {
            let reason = "too many joints wait for their bodies to come together".to_owned();
            self.reply(linkage.by, Outcome::Refused(reason));
            return;
        }
        let until = linkage.until.min(self.now + PATIENCE_TICKS);
        self.linkages.push(Linkage { until, ..linkage });
    }

    /// Says that a body is here, if it is.
    pub(crate) fn answer_seek(&mut self, from: RegionId, nid: Nid) {
        if self.hosted.contains(nid) {
            self.tell_region(from, Item::Found(nid));
        }
    }

    /// Notes where a body is that was sought.
    pub(crate) fn note_found(&mut self, region: RegionId, nid: Nid) {
        let sighting = Sighting { region, tick: self.now, certain: true };
        for linkage in &mut self.linkages {
            for (body, seen) in linkage.bodies.iter().zip(&mut linkage.seen) {
                if *body == nid {
                    *seen = Some(sighting);
                }
            }
        }
    }

    /// Does the next step for every joint that waits here. Comes after the physics, like everything that gives bodies
    /// away.
    pub(crate) fn link_up(&mut self) {
        let mut parted = BTreeSet::new();
        for mut linkage in std::mem::take(&mut self.linkages) {
            let by = linkage.by;
            match self.next_step(&mut linkage, &mut parted) {
                Step::Wait => self.linkages.push(linkage),
                Step::Pass(to) if self.outbox.waiting(Address::Region(to)) < REGION_LANE_MAX => {
                    self.outbox.push(Address::Region(to), self.now, Item::Linkage(linkage));
                }
                Step::Pass(_) => self.linkages.push(linkage),
                Step::End(outcome) => self.reply(by, outcome),
            }
        }
        self.leave_out(&parted);
    }

    fn next_step(&mut self, linkage: &mut Linkage, parted: &mut BTreeSet<Nid>) -> Step {
        let [one, two] = linkage.bodies;
        for i in 0..2 {
            if self.look_for(linkage.bodies[i], &mut linkage.seen[i]) {
                return Step::End(Outcome::Refused(gone(linkage.bodies[i])));
            }
        }
        let (mine, other) = match linkage.bodies.map(|nid| self.hosted.contains(nid)) {
            [true, true] => return Step::End(self.join(linkage.by, one, two, linkage.joint.clone())),
            _ if self.now >= linkage.until => return Step::End(Outcome::Refused(too_late(linkage))),
            [true, false] => (0, 1),
            [false, true] => (1, 0),
            [false, false] => {
                let elsewhere = linkage.seen.iter().flatten().next();
                return elsewhere.map_or_else(|| Step::End(Outcome::Refused(gone(one))), |at| Step::Pass(at.region));
            }
        };
        let Some(at) = linkage.seen[other] else {
            if linkage.until.since(self.now).is_multiple_of(ASK_TICKS) {
                self.ask_everybody(linkage.bodies[other]);
            }
            return Step::Wait;
        };
        if self.is_held_back(at.region) {
            return Step::Wait;
        }
        if self.outranks(self.config.region, at.region) {
            return Step::Pass(at.region);
        }
        let nid = linkage.bodies[mine];
        self.part_with(&[nid], at.region, parted);
        // On the same lane behind the body, the linkage arrives with it.
        if parted.contains(&nid) { Step::Pass(at.region) } else { Step::Wait }
    }

    /// Brings up to date where a body was seen last. True when it has died here.
    fn look_for(&self, nid: Nid, seen: &mut Option<Sighting>) -> bool {
        let (here, now) = (self.config.region, self.now);
        if self.hosted.contains(nid) {
            *seen = Some(Sighting { region: here, tick: now, certain: true });
            return false;
        }
        let known = *seen;
        let left = self.departed.get(&nid).filter(|(_, left)| known.is_none_or(|seen| seen.tick <= *left));
        if let Some(&(region, tick)) = left {
            *seen = Some(Sighting { region, tick, certain: false });
            return false;
        }
        if known.is_some_and(|seen| seen.region == here) {
            *seen = None;
        }
        known.is_some_and(|seen| seen.region == here && seen.certain)
    }

    fn ask_everybody(&mut self, nid: Nid) {
        let here = self.config.region;
        let others: Vec<RegionId> = self.map.regions().iter().copied().filter(|region| *region != here).collect();
        for region in others {
            self.tell_region(region, Item::Seek(nid));
        }
    }

    fn tell_region(&mut self, to: RegionId, item: Item) {
        if self.outbox.waiting(Address::Region(to)) < REGION_LANE_MAX {
            self.outbox.push(Address::Region(to), self.now, item);
        }
    }

    /// Makes a joint between two bodies that are here, or a body and a static.
    fn join(&mut self, by: CommandRef, one: Nid, two: Nid, joint: JointDesc) -> Outcome {
        if self.recent.has(one, by) {
            self.counters.orders_repeated += 1;
            return Outcome::Done(one);
        }
        if [one, two].iter().any(|nid| self.physics.linked(*nid).count() >= PARTNERS_MAX) {
            return Outcome::Refused(format!("a body is joined to {PARTNERS_MAX} others already"));
        }
        let free = (0..JOINTS_PER_PAIR_MAX).find(|ordinal| self.physics.link((one, two, *ordinal)).is_none());
        let Some(ordinal) = free else {
            return Outcome::Refused(format!("{one} and {two} are joined {JOINTS_PER_PAIR_MAX} times already"));
        };
        match self.physics.add_link(Link::new(one, two, ordinal, joint)) {
            Ok(()) => {
                // They belong together now, wherever they lie; the policy looks at them even if they sleep.
                self.suspects.extend([one, two].iter().filter(|nid| self.hosted.contains(**nid)));
                self.counters.joints += 1;
                self.recent.note(one, by);
                Outcome::Done(one)
            }
            Err(error) => Outcome::Refused(error.to_string()),
        }
    }
}

/// What becomes of a pending linkage at a tick.
enum Step {
    /// It stays.
    Wait,
    /// It goes to another server.
    Pass(RegionId),
    /// It is over.
    End(Outcome),
}

fn gone(nid: Nid) -> String {
    format!("there is no body {nid}")
}

fn unfit(nid: Nid) -> String {
    format!("{nid} was put in while the world ran and may go again; nothing can be joined to it")
}

fn too_late(linkage: &Linkage) -> String {
    let lost = linkage.bodies.iter().zip(&linkage.seen).find(|(_, seen)| seen.is_none());
    match lost {
        Some((nid, _)) => format!("no server says that it has body {nid}"),
        None => {
            let [one, two] = linkage.bodies;
            format!("{one} and {two} did not come to one server within {PATIENCE_TICKS} ticks")
        }
    }
}
