//! Answers about bodies that were given away and are not known to have arrived.
//!
//! Only the receiver knows whether it has them, so the sender answers for them apart from everything else, and says where
//! on the lane each group is. A group that has been on its way for some ticks is where it would be now, alone with the
//! statics: just where the receiver will find it when it catches it up. That takes time, so it is done only for groups
//! that may matter, by how far they can have come.

use nimbus_model::{BodyDesc, Group, Member, RegionId, Shape, Tick};
use nimbus_physics::{Filter, QueryMirror};
use nimbus_wire::ask::{Ask, PartAnswer, UNDER_WAY_ANSWERS_MAX, UnderWay};
use nimbus_wire::client::Query;
use nimbus_wire::{Address, Item, decode_group};
use std::collections::BTreeMap;

use crate::answers::answer_among;
use crate::config::{Planted, Policy};
use crate::node::Node;

/// What a group costs that has to be caught up by a tick, in bodies looked at closely.
const TRIES_PER_CATCH_UP: u64 = 32;
/// A group that has been under way for longer waits for a receiver that does not answer. Where it is would take too long
/// to find out, again and again.
const LATE_TICKS: u64 = 16;
/// Nothing is taken to be nearer to a question than this, metres.
const SLACK_M: f32 = 0.1;

/// A group as it was given away.
struct Given {
    to: RegionId,
    sequence: u64,
    at: Tick,
    group: Group,
}

impl Node {
    /// What is found of every group under way, where it may be better than what was found without them; and for which
    /// receivers, up to which number, that is not all.
    pub(crate) fn answer_for_under_way(
        &mut self,
        ask: &Ask,
        found: &[PartAnswer],
        filter: Filter,
        tries: &mut u64,
    ) -> (Vec<UnderWay>, Vec<(RegionId, u64)>) {
        let given = self.given();
        let (mut answers, mut unsaid, mut count) = (Vec::new(), BTreeMap::new(), 0);
        if given.is_empty() || self.config.planted == Some(Planted::AnswersWithoutUnderWay) {
            return (answers, Vec::new());
        }
        let mut everything = QueryMirror::bare();
        given.iter().for_each(|given| self.surround(given, &mut everything));
        let may_matter = |around: &mut QueryMirror, query: &Query, found: &PartAnswer| {
            may_be_better(&answer_among(around, query, filter), found)
        };
        let asked = ask.queries.iter().zip(found).enumerate();
        let near: Vec<(usize, (&Query, &PartAnswer))> =
            asked.filter(|(_, (query, found))| may_matter(&mut everything, query, found)).collect();
        for given in given {
            let Given { to, sequence, .. } = given;
            let mut around = QueryMirror::bare();
            self.surround(&given, &mut around);
            let in_time = take(tries, near.len() as u64);
            let near = near.iter().filter(|(_, (query, found))| in_time && may_matter(&mut around, query, found));
            let near: Vec<(usize, &Query)> = near.map(|(i, (query, _))| (*i, *query)).collect();
            if in_time && near.is_empty() {
                continue;
            }
            let bodies = if in_time && count < UNDER_WAY_ANSWERS_MAX { self.as_of_now(given, tries) } else { None };
            let Some(mut bodies) = bodies else {
                // The later ones come later, so this is the last.
                unsaid.insert(to, sequence);
                continue;
            };
            let asked = near.into_iter().map(|(i, query)| (i as u16, answer_among(&mut bodies, query, filter)));
            let mut answered: Vec<(u16, PartAnswer)> = asked.filter(|(_, answer)| !answer.is_empty()).collect();
            count += answered.len();
            if count > UNDER_WAY_ANSWERS_MAX {
                unsaid.insert(to, sequence);
                answered.clear();
            }
            if !answered.is_empty() {
                answers.push(UnderWay { to, sequence, answers: answered });
            }
        }
        (answers, unsaid.into_iter().collect())
    }

    /// Everything on lanes to other regions. What cannot be read has no place and no form.
    fn given(&self) -> Vec<Given> {
        let items = self.outbox.numbered().filter_map(|(to, sequence, item)| match (to, item) {
            (Address::Region(to), Item::Transfer(transfer)) => {
                let group = decode_group(&transfer.payload).ok()?;
                Some(Given { to, sequence, at: transfer.tick, group })
            }
            _ => None,
        });
        items.collect()
    }

    /// How many ticks a group has missed that it will be caught up by.
    fn missed(&self, given: &Given) -> u64 {
        let asleep = given.group.members.iter().all(|member| member.motion.sleeping);
        let catches_up = self.config.policy == Policy::Aura && !asleep;
        if catches_up { self.now.since(given.at) } else { 0 }
    }

    /// Puts a ball around every body of a group, within which it is by now.
    fn surround(&self, given: &Given, around: &mut QueryMirror) {
        let seconds = self.missed(given) as f32 / self.world.tick_hz.max(1) as f32;
        let drawn = given.group.members.iter().any(|member| member.motion.force.length_squared() > 0.0);
        let pushed =
            (given.at.next().0..=self.now.0).any(|t| !self.world.pushes_at(Tick(t), self.loaded_at).is_empty());
        let speed = |member: &Member| {
            let radius = member.desc.shape.bounding_radius();
            member.motion.velocity.linear.length() + member.motion.velocity.angular.length() * radius
        };
        let fastest = if drawn || pushed {
            self.world.speed_max()
        } else {
            // Bodies that hold on to each other pass their speed on.
            2.0 * given.group.members.iter().map(speed).fold(0.0, f32::max)
        };
        let falls = |desc: &BodyDesc| self.world.gravity.length() * desc.gravity_scale.abs() * seconds * seconds;
        for member in &given.group.members {
            let reach = fastest * seconds + falls(&member.desc) + SLACK_M;
            let ball = Shape::ball(member.desc.shape.bounding_radius() + reach);
            let desc = BodyDesc { shape: ball, ..(*member.desc).clone() };
            let key = around.len() as u32;
            // What cannot be built here could not be at the receiver's either.
            _ = around.insert(key, member.nid, &desc, member.motion.pose);
        }
    }

    /// A group where it would be by now; none when there is no time to find out.
    fn as_of_now(&mut self, given: Given, tries: &mut u64) -> Option<QueryMirror> {
        if self.asked.caught_up.0 != self.now {
            self.asked.caught_up = (self.now, BTreeMap::new());
        }
        let (key, missed) = ((given.to, given.sequence), self.missed(&given));
        if missed > LATE_TICKS {
            return None;
        }
        if missed > 0 && !self.asked.caught_up.1.contains_key(&key) {
            if !take(tries, missed * TRIES_PER_CATCH_UP) {
                return None;
            }
            let (caught_up, _) = self.live_alone(given.group.clone(), given.at.next(), missed, false);
            self.asked.caught_up.1.extend(caught_up.ok().map(|group| (key, group)));
        }
        let group = if missed > 0 { self.asked.caught_up.1.get(&key) } else { None };
        let mut bodies = QueryMirror::bare();
        for (key, member) in (0..).zip(&group.unwrap_or(&given.group).members) {
            _ = bodies.insert(key, member.nid, &member.desc, member.motion.pose);
        }
        Some(bodies)
    }
}

/// Takes some of what is left; false when there is not so much.
fn take(tries: &mut u64, some: u64) -> bool {
    let left = tries.checked_sub(some);
    *tries = left.unwrap_or(*tries);
    left.is_some()
}

/// True when bodies of which this was found in a wider place may be better than what was found.
fn may_be_better(wider: &PartAnswer, found: &PartAnswer) -> bool {
    let nearer = |wider: Option<f32>, found: Option<f32>| {
        wider.is_some_and(|wider| found.is_none_or(|found| wider <= found + SLACK_M))
    };
    match (wider, found) {
        (PartAnswer::Ray(wider), PartAnswer::Ray(found)) | (PartAnswer::Cast(wider), PartAnswer::Cast(found)) => {
            nearer(wider.map(|hit| hit.distance), found.map(|hit| hit.distance))
        }
        (PartAnswer::Nearest(wider), PartAnswer::Nearest(found)) => {
            nearer(wider.map(|near| near.distance), found.map(|near| near.distance))
        }
        (wider, _) => !wider.is_empty(),
    }
}
