//! Questions about what is where, and their answers.

use nimbus_model::{Groups, Nid, Pose, Quat, RegionId, Shape, Tick, Vec3};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fields::{Fields, flag, kind_of, nid, pose, shape, vec3, within};
use super::from_client::elements;
use super::{FromClient, nid_text};

/// Most questions in one `query`.
pub const QUERIES_MAX: usize = 256;
/// Farthest that a question looks, metres: more than the diagonal of any world.
pub const QUERY_REACH_MAX: f32 = 20_000.0;
/// Greatest bounding radius of a shape in a question, metres: one that meets everything is a slow way to ask for the
/// list of bodies, which a client has already.
pub const QUERY_RADIUS_MAX: f32 = 100.0;
/// Most points and parts of a shape in a question: the shape is built for it and thrown away.
pub const QUERY_ELEMENTS_MAX: usize = 64;
/// Most bodies named in the answer to one `overlap`; the rest are only counted.
pub const OVERLAP_BODIES_MAX: usize = 256;

const KINDS: [&str; 4] = ["ray", "cast", "overlap", "nearest"];

/// One question. Its numbers are finite, its direction has a length, its shape is sound and solid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Query {
    /// What does a ray meet first?
    Ray {
        /// Where it starts, metres.
        origin: Vec3,
        /// Where it goes; of any length.
        direction: Vec3,
        /// How far, metres.
        max: f32,
    },
    /// What does a shape meet first when it moves without turning?
    Cast {
        /// Its form.
        shape: Shape,
        /// Where it starts.
        pose: Pose,
        /// Where it goes; of any length.
        direction: Vec3,
        /// How far, metres.
        max: f32,
    },
    /// What does a shape overlap?
    Overlap {
        /// Its form.
        shape: Shape,
        /// Where it is.
        pose: Pose,
    },
    /// What is nearest to a place?
    Nearest {
        /// The place, metres.
        position: Vec3,
        /// How far away at most, metres.
        max: f32,
    },
}

/// Which bodies count for a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryFilter {
    /// What never moves counts.
    pub statics: bool,
    /// All other bodies count.
    pub bodies: bool,
    /// Bodies that only report touches count.
    pub sensors: bool,
    /// Only bodies that a body of these groups would touch count.
    pub groups: Groups,
    /// This body does not count: the one that asks, for example.
    pub except: Option<Nid>,
}

impl Default for QueryFilter {
    /// Everything solid.
    fn default() -> QueryFilter {
        QueryFilter { statics: true, bodies: true, sensors: false, groups: Groups::default(), except: None }
    }
}

/// Whose word the answers are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authority {
    /// The gateway's, at once: what it heard last.
    #[default]
    Gateway,
    /// That of every server, after one tick that is to come.
    Servers {
        /// Which tick, if it matters; else one that comes soon.
        at: Option<Tick>,
    },
}

/// Where a ray or a moving shape first meets a body.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// Which body.
    #[serde(with = "nid_text::one")]
    pub nid: Nid,
    /// How far along the way, metres; zero if it starts inside.
    pub distance: f32,
    /// Where they touch.
    pub point: Vec3,
    /// Outward direction of the body's surface there; zero where a ray starts inside.
    pub normal: Vec3,
}

/// The point of a body that is nearest to a place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NearestBody {
    /// Which body.
    #[serde(with = "nid_text::one")]
    pub nid: Nid,
    /// How far away, metres; zero if the place is inside.
    pub distance: f32,
    /// The nearest point.
    pub point: Vec3,
}

/// Bodies that overlap a shape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlapping {
    /// Those of the lowest ids, in order, up to [`OVERLAP_BODIES_MAX`].
    #[serde(with = "nid_text::several")]
    pub bodies: Vec<Nid>,
    /// How many there are.
    pub total: u64,
}

/// The answer to one question, under the same name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueryAnswer {
    /// To a ray; none when it meets nothing.
    Ray(Option<Hit>),
    /// To a moving shape; none when it meets nothing.
    Cast(Option<Hit>),
    /// To an overlap.
    Overlap(Overlapping),
    /// To the nearest body; none when there is none within reach.
    Nearest(Option<NearestBody>),
}

/// The answers to a `query`, in the order of its questions, all for the same places of all bodies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hits {
    /// The client's number for it.
    pub seq: Option<u64>,
    /// The tick that the places are of: of the gateway's own answers, that of the server of which least was heard.
    pub tick: Tick,
    /// How many ticks ago that was.
    pub age: u64,
    /// One to each question.
    pub answers: Vec<QueryAnswer>,
    /// Of answers of the servers: the regions whose bodies may be left out; none are when it is empty. `None` of the
    /// gateway's own answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Vec<RegionId>>,
}

impl Query {
    /// True when it is as the type promises; questions from clients always are.
    pub(crate) fn is_sound(&self) -> bool {
        let reaches = |max: f32| (0.0..=QUERY_REACH_MAX).contains(&max);
        let points = |direction: Vec3| direction.is_finite() && direction.try_normalize().is_some();
        match self {
            Query::Ray { origin, direction, max } => origin.is_finite() && points(*direction) && reaches(*max),
            Query::Cast { shape, pose, direction, max } => {
                solid_problem(shape).is_none() && pose.is_valid() && points(*direction) && reaches(*max)
            }
            Query::Overlap { shape, pose } => solid_problem(shape).is_none() && pose.is_valid(),
            Query::Nearest { position, max } => position.is_finite() && reaches(*max),
        }
    }
}

/// A question as it is written; borrowed, so that sending a shape does not copy it.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum QueryText<'a> {
    Ray { origin: Vec3, direction: Vec3, max: f32 },
    Cast { shape: &'a Shape, position: Vec3, rotation: Quat, direction: Vec3, max: f32 },
    Overlap { shape: &'a Shape, position: Vec3, rotation: Quat },
    Nearest { position: Vec3, max: f32 },
}

impl<'a> From<&'a Query> for QueryText<'a> {
    fn from(query: &'a Query) -> QueryText<'a> {
        match query {
            Query::Ray { origin, direction, max } => {
                QueryText::Ray { origin: *origin, direction: *direction, max: *max }
            }
            Query::Cast { shape, pose: Pose { position, rotation }, direction, max } => {
                QueryText::Cast { shape, position: *position, rotation: *rotation, direction: *direction, max: *max }
            }
            Query::Overlap { shape, pose: Pose { position, rotation } } => {
                QueryText::Overlap { shape, position: *position, rotation: *rotation }
            }
            Query::Nearest { position, max } => QueryText::Nearest { position: *position, max: *max },
        }
    }
}

/// A filter as it is written.
#[derive(Serialize)]
pub(super) struct FilterText {
    statics: bool,
    bodies: bool,
    sensors: bool,
    groups: Groups,
    #[serde(skip_serializing_if = "Option::is_none")]
    except: Option<String>,
}

impl From<&QueryFilter> for FilterText {
    fn from(filter: &QueryFilter) -> FilterText {
        let QueryFilter { statics, bodies, sensors, groups, except } = *filter;
        FilterText { statics, bodies, sensors, groups, except: except.map(|nid| nid.to_string()) }
    }
}

/// The fields of a `query`.
pub(super) fn parse(fields: &Fields) -> Result<FromClient, String> {
    let Some(Value::Array(asked)) = fields.get("queries") else {
        return Err("`queries` is missing: an array of questions such as {\"ray\": {...}}".to_owned());
    };
    if asked.is_empty() || asked.len() > QUERIES_MAX {
        return Err(format!("`queries` has {} questions; it must have 1 to {QUERIES_MAX}", asked.len()));
    }
    let numbered = |(i, value)| one(value).map_err(|reason| format!("`queries[{i}]`: {reason}"));
    let queries = asked.iter().enumerate().map(numbered).collect::<Result<Vec<Query>, String>>()?;
    let filter = fields.get("filter").map_or(Ok(QueryFilter::default()), filter)?;
    Ok(FromClient::Query { queries, filter, authority: authority(fields)? })
}

fn authority(fields: &Fields) -> Result<Authority, String> {
    let servers = fields.contains_key("authoritative") && flag(fields, "authoritative")?;
    match fields.get("at") {
        None if servers => Ok(Authority::Servers { at: None }),
        None => Ok(Authority::Gateway),
        Some(_) if !servers => Err("`at` is for questions to the servers: say `authoritative` as well".to_owned()),
        Some(at) => match at.as_u64() {
            Some(at) => Ok(Authority::Servers { at: Some(Tick(at)) }),
            None => Err("`at` must be a tick: a whole number".to_owned()),
        },
    }
}

fn one(value: &Value) -> Result<Query, String> {
    let Value::Object(object) = value else {
        return Err(format!("a question is an object, not {}", kind_of(value)));
    };
    let named = object.iter().next().filter(|_| object.len() == 1);
    let (kind, fields) = match named {
        Some((kind, Value::Object(fields))) => (kind.as_str(), fields),
        Some((kind, other)) => return Err(format!("`{}` is {}, not an object", shown(kind), kind_of(other))),
        None => return Err(format!("a question has one name: {}", KINDS.join(", "))),
    };
    let reach = || within(fields, "max", 0.0, QUERY_REACH_MAX);
    Ok(match kind {
        "ray" => Query::Ray { origin: vec3(fields, "origin")?, direction: direction(fields)?, max: reach()? },
        "cast" => {
            let (shape, pose) = (solid(fields)?, pose(fields)?);
            Query::Cast { shape, pose, direction: direction(fields)?, max: reach()? }
        }
        "overlap" => Query::Overlap { shape: solid(fields)?, pose: pose(fields)? },
        "nearest" => Query::Nearest { position: vec3(fields, "position")?, max: reach()? },
        unknown => return Err(format!("there is no question `{}`; there are {}", shown(unknown), KINDS.join(", "))),
    })
}

fn direction(fields: &Fields) -> Result<Vec3, String> {
    let direction = vec3(fields, "direction")?;
    match direction.try_normalize() {
        Some(_) => Ok(direction),
        None => Err("`direction` has no length; it must point somewhere".to_owned()),
    }
}

fn solid(fields: &Fields) -> Result<Shape, String> {
    let shape = shape(fields)?;
    match solid_problem(&shape) {
        Some(problem) => Err(problem),
        None => Ok(shape),
    }
}

/// Why a shape cannot be asked with.
fn solid_problem(shape: &Shape) -> Option<String> {
    if shape.is_surface() {
        return Some("`shape` has no inside; ask with a solid shape".to_owned());
    }
    let elements = elements(shape);
    if elements > QUERY_ELEMENTS_MAX {
        return Some(format!("`shape` has {elements} points and parts; in a question at most {QUERY_ELEMENTS_MAX}"));
    }
    let radius = || {
        let radius = shape.bounding_radius();
        let text = format!("`shape` has a radius of {radius} m; in a question at most {QUERY_RADIUS_MAX} m");
        (radius > QUERY_RADIUS_MAX).then_some(text)
    };
    shape.problem().or_else(radius)
}

fn filter(value: &Value) -> Result<QueryFilter, String> {
    let Value::Object(fields) = value else {
        return Err(format!("`filter` is {}; it must be an object", kind_of(value)));
    };
    let mut filter = QueryFilter::default();
    for (name, value) in fields {
        match name.as_str() {
            "statics" => filter.statics = flag(fields, name)?,
            "bodies" => filter.bodies = flag(fields, name)?,
            "sensors" => filter.sensors = flag(fields, name)?,
            "groups" => {
                filter.groups = Groups::deserialize(value).map_err(|error| format!("`groups`: {error}"))?;
            }
            "except" => filter.except = Some(nid(fields, name)?),
            unknown => {
                let known = "statics, bodies, sensors, groups, except";
                return Err(format!("`filter` has no `{}`; it has {known}", shown(unknown)));
            }
        }
    }
    Ok(filter)
}

/// A name from outside, short enough for a reason.
fn shown(name: &str) -> String {
    name.chars().take(40).collect()
}

#[cfg(test)]
#[path = "query_tests.rs"]
mod tests;
