//! Body ids as `origin.serial`: 64 bits do not fit a JavaScript number.

/// For a field that may have an id.
pub(super) mod maybe {
    use nimbus_model::Nid;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::client) fn serialize<S: Serializer>(nid: &Option<Nid>, serializer: S) -> Result<S::Ok, S::Error> {
        match nid {
            Some(nid) => serializer.collect_str(nid),
            None => serializer.serialize_none(),
        }
    }

    pub(in crate::client) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Nid>, D::Error> {
        let text: Option<String> = Option::deserialize(deserializer)?;
        text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}

/// For a field that has one.
pub(super) mod one {
    use nimbus_model::Nid;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::client) fn serialize<S: Serializer>(nid: &Nid, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(nid)
    }

    pub(in crate::client) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Nid, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// For a field that has several.
pub(super) mod several {
    use nimbus_model::Nid;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::client) fn serialize<S: Serializer>(nids: &[Nid], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(nids.iter().map(ToString::to_string))
    }

    pub(in crate::client) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Nid>, D::Error> {
        let texts: Vec<String> = Vec::deserialize(deserializer)?;
        texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
    }
}
