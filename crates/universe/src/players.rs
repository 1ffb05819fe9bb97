//! What clients do: throw bodies in, push some, tie some together, remove some, at random.

use nimbus_client::Client;
use nimbus_model::{JointDesc, JointKind, Rng, Shape, Vec3};
use nimbus_wire::client::Spawn;

use crate::config::GameCommands;

/// How often a client does something, per tick.
const ACTIVITY: f32 = 0.1;

/// The hands of all clients.
pub(crate) struct Players {
    rng: Rng,
    active: bool,
    /// Makes what they tell a game, from random numbers of its own.
    game: Option<(GameCommands, Rng)>,
}

impl Players {
    pub(crate) fn new(seed: u64, active: bool, game: Option<GameCommands>) -> Players {
        Players { rng: Rng::stream(seed, 5), active, game: game.map(|make| (make, Rng::stream(seed, 8))) }
    }

    /// No more commands from now on.
    pub(crate) fn rest(&mut self) {
        self.active = false;
        self.game = None;
    }

    /// What a client tells the game now, if anything: something about a body it sees.
    pub(crate) fn play(&mut self, client: &mut Client) -> Option<String> {
        let (make, rng) = self.game.as_mut()?;
        if client.is_empty() || !rng.chance(ACTIVITY) {
            return None;
        }
        let pick = rng.below(client.len() as u64) as usize;
        let nid = client.bodies().nth(pick)?.nid;
        Some(client.game(nid, &make(rng)))
    }

    /// What a client does now, if anything: something about a body it sees.
    pub(crate) fn act(&mut self, client: &mut Client) -> Option<String> {
        if !self.active || client.is_empty() || !self.rng.chance(ACTIVITY) {
            return None;
        }
        let pick = self.rng.below(client.len() as u64) as usize;
        let (nid, position) = client.bodies().nth(pick).map(|body| (body.nid, body.pose.position))?;
        Some(match self.rng.below(8) {
            0..=2 => {
                let beside = position + self.rng.point(-Vec3::ONE, Vec3::ONE);
                let velocity = self.rng.point(Vec3::splat(-9.0), Vec3::splat(9.0));
                client.spawn(Spawn::new(Shape::ball(0.25), beside, velocity))
            }
            3 => {
                // Every now and then two that may be far apart are tied together.
                let other = self.rng.below(client.len() as u64) as usize;
                let (two, far) = client.bodies().nth(other).map(|body| (body.nid, body.pose.position))?;
                let rope = JointKind::Rope { length: far.distance(position) + 1.0 };
                client.join(nid, two, JointDesc::new(rope, Vec3::ZERO, Vec3::ZERO))
            }
            4..=6 => client.impulse(nid, self.rng.point(Vec3::splat(-300.0), Vec3::splat(300.0))),
            _ => client.despawn(nid),
        })
    }
}
