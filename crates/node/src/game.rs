//! Game logic of a developer's own, as a server sees it.
//!
//! A [`Game`] has no memory. What it must remember it writes to bodies, and that goes where they go: to other servers,
//! backups and checkpoints. So a game is a function of the world, and runs the same wherever its bodies are.

use nimbus_model::{BodyDesc, GameState, Keepsake, Motion, Nid, Pose, Rng, Shape, Tick, Vec3, Velocity, World, coding};
use nimbus_physics::{BodyView, Filter, Nearest, PhysicsWorld, RayHit};
use nimbus_wire::CommandRef;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::contact_events::Contact;
use crate::reigns::Reigns;

/// What a game may do in one call of a hook.
const ACTS_PER_CALL_MAX: usize = 64;
/// What a game may say in one call of a hook.
const EVENTS_PER_CALL_MAX: usize = 16;
/// What a game may do on one server in one tick, in all.
const ACTS_PER_TICK_MAX: usize = 1 << 16;
/// Bodies that a game may make on one server in one tick, in all.
const BIRTHS_PER_TICK_MAX: usize = 1_024;

/// The rules of a game. Every server runs the same ones, on the bodies that it owns.
///
/// Hooks are called after the engine has stepped and before bodies change server: commands first, then touches, then every
/// body in the order of ids. They must depend on nothing but the [`Turn`]: no clock, no ambient randomness, no memory of
/// their own. Otherwise a backup that takes over, and a replay, become another world.
pub trait Game: Send + Sync {
    /// Whether [`Game::on_tick`] is to be called for bodies like this.
    fn minds(&self, desc: &BodyDesc) -> bool {
        let _ = desc;
        true
    }

    /// Whether the whole world may slow down when a server cannot keep up (time dilation). Without it such a server skips
    /// ticks, and says so with a breach.
    fn may_slow_down(&self) -> bool {
        true
    }

    /// Called for a body at every tick that its server runs.
    fn on_tick(&self, turn: &mut Turn<'_>, body: Nid) {
        let _ = (turn, body);
    }

    /// Called once for two bodies that began to touch, by whichever server has them. Bodies that go on touching while they
    /// change server do not begin again. What touched while it was on its way is told on arrival, under its own tick. A body
    /// may be gone by now: ask [`Turn::body`].
    fn on_contact(&self, turn: &mut Turn<'_>, contact: Contact) {
        let _ = (turn, contact);
    }

    /// Called once for a command of a client to a body, on the server that has it; or refused with a reason for a person.
    /// What was done before a refusal stands.
    fn on_command(&self, turn: &mut Turn<'_>, body: Nid, by: CommandRef, payload: &[u8]) -> Result<(), String> {
        let _ = (turn, body, by, payload);
        Err("this game takes no commands".to_owned())
    }
}

/// The rules of a game, shared by every server of a process.
#[derive(Clone)]
pub struct Rules(Arc<dyn Game>);

impl Rules {
    /// The rules of this game.
    pub fn new(game: impl Game + 'static) -> Rules {
        Rules(Arc::new(game))
    }
}

impl Deref for Rules {
    type Target = dyn Game;

    fn deref(&self) -> &(dyn Game + 'static) {
        &*self.0
    }
}

impl PartialEq for Rules {
    fn eq(&self, other: &Rules) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rules")
    }
}

/// Something that a game says about a body. What it means is for the game to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GameEvent {
    /// When.
    pub tick: Tick,
    /// About which body.
    pub nid: Nid,
    /// What.
    pub kind: u16,
    /// How much.
    pub value: i64,
}

/// A body that a game makes.
#[derive(Clone, Debug, PartialEq)]
pub struct NewBody {
    /// What it is.
    pub desc: Arc<BodyDesc>,
    /// How it starts.
    pub motion: Motion,
    /// What the game keeps with it from the start.
    pub state: GameState,
}

impl NewBody {
    /// A body that rests at a place, with nothing kept.
    pub fn at(desc: impl Into<Arc<BodyDesc>>, place: Vec3) -> NewBody {
        let motion = Motion::new(Pose::at(place), Velocity::ZERO);
        NewBody { desc: desc.into(), motion, state: GameState::default() }
    }
}

/// Something that a game wants done to a body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Wish {
    Push(Vec3),
    Velocity(Velocity),
    Force(Vec3, Vec3),
    Despawn,
    Birth(NewBody),
}

/// What the calls of one tick have asked for so far.
#[derive(Default)]
pub(crate) struct Wishes {
    /// Each with its body, in the order in which they were asked for.
    pub(crate) acts: Vec<(Nid, Wish)>,
    pub(crate) doomed: BTreeSet<Nid>,
    pub(crate) events: Vec<GameEvent>,
    /// What was beyond a limit.
    pub(crate) refused: u64,
    births: usize,
    acts_of_call: usize,
    events_of_call: usize,
}

impl Wishes {
    /// A hook is about to be called.
    pub(crate) fn begin_call(&mut self) {
        (self.acts_of_call, self.events_of_call) = (0, 0);
    }

    fn wish(&mut self, nid: Nid, wish: Wish) -> bool {
        let room = self.acts_of_call < ACTS_PER_CALL_MAX && self.acts.len() < ACTS_PER_TICK_MAX;
        if room {
            self.acts_of_call += 1;
            self.acts.push((nid, wish));
        } else {
            self.refused += 1;
        }
        room
    }
}

/// One call of a hook: what a game may look at, and what it may do.
///
/// What it does to bodies is done after all calls of the tick, in the order of ids. Only what it keeps with bodies changes at
/// once; and a body that it removes is gone for the calls that follow.
///
/// A game acts on bodies of the server that asks it. What belongs to other servers it neither sees nor reaches, except that
/// it may make bodies anywhere.
pub struct Turn<'a> {
    pub(crate) now: Tick,
    pub(crate) loaded_at: Tick,
    pub(crate) era: u16,
    pub(crate) world: &'a World,
    pub(crate) physics: &'a PhysicsWorld,
    pub(crate) hosted: &'a Reigns,
    pub(crate) keepsakes: &'a mut BTreeMap<Nid, Keepsake>,
    pub(crate) wishes: &'a mut Wishes,
}

impl Turn<'_> {
    /// The tick that was just stepped.
    pub fn tick(&self) -> Tick {
        self.now
    }

    /// How many ticks the world is old.
    pub fn age(&self) -> u64 {
        self.now.since(self.loaded_at)
    }

    /// The world as it was described.
    pub fn world(&self) -> &World {
        self.world
    }

    /// True for a body of this server that is not about to be removed.
    pub fn is_here(&self, nid: Nid) -> bool {
        self.hosted.contains(nid) && !self.wishes.doomed.contains(&nid)
    }

    /// A body of this server, or a static.
    pub fn body(&self, nid: Nid) -> Option<BodyView<'_>> {
        self.physics.view(nid).filter(|_| !self.wishes.doomed.contains(&nid))
    }

    /// Random numbers of a body at this tick, the same on whichever server it is. Every call begins them anew.
    pub fn rng(&self, nid: Nid) -> Rng {
        Rng::of_body(self.world.seed, nid, self.now)
    }

    /// The first body of this server, or static, that a ray meets within `max` metres. It may have been removed since the
    /// step, as with the other questions.
    pub fn ray(&self, origin: Vec3, direction: Vec3, max: f32, filter: Filter) -> Option<RayHit> {
        self.physics.ray_cast(origin, direction, max, filter)
    }

    /// The bodies of this server, and statics, that a shape at a pose overlaps, sorted.
    pub fn overlap(&self, shape: &Shape, at: Pose, filter: Filter) -> Vec<Nid> {
        self.physics.overlap(shape, at, filter)
    }

    /// The body of this server, or static, nearest to a place, within `max` metres.
    pub fn nearest(&self, place: Vec3, max: f32, filter: Filter) -> Option<Nearest> {
        self.physics.nearest(place, max, filter)
    }

    /// What the game keeps with a body; empty when nothing.
    pub fn state(&self, nid: Nid) -> &[u8] {
        self.keepsakes.get(&nid).map_or(&[], |kept| kept.state.bytes())
    }

    /// Keeps these bytes with a body of this server instead. False when they are too many or the body is not here.
    pub fn set_state(&mut self, nid: Nid, bytes: &[u8]) -> bool {
        match GameState::new(bytes) {
            Ok(state) if self.hosted.contains(nid) => {
                self.keepsakes.entry(nid).or_default().state = state;
                true
            }
            _ => false,
        }
    }

    /// What [`Turn::store`] has kept with a body; none when nothing or something else.
    pub fn load<T: DeserializeOwned>(&self, nid: Nid) -> Option<T> {
        coding::read(self.state(nid)).ok()
    }

    /// Keeps a value with a body of this server. False when it is too large or the body is not here.
    pub fn store(&mut self, nid: Nid, value: &impl Serialize) -> bool {
        self.set_state(nid, &coding::write(value))
    }

    /// Pushes a body, N s. Close to a boundary the push comes some ticks later, when the servers beyond know of it, as with
    /// commands of clients. False when it is not here, or too much was asked for.
    pub fn push(&mut self, nid: Nid, impulse: Vec3) -> bool {
        impulse.is_finite() && self.wish(nid, Wish::Push(impulse))
    }

    /// Gives a body another velocity; close to a boundary some ticks later. False as with [`Turn::push`].
    pub fn set_velocity(&mut self, nid: Nid, velocity: Velocity) -> bool {
        velocity.is_valid() && self.wish(nid, Wish::Velocity(velocity))
    }

    /// Replaces the force and torque that act on a body at every step, N and N m. The right way to steer: other servers
    /// take it into account, so it acts at once everywhere. False as with [`Turn::push`].
    pub fn set_force(&mut self, nid: Nid, force: Vec3, torque: Vec3) -> bool {
        force.is_finite() && torque.is_finite() && self.wish(nid, Wish::Force(force, torque))
    }

    /// Removes a body of this server. False when it is not here or removed already.
    pub fn despawn(&mut self, nid: Nid) -> bool {
        let done = self.wish(nid, Wish::Despawn);
        if done {
            self.wishes.doomed.insert(nid);
        }
        done
    }

    /// Makes a body anywhere in the world at the next tick, or some ticks later on another server or close to a boundary.
    /// It is named after its parent, a body of this server that may be removed in the same call: so it has the same name on
    /// any number of servers. Refused with a reason.
    pub fn spawn(&mut self, parent: Nid, body: NewBody) -> Result<Nid, String> {
        if !self.hosted.contains(parent) {
            return Err(format!("there is no body {parent} here"));
        }
        if let Some(problem) = self.world.spawn_problem(&body.desc, &body.motion) {
            return Err(problem);
        }
        let full = || "too much is asked for at once".to_owned();
        if self.wishes.births >= BIRTHS_PER_TICK_MAX {
            self.wishes.refused += 1;
            return Err(full());
        }
        let kept = self.keepsakes.entry(parent).or_default();
        let nid = Nid::of_game(self.era, parent, kept.children);
        if !self.wishes.wish(nid, Wish::Birth(body)) {
            return Err(full());
        }
        kept.children = kept.children.wrapping_add(1);
        self.wishes.births += 1;
        Ok(nid)
    }

    /// Says something about a body. It is told to whoever listens once it is certain. False when too much was said.
    pub fn emit(&mut self, nid: Nid, kind: u16, value: i64) -> bool {
        let room = self.wishes.events_of_call < EVENTS_PER_CALL_MAX;
        if room {
            self.wishes.events_of_call += 1;
            self.wishes.events.push(GameEvent { tick: self.now, nid, kind, value });
        } else {
            self.wishes.refused += 1;
        }
        room
    }

    fn wish(&mut self, nid: Nid, wish: Wish) -> bool {
        self.is_here(nid) && self.wishes.wish(nid, wish)
    }
}
