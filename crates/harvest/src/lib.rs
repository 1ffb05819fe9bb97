//! Harvest, an example game: bots run for coins.
//!
//! A bot that touches a coin scores. The coin is gone then, and another one appears somewhere else. Bots run to the nearest
//! coin they see, or about; a client may send one somewhere ([`order`]). When the round is over, everybody stops.
//!
//! It shows what a game on many servers has to do, and what not. Nothing in it knows of servers: the score of a bot is kept
//! with the bot, where a coin appears is drawn from the id of the one before it, and where a bot runs from the bot's own
//! numbers. So the game is the same on one server and on many, but for what a bot cannot see across a boundary.

mod field;

use nimbus_model::{BodyDesc, Nid, Rng, Tick, Vec3, coding};
use nimbus_node::{Contact, Game, GameEvent, NewBody, Turn};
use nimbus_physics::Filter;
use nimbus_wire::CommandRef;
use serde::{Deserialize, Serialize};

use field::{BOT, COIN, HALF, SEEN_BY_BOTS, coin, place};
pub use field::{BOTS, COINS, field};

/// A bot has picked up coins: as many as the event's value.
pub const SCORED: u16 = 1;

/// How fast a bot runs, m/s.
const SPEED: f32 = 6.0;
/// How fast it gains speed at the most, m/s2. Not more than free fall: so much, servers allow for in what they do not own.
const GRIP: f32 = 8.0;
/// A bot tries to have the speed it wants after this time, seconds.
const REACTION_S: f32 = 0.15;
/// How far a bot sees, metres.
const SIGHT: f32 = 4.0;
/// A bot that came so close to where it was going goes elsewhere, metres.
const ARRIVED: f32 = 1.5;
/// A bot that was sent somewhere does not look for coins for so many ticks.
const ORDERED_TICKS: u64 = 120;

/// The rules.
#[derive(Clone, Copy, Debug)]
pub struct Harvest {
    /// How long a round lasts, ticks after the world was loaded.
    pub round_ticks: u64,
}

/// What is kept with a bot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Bot {
    score: u32,
    /// Where it is going when it sees no coin.
    goal: Option<(f32, f32)>,
    /// Until then it goes there although it sees one.
    ordered_until: Tick,
}

impl Game for Harvest {
    fn minds(&self, desc: &BodyDesc) -> bool {
        desc.user_data == BOT
    }

    fn on_tick(&self, turn: &mut Turn<'_>, body: Nid) {
        let Some((here, velocity, mass)) = turn.body(body).map(|b| (b.pose.position, b.velocity.linear, b.mass()))
        else {
            return;
        };
        let wanted = if turn.age() >= self.round_ticks { Vec3::ZERO } else { run(turn, body, here) };
        let force = ((wanted - velocity) / REACTION_S).clamp_length_max(GRIP) * mass;
        turn.set_force(body, Vec3::new(force.x, 0.0, force.z), Vec3::ZERO);
    }

    fn on_contact(&self, turn: &mut Turn<'_>, contact: Contact) {
        let role = |nid| turn.body(nid).map(|body| body.desc.user_data);
        let (bot, found) = match (role(contact.one), role(contact.two)) {
            (Some(BOT), Some(COIN)) => (contact.one, contact.two),
            (Some(COIN), Some(BOT)) => (contact.two, contact.one),
            _ => return,
        };
        if turn.age() >= self.round_ticks || !turn.despawn(found) {
            return;
        }
        let mut state: Bot = turn.load(bot).unwrap_or_default();
        state.score += 1;
        turn.store(bot, &state);
        turn.emit(bot, SCORED, 1);
        // From the coin's own numbers, so that the next one is there whoever picks this one up, wherever and whenever.
        let next = place(&mut Rng::of_body(turn.world().seed, found, Tick(0)));
        // A world that has no room for another coin goes on with fewer.
        _ = turn.spawn(found, NewBody::at(coin(), next));
    }

    fn on_command(&self, turn: &mut Turn<'_>, body: Nid, _: CommandRef, payload: &[u8]) -> Result<(), String> {
        if turn.body(body).is_none_or(|body| body.desc.user_data != BOT) {
            return Err("only bots take orders".to_owned());
        }
        let goal = goal_of(payload).ok_or("an order is a place on the field: x and z as two 32-bit floats")?;
        let ordered_until = turn.tick() + ORDERED_TICKS;
        let state: Bot = turn.load(body).unwrap_or_default();
        turn.store(body, &Bot { goal: Some(goal), ordered_until, ..state });
        Ok(())
    }
}

/// The command that sends a bot somewhere on the field.
pub fn order(x: f32, z: f32) -> Vec<u8> {
    [x.to_le_bytes(), z.to_le_bytes()].concat()
}

/// An order to anywhere on the field, and now and then one that is none.
pub fn any_order(rng: &mut Rng) -> Vec<u8> {
    let place = place(rng);
    if rng.chance(0.1) { vec![0xff; rng.below(12) as usize] } else { order(place.x, place.z) }
}

/// The score that is kept with a bot; none for what is no bot's.
pub fn score(state: &[u8]) -> Option<u32> {
    coding::read(state).ok().map(|Bot { score, .. }| score)
}

/// The score of all bots by what the game said.
pub fn score_told<'a>(events: impl IntoIterator<Item = &'a GameEvent>) -> i64 {
    events.into_iter().filter(|event| event.kind == SCORED).map(|event| event.value).sum()
}

fn goal_of(payload: &[u8]) -> Option<(f32, f32)> {
    let (x, z) = payload.split_first_chunk::<4>()?;
    let (x, z) = (f32::from_le_bytes(*x), f32::from_le_bytes(*z.as_array::<4>()?));
    (x.abs() <= HALF && z.abs() <= HALF).then_some((x, z))
}

/// The velocity that a bot wants.
fn run(turn: &mut Turn<'_>, bot: Nid, here: Vec3) -> Vec3 {
    let mut state: Bot = turn.load(bot).unwrap_or_default();
    let ordered = turn.tick() < state.ordered_until;
    let coin = if ordered { None } else { turn.nearest(here, SIGHT, Filter { except: Some(bot), ..SEEN_BY_BOTS }) };
    let to = coin.map(|coin| coin.point).unwrap_or_else(|| {
        let reached = |(x, z): (f32, f32)| here.distance_squared(Vec3::new(x, here.y, z)) < ARRIVED * ARRIVED;
        if state.goal.is_none_or(reached) {
            let elsewhere = place(&mut turn.rng(bot));
            state.goal = Some((elsewhere.x, elsewhere.z));
            turn.store(bot, &state);
        }
        let (x, z) = state.goal.unwrap_or_default();
        Vec3::new(x, here.y, z)
    });
    (to - here).normalize_or_zero() * SPEED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_places_on_the_field() {
        assert_eq!(goal_of(&order(1.5, -2.0)), Some((1.5, -2.0)));
        for bad in [vec![], vec![0; 7], vec![0; 9], order(f32::NAN, 0.0), order(0.0, HALF + 1.0)] {
            assert_eq!(goal_of(&bad), None, "{bad:?}");
        }
    }
}
