//! What a server finds among the bodies it owns, the statics, and the bodies that it has given away.

use nimbus_physics::{Filter, QueryMirror, RayHit, ShapeHit};
use nimbus_wire::ask::{Ask, Lowest, Part, PartAnswer};
use nimbus_wire::client::{Hit, NearestBody, Query, QueryFilter};

use crate::node::Node;

/// Bodies that a ray or the search for the nearest looks at, as far as can be told beforehand.
const TRIES_PER_RAY: u64 = 4;
/// The same for a moving shape.
const TRIES_PER_CAST: u64 = 16;

impl Node {
    /// Answers questions from how things are now; none when it would take more than `tries`.
    pub(crate) fn answer(&mut self, ask: &Ask, tries: &mut u64) -> Option<Part> {
        let filter = filter(&ask.filter);
        let answers = ask.queries.iter().map(|query| self.answer_one(query, filter, tries));
        let answers = answers.collect::<Option<Vec<PartAnswer>>>()?;
        if !filter.owned {
            return Some(Part { answers, ..Part::default() });
        }
        let (under_way, unsaid) = self.answer_for_under_way(ask, &answers, filter, tries);
        Some(Part { answers, under_way, unsaid, lanes: self.lane_marks() })
    }

    fn answer_one(&self, query: &Query, filter: Filter, tries: &mut u64) -> Option<PartAnswer> {
        let physics = &self.physics;
        Some(match query {
            Query::Ray { origin, direction, max } => {
                *tries = tries.checked_sub(TRIES_PER_RAY)?;
                PartAnswer::Ray(physics.ray_cast(*origin, *direction, *max, filter).map(ray_hit))
            }
            Query::Cast { shape, pose, direction, max } => {
                *tries = tries.checked_sub(TRIES_PER_CAST)?;
                PartAnswer::Cast(physics.shape_cast(shape, *pose, *direction, *max, filter).map(shape_hit))
            }
            Query::Overlap { shape, pose } => {
                let mut only = |filter| physics.overlap_within(shape, *pose, filter, tries).map(Lowest::of);
                let bodies = only(Filter { statics: false, ..filter })?;
                PartAnswer::Overlap { bodies, statics: only(Filter { owned: false, ..filter })? }
            }
            Query::Nearest { position, max } => {
                *tries = tries.checked_sub(TRIES_PER_RAY)?;
                PartAnswer::Nearest(physics.nearest(*position, *max, filter).map(near))
            }
        })
    }
}

/// The same of some bodies apart from all others.
pub(crate) fn answer_among(bodies: &mut QueryMirror, query: &Query, filter: Filter) -> PartAnswer {
    match query {
        Query::Ray { origin, direction, max } => {
            PartAnswer::Ray(bodies.ray_cast(*origin, *direction, *max, filter).map(ray_hit))
        }
        Query::Cast { shape, pose, direction, max } => {
            PartAnswer::Cast(bodies.shape_cast(shape, *pose, *direction, *max, filter).map(shape_hit))
        }
        Query::Overlap { shape, pose } => {
            let bodies = Lowest::of(bodies.overlap(shape, *pose, filter));
            PartAnswer::Overlap { bodies, statics: Lowest::default() }
        }
        Query::Nearest { position, max } => PartAnswer::Nearest(bodies.nearest(*position, *max, filter).map(near)),
    }
}

fn filter(filter: &QueryFilter) -> Filter {
    Filter {
        statics: filter.statics,
        owned: filter.bodies,
        sensors: filter.sensors,
        groups: filter.groups,
        except: filter.except,
    }
}

fn ray_hit(RayHit { nid, distance, point, normal }: RayHit) -> Hit {
    Hit { nid, distance, point, normal }
}

fn shape_hit(ShapeHit { nid, distance, point, normal }: ShapeHit) -> Hit {
    Hit { nid, distance, point, normal }
}

fn near(near: nimbus_physics::Nearest) -> NearestBody {
    NearestBody { nid: near.nid, distance: near.distance, point: near.point }
}
