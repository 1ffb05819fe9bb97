//! Questions about what is where, and their answers.

use nimbus_model::{Groups, Nid, Pose, Shape, Tick, Vec3};
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
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
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
        #[serde(flatten)]
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
        #[serde(flatten)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
    #[serde(with = "nid_text::maybe", skip_serializing_if = "Option::is_none")]
    pub except: Option<Nid>,
}

impl Default for QueryFilter {
    /// Everything solid.
    fn default() -> QueryFilter {
        QueryFilter { statics: true, bodies: true, sensors: false, groups: Groups::default(), except: None }
    }
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
    /// The tick that the places are of: that of the server of which least was heard.
    pub tick: Tick,
    /// How many ticks ago that was.
    pub age: u64,
    /// One to each question.
    pub answers: Vec<QueryAnswer>,
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
    Ok(FromClient::Query { queries, filter })
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
    if shape.is_surface() {
        return Err("`shape` has no inside; ask with a solid shape".to_owned());
    }
    let elements = elements(&shape);
    if elements > QUERY_ELEMENTS_MAX {
        return Err(format!("`shape` has {elements} points and parts; in a question at most {QUERY_ELEMENTS_MAX}"));
    }
    if let Some(problem) = shape.problem() {
        return Err(problem);
    }
    let radius = shape.bounding_radius();
    if radius > QUERY_RADIUS_MAX {
        return Err(format!("`shape` has a radius of {radius} m; in a question at most {QUERY_RADIUS_MAX} m"));
    }
    Ok(shape)
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
