//! Text messages from a client: commands, parsed into values that cannot be wrong or into a reason for a person.

use nimbus_model::{BodyDesc, BodyKind, JointDesc, Nid, Pose, Quat, RegionBox, RegionId, Shape, Tick, Vec3, nearest};
use serde::Serialize;
use serde_json::Value;

use super::edits::{self, DrawnBox, StaticSpawn};
use super::fields::{Fields, flag, kind_of, nid, number, pose, sequence, shape, vec3, within};
use super::game;
use super::query::{self, Authority, FilterText, Query, QueryFilter, QueryText};
use super::{Overlay, TEXT_BYTES_MAX, TouchesOf, Watch};
use crate::command::join_problem;

/// Slowest speed of the timeline.
pub const SPEED_MIN: f32 = 0.05;
/// Greatest speed of the timeline.
pub const SPEED_MAX: f32 = 4.0;
/// Most ticks one `step` command runs: a minute at 60 Hz.
pub const STEP_TICKS_MAX: u32 = 3600;
/// Most points and parts a spawned shape has in all; more would let one command slow a server down.
pub const ELEMENTS_MAX: usize = 512;
/// Most values in one message, and most objects among them: a value takes far more memory than characters, and an object
/// more than any other. A compound of [`ELEMENTS_MAX`] parts has fewer.
const VALUES_MAX: usize = 8_192;
const OBJECTS_MAX: usize = 1_280;
const SCENE_NAME_MAX: usize = 64;
/// Most names in one `overlays` command.
const OVERLAY_NAMES_MAX: usize = 16;
const REASON_CHARS_MAX: usize = 300;

/// A body that a client asks for. Its description has no problem and its numbers are finite; whether the world has
/// room for it is for the gateway to say.
#[derive(Clone, Debug, PartialEq)]
pub struct Spawn {
    /// Dynamic or kinematic.
    pub kind: BodyKind,
    /// Its form.
    pub shape: Shape,
    /// Where it starts; the rotation is of unit length.
    pub pose: Pose,
    /// How fast it starts, m/s.
    pub velocity: Vec3,
    /// Mass per volume, kg/m3.
    pub density: f32,
    /// Bounciness, 0 to 1.
    pub restitution: f32,
    /// Coulomb coefficient.
    pub friction: f32,
}

impl Spawn {
    /// A body of this form with everything else at its default.
    pub fn new(shape: Shape, position: Vec3, velocity: Vec3) -> Spawn {
        let usual = BodyDesc::dynamic(Shape::ball(1.0));
        Spawn {
            kind: usual.kind,
            shape,
            pose: Pose::at(position),
            velocity,
            density: usual.density,
            restitution: usual.restitution,
            friction: usual.friction,
        }
    }

    /// The body as servers know it.
    pub fn desc(&self) -> BodyDesc {
        BodyDesc {
            density: self.density,
            restitution: self.restitution,
            friction: self.friction,
            ..BodyDesc::new(self.kind, self.shape.clone())
        }
    }
}

/// Something a client asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum FromClient {
    /// Make a body.
    Spawn(Spawn),
    /// Push a body.
    Impulse {
        /// Which.
        nid: Nid,
        /// How hard, N s.
        impulse: Vec3,
    },
    /// Remove a body.
    Despawn {
        /// Which.
        nid: Nid,
    },
    /// Hold two bodies together.
    Join {
        /// The first body.
        one: Nid,
        /// The second body.
        two: Nid,
        /// What holds them; nothing is wrong with it.
        joint: JointDesc,
    },
    /// Load the present world again.
    Reset,
    /// Load another world.
    Scene {
        /// Which.
        name: String,
    },
    /// Stop or resume the timeline.
    Pause {
        /// True to stop.
        paused: bool,
    },
    /// Run some ticks while paused.
    Step {
        /// How many, from 1 to [`STEP_TICKS_MAX`].
        ticks: u32,
    },
    /// Slow motion or fast forward.
    Speed {
        /// From [`SPEED_MIN`] to [`SPEED_MAX`].
        factor: f32,
    },
    /// See these on top of the bodies from now on, and nothing else.
    Overlays {
        /// Which, in order and each once.
        on: Vec<Overlay>,
    },
    /// Ask what is known of a body.
    Inspect {
        /// Which.
        nid: Nid,
    },
    /// End a server at once, without a word, where that is allowed.
    Kill {
        /// Which, by the number that the figures give it.
        server: u16,
    },
    /// Ask what is where.
    Query {
        /// At most [`super::QUERIES_MAX`], each sound.
        queries: Vec<Query>,
        /// Which bodies count for all of them.
        filter: QueryFilter,
        /// Whose word the answers are to be.
        authority: Authority,
    },
    /// From now on see what this view shows, and nothing else.
    Watch(Watch),
    /// Tell the game something about a body.
    Game {
        /// Which.
        nid: Nid,
        /// What, in the game's own words; at most [`nimbus_model::GAME_COMMAND_BYTES_MAX`].
        payload: Vec<u8>,
    },
    /// Give a body another velocity; what is not named stays.
    Velocity {
        /// Which.
        nid: Nid,
        /// m/s.
        linear: Option<Vec3>,
        /// rad/s.
        angular: Option<Vec3>,
    },
    /// Move a kinematic body to a place, evenly.
    Target {
        /// Which.
        nid: Nid,
        /// Where to; the rotation is of unit length.
        pose: Pose,
        /// In how many ticks, from 1 to [`super::TARGET_TICKS_MAX`].
        ticks: u32,
    },
    /// Put a static into the world, for everybody at one tick.
    Static(StaticSpawn),
    /// Draw the regions anew, for everybody at one tick.
    Regions {
        /// At most [`super::REGION_BOXES_MAX`]; the first that holds a place wins. They may reach to infinity.
        boxes: Vec<RegionBox>,
        /// Who has what no box holds.
        rest: RegionId,
    },
    /// From now on be told of these touches that begin and end, and of no others.
    Touches {
        /// Whose.
        of: TouchesOf,
    },
}

/// A command with the number its sender gave it.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// Comes back in the answer.
    pub seq: Option<u64>,
    /// What is asked for.
    pub command: FromClient,
}

/// Why text is not a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// The sender's number for it, when that much could be read.
    pub seq: Option<u64>,
    /// For a person.
    pub reason: String,
}

const KNOWN: [&str; 20] = [
    "spawn", "impulse", "despawn", "join", "reset", "scene", "pause", "step", "speed", "overlays", "inspect", "kill",
    "query", "watch", "game", "velocity", "target", "static", "regions", "touches",
];

impl FromClient {
    /// Text from outside as a command, or why it is none.
    pub fn parse(text: &str) -> Result<Parsed, Reject> {
        if text.len() > TEXT_BYTES_MAX {
            let reason = format!("the message has {} bytes; at most {TEXT_BYTES_MAX} are read", text.len());
            return Err(Reject { seq: None, reason });
        }
        let (values, objects) = text.bytes().fold((0, 0), |(values, objects), byte| {
            (values + usize::from(matches!(byte, b',' | b':' | b'[' | b'{')), objects + usize::from(byte == b'{'))
        });
        if values > VALUES_MAX || objects > OBJECTS_MAX {
            let reason =
                format!("the message has too many values; {VALUES_MAX} are read, {OBJECTS_MAX} of them objects");
            return Err(Reject { seq: None, reason });
        }
        let value = serde_json::from_str(text)
            .map_err(|error| Reject { seq: None, reason: format!("the message is not JSON: {error}") })?;
        let Value::Object(fields) = value else {
            let reason = format!("a command is a JSON object, not {}", kind_of(&value));
            return Err(Reject { seq: None, reason });
        };
        let reject = |seq, reason: String| Reject { seq, reason: reason.chars().take(REASON_CHARS_MAX).collect() };
        let seq = sequence(&fields).map_err(|reason| reject(None, reason))?;
        let command = command(&fields).map_err(|reason| reject(seq, reason))?;
        Ok(Parsed { seq, command })
    }

    /// The command as JSON, as a client sends it.
    pub fn to_text(&self, seq: Option<u64>) -> String {
        let text = Text { seq, ask: Ask::from(self) };
        serde_json::to_string(&text).expect("plain data with string keys always serialises")
    }
}

fn command(fields: &Fields) -> Result<FromClient, String> {
    let kind = match fields.get("type") {
        Some(Value::String(kind)) => kind.as_str(),
        Some(other) => return Err(format!("`type` is {}; it must be one of {}", kind_of(other), KNOWN.join(", "))),
        None => return Err(format!("a command needs a `type`: one of {}", KNOWN.join(", "))),
    };
    Ok(match kind {
        "spawn" => FromClient::Spawn(spawn(fields)?),
        "impulse" => FromClient::Impulse { nid: nid(fields, "nid")?, impulse: vec3(fields, "impulse")? },
        "despawn" => FromClient::Despawn { nid: nid(fields, "nid")? },
        "join" => join(fields)?,
        "reset" => FromClient::Reset,
        "scene" => FromClient::Scene { name: scene(fields)? },
        "pause" => FromClient::Pause { paused: flag(fields, "paused")? },
        "step" => FromClient::Step { ticks: within(fields, "ticks", 1.0, STEP_TICKS_MAX as f32)?.floor() as u32 },
        "speed" => FromClient::Speed { factor: within(fields, "factor", SPEED_MIN, SPEED_MAX)? },
        "overlays" => FromClient::Overlays { on: overlays(fields)? },
        "inspect" => FromClient::Inspect { nid: nid(fields, "nid")? },
        "kill" => FromClient::Kill { server: within(fields, "server", 0.0, f32::from(u16::MAX))?.floor() as u16 },
        "query" => query::parse(fields)?,
        "watch" => FromClient::Watch(Watch::parse(fields)?),
        "game" => FromClient::Game { nid: nid(fields, "nid")?, payload: game::payload(fields)? },
        "velocity" => edits::velocity(fields)?,
        "target" => edits::target(fields)?,
        "static" => edits::fixed(fields)?,
        "regions" => edits::regions(fields)?,
        "touches" => FromClient::Touches { of: TouchesOf::parse(fields)? },
        unknown => {
            let shown: String = unknown.chars().take(40).collect();
            return Err(match nearest(unknown, KNOWN) {
                Some(near) => format!("there is no command `{shown}`; did you mean `{near}`?"),
                None => format!("there is no command `{shown}`; there are {}", KNOWN.join(", ")),
            });
        }
    })
}

fn spawn(fields: &Fields) -> Result<Spawn, String> {
    let mut spawn = Spawn::new(shape(fields)?, vec3(fields, "position")?, vec3(fields, "velocity")?);
    spawn.pose = pose(fields)?;
    spawn.kind = match fields.get("kind") {
        None => spawn.kind,
        Some(Value::String(kind)) if kind == "dynamic" => BodyKind::Dynamic,
        Some(Value::String(kind)) if kind == "kinematic" => BodyKind::Kinematic,
        Some(_) => {
            return Err("`kind` must be \"dynamic\" or \"kinematic\"; statics have a command `static`".to_owned());
        }
    };
    for (name, field) in
        [("density", &mut spawn.density), ("restitution", &mut spawn.restitution), ("friction", &mut spawn.friction)]
    {
        if let Some(value) = fields.get(name) {
            *field = number(name, value)?;
        }
    }
    let elements = elements(&spawn.shape);
    if elements > ELEMENTS_MAX {
        return Err(format!("`shape` has {elements} points and parts; a spawned one has at most {ELEMENTS_MAX}"));
    }
    match spawn.desc().problem() {
        Some(problem) => Err(problem),
        None => Ok(spawn),
    }
}

/// Points and parts of a shape; zero for those that are described by a size.
pub(super) fn elements(shape: &Shape) -> usize {
    match shape {
        Shape::Ball { .. } | Shape::Cuboid { .. } => 0,
        Shape::Capsule { .. } | Shape::Cylinder { .. } | Shape::Cone { .. } => 0,
        Shape::ConvexHull { points } => points.len(),
        Shape::Compound { parts } => parts.iter().map(|(_, part)| 1 + elements(part)).sum(),
        Shape::TriMesh { vertices, triangles } => vertices.len() + triangles.len(),
        Shape::HeightField { heights, .. } => heights.len(),
    }
}

fn join(fields: &Fields) -> Result<FromClient, String> {
    let (one, two) = (nid(fields, "one")?, nid(fields, "two")?);
    let joint = fields.get("joint").ok_or("`joint` is missing: what holds the bodies together")?;
    let joint: JointDesc = serde::Deserialize::deserialize(joint).map_err(|error| format!("`joint`: {error}"))?;
    match join_problem(one, two, &joint) {
        Some(problem) => Err(problem),
        None => Ok(FromClient::Join { one, two, joint }),
    }
}

fn scene(fields: &Fields) -> Result<String, String> {
    match fields.get("name") {
        Some(Value::String(name)) if !name.is_empty() && name.chars().count() <= SCENE_NAME_MAX => Ok(name.clone()),
        Some(Value::String(_)) => Err(format!("`name` must have 1 to {SCENE_NAME_MAX} characters")),
        _ => Err("`name` is missing: the scene, as a string".to_owned()),
    }
}

fn overlays(fields: &Fields) -> Result<Vec<Overlay>, String> {
    let Some(Value::Array(names)) = fields.get("on") else {
        return Err("`on` is missing: the overlays to see, as an array of names".to_owned());
    };
    if names.len() > OVERLAY_NAMES_MAX {
        return Err(format!("`on` has {} names; there are only {} overlays", names.len(), Overlay::ALL.len()));
    }
    let named = |name: &Value| match name {
        Value::String(name) => Overlay::named(name),
        other => Err(format!("`on` holds {}; it must hold names", kind_of(other))),
    };
    let mut on = names.iter().map(named).collect::<Result<Vec<_>, _>>()?;
    on.sort_unstable();
    on.dedup();
    Ok(on)
}

#[derive(Serialize)]
struct Text<'a> {
    #[serde(flatten)]
    ask: Ask<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
}

/// The commands as they are written; borrowed, so that sending a shape does not copy it.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Ask<'a> {
    Spawn {
        #[serde(skip_serializing_if = "is_dynamic")]
        kind: BodyKind,
        shape: &'a Shape,
        position: Vec3,
        velocity: Vec3,
        rotation: Quat,
        density: f32,
        restitution: f32,
        friction: f32,
    },
    Impulse {
        nid: String,
        impulse: Vec3,
    },
    Despawn {
        nid: String,
    },
    Join {
        one: String,
        two: String,
        joint: &'a JointDesc,
    },
    Reset,
    Scene {
        name: &'a str,
    },
    Pause {
        paused: bool,
    },
    Step {
        ticks: u32,
    },
    Kill {
        server: u16,
    },
    Speed {
        factor: f32,
    },
    Overlays {
        on: &'a [Overlay],
    },
    Inspect {
        nid: String,
    },
    Query {
        queries: Vec<QueryText<'a>>,
        filter: FilterText,
        #[serde(skip_serializing_if = "Option::is_none")]
        authoritative: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        at: Option<Tick>,
    },
    Watch(Watch),
    Game {
        nid: String,
        data: &'a [u8],
    },
    Velocity {
        nid: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        linear: Option<Vec3>,
        #[serde(skip_serializing_if = "Option::is_none")]
        angular: Option<Vec3>,
    },
    Target {
        nid: String,
        position: Vec3,
        rotation: Quat,
        ticks: u32,
    },
    Static {
        shape: &'a Shape,
        position: Vec3,
        rotation: Quat,
        friction: f32,
        restitution: f32,
    },
    Regions {
        boxes: Vec<DrawnBox>,
        rest: RegionId,
    },
    Touches {
        of: &'a TouchesOf,
    },
}

fn is_dynamic(kind: &BodyKind) -> bool {
    *kind == BodyKind::Dynamic
}

impl<'a> From<&'a FromClient> for Ask<'a> {
    fn from(command: &'a FromClient) -> Ask<'a> {
        match command {
            FromClient::Spawn(spawn) => Ask::Spawn {
                kind: spawn.kind,
                shape: &spawn.shape,
                position: spawn.pose.position,
                velocity: spawn.velocity,
                rotation: spawn.pose.rotation,
                density: spawn.density,
                restitution: spawn.restitution,
                friction: spawn.friction,
            },
            FromClient::Impulse { nid, impulse } => Ask::Impulse { nid: nid.to_string(), impulse: *impulse },
            FromClient::Despawn { nid } => Ask::Despawn { nid: nid.to_string() },
            FromClient::Join { one, two, joint } => Ask::Join { one: one.to_string(), two: two.to_string(), joint },
            FromClient::Reset => Ask::Reset,
            FromClient::Scene { name } => Ask::Scene { name },
            FromClient::Pause { paused } => Ask::Pause { paused: *paused },
            FromClient::Step { ticks } => Ask::Step { ticks: *ticks },
            FromClient::Kill { server } => Ask::Kill { server: *server },
            FromClient::Speed { factor } => Ask::Speed { factor: *factor },
            FromClient::Overlays { on } => Ask::Overlays { on },
            FromClient::Inspect { nid } => Ask::Inspect { nid: nid.to_string() },
            FromClient::Query { queries, filter, authority } => Ask::Query {
                queries: queries.iter().map(QueryText::from).collect(),
                filter: filter.into(),
                authoritative: matches!(authority, Authority::Servers { .. }).then_some(true),
                at: match authority {
                    Authority::Servers { at } => *at,
                    Authority::Gateway => None,
                },
            },
            FromClient::Watch(watch) => Ask::Watch(*watch),
            FromClient::Game { nid, payload } => Ask::Game { nid: nid.to_string(), data: payload },
            FromClient::Velocity { nid, linear, angular } => {
                Ask::Velocity { nid: nid.to_string(), linear: *linear, angular: *angular }
            }
            FromClient::Target { nid, pose, ticks } => {
                Ask::Target { nid: nid.to_string(), position: pose.position, rotation: pose.rotation, ticks: *ticks }
            }
            FromClient::Static(fixed) => Ask::Static {
                shape: &fixed.shape,
                position: fixed.pose.position,
                rotation: fixed.pose.rotation,
                friction: fixed.friction,
                restitution: fixed.restitution,
            },
            FromClient::Regions { boxes, rest } => {
                Ask::Regions { boxes: boxes.iter().map(DrawnBox::from).collect(), rest: *rest }
            }
            FromClient::Touches { of } => Ask::Touches { of },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reason(text: &str) -> String {
        FromClient::parse(text).unwrap_err().reason
    }

    #[test]
    fn many_small_values_are_refused_before_they_become_large() {
        let refused = |text: String| FromClient::parse(&text).unwrap_err().reason;
        let list = |entry: &str, count: usize| format!(r#"{{"type":"spawn","x":[{}]}}"#, vec![entry; count].join(","));
        assert!(refused(list("0", VALUES_MAX + 1)).contains("too many values"));
        assert!(refused(list("{}", OBJECTS_MAX + 1)).contains("too many values"));
        let parts = vec![(Pose::at(Vec3::new(0.25, 0.5, -0.25)), Shape::ball(0.5)); 300];
        let spawn = FromClient::Spawn(Spawn::new(Shape::Compound { parts }, Vec3::ZERO, Vec3::ZERO));
        assert_eq!(FromClient::parse(&spawn.to_text(None)).map(|parsed| parsed.command), Ok(spawn));
    }

    #[test]
    fn the_commands_of_the_protocol_page_are_understood() {
        let text = r#"{"type":"spawn","seq":3,"shape":{"cuboid":{"half":[1,2,3]}},"position":[0,5,0],
            "velocity":[1.5,0,0],"rotation":[0,0,0,2],"density":300,"friction":0.9}"#;
        let parsed = FromClient::parse(text).unwrap();
        let mut spawn = Spawn::new(Shape::cuboid(1.0, 2.0, 3.0), Vec3::new(0.0, 5.0, 0.0), Vec3::new(1.5, 0.0, 0.0));
        spawn.density = 300.0;
        spawn.friction = 0.9;
        assert_eq!(parsed, Parsed { seq: Some(3), command: FromClient::Spawn(spawn) }, "the rotation is made unit");
        let text = r#"{"type":"join","one":"0.1","two":"1.2","joint":{"kind":{"rope":{"length":3}},"contacts":true,
            "anchor_a":{"position":[0,1,0],"rotation":[0,0,0,1]},"anchor_b":{"position":[0,0,0],"rotation":[0,0,0,1]}}}"#;
        let rope = JointDesc::new(nimbus_model::JointKind::Rope { length: 3.0 }, Vec3::Y, Vec3::ZERO);
        let joint = JointDesc { contacts: true, ..rope };
        let join = FromClient::Join { one: "0.1".parse().unwrap(), two: "1.2".parse().unwrap(), joint };
        assert_eq!(FromClient::parse(text).unwrap().command, join);
        assert_eq!(FromClient::parse(&join.to_text(None)).unwrap().command, join);
        let parsed = FromClient::parse(r#"{"type":"speed","factor":0.25}"#).unwrap();
        assert_eq!(parsed, Parsed { seq: None, command: FromClient::Speed { factor: 0.25 } });
        let parsed = FromClient::parse(r#"{"type":"overlays","on":["in-transit","auras","in-transit"]}"#).unwrap();
        let on = vec![Overlay::Auras, Overlay::InTransit];
        assert_eq!(parsed.command, FromClient::Overlays { on }, "in order and each once");
    }

    #[test]
    fn reasons_name_what_is_wrong() {
        let join = |kind: &str, one: &str, two: &str, x: i32| {
            let anchor = |x| format!(r#"{{"position":[{x},0,0],"rotation":[0,0,0,1]}}"#);
            let ends = format!(r#""anchor_a":{},"anchor_b":{},"contacts":false"#, anchor(0), anchor(x));
            format!(r#"{{"type":"join","one":"{one}","two":"{two}","joint":{{"kind":{kind},{ends}}}}}"#)
        };
        for (text, part) in [
            (r#"{"type":"spwan"}"#, "did you mean `spawn`"),
            (r#"{"type":"explode"}"#, "there are spawn, impulse"),
            (r#"{"seq":1}"#, "needs a `type`"),
            (r#"{"type":4}"#, "`type` is a number"),
            ("[]", "not an array"),
            ("{\"type\":", "not JSON"),
            (r#"{"type":"despawn","nid":42}"#, "such as \"0.42\""),
            (r#"{"type":"despawn","nid":"42"}"#, "not a body id"),
            (r#"{"type":"impulse","nid":"0.1","impulse":[0,null,0]}"#, "`impulse[1]` is null"),
            (r#"{"type":"impulse","nid":"0.1","impulse":[0,0,1e30]}"#, "`impulse[2]` is 1e30"),
            (r#"{"type":"impulse","nid":"0.1","impulse":[0,0]}"#, "has 2 numbers"),
            (
                r#"{"type":"spawn","shape":{"ball":{"radius":-1}},"position":[0,0,0],"velocity":[0,0,0]}"#,
                "radius is -1",
            ),
            (r#"{"type":"spawn","shape":{"bal":{"radius":1}},"position":[0,0,0],"velocity":[0,0,0]}"#, "`ball`"),
            (
                r#"{"type":"spawn","shape":{"ball":{"radius":1e39}},"position":[0,0,0],"velocity":[0,0,0]}"#,
                "radius is inf",
            ),
            (r#"{"type":"spawn","shape":{"ball":{"radius":1}},"velocity":[0,0,0]}"#, "`position` is missing"),
            (r#"{"type":"step","ticks":0}"#, "from 1 to 3600"),
            (r#"{"type":"speed","factor":100}"#, "from 0.05 to 4"),
            (r#"{"type":"pause","paused":"yes"}"#, "true or false"),
            (r#"{"type":"scene","name":""}"#, "1 to 64"),
            (r#"{"type":"overlays","on":["aura"]}"#, "did you mean `auras`"),
            (r#"{"type":"overlays","on":["qqqqqqqq"]}"#, "there are auras, clusters"),
            (r#"{"type":"overlays","on":[7]}"#, "`on` holds a number"),
            (r#"{"type":"overlays"}"#, "`on` is missing"),
            (r#"{"type":"inspect"}"#, "`nid` is missing"),
            (r#"{"type":"join","one":"0.1"}"#, "`two` is missing"),
            (r#"{"type":"join","one":"0.1","two":"0.2"}"#, "`joint` is missing"),
            (r#"{"type":"join","one":"0.1","two":"0.2","joint":{"kind":"glue"}}"#, "`joint`: unknown variant `glue`"),
            (&join(r#""spherical""#, "0.1", "0.1", 0), "to itself"),
            (&join(r#""spherical""#, "0.1", "0.2", 101), "further than 100 m"),
            (&join(r#"{"rope":{"length":0}}"#, "0.1", "0.2", 0), "length is 0"),
            (r#"{"type":"reset","seq":-1}"#, "`seq` must be"),
        ] {
            assert!(reason(text).contains(part), "{text}: {}", reason(text));
        }
        assert_eq!(FromClient::parse(r#"{"type":"spwan","seq":8}"#).unwrap_err().seq, Some(8));
    }

    #[test]
    fn too_long_or_too_deep_or_too_rich_is_refused() {
        assert!(reason(&" ".repeat(TEXT_BYTES_MAX + 1)).contains("65537 bytes"));
        assert!(reason(&"[".repeat(60_000)).contains("too many values"));
        assert!(reason(&"[".repeat(8_000)).contains("not JSON"), "nested too deep");
        let points: Vec<String> = (0..2000).map(|i| format!("[{i},{},1]", i % 7)).collect();
        let text = format!(
            r#"{{"type":"spawn","shape":{{"convex-hull":{{"points":[{}]}}}},"position":[0,0,0],"velocity":[0,0,0]}}"#,
            points.join(",")
        );
        assert!(reason(&text).contains("2000 points"), "{}", reason(&text));
        let long = format!(r#"{{"type":"{}"}}"#, "x".repeat(60_000));
        assert!(reason(&long).chars().count() <= REASON_CHARS_MAX);
    }

    fn vector() -> impl Strategy<Value = Vec3> {
        (-1e4f32..1e4, -1e4f32..1e4, -1e4f32..1e4).prop_map(|(x, y, z)| Vec3::new(x, y, z))
    }

    fn any_command() -> impl Strategy<Value = FromClient> {
        let shape = prop_oneof![
            (0.01f32..100.0).prop_map(Shape::ball),
            (0.01f32..9.0, 0.01f32..9.0, 0.01f32..9.0).prop_map(|(x, y, z)| Shape::cuboid(x, y, z)),
            (0.01f32..9.0, 0.01f32..9.0).prop_map(|(half_height, radius)| Shape::Capsule { half_height, radius }),
        ];
        let spawn = (shape, vector(), vector(), 0.0f32..1.0, 1.0f32..1e4).prop_map(|(shape, p, v, bounce, density)| {
            FromClient::Spawn(Spawn { restitution: bounce, density, ..Spawn::new(shape, p, v) })
        });
        prop_oneof![
            spawn,
            (any::<u64>(), vector()).prop_map(|(nid, impulse)| FromClient::Impulse { nid: Nid(nid), impulse }),
            any::<u64>().prop_map(|nid| FromClient::Despawn { nid: Nid(nid) }),
            Just(FromClient::Reset),
            "[a-z\"\\\\é]{1,20}".prop_map(|name| FromClient::Scene { name }),
            any::<bool>().prop_map(|paused| FromClient::Pause { paused }),
            (1..=STEP_TICKS_MAX).prop_map(|ticks| FromClient::Step { ticks }),
            any::<u16>().prop_map(|server| FromClient::Kill { server }),
            (SPEED_MIN..SPEED_MAX).prop_map(|factor| FromClient::Speed { factor }),
            prop::sample::subsequence(&Overlay::ALL[..], 0..=4).prop_map(|on| FromClient::Overlays { on }),
            any::<u64>().prop_map(|nid| FromClient::Inspect { nid: Nid(nid) }),
        ]
    }

    proptest! {
        #[test]
        fn commands_survive_the_wire(command in any_command(), seq in any::<Option<u64>>()) {
            prop_assert_eq!(FromClient::parse(&command.to_text(seq)), Ok(Parsed { seq, command }));
        }

        #[test]
        fn rubbish_never_panics(text in ".{0,200}", kind in 0..KNOWN.len(), tail in "[\\[\\]{}\",:a-z0-9.-]{0,80}") {
            let _ = FromClient::parse(&text);
            let _ = FromClient::parse(&format!(r#"{{"type":"{}",{tail}}}"#, KNOWN[kind]));
        }

        #[test]
        fn damaged_commands_never_panic(command in any_command(), at in any::<prop::sample::Index>(), byte in 32u8..127) {
            let mut text = command.to_text(Some(1)).into_bytes();
            let at = at.index(text.len());
            text[at] = byte;
            let _ = FromClient::parse(&String::from_utf8_lossy(&text));
        }
    }
}
