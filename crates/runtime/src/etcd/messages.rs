//! What etcd says: its JSON has numbers in texts, bytes in base64, and leaves out what is zero.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Deserializer, Error, Unexpected};
use serde::{Deserialize, Serialize, Serializer};
use std::path::PathBuf;

/// Most characters of a message of etcd's that are passed on.
const MESSAGE_MAX: usize = 200;

/// Why etcd did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EtcdError {
    /// Nobody answers, or the connection broke: whether it did anything is not known.
    #[error("etcd at {endpoint} does not answer: {problem}")]
    Unreachable {
        /// Which member.
        endpoint: String,
        /// What happened.
        problem: String,
    },
    /// It answered that it will not.
    #[error("etcd refuses {call}: {message}")]
    Refused {
        /// What it was asked.
        call: &'static str,
        /// What it said.
        message: String,
    },
    /// It answered something else.
    #[error("etcd's answer to {0} makes no sense; is it version 3.4 or newer?")]
    Nonsense(&'static str),
    /// A file for `https`, or that of the password, cannot be used.
    #[error("cannot use {}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Another coordinator leads the cluster that was to begin anew.
    #[error("`{0}` leads this cluster now; end it first, or give the cluster another name")]
    Led(String),
}

/// A number in a text, or a plain one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Number(pub(super) i64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.to_string())
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Text(String),
            Plain(i64),
        }
        match Either::deserialize(deserializer)? {
            Either::Plain(number) => Ok(Number(number)),
            Either::Text(text) => {
                text.parse().map(Number).map_err(|_| D::Error::invalid_value(Unexpected::Str(&text), &"a number"))
            }
        }
    }
}

/// Bytes in base64.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Coded(pub(super) Vec<u8>);

impl Serialize for Coded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Coded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Coded, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(&text).map(Coded).map_err(|_| D::Error::custom("bytes that are not base64"))
    }
}

/// A key with what it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct KeyValue {
    pub(super) key: Coded,
    pub(super) value: Coded,
    pub(super) create_revision: Number,
    pub(super) mod_revision: Number,
    pub(super) lease: Number,
}

impl KeyValue {
    /// The key.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key.0
    }

    /// What it holds.
    pub(crate) fn value(&self) -> &[u8] {
        &self.value.0
    }

    /// What it holds, for keeps.
    pub(crate) fn into_value(self) -> Vec<u8> {
        self.value.0
    }

    /// The revision of the whole store in which it was last written.
    pub(crate) fn revision(&self) -> i64 {
        self.mod_revision.0
    }

    /// The revision of the whole store in which it came into being.
    pub(crate) fn created(&self) -> i64 {
        self.create_revision.0
    }

    /// The lease with which it goes; 0 for none.
    pub(crate) fn lease(&self) -> i64 {
        self.lease.0
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Header {
    pub(super) revision: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Range {
    pub(super) header: Header,
    pub(super) kvs: Vec<KeyValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Txn {
    pub(super) header: Header,
    pub(super) succeeded: bool,
    pub(super) responses: Vec<TxnPart>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TxnPart {
    pub(super) response_range: Option<Range>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Lease {
    #[serde(rename = "ID")]
    pub(super) id: Number,
    #[serde(rename = "TTL")]
    pub(super) ttl: Number,
}

/// A line of a stream.
#[derive(Debug, Deserialize)]
pub(super) struct Line<R> {
    pub(super) result: Option<R>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Watched {
    pub(super) canceled: bool,
    pub(super) events: Vec<Event>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event {
    /// Left out for a key that was written.
    pub(super) r#type: Option<String>,
    pub(super) kv: KeyValue,
}

#[derive(Deserialize)]
pub(super) struct Token {
    pub(super) token: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Complaint {
    message: String,
    error: String,
}

/// What an answer complains of, short and without anything that could disturb a terminal.
pub(super) fn complaint(body: &[u8], status: u16) -> String {
    let Complaint { message, error } = serde_json::from_slice(body).unwrap_or_default();
    let text = if message.is_empty() { error } else { message };
    let text: String = text.chars().filter(|c| !c.is_control()).take(MESSAGE_MAX).collect();
    if text.is_empty() { format!("HTTP status {status}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_bytes_come_as_texts_or_not_at_all() {
        let kv: KeyValue = serde_json::from_str(r#"{"key":"Zm9v","mod_revision":"7","lease":-3}"#).unwrap();
        assert_eq!((kv.key(), kv.value(), kv.revision(), kv.lease()), (&b"foo"[..], &b""[..], 7, -3));
        for bad in [r#"{"key":"%"}"#, r#"{"mod_revision":"x"}"#, r#"{"mod_revision":1.5}"#, "[]]"] {
            assert!(serde_json::from_str::<KeyValue>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn complaints_are_short_and_clean() {
        assert_eq!(complaint(br#"{"error":"e","message":"m"}"#, 404), "m");
        assert_eq!(complaint(br#"{"error":"bad\u001b[31m thing"}"#, 404), "bad[31m thing");
        assert_eq!(complaint(b"<html>", 502), "HTTP status 502");
        let long = format!("{{\"error\":\"{}\"}}", "x".repeat(9999));
        assert_eq!(complaint(long.as_bytes(), 400).len(), MESSAGE_MAX);
    }
}
