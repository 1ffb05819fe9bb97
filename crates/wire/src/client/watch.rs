//! What a client that does not want everything wants to see, and in how many bytes.

use nimbus_model::Vec3;
use serde::Serialize;
use serde_json::Value;

use super::fields::{Fields, flag, vec3, within};

/// Furthest that a view reaches, metres.
pub const WATCH_RANGE_MAX: f32 = 100_000.0;
/// Least and most that a client may be sent, kbit/s. 3,000 is what a film in standard definition takes, 5,000 one in high.
pub const WATCH_KBIT: (f32, f32) = (16.0, 100_000.0);
/// Most times a second that a client may be sent something.
pub const WATCH_HZ_MAX: f32 = 60.0;

const KBIT_USUAL: u32 = 3_000;
const HZ_USUAL: u32 = 20;
const FIELD_USUAL_DEG: f32 = 100.0;
/// Eyes nearer to each other than this, metres, see the same, and so do directions that differ by less than the other.
const EYE_STEP_M: f32 = 0.5;
const TOWARD_STEP: f32 = 1.0 / 32.0;

/// A view with what it may cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Watch {
    /// Where the eye is, metres.
    pub eye: Vec3,
    /// Where it looks, of unit length; all around when nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toward: Option<Vec3>,
    /// Width of the field of view, degrees, for an eye that looks somewhere.
    pub field: f32,
    /// How far it sees, metres.
    pub range: f32,
    /// What the client is sent at the most, kbit/s on average.
    pub kbit: u32,
    /// How often it is sent something, a second.
    pub hz: u32,
    /// Bodies come as a [compressed stream](crate::stream) instead of plain `state` messages.
    pub packed: bool,
}

impl Watch {
    /// A view all around a place, with everything else as usual.
    pub fn around(eye: Vec3, range: f32) -> Watch {
        Watch { eye, toward: None, field: FIELD_USUAL_DEG, range, kbit: KBIT_USUAL, hz: HZ_USUAL, packed: false }
    }

    /// The same in steps that nobody tells apart, so that neighbours can share what is made for one of them.
    pub fn rounded(&self) -> Watch {
        let round = |v: Vec3, step: f32| (v / step).round() * step;
        Watch {
            eye: round(self.eye, EYE_STEP_M),
            toward: self.toward.and_then(|toward| round(toward, TOWARD_STEP).try_normalize()),
            ..*self
        }
    }

    pub(super) fn parse(fields: &Fields) -> Result<Watch, String> {
        let mut watch = Watch::around(vec3(fields, "eye")?, within(fields, "range", 1.0, WATCH_RANGE_MAX)?);
        if fields.get("toward").is_some_and(|toward| !toward.is_null()) {
            let toward = vec3(fields, "toward")?.try_normalize();
            watch.toward = Some(toward.ok_or("`toward` has no length; it says where the eye looks")?);
        }
        let named = |name: &str| fields.get(name).is_some_and(|value: &Value| !value.is_null());
        if named("field") {
            watch.field = within(fields, "field", 1.0, 360.0)?;
        }
        if named("kbit") {
            watch.kbit = within(fields, "kbit", WATCH_KBIT.0, WATCH_KBIT.1)? as u32;
        }
        if named("hz") {
            watch.hz = within(fields, "hz", 1.0, WATCH_HZ_MAX)? as u32;
        }
        if named("packed") {
            watch.packed = flag(fields, "packed")?;
        }
        Ok(watch)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FromClient, Parsed};
    use super::*;

    #[test]
    fn a_watch_is_read_as_it_is_written_and_has_defaults() {
        let mut watch = Watch::around(Vec3::new(1.0, 2.0, 3.0), 80.0);
        let parsed = FromClient::parse(r#"{"type":"watch","eye":[1,2,3],"range":80}"#);
        assert_eq!(parsed, Ok(Parsed { seq: None, command: FromClient::Watch(watch) }));
        watch = Watch { toward: Some(Vec3::Z), field: 60.0, kbit: 256, hz: 30, packed: true, ..watch };
        let text = FromClient::Watch(watch).to_text(Some(4));
        assert_eq!(FromClient::parse(&text), Ok(Parsed { seq: Some(4), command: FromClient::Watch(watch) }), "{text}");
    }

    #[test]
    fn what_cannot_be_seen_is_refused() {
        let refused = |text: &str| FromClient::parse(text).unwrap_err().reason;
        assert!(refused(r#"{"type":"watch","range":80}"#).contains("`eye`"));
        assert!(refused(r#"{"type":"watch","eye":[0,0,0],"range":0}"#).contains("`range`"));
        assert!(refused(r#"{"type":"watch","eye":[0,0,0],"range":9,"kbit":1}"#).contains("`kbit`"));
        assert!(refused(r#"{"type":"watch","eye":[0,0,0],"range":9,"toward":[0,0,0]}"#).contains("`toward`"));
        assert!(refused(r#"{"type":"watch","eye":[0,1e12,0],"range":9}"#).contains("`eye"));
    }

    #[test]
    fn neighbours_see_the_same() {
        let watch = Watch { toward: Some(Vec3::new(0.6, 0.0, 0.8)), ..Watch::around(Vec3::new(10.0, 2.0, 3.0), 80.0) };
        let near = Watch { eye: watch.eye + Vec3::splat(0.1), ..watch };
        assert_eq!(watch.rounded(), near.rounded());
        let far = Watch { eye: watch.eye + Vec3::X, ..watch };
        assert_ne!(watch.rounded(), far.rounded());
    }
}
