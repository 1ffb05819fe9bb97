//! What goes wrong, and when it stops going wrong.

use nimbus_control::{Input, Order, Standing};
use nimbus_model::{Layout, RegionId};
use nimbus_space::PartitionMap;
use std::sync::Arc;

use crate::cluster::{Cluster, Event};

impl Cluster {
    pub(crate) fn elect(&mut self, i: usize) {
        self.counts.count("election");
        (self.elected, self.elected_at) = (i, self.now_ms);
        let other = 1 - i;
        // The former leader hears of it late, or never.
        if self.rng.chance(0.6) {
            let at = self.now_ms + self.rng.below(400);
            let token = self.desks[other].token;
            let leader = Some(["c1", "c2"][i].to_owned());
            self.push(at, Event::Answer(other, token, Input::Follow { leader }));
        }
        self.give(i, Input::Lead);
    }

    /// Draws what goes wrong in this round.
    pub(crate) fn go_wrong(&mut self) {
        let place = self.rng.below(self.members.len() as u64) as usize;
        let i = self.rng.below(2) as usize;
        let lasts = 50 + self.rng.below(1_500);
        match self.rng.below(1_000) {
            0..12 if self.members[place].is_some() => {
                self.counts.count("kill");
                self.members[place] = None;
            }
            12..20 => {
                self.counts.count("cut");
                let until = self.now_ms + lasts;
                for i in [i, if self.rng.chance(0.7) { 1 - i } else { i }] {
                    self.cuts.insert((place, i), until);
                }
            }
            20..26 => {
                self.counts.count("stall");
                let until = self.now_ms + lasts;
                if let Some(member) = &mut self.members[place] {
                    member.stalled_until = until;
                }
            }
            26..30 => self.elect(i),
            30..33 => {
                self.counts.count("coordinator kill");
                self.desks[i].coordinator = None;
                self.desks[i].token = 0;
            }
            33..36 => self.desks[i].stalled_until = self.now_ms + lasts / 2,
            36..40 => {
                if let Some(member) = &mut self.members[place] {
                    member.drains = true;
                }
            }
            40..42 => {
                if let Some(member) = &mut self.members[place] {
                    member.clumsy = true;
                }
            }
            42..60 => self.order(place),
            _ => {}
        }
        for i in 0..2 {
            if self.desks[i].coordinator.is_none() && self.rng.chance(0.03) {
                self.boot(i);
            }
            if self.desks[self.elected].coordinator.is_none() && self.rng.chance(0.1) {
                self.elect(1 - self.elected);
            }
        }
    }

    fn order(&mut self, place: usize) {
        let region = RegionId(self.rng.below(u64::from(self.regions)) as u16);
        let entry = self.roster().and_then(|roster| roster.regions.get(&region).cloned());
        let lost = entry.is_some_and(|entry| entry.lost.is_some());
        let order = match self.rng.below(8) {
            _ if lost => {
                self.truth.restarts.insert(region);
                Order::Restart(region)
            }
            0 => Order::Move { region, to: format!("p{place}") },
            1 => Order::Pace(500 + self.rng.below(1_000) as u32),
            5 => Order::Pause,
            6 => Order::Resume,
            7 => Order::Step(1 + self.rng.below(90) as u32),
            2 => Order::Rank((0..self.regions).rev().map(RegionId).collect()),
            3 => {
                let map = PartitionMap::from_layout(&Layout::columns(self.regions, 9.0)).expect("a plain layout");
                Order::Load { world: "domino".into(), map: Arc::new(map) }
            }
            _ => Order::Drain(format!("p{place}")),
        };
        let id = self.sequence;
        self.give(self.elected, Input::Order { id, order });
    }

    pub(crate) fn calm_down(&mut self) {
        self.calm = true;
        self.cuts.clear();
        for member in self.members.iter_mut().flatten() {
            (member.clumsy, member.drains, member.stalled_until) = (false, false, 0);
        }
        for i in 0..2 {
            self.desks[i].stalled_until = 0;
            if self.desks[i].coordinator.is_none() {
                self.boot(i);
            }
        }
        self.elect(self.elected);
    }

    /// Where everybody wants to leave, nobody can. Somebody has to say who stays.
    pub(crate) fn keep_somebody(&mut self) {
        let Some(roster) = self.roster() else { return };
        if !roster.members().any(|(_, member)| member.standing == Standing::Up)
            && let Some((_, member)) = roster.members().next()
        {
            let order = Order::Stay(member.name.clone());
            self.give(self.elected, Input::Order { id: self.sequence, order });
        }
    }
}
