//! Commands that steer one body, and commands that change the world for everybody: reading them.

use nimbus_model::{Aabb, BodyDesc, Pose, RegionBox, RegionId, Shape};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Bounds;
use super::fields::{Fields, kind_of, nid, number, pose, shape, vec3, within};
use super::from_client::{ELEMENTS_MAX, FromClient, elements};

/// Most ticks that a kinematic body may take to its target: ten minutes at 60 Hz.
pub const TARGET_TICKS_MAX: u32 = 36_000;
/// Most boxes in one `regions` command.
pub const REGION_BOXES_MAX: usize = 256;

/// A static that a client asks for. Its description has no problem and its numbers are finite; whether the world has
/// room for it is for others to say.
#[derive(Clone, Debug, PartialEq)]
pub struct StaticSpawn {
    /// Its form.
    pub shape: Shape,
    /// Where it stands; the rotation is of unit length.
    pub pose: Pose,
    /// Coulomb coefficient.
    pub friction: f32,
    /// Bounciness, 0 to 1.
    pub restitution: f32,
}

impl StaticSpawn {
    /// A static of this form with everything else at its default.
    pub fn new(shape: Shape, pose: Pose) -> StaticSpawn {
        let usual = BodyDesc::fixed(Shape::ball(1.0));
        StaticSpawn { shape, pose, friction: usual.friction, restitution: usual.restitution }
    }

    /// The body as servers know it.
    pub fn desc(&self) -> BodyDesc {
        let StaticSpawn { friction, restitution, .. } = *self;
        BodyDesc { friction, restitution, ..BodyDesc::fixed(self.shape.clone()) }
    }
}

/// A box of a region as a client writes it; a bound that is null is infinite.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DrawnBox {
    region: RegionId,
    min: [Option<f32>; 3],
    max: [Option<f32>; 3],
}

impl From<&RegionBox> for DrawnBox {
    fn from(drawn: &RegionBox) -> DrawnBox {
        let Bounds { min, max } = Bounds::from(&drawn.bounds);
        DrawnBox { region: drawn.region, min, max }
    }
}

pub(super) fn velocity(fields: &Fields) -> Result<FromClient, String> {
    let asked = |name| fields.contains_key(name).then(|| vec3(fields, name)).transpose();
    let (linear, angular) = (asked("linear")?, asked("angular")?);
    if linear.is_none() && angular.is_none() {
        return Err("`linear` or `angular` is missing: three numbers [x, y, z]; what is left out stays".to_owned());
    }
    Ok(FromClient::Velocity { nid: nid(fields, "nid")?, linear, angular })
}

pub(super) fn target(fields: &Fields) -> Result<FromClient, String> {
    let ticks = within(fields, "ticks", 1.0, TARGET_TICKS_MAX as f32)?.floor() as u32;
    Ok(FromClient::Target { nid: nid(fields, "nid")?, pose: pose(fields)?, ticks })
}

pub(super) fn fixed(fields: &Fields) -> Result<FromClient, String> {
    let mut asked = StaticSpawn::new(shape(fields)?, pose(fields)?);
    for (name, field) in [("friction", &mut asked.friction), ("restitution", &mut asked.restitution)] {
        if let Some(value) = fields.get(name) {
            *field = number(name, value)?;
        }
    }
    let elements = elements(&asked.shape);
    if elements > ELEMENTS_MAX {
        return Err(format!("`shape` has {elements} points and parts; one that is sent has at most {ELEMENTS_MAX}"));
    }
    match asked.desc().problem() {
        Some(problem) => Err(problem),
        None => Ok(FromClient::Static(asked)),
    }
}

pub(super) fn regions(fields: &Fields) -> Result<FromClient, String> {
    let rest = RegionId(within(fields, "rest", 0.0, f32::from(u16::MAX))?.floor() as u16);
    let Some(Value::Array(values)) = fields.get("boxes") else {
        return Err("`boxes` is missing: an array of {region, min, max}, the first that holds a place wins".to_owned());
    };
    if values.len() > REGION_BOXES_MAX {
        return Err(format!("`boxes` has {} entries; at most {REGION_BOXES_MAX} are read", values.len()));
    }
    let boxes = values.iter().enumerate().map(|(i, value)| {
        if !value.is_object() {
            return Err(format!("`boxes[{i}]` is {}; it must be an object of region, min and max", kind_of(value)));
        }
        let drawn: DrawnBox = Deserialize::deserialize(value).map_err(|error| format!("`boxes[{i}]`: {error}"))?;
        let bounds = Aabb::from(&Bounds { min: drawn.min, max: drawn.max });
        if bounds.min.cmpge(bounds.max).any() {
            return Err(format!("`boxes[{i}]` holds nothing; every number of `min` must be less than that of `max`"));
        }
        Ok(RegionBox { region: drawn.region, bounds })
    });
    Ok(FromClient::Regions { boxes: boxes.collect::<Result<_, _>>()?, rest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ClientRole;
    use nimbus_model::{Nid, Quat, Vec3};

    fn parse(text: &str) -> Result<FromClient, String> {
        FromClient::parse(text).map(|parsed| parsed.command).map_err(|reject| reject.reason)
    }

    #[test]
    fn what_changes_the_world_is_read_as_it_is_written() {
        let turned = Pose { position: Vec3::new(1.0, 2.0, 3.0), rotation: Quat::from_rotation_y(0.5) };
        let open = Aabb::new(Vec3::new(-5.0, f32::NEG_INFINITY, 0.0), Vec3::new(5.0, f32::INFINITY, 8.5));
        let table = StaticSpawn { friction: 0.9, ..StaticSpawn::new(Shape::cuboid(3.0, 0.5, 3.0), turned) };
        for (command, role) in [
            (FromClient::Static(table), ClientRole::Builder),
            (
                FromClient::Regions { boxes: vec![RegionBox { region: RegionId(2), bounds: open }], rest: RegionId(1) },
                ClientRole::Builder,
            ),
            (FromClient::Target { nid: Nid(7), pose: turned, ticks: 90 }, ClientRole::Player),
            (FromClient::Velocity { nid: Nid(7), linear: Some(Vec3::X), angular: None }, ClientRole::Player),
            (FromClient::Velocity { nid: Nid(7), linear: None, angular: Some(Vec3::Y) }, ClientRole::Player),
        ] {
            let text = command.to_text(Some(4));
            assert_eq!(ClientRole::needed_for(&command), role, "{text}");
            assert_eq!(parse(&text), Ok(command), "{text}");
        }
        let text = r#"{"type":"regions","boxes":[{"region":2,"min":[-5,null,0],"max":[5,null,8.5]}],"rest":1}"#;
        let expected = vec![RegionBox { region: RegionId(2), bounds: open }];
        assert_eq!(parse(text), Ok(FromClient::Regions { boxes: expected, rest: RegionId(1) }));
    }

    #[test]
    fn reasons_name_what_is_wrong() {
        let many = vec![r#"{"region":0,"min":[0,0,0],"max":[1,1,1]}"#; REGION_BOXES_MAX + 1].join(",");
        for (text, part) in [
            (r#"{"type":"velocity","nid":"0.1"}"#.to_owned(), "what is left out stays"),
            (r#"{"type":"velocity","nid":"0.1","linear":[0,1]}"#.to_owned(), "has 2 numbers"),
            (r#"{"type":"target","nid":"0.1","position":[0,0,0],"ticks":0}"#.to_owned(), "from 1 to 36000"),
            (r#"{"type":"target","nid":"0.1","ticks":5}"#.to_owned(), "`position` is missing"),
            (r#"{"type":"static","position":[0,0,0]}"#.to_owned(), "`shape` is missing"),
            (r#"{"type":"static","shape":{"ball":{"radius":0}},"position":[0,0,0]}"#.to_owned(), "radius is 0"),
            (
                r#"{"type":"static","shape":{"ball":{"radius":1}},"position":[0,0,0],"friction":-1}"#.to_owned(),
                "friction is -1",
            ),
            (r#"{"type":"regions","rest":0}"#.to_owned(), "`boxes` is missing"),
            (r#"{"type":"regions","boxes":[]}"#.to_owned(), "`rest` is missing"),
            (r#"{"type":"regions","boxes":[4],"rest":0}"#.to_owned(), "`boxes[0]` is a number"),
            (r#"{"type":"regions","boxes":[{"region":1}],"rest":0}"#.to_owned(), "missing field `min`"),
            (
                r#"{"type":"regions","boxes":[{"region":1,"min":[0,0,0],"max":[1,0,1]}],"rest":0}"#.to_owned(),
                "holds nothing",
            ),
            (format!(r#"{{"type":"regions","boxes":[{many}],"rest":0}}"#), "at most 256"),
        ] {
            let reason = parse(&text).unwrap_err();
            assert!(reason.contains(part), "{text}: {reason}");
        }
    }
}
