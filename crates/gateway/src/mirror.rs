//! Answers to what is where, from the replicas and the statics of the world.
//!
//! Nothing is kept before somebody asks. From then on the mirror follows the replicas, moved bodies only, until nobody
//! has asked for a while.

use nimbus_model::{Tick, Velocity, World};
use nimbus_physics::{Filter, QueryMirror, RayHit, ShapeHit};
use nimbus_wire::client::{Hit, NearestBody, OVERLAP_BODIES_MAX, Overlapping, Query, QueryAnswer, QueryFilter};

use crate::Counters;
use crate::replicas::{Replica, Replicas};

/// A mirror that nobody asked for this many ticks is given up: ten seconds at 60 Hz.
const IDLE_TICKS: u64 = 600;

/// The places of all bodies, once somebody has asked.
#[derive(Debug, Default)]
pub(crate) struct Mirror {
    bodies: Option<QueryMirror>,
    asked_at: Tick,
    /// What the places are of, as far as somebody asked since the last tick.
    picture_of: Option<Tick>,
}

/// What a mirror is made of.
#[derive(Clone, Copy)]
pub(crate) struct Picture<'a> {
    pub(crate) world: &'a World,
    pub(crate) era: u16,
    pub(crate) replicas: &'a Replicas,
    pub(crate) now: Tick,
}

/// The tick that answers are of, the answers, and how many bodies were tried for them.
pub(crate) type Answered = (Tick, Vec<QueryAnswer>, u64);

impl Mirror {
    /// Takes over what changed in this tick. Must come before [`Replicas::end_tick`].
    pub(crate) fn follow(&mut self, now: Tick, replicas: &Replicas, counters: &mut Counters) {
        self.picture_of = None;
        self.bodies.take_if(|_| now.since(self.asked_at) > IDLE_TICKS);
        let Some(bodies) = &mut self.bodies else { return };
        let changes = replicas.changes();
        for slot in &changes.destroyed {
            bodies.remove(*slot);
        }
        for replica in changes.created.iter().filter_map(|slot| replicas.get(*slot)) {
            let inserted = bodies.insert(replica.slot, replica.nid, &replica.desc, replica.pose);
            counters.mirror_refused += u64::from(inserted.is_err());
        }
        for replica in changes.moved.iter().filter_map(|slot| replicas.get(*slot)) {
            bodies.place(replica.slot, replica.pose);
        }
    }

    /// Another world is loaded.
    pub(crate) fn clear(&mut self) {
        *self = Mirror::default();
    }

    /// True while the mirror follows the replicas.
    pub(crate) fn is_kept(&self) -> bool {
        self.bodies.is_some()
    }

    /// Answers between two ticks. The error is how many bodies were tried when that became more than `tries_max`.
    pub(crate) fn answer(
        &mut self,
        picture: Picture<'_>,
        queries: &[Query],
        filter: &QueryFilter,
        tries_max: u64,
        counters: &mut Counters,
    ) -> Result<Answered, u64> {
        self.asked_at = picture.now;
        let bodies = self.bodies.get_or_insert_with(|| build(picture, counters));
        bodies.settle();
        let before = bodies.tried();
        let filter = Filter {
            statics: filter.statics,
            owned: filter.bodies,
            sensors: filter.sensors,
            groups: filter.groups,
            except: filter.except,
        };
        let mut answers = Vec::with_capacity(queries.len());
        for query in queries {
            answers.push(answer(bodies, query, filter));
            let tried = bodies.tried() - before;
            if tried > tries_max {
                return Err(tried);
            }
        }
        let tried = bodies.tried() - before;
        let tick = *self.picture_of.get_or_insert_with(|| tick_of(picture));
        Ok((tick, answers, tried))
    }
}

fn build(picture: Picture<'_>, counters: &mut Counters) -> QueryMirror {
    let mut bodies = QueryMirror::new(picture.world, picture.era);
    for replica in picture.replicas.iter() {
        let inserted = bodies.insert(replica.slot, replica.nid, &replica.desc, replica.pose);
        counters.mirror_refused += u64::from(inserted.is_err());
    }
    bodies
}

/// The tick that all places are at least of: that of the body in motion of which least was heard. What is at rest is where
/// it is, however long ago that was said.
fn tick_of(picture: Picture<'_>) -> Tick {
    let moves = |replica: &&Replica| !replica.sleeping && replica.velocity != Velocity::ZERO;
    let oldest = picture.replicas.iter().filter(moves).map(|replica| replica.stamp.tick).min();
    oldest.map_or(picture.now, |tick| tick.min(picture.now))
}

fn answer(bodies: &mut QueryMirror, query: &Query, filter: Filter) -> QueryAnswer {
    match query {
        Query::Ray { origin, direction, max } => {
            let hit = bodies.ray_cast(*origin, *direction, *max, filter);
            QueryAnswer::Ray(hit.map(|RayHit { nid, distance, point, normal }| Hit { nid, distance, point, normal }))
        }
        Query::Cast { shape, pose, direction, max } => {
            let hit = bodies.shape_cast(shape, *pose, *direction, *max, filter);
            QueryAnswer::Cast(hit.map(|ShapeHit { nid, distance, point, normal }| Hit { nid, distance, point, normal }))
        }
        Query::Overlap { shape, pose } => {
            let mut nids = bodies.overlap(shape, *pose, filter);
            let total = nids.len() as u64;
            nids.truncate(OVERLAP_BODIES_MAX);
            QueryAnswer::Overlap(Overlapping { bodies: nids, total })
        }
        Query::Nearest { position, max } => {
            let near = bodies.nearest(*position, *max, filter);
            let told = |near: nimbus_physics::Nearest| NearestBody {
                nid: near.nid,
                distance: near.distance,
                point: near.point,
            };
            QueryAnswer::Nearest(near.map(told))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::Vec3;

    #[test]
    fn nothing_is_kept_unless_somebody_asks() {
        let (mut mirror, mut counters) = (Mirror::default(), Counters::default());
        let (world, replicas) = (World::new("empty"), Replicas::default());
        mirror.follow(Tick(1), &replicas, &mut counters);
        assert!(!mirror.is_kept());
        let picture = Picture { world: &world, era: 1, replicas: &replicas, now: Tick(1) };
        let query = Query::Nearest { position: Vec3::ZERO, max: 1.0 };
        let answered = mirror.answer(picture, &[query], &QueryFilter::default(), 1, &mut counters);
        assert_eq!(answered, Ok((Tick(1), vec![QueryAnswer::Nearest(None)], 0)));
        mirror.follow(Tick(1 + IDLE_TICKS), &replicas, &mut counters);
        assert!(mirror.is_kept());
        mirror.follow(Tick(2 + IDLE_TICKS), &replicas, &mut counters);
        assert!(!mirror.is_kept(), "given up when nobody asks any more");
    }
}
