//! The field: where the game is played, and what is on it at the start.

use nimbus_model::{BodyDesc, Groups, Layout, LockedAxes, Pose, Rng, Shape, Tolerances, Vec3, Velocity, World};
use nimbus_physics::Filter;
use std::sync::Arc;

/// Bots on a field.
pub const BOTS: u32 = 24;
/// Coins on a field, at any time but for those on their way.
pub const COINS: u32 = 40;

/// From the middle of the field to its edges, metres.
pub(crate) const HALF: f32 = 40.0;
/// How high above the ground everything is, metres.
const HEIGHT: f32 = 0.5;

/// What a body is, in its own words.
pub(crate) const BOT: u64 = 1;
pub(crate) const COIN: u64 = 2;

const BOT_GROUP: u32 = 1;
const COIN_GROUP: u32 = 2;

/// What bots look for.
pub(crate) const SEEN_BY_BOTS: Filter = Filter {
    statics: false,
    owned: true,
    sensors: true,
    groups: Groups { memberships: BOT_GROUP, filter: COIN_GROUP },
    except: None,
};

/// A field for a number of servers. Its bots and coins depend on the seed alone.
pub fn field(servers: u16, seed: u64) -> World {
    let mut world = World::new("harvest");
    world.about = "Bots run for coins.".to_owned();
    world.seed = seed;
    world.tolerances = Tolerances { speed: 16.0, ..world.tolerances };
    let rows = if servers > 2 && servers.is_multiple_of(2) { 2 } else { 1 };
    let columns = servers / rows;
    let size = [2.0 * HALF / f32::from(columns), 1_000.0, 2.0 * HALF / f32::from(rows)];
    world.layout = Layout::Grid { count: [columns, 1, rows], size };
    world.add_ground(HALF, HALF);
    let (bot, coin) = (bot(), coin());
    let mut rng = Rng::stream(seed, 0);
    let mut places = Vec::new();
    for i in 0..BOTS + COINS {
        // Nobody begins inside another, or with a coin in hand.
        let free = |here: &Vec3| places.iter().all(|there: &Vec3| there.distance(*here) > 2.0);
        let here = std::iter::repeat_with(|| place(&mut rng)).take(100).find(free).unwrap_or(Vec3::Y * HEIGHT);
        places.push(here);
        world.add_shared(if i < BOTS { &bot } else { &coin }, Pose::at(here), Velocity::ZERO);
    }
    world
}

/// Anywhere on the field.
pub(crate) fn place(rng: &mut Rng) -> Vec3 {
    let far = HALF - 2.0;
    Vec3::new(rng.between(-far, far), HEIGHT, rng.between(-far, far))
}

/// A bot glides over the ground and does not turn.
fn bot() -> Arc<BodyDesc> {
    Arc::new(BodyDesc {
        density: 200.0,
        friction: 0.0,
        restitution: 0.3,
        gravity_scale: 0.0,
        groups: Groups { memberships: BOT_GROUP, filter: BOT_GROUP | COIN_GROUP },
        locked: LockedAxes { translation: [false, true, false], rotation: [true; 3] },
        user_data: BOT,
        ..BodyDesc::dynamic(Shape::ball(0.45))
    })
}

/// A coin stays where it is until a bot comes through it.
pub(crate) fn coin() -> Arc<BodyDesc> {
    Arc::new(BodyDesc {
        gravity_scale: 0.0,
        groups: Groups { memberships: COIN_GROUP, filter: BOT_GROUP },
        locked: LockedAxes { translation: [false, true, false], rotation: [true; 3] },
        sensor: true,
        user_data: COIN,
        ..BodyDesc::dynamic(Shape::ball(0.3))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_game_is_laid_out_on_any_number_of_servers() {
        let (one, four) = (field(1, 7), field(4, 7));
        assert_eq!(one.bodies, four.bodies);
        assert_eq!(one.bodies.len() as u32, 1 + BOTS + COINS);
        assert_ne!(field(4, 8).bodies, four.bodies, "another seed, another field");
        assert_ne!(one.layout, four.layout);
    }
}
