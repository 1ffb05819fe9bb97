//! Reading the fields of a command: a value that can be used, or a reason for the person who sent it.

use nimbus_model::{Nid, Pose, Quat, Shape, Vec3};
use serde_json::{Map, Value};

/// No coordinate, velocity or impulse of any world comes near this.
const ABSURD: f32 = 1e9;

pub(super) type Fields = Map<String, Value>;

pub(super) fn sequence(fields: &Fields) -> Result<Option<u64>, String> {
    match fields.get("seq") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(seq) => Ok(Some(seq)),
            None => Err("`seq` must be a whole number, zero or above".to_owned()),
        },
    }
}

pub(super) fn nid(fields: &Fields, name: &str) -> Result<Nid, String> {
    match fields.get(name) {
        Some(Value::String(text)) => text.parse(),
        Some(other) => Err(format!("`{name}` is {}; it must be a string such as \"0.42\"", kind_of(other))),
        None => Err(format!("`{name}` is missing: the body, as a string such as \"0.42\"")),
    }
}

/// A shape, whose problems are for the caller to look at.
pub(super) fn shape(fields: &Fields) -> Result<Shape, String> {
    let shape = fields.get("shape").ok_or("`shape` is missing")?;
    serde::Deserialize::deserialize(shape).map_err(|error| format!("`shape`: {error}"))
}

/// A place, unturned where no rotation is given.
pub(super) fn pose(fields: &Fields) -> Result<Pose, String> {
    let mut pose = Pose::at(vec3(fields, "position")?);
    if let Some(value) = fields.get("rotation") {
        let rotation = Quat::from_array(numbers("rotation", value)?);
        let length = rotation.length();
        if !(0.5..=2.0).contains(&length) {
            return Err(format!("`rotation` has length {length}; a rotation is a quaternion x y z w of length 1"));
        }
        pose.rotation = rotation / length;
    }
    Ok(pose)
}

pub(super) fn flag(fields: &Fields, name: &str) -> Result<bool, String> {
    match fields.get(name) {
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(other) => Err(format!("`{name}` is {}; it must be true or false", kind_of(other))),
        None => Err(format!("`{name}` is missing; it must be true or false")),
    }
}

pub(super) fn within(fields: &Fields, name: &str, low: f32, high: f32) -> Result<f32, String> {
    let value = fields.get(name).ok_or_else(|| format!("`{name}` is missing: a number from {low} to {high}"))?;
    let value = number(name, value)?;
    if value < low || value > high {
        return Err(format!("`{name}` is {value}; it must be from {low} to {high}"));
    }
    Ok(value)
}

pub(super) fn vec3(fields: &Fields, name: &str) -> Result<Vec3, String> {
    let value = fields.get(name).ok_or_else(|| format!("`{name}` is missing: three numbers [x, y, z]"))?;
    numbers(name, value).map(Vec3::from_array)
}

pub(super) fn numbers<const N: usize>(name: &str, value: &Value) -> Result<[f32; N], String> {
    let Value::Array(values) = value else {
        return Err(format!("`{name}` is {}; it must be an array of {N} numbers", kind_of(value)));
    };
    if values.len() != N {
        return Err(format!("`{name}` has {} numbers; it must have {N}", values.len()));
    }
    let mut out = [0.0; N];
    for (i, (out, value)) in out.iter_mut().zip(values).enumerate() {
        *out = number(&format!("{name}[{i}]"), value)?;
    }
    Ok(out)
}

pub(super) fn number(name: &str, value: &Value) -> Result<f32, String> {
    match value.as_f64() {
        Some(value) if value.abs() <= f64::from(ABSURD) => Ok(value as f32),
        Some(value) => Err(format!("`{name}` is {value:e}; nothing in a world is beyond {ABSURD:e}")),
        None if value.is_null() => {
            Err(format!("`{name}` is null; it must be a number (NaN and infinity turn into null in JSON)"))
        }
        None => Err(format!("`{name}` is {}; it must be a number", kind_of(value))),
    }
}

pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
