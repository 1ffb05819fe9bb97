//! Commands under way: who asked, and under which number the answer will come.

use nimbus_model::{ClientId, Motion, Tick, Velocity, World};
use nimbus_wire::Command;
use nimbus_wire::client::Spawn;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Commands that may be under way at once.
const PENDING_MAX: usize = 4096;
/// Commands that no region answered within this many ticks are given up: half a minute at 60 Hz.
const PATIENCE_TICKS: u64 = 1800;

/// A command that a region has been asked to carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) client: ClientId,
    pub(crate) seq: Option<u64>,
    /// It is to make a body.
    pub(crate) spawns: bool,
    asked: Tick,
}

/// Commands under way by the gateway's own number, which rises and is never used again.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    last: u64,
    pending: BTreeMap<u64, Pending>,
}

impl Orders {
    /// A number for a new command; none when too many are under way.
    pub(crate) fn open(&mut self, client: ClientId, seq: Option<u64>, spawns: bool, now: Tick) -> Option<u64> {
        if self.pending.len() >= PENDING_MAX {
            return None;
        }
        self.last += 1;
        self.pending.insert(self.last, Pending { client, seq, spawns, asked: now });
        Some(self.last)
    }

    /// The command that an answer is for; each is answered once.
    pub(crate) fn close(&mut self, sequence: u64) -> Option<Pending> {
        self.pending.remove(&sequence)
    }

    /// Commands that waited too long for an answer.
    pub(crate) fn expired(&mut self, now: Tick) -> Vec<Pending> {
        let mut expired = Vec::new();
        while let Some(oldest) = self.pending.first_entry()
            && now.since(oldest.get().asked) > PATIENCE_TICKS
        {
            expired.push(oldest.remove());
        }
        expired
    }

    /// Gives up every command under way.
    pub(crate) fn abandon(&mut self) -> Vec<Pending> {
        std::mem::take(&mut self.pending).into_values().collect()
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
        let first = orders.open(ClientId(1), Some(5), false, Tick(0)).unwrap();
        for _ in 1..PENDING_MAX {
            assert!(orders.open(ClientId(1), None, false, Tick(1)).is_some());
        }
        assert_eq!(orders.open(ClientId(2), None, false, Tick(1)), None);
        assert_eq!(orders.close(first).unwrap().seq, Some(5));
        assert_eq!(orders.close(first), None);
        let next = orders.open(ClientId(2), None, false, Tick(50)).unwrap();
        assert!(next > first, "a number is never used again");
        assert_eq!(orders.expired(Tick(PATIENCE_TICKS + 1)).len(), 0);
        assert_eq!(orders.expired(Tick(PATIENCE_TICKS + 2)).len(), PENDING_MAX - 1);
        assert_eq!(orders.abandon(), [Pending { client: ClientId(2), seq: None, spawns: false, asked: Tick(50) }]);
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
