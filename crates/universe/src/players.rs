//! What clients do: throw bodies in, push, turn and steer some, tie some together, remove some, put statics in and take
//! them out, draw regions, all at random.

use nimbus_client::Client;
use nimbus_model::{Aabb, BodyKind, JointDesc, JointKind, Nid, Placed, Pose, Quat, RegionBox, Rng, Shape, Vec3};
use nimbus_wire::client::{Spawn, StaticSpawn};

use crate::config::GameCommands;

/// How often a client does something, per tick.
const ACTIVITY: f32 = 0.1;
/// How often one that could change the whole world does.
const BOLDNESS: f32 = 0.3;
/// Statics that clients leave in the world, or else it fills up.
const STATICS_KEPT: usize = 6;

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
        let picked = client.bodies().nth(pick).map(|body| (body.nid, body.pose.position, body.kind));
        let (nid, position, kind) = picked?;
        if kind == BodyKind::Kinematic && self.rng.chance(0.7) {
            return Some(self.steer(client, nid, position));
        }
        Some(match self.rng.below(10) {
            0..=2 => {
                let beside = position + self.rng.point(-Vec3::ONE, Vec3::ONE);
                let velocity = self.rng.point(Vec3::splat(-9.0), Vec3::splat(9.0));
                let thrown = Spawn::new(Shape::ball(0.25), beside, velocity);
                let lifted = Spawn { kind: BodyKind::Kinematic, velocity: Vec3::ZERO, ..thrown.clone() };
                client.spawn(if self.rng.chance(0.2) { lifted } else { thrown })
            }
            3 => {
                // Every now and then two that may be far apart are tied together.
                let other = self.rng.below(client.len() as u64) as usize;
                let (two, far) = client.bodies().nth(other).map(|body| (body.nid, body.pose.position))?;
                let rope = JointKind::Rope { length: far.distance(position) + 1.0 };
                client.join(nid, two, JointDesc::new(rope, Vec3::ZERO, Vec3::ZERO))
            }
            4..=5 => client.impulse(nid, self.rng.point(Vec3::splat(-300.0), Vec3::splat(300.0))),
            6 => {
                let linear = self.rng.point(Vec3::splat(-12.0), Vec3::splat(12.0));
                client.velocity(nid, Some(linear), self.rng.chance(0.5).then_some(Vec3::Y))
            }
            7 => client.despawn(nid),
            8 if self.rng.chance(BOLDNESS) => self.build(client, position),
            9 if self.rng.chance(BOLDNESS) => self.draw(client, position)?,
            _ => self.steer(client, nid, position),
        })
    }

    /// Sends a body somewhere near, which most refuse because forces move them.
    fn steer(&mut self, client: &mut Client, nid: Nid, from: Vec3) -> String {
        let to = from + self.rng.point(Vec3::splat(-8.0), Vec3::splat(8.0));
        let turned = Quat::from_rotation_y(self.rng.between(-3.0, 3.0));
        client.target(nid, Pose::at(to).turned(turned), 1 + self.rng.below(120) as u32)
    }

    /// Puts a static near a place, or takes one out.
    fn build(&mut self, client: &mut Client, near: Vec3) -> String {
        let placed: Vec<Nid> =
            client.statics().iter().map(|fixed| fixed.nid).filter(|nid| Placed::may_name(*nid)).collect();
        if placed.len() >= STATICS_KEPT || (!placed.is_empty() && self.rng.chance(0.4)) {
            return client.despawn(placed[self.rng.below(placed.len() as u64) as usize]);
        }
        let at = near + self.rng.point(Vec3::splat(-3.0), Vec3::splat(3.0));
        let turned = Quat::from_rotation_y(self.rng.between(-3.0, 3.0));
        let half = self.rng.point(Vec3::splat(0.2), Vec3::splat(1.5));
        client.place_static(StaticSpawn::new(Shape::Cuboid { half }, Pose::at(at).turned(turned)))
    }

    /// Gives a rectangle around a place to another region. Often it is too narrow, or leaves too little.
    fn draw(&mut self, client: &mut Client, around: Vec3) -> Option<String> {
        let drawn: Vec<RegionBox> = client
            .map()
            .iter()
            .flat_map(|(region, boxes)| boxes.iter().map(|bounds| RegionBox { region: *region, bounds: *bounds }))
            .collect();
        let picked = drawn.get(self.rng.below(drawn.len().max(1) as u64) as usize)?;
        let half = self.rng.point(Vec3::splat(10.0), Vec3::splat(80.0)).with_y(f32::INFINITY);
        let bounds = Aabb { min: (around - half).with_y(f32::NEG_INFINITY), max: around + half };
        let mut boxes = vec![RegionBox { region: picked.region, bounds }];
        boxes.extend(drawn.iter().copied());
        let rest = picked.region;
        (boxes.len() <= nimbus_wire::client::REGION_BOXES_MAX).then(|| client.draw_regions(boxes, rest))
    }
}
