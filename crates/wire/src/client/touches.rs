//! Touches: how a client asks to be told of them, and what it is told.

use nimbus_model::{Nid, Tick};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fields::{Fields, kind_of};
use super::nid_text;
use crate::touch::Touch;

/// Most bodies that one client names to be told of their touches.
pub const TOUCH_BODIES_MAX: usize = 64;
/// What stands for all bodies.
const EVERYTHING: &str = "everything";

/// Whose touches a client is told of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum TouchesOf {
    /// Those of these bodies, in order and each once, at most [`TOUCH_BODIES_MAX`]; none of nobody.
    #[serde(with = "nid_text::several")]
    Bodies(Vec<Nid>),
    /// All there are.
    #[serde(serialize_with = "everything")]
    Everything,
}

/// Two bodies began or ceased to touch, as clients are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TouchNews {
    /// When.
    pub tick: Tick,
    /// The lower id.
    #[serde(with = "nid_text::one")]
    pub one: Nid,
    /// The higher id; one of the two may be a static.
    #[serde(with = "nid_text::one")]
    pub two: Nid,
    /// They began to touch; or else they ceased, or one of them ceased to be.
    pub began: bool,
}

impl From<Touch> for TouchNews {
    fn from(Touch { tick, one, two, began }: Touch) -> TouchNews {
        TouchNews { tick, one, two, began }
    }
}

impl TouchesOf {
    /// Those of some bodies.
    pub fn bodies(nids: impl IntoIterator<Item = Nid>) -> TouchesOf {
        let mut nids: Vec<Nid> = nids.into_iter().collect();
        nids.sort_unstable();
        nids.dedup();
        TouchesOf::Bodies(nids)
    }

    /// Nobody's.
    pub const NONE: TouchesOf = TouchesOf::Bodies(Vec::new());

    /// True when a touch between two bodies is to be told of.
    pub fn concern(&self, one: Nid, two: Nid) -> bool {
        match self {
            TouchesOf::Everything => true,
            TouchesOf::Bodies(nids) => [one, two].iter().any(|nid| nids.binary_search(nid).is_ok()),
        }
    }

    pub(super) fn parse(fields: &Fields) -> Result<TouchesOf, String> {
        let wanted = "\"everything\", or an array of bodies such as [\"0.42\"]";
        match fields.get("of") {
            Some(Value::String(all)) if all == EVERYTHING => Ok(TouchesOf::Everything),
            Some(Value::Array(nids)) if nids.len() > TOUCH_BODIES_MAX => {
                Err(format!("`of` names {} bodies; {TOUCH_BODIES_MAX} may be named, or \"everything\"", nids.len()))
            }
            Some(Value::Array(nids)) => {
                let named = nids.iter().map(|nid| match nid {
                    Value::String(text) => text.parse(),
                    other => Err(format!("`of` holds {}; it must hold strings such as \"0.42\"", kind_of(other))),
                });
                Ok(TouchesOf::bodies(named.collect::<Result<Vec<Nid>, String>>()?))
            }
            Some(other) => Err(format!("`of` is {}; it must be {wanted}", kind_of(other))),
            None => Err(format!("`of` is missing: {wanted}")),
        }
    }
}

fn everything<S: serde::Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(EVERYTHING)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::FromClient;

    #[test]
    fn wishes_are_read_as_they_are_written() {
        let parse = |text: &str| FromClient::parse(text).map(|parsed| parsed.command).map_err(|reject| reject.reason);
        let of = |of| FromClient::Touches { of };
        assert_eq!(parse(r#"{"type":"touches","of":"everything"}"#), Ok(of(TouchesOf::Everything)));
        let two = TouchesOf::bodies(["0.42".parse().unwrap(), "0.7".parse().unwrap()]);
        assert_eq!(parse(r#"{"type":"touches","of":["0.42","0.7","0.42"]}"#), Ok(of(two.clone())));
        for wanted in [two, TouchesOf::NONE, TouchesOf::Everything] {
            assert_eq!(parse(&of(wanted.clone()).to_text(Some(3))), Ok(of(wanted)));
        }
        for (text, part) in [
            (r#"{"type":"touches"}"#, "`of` is missing"),
            (r#"{"type":"touches","of":"all"}"#, "`of` is a string"),
            (r#"{"type":"touches","of":[7]}"#, "`of` holds a number"),
        ] {
            assert!(parse(text).is_err_and(|reason| reason.contains(part)), "{text}");
        }
        let many = vec!["\"0.1\""; TOUCH_BODIES_MAX + 1].join(",");
        assert!(parse(&format!(r#"{{"type":"touches","of":[{many}]}}"#)).is_err_and(|reason| reason.contains("64")));
    }

    #[test]
    fn a_touch_concerns_whoever_named_one_of_the_two() {
        let of = TouchesOf::bodies([Nid(3), Nid(9)]);
        assert!(of.concern(Nid(1), Nid(3)) && of.concern(Nid(9), Nid(10)));
        assert!(!of.concern(Nid(1), Nid(2)) && !TouchesOf::NONE.concern(Nid(3), Nid(9)));
        assert!(TouchesOf::Everything.concern(Nid(1), Nid(2)));
    }
}
