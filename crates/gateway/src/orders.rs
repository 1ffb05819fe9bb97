//! Commands under way: who asked, and under which number the answer will come.
//!
//! A region that is dead answers nothing, and what it was asked stays under way until patience ends. So each region has a
//! share of its own, far below what all have together: whoever goes on asking a dead one keeps nobody from the others.

use nimbus_model::{ClientId, Motion, RegionId, Tick, Velocity, World};
use nimbus_wire::Command;
use nimbus_wire::client::Spawn;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// Commands that may be under way at once: to all regions, to one, and those of one client to one. A client may give 400 at
/// once and 200 a second, and a region answers some ticks later.
const PENDING_MAX: usize = 16_384;
const PER_REGION_MAX: usize = 1_024;
const PER_CLIENT_MAX: usize = 768;
/// Commands that no region answered within this many ticks are given up: half a minute at 60 Hz.
const PATIENCE_TICKS: u64 = 1800;

/// A command that a region has been asked to carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) client: ClientId,
    pub(crate) seq: Option<u64>,
    /// It is to make a body.
    pub(crate) spawns: bool,
    to: RegionId,
    asked: Tick,
}

/// Commands under way by the gateway's own number, which rises and is never used again.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    last: u64,
    pending: BTreeMap<u64, Pending>,
    /// How many of them there are to each region, and of each client there. None is zero.
    by_region: BTreeMap<RegionId, usize>,
    by_client: BTreeMap<(RegionId, ClientId), usize>,
}

impl Orders {
    /// A number for a new command to a region, or why there is none.
    pub(crate) fn open(
        &mut self,
        (client, seq): (ClientId, Option<u64>),
        to: RegionId,
        spawns: bool,
        now: Tick,
    ) -> Result<u64, String> {
        if self.by_client.get(&(to, client)).is_some_and(|count| *count >= PER_CLIENT_MAX) {
            return Err(format!("region {to} has yet to answer {PER_CLIENT_MAX} of your commands; wait for that"));
        }
        if self.by_region.get(&to).is_some_and(|count| *count >= PER_REGION_MAX) {
            return Err(format!("region {to} has yet to answer {PER_REGION_MAX} commands; try again"));
        }
        if self.pending.len() >= PENDING_MAX {
            return Err("too many commands under way; try again".to_owned());
        }
        self.last += 1;
        self.pending.insert(self.last, Pending { client, seq, spawns, to, asked: now });
        *self.by_region.entry(to).or_default() += 1;
        *self.by_client.entry((to, client)).or_default() += 1;
        Ok(self.last)
    }

    /// The command that an answer is for; each is answered once.
    pub(crate) fn close(&mut self, sequence: u64) -> Option<Pending> {
        let closed = self.pending.remove(&sequence)?;
        less(&mut self.by_region, closed.to);
        less(&mut self.by_client, (closed.to, closed.client));
        Some(closed)
    }

    /// Commands that waited too long for an answer.
    pub(crate) fn expired(&mut self, now: Tick) -> Vec<Pending> {
        let mut expired = Vec::new();
        while let Some((&oldest, pending)) = self.pending.first_key_value()
            && now.since(pending.asked) > PATIENCE_TICKS
        {
            expired.extend(self.close(oldest));
        }
        expired
    }

    /// Gives up every command under way.
    pub(crate) fn abandon(&mut self) -> Vec<Pending> {
        self.by_region.clear();
        self.by_client.clear();
        std::mem::take(&mut self.pending).into_values().collect()
    }
}

fn less<K: Ord>(counts: &mut BTreeMap<K, usize>, key: K) {
    if let Entry::Occupied(mut count) = counts.entry(key) {
        *count.get_mut() -= 1;
        if *count.get() == 0 {
            count.remove();
        }
    }
}

/// A spawn that a client asks for, as a command for a region, or why this world has no room for it.
pub(crate) fn spawn_command(world: &World, spawn: &Spawn) -> Result<Command, String> {
    let desc = spawn.desc();
    let motion = Motion::new(spawn.pose, Velocity::linear(spawn.velocity));
    if let Some(problem) = world.spawn_problem(&desc, &motion) {
        return Err(problem);
    }
    Ok(Command::Spawn { desc: Arc::new(desc), motion })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::{Shape, Vec3};

    #[test]
    fn commands_under_way_are_bounded_and_answered_once() {
        let mut orders = Orders::default();
        let mut open = |client, to, now| orders.open((ClientId(client), None), RegionId(to), false, Tick(now));
        let first = open(1, 0, 0).unwrap();
        for _ in 1..PER_CLIENT_MAX {
            assert!(open(1, 0, 1).is_ok());
        }
        assert!(open(1, 0, 1).unwrap_err().contains("of your commands"));
        for _ in PER_CLIENT_MAX..PER_REGION_MAX {
            assert!(open(2, 0, 1).is_ok());
        }
        assert!(open(2, 0, 1).unwrap_err().contains("region r0 has yet to answer"));
        for n in PER_REGION_MAX..PENDING_MAX {
            assert!(open(3 + n as u32, 1 + (n % 100) as u16, 1).is_ok());
        }
        assert!(open(2, 200, 1).unwrap_err().contains("too many"));
        assert!(orders.close(first).is_some());
        assert_eq!(orders.close(first), None);
        let next = orders.open((ClientId(1), Some(5)), RegionId(0), false, Tick(50)).unwrap();
        assert!(next > first, "a number is never used again");
        assert_eq!(orders.expired(Tick(PATIENCE_TICKS + 1)).len(), 0);
        assert_eq!(orders.expired(Tick(PATIENCE_TICKS + 2)).len(), PENDING_MAX - 1);
        assert_eq!((orders.by_region.len(), orders.by_client.len()), (1, 1), "room comes back");
        assert!(matches!(orders.abandon()[..], [Pending { client: ClientId(1), seq: Some(5), .. }]));
        assert_eq!((orders.by_region.len(), orders.by_client.len()), (0, 0));
    }

    #[test]
    fn spawns_must_fit_the_world() {
        let world = World::new("box");
        let good = Spawn::new(Shape::ball(0.5), Vec3::Y, Vec3::X);
        assert!(spawn_command(&world, &good).is_ok());
        let refusal = |spawn: Spawn| spawn_command(&world, &spawn).unwrap_err();
        assert!(refusal(Spawn { shape: Shape::ball(5.0), ..good.clone() }).contains("allows 4 m"));
        assert!(refusal(Spawn { velocity: Vec3::X * 513.0, ..good.clone() }).contains("allows 512 m/s"));
        assert!(refusal(Spawn { density: -1.0, ..good.clone() }).contains("density"));
        let far = Spawn::new(Shape::ball(0.5), Vec3::X * 4001.0, Vec3::ZERO);
        assert!(refusal(far).contains("outside the world"));
        let nowhere = Spawn::new(Shape::ball(0.5), Vec3::splat(f32::NAN), Vec3::ZERO);
        assert!(spawn_command(&world, &nowhere).is_err());
    }
}
