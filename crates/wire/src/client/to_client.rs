//! Text messages from a gateway to a client.

use nimbus_model::{Aabb, BodySpawn, ClientId, Nid, Placed, Quat, RegionId, Shape, Tolerances, Vec3, World};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

use super::{BodyCard, BreachNews, ClientRole, Hits, TouchNews, WorldStats, nid_text};

/// A world that a client may ask for by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SceneInfo {
    /// What to ask for.
    pub name: String,
    /// One sentence for people who choose.
    pub about: String,
}

/// A body that never moves: sent once, with the world or when it is put in, and never again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StaticBody {
    /// Its id.
    #[serde(with = "nid_text::one")]
    pub nid: Nid,
    /// Its form.
    pub shape: Shape,
    /// Where it stands, metres.
    pub position: Vec3,
    /// How it is turned.
    pub rotation: Quat,
}

impl StaticBody {
    fn new(nid: Nid, body: &BodySpawn) -> StaticBody {
        let BodySpawn { desc, pose, .. } = body;
        StaticBody { nid, shape: desc.shape.clone(), position: pose.position, rotation: pose.rotation }
    }
}

/// A box in JSON, which has no infinity: a bound that is infinite is null.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// Lowest corner, metres.
    pub min: [Option<f32>; 3],
    /// Highest corner, metres.
    pub max: [Option<f32>; 3],
}

impl From<&Aabb> for Bounds {
    fn from(bounds: &Aabb) -> Bounds {
        let finite = |corner: Vec3| corner.to_array().map(|value| value.is_finite().then_some(value));
        Bounds { min: finite(bounds.min), max: finite(bounds.max) }
    }
}

impl From<&Bounds> for Aabb {
    fn from(bounds: &Bounds) -> Aabb {
        let min = bounds.min.map(|value| value.unwrap_or(f32::NEG_INFINITY));
        let max = bounds.max.map(|value| value.unwrap_or(f32::INFINITY));
        Aabb::new(Vec3::from_array(min), Vec3::from_array(max))
    }
}

/// The space a region has, for the viewer to draw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegionShape {
    /// Which region.
    pub id: RegionId,
    /// Boxes that make it up.
    pub boxes: Vec<Bounds>,
}

/// A text message from a gateway to a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum ToClient {
    /// The first message of all.
    Welcome {
        /// Version of the client protocol.
        protocol: u32,
        /// The gateway's number for the client.
        client: ClientId,
        /// What the client may do.
        role: ClientRole,
        /// Worlds to ask for.
        scenes: Vec<SceneInfo>,
    },
    /// A world was loaded; every body and shape known before is void.
    World {
        /// How often a world was loaded.
        era: u16,
        /// Its name.
        name: String,
        /// One sentence about it.
        about: String,
        /// Ticks a second.
        tick_hz: u32,
        /// Bodies outside it die.
        kill_box: Bounds,
        /// Acceleration of free fall, m/s2.
        gravity: Vec3,
        /// What the servers promise.
        tolerances: Tolerances,
        /// No body that moves reaches further from its middle, metres.
        radius_max: f32,
        /// What never moves.
        statics: Vec<StaticBody>,
    },
    /// Which region has which part of space.
    Map {
        /// Rises with every change.
        epoch: u64,
        /// The regions by number.
        regions: Vec<RegionShape>,
    },
    /// A shape that bodies created from now on may name.
    Shape {
        /// Its number.
        id: u32,
        /// Its form.
        shape: Shape,
    },
    /// How the timeline runs.
    Clock {
        /// True when it stands still.
        paused: bool,
        /// The speed that was asked for; 1 is real time.
        speed: f32,
        /// The share of that speed at which time passes. Less than 1 while the world slows down because a region cannot keep
        /// up (time dilation). Left out when it is 1.
        #[serde(default = "undilated", skip_serializing_if = "is_undilated")]
        dilation: f32,
    },
    /// The figures of the world.
    Stats(WorldStats),
    /// What is known of a body, for whoever asked.
    Body(BodyCard),
    /// What is where, for whoever asked.
    Hits(Hits),
    /// Promises that are void, in force or recent: all that are known, in place of those told before.
    Breaches {
        /// How many there were since the servers started.
        total: u64,
        /// The latest, oldest first.
        recent: Vec<BreachNews>,
    },
    /// A command was carried out.
    Done {
        /// The client's number for it.
        seq: Option<u64>,
        /// The body it was about, if any.
        #[serde(with = "nid_text::maybe")]
        nid: Option<Nid>,
    },
    /// A command was refused.
    Refused {
        /// The client's number for it, when it could be read.
        seq: Option<u64>,
        /// Why, for a person.
        reason: String,
    },
    /// What lets the client in the next time, where tokens are asked for.
    Ticket {
        /// Good once, as the same role.
        token: String,
    },
    /// Where all gateways of this world are, where there are several.
    Gateways {
        /// Each as `host:port`.
        at: Vec<String>,
    },
    /// Statics were put into the world or taken out of it.
    Statics {
        /// Those that came.
        added: Vec<StaticBody>,
        /// Those that went.
        #[serde(with = "nid_text::several")]
        removed: Vec<Nid>,
    },
    /// Touches that began and ended, for whoever asked to be told.
    Touches {
        /// In order for each pair of bodies.
        touches: Vec<TouchNews>,
        /// How many more there were that are not told of.
        left_out: u64,
    },
}

const KNOWN: [&str; 15] = [
    "welcome", "world", "map", "shape", "clock", "stats", "body", "hits", "breaches", "done", "refused", "ticket",
    "gateways", "statics", "touches",
];

impl ToClient {
    /// The message that announces a world.
    pub fn world(world: &World, era: u16) -> ToClient {
        ToClient::World {
            era,
            name: world.name.clone(),
            about: world.about.clone(),
            tick_hz: world.tick_hz,
            kill_box: Bounds::from(&world.kill_box),
            gravity: world.gravity,
            tolerances: world.tolerances,
            radius_max: world.radius_max,
            statics: world.statics().map(|(index, body)| StaticBody::new(Nid::of_world(era, index), body)).collect(),
        }
    }

    /// The message that tells how the statics put into a world have changed.
    pub fn statics(before: &Placed, after: &Placed, era: u16) -> ToClient {
        let added = after.statics.iter().filter(|new| !before.contains(era, new.nid(era)));
        let removed = before.statics.iter().map(|old| old.nid(era)).filter(|nid| !after.contains(era, *nid));
        ToClient::Statics {
            added: added.map(|new| StaticBody::new(new.nid(era), &new.body)).collect(),
            removed: removed.collect(),
        }
    }

    /// The message as JSON.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("plain data with string keys always serialises")
    }

    /// Text as a message: `None` for a type this version does not know, which is to be skipped.
    pub fn parse(text: &str) -> Result<Option<ToClient>, String> {
        #[derive(Deserialize)]
        struct Kind<'a> {
            #[serde(rename = "type", borrow)]
            kind: Cow<'a, str>,
        }
        let kind: Kind<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if !KNOWN.contains(&kind.kind.as_ref()) {
            return Ok(None);
        }
        serde_json::from_str(text).map(Some).map_err(|error| error.to_string())
    }
}

fn undilated() -> f32 {
    1.0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_undilated(dilation: &f32) -> bool {
    *dilation == 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Factor;
    use crate::client::{HandOver, NodeStats};
    use nimbus_model::{BodyDesc, Origin, Pose, Tick, Velocity};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn check(message: ToClient, text: &str) {
        assert_eq!(message.to_text(), text);
        assert_eq!(ToClient::parse(text), Ok(Some(message)));
    }

    #[test]
    fn texts_are_those_of_the_protocol_page() {
        let scenes = vec![SceneInfo { name: "rain".into(), about: "It rains.".into() }];
        check(
            ToClient::Welcome { protocol: 1, client: ClientId(7), role: ClientRole::Player, scenes },
            r#"{"type":"welcome","protocol":1,"client":7,"role":"player","scenes":[{"name":"rain","about":"It rains."}]}"#,
        );
        let half = Aabb::new(Vec3::new(-10.5, f32::NEG_INFINITY, 0.0), Vec3::INFINITY);
        let regions = vec![RegionShape { id: RegionId(2), boxes: vec![Bounds::from(&half)] }];
        assert_eq!(Aabb::from(&regions[0].boxes[0]), half);
        check(
            ToClient::Map { epoch: 3, regions },
            r#"{"type":"map","epoch":3,"regions":[{"id":2,"boxes":[{"min":[-10.5,null,0.0],"max":[null,null,null]}]}]}"#,
        );
        check(
            ToClient::Shape { id: 4, shape: Shape::ball(0.3) },
            r#"{"type":"shape","id":4,"shape":{"ball":{"radius":0.3}}}"#,
        );
        let clock = |dilation| ToClient::Clock { paused: true, speed: 0.5, dilation };
        check(clock(1.0), r#"{"type":"clock","paused":true,"speed":0.5}"#);
        check(clock(0.25), r#"{"type":"clock","paused":true,"speed":0.5,"dilation":0.25}"#);
        let nid = Some(Nid::new(Origin(7), 42));
        check(ToClient::Done { seq: Some(9), nid }, r#"{"type":"done","seq":9,"nid":"7.42"}"#);
        check(ToClient::Done { seq: None, nid: None }, r#"{"type":"done","seq":null,"nid":null}"#);
        check(ToClient::Refused { seq: Some(1), reason: "no".into() }, r#"{"type":"refused","seq":1,"reason":"no"}"#);
        check(ToClient::Ticket { token: "v1.x".into() }, r#"{"type":"ticket","token":"v1.x"}"#);
        check(ToClient::Gateways { at: vec!["a:1".into()] }, r#"{"type":"gateways","at":["a:1"]}"#);
        let touch = TouchNews { tick: Tick(9), one: Nid::new(Origin(0), 8), two: Nid::new(Origin(7), 42), began: true };
        check(
            ToClient::Touches { touches: vec![touch], left_out: 2 },
            r#"{"type":"touches","touches":[{"tick":9,"one":"0.8","two":"7.42","began":true}],"left_out":2}"#,
        );
    }

    #[test]
    fn stats_are_those_of_the_protocol_page() {
        let node = NodeStats {
            region: Some(RegionId(0)),
            bodies: 503,
            awake: 490,
            step_ms_p50: 1.9,
            step_ms_p99: 3.2,
            migrations: 17,
            epoch: 1,
            tick: Tick(1234),
            skew_ms: 0.2,
            alive: true,
            ..NodeStats::default()
        };
        let stats = WorldStats {
            tick: Tick(1234),
            bodies: 2000,
            clients: 1,
            scene: "rain".into(),
            era: 1,
            speed: 1.0,
            dilation: 1.0,
            nodes: vec![node],
            ..WorldStats::default()
        };
        let object = concat!(
            r#""tick":1234,"bodies":2000,"clients":1,"scene":"rain","era":1,"paused":false,"speed":1.0,"dilation":1.0,"#,
            r#""nodes":[{"id":0,"region":0,"bodies":503,"awake":490,"step_ms_p50":1.9,"step_ms_p99":3.2,"#,
            r#""migrations":17,"auras":0,"ghosts":0,"breaches":0,"epoch":1,"#,
            r#""tick":1234,"late_ticks":0,"skew_ms":0.2,"alive":true,"killable":false}]}"#,
        );
        assert_eq!(serde_json::to_string(&stats).unwrap(), format!("{{{object}"));
        check(ToClient::Stats(stats), &format!(r#"{{"type":"stats",{object}"#));
    }

    #[test]
    fn cards_and_breaches_are_those_of_the_protocol_page() {
        let card = BodyCard {
            seq: Some(4),
            nid: Nid::new(Origin(7), 42),
            region: RegionId(1),
            epoch: 3,
            tick: Tick(900),
            velocity: Velocity::linear(Vec3::X),
            sleeping: false,
            desc: Arc::new(BodyDesc::dynamic(Shape::ball(0.5))),
            hand_overs: 2,
            history: vec![HandOver { tick: Tick(800), from: RegionId(0), to: RegionId(1), epoch: 3 }],
        };
        check(
            ToClient::Body(card),
            concat!(
                r#"{"type":"body","seq":4,"nid":"7.42","region":1,"epoch":3,"tick":900,"#,
                r#""velocity":{"linear":[1.0,0.0,0.0],"angular":[0.0,0.0,0.0]},"sleeping":false,"#,
                r#""desc":{"kind":"dynamic","shape":{"ball":{"radius":0.5}},"density":1000.0,"friction":0.5,"#,
                r#""restitution":0.0,"linear_damping":0.0,"angular_damping":0.0,"gravity_scale":1.0,"#,
                r#""groups":{"memberships":4294967295,"filter":4294967295},"#,
                r#""locked":{"translation":[false,false,false],"rotation":[false,false,false]},"#,
                r#""sensor":false,"ccd":false,"can_sleep":true,"user_data":0},"#,
                r#""hand_overs":2,"history":[{"tick":800,"from":0,"to":1,"epoch":3}]}"#,
            ),
        );
        let breach = BreachNews {
            tick: Tick(5),
            region: RegionId(2),
            factor: Factor::FrameTime,
            value: 40.5,
            limit: 15.0,
            bodies: vec![Nid::new(Origin(0), 8)],
        };
        check(
            ToClient::Breaches { total: 6, recent: vec![breach] },
            concat!(
                r#"{"type":"breaches","total":6,"recent":[{"tick":5,"region":2,"factor":"frame_time","#,
                r#""value":40.5,"limit":15.0,"bodies":["0.8"]}]}"#,
            ),
        );
        for factor in Factor::ALL {
            assert_eq!(serde_json::to_string(&factor).unwrap(), format!("\"{factor}\""), "one word everywhere");
        }
    }

    #[test]
    fn a_world_announces_only_what_never_moves() {
        let mut world = World::new("pile");
        world.kill_box = Aabb::around(Vec3::ZERO, Vec3::splat(9.0));
        world.gravity = Vec3::new(0.0, -9.75, 0.0);
        world.add_ground(50.0, 50.0);
        world.add(BodyDesc::dynamic(Shape::ball(0.5)), Pose::IDENTITY, Velocity::ZERO);
        check(
            ToClient::world(&world, 3),
            concat!(
                r#"{"type":"world","era":3,"name":"pile","about":"","tick_hz":60,"#,
                r#""kill_box":{"min":[-9.0,-9.0,-9.0],"max":[9.0,9.0,9.0]},"gravity":[0.0,-9.75,0.0],"#,
                r#""tolerances":{"speed":32.0,"latency_ms":4.0,"frame_ms":28.0},"radius_max":4.0,"#,
                r#""statics":[{"nid":"0.12884901888","shape":{"cuboid":"#,
                r#"{"half":[50.0,1.0,50.0]}},"position":[0.0,-1.0,0.0],"rotation":[0.0,0.0,0.0,1.0]}]}"#
            ),
        );
    }

    #[test]
    fn statics_that_come_and_go_are_told_by_id() {
        let world = World::new("pile");
        let ball = |placed: &Placed| placed.with(&world, 1, BodyDesc::fixed(Shape::ball(0.5)), Pose::IDENTITY).unwrap();
        let (one, first) = ball(&Placed::default());
        let (two, second) = ball(&one);
        let last = two.without(1, first).unwrap();
        check(
            ToClient::statics(&one, &last, 1),
            &format!(
                concat!(
                    r#"{{"type":"statics","added":[{{"nid":"{}","shape":{{"ball":{{"radius":0.5}}}},"#,
                    r#""position":[0.0,0.0,0.0],"rotation":[0.0,0.0,0.0,1.0]}}],"removed":["{}"]}}"#
                ),
                second, first
            ),
        );
        assert_eq!(ToClient::statics(&two, &two, 1), ToClient::Statics { added: vec![], removed: vec![] });
    }

    #[test]
    fn unknown_types_are_skipped_and_broken_ones_are_errors() {
        assert_eq!(ToClient::parse(r#"{"type":"weather","rain":true}"#), Ok(None));
        assert!(ToClient::parse(r#"{"type":"clock","paused":7}"#).is_err());
        assert!(ToClient::parse(r#"{"kind":"clock"}"#).is_err());
        assert!(ToClient::parse("[").is_err());
    }

    proptest! {
        #[test]
        fn rubbish_never_panics(text in ".{0,200}", kind in 0..KNOWN.len(), tail in "[\\[\\]{}\",:a-z0-9.-]{0,80}") {
            let _ = ToClient::parse(&text);
            let _ = ToClient::parse(&format!(r#"{{"type":"{}",{tail}}}"#, KNOWN[kind]));
        }
    }
}
