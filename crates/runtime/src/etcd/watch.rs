//! Hearing of changes as they happen.

use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::json;
use std::collections::VecDeque;

use super::client::{Client, Speaker};
use super::keys::{after, coded};
use super::messages::{EtcdError, KeyValue, Line, Number, Watched};

const WATCH: &str = "/v3/watch";
/// Most bytes of one line: several events of the longest value that etcd takes.
const LINE_BYTES_MAX: usize = 8 << 20;

/// A key was written or is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It holds this now.
    Written(KeyValue),
    /// It is gone; of the value only the key is there.
    Gone(KeyValue),
}

/// A stream of changes. `_speaker` holds its connection.
pub(crate) struct Watch {
    body: Incoming,
    held: Vec<u8>,
    ready: VecDeque<Change>,
    _speaker: Speaker,
}

impl Client {
    /// Every change of keys that begin with this, from a revision of the store on.
    pub(crate) async fn watch(&mut self, prefix: &str, from: i64) -> Result<Watch, EtcdError> {
        let create = json!({ "key": coded(prefix), "range_end": after(prefix), "start_revision": Number(from) });
        let (body, speaker) = self.open_stream(WATCH, &json!({ "create_request": create })).await?;
        Ok(Watch { body, held: Vec::new(), ready: VecDeque::new(), _speaker: speaker })
    }
}

impl Watch {
    /// The next change. None when the stream is over, for whatever reason: look what there is and watch anew. May be
    /// given up at any time.
    pub(crate) async fn next(&mut self) -> Option<Change> {
        loop {
            if let Some(change) = self.ready.pop_front() {
                return Some(change);
            }
            let frame = self.body.frame().await?.ok()?;
            let Ok(bytes) = frame.into_data() else { continue };
            self.held.extend_from_slice(&bytes);
            if self.held.len() > LINE_BYTES_MAX {
                return None;
            }
            while let Some(end) = self.held.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.held.drain(..=end).collect();
                self.ready.extend(read(&line)?);
            }
        }
    }
}

/// The changes in a line; none when the stream is over.
fn read(line: &[u8]) -> Option<Vec<Change>> {
    if line.trim_ascii().is_empty() {
        return Some(Vec::new());
    }
    let line: Line<Watched> = serde_json::from_slice(line).ok()?;
    let watched = line.result.filter(|watched| !watched.canceled)?;
    let changes = watched.events.into_iter().map(|event| match event.r#type.as_deref() {
        Some("DELETE") => Change::Gone(event.kv),
        _ => Change::Written(event.kv),
    });
    Some(changes.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_changes_or_the_end() {
        let line = br#"{"result":{"header":{},"events":[{"kv":{"key":"YQ==","value":"Yg=="}},{"type":"DELETE","kv":{"key":"YQ=="}}]}}"#;
        let changes = read(line).unwrap();
        assert!(matches!(&changes[..], [Change::Written(written), Change::Gone(gone)]
            if written.key() == b"a" && written.value() == b"b" && gone.key() == b"a"));
        assert_eq!(read(br#"{"result":{"created":true}}"#), Some(Vec::new()));
        assert_eq!(read(b"\n"), Some(Vec::new()));
        for over in
            [r#"{"result":{"canceled":true,"compact_revision":"9"}}"#, r#"{"error":{"message":"x"}}"#, "{", "[1]"]
        {
            assert_eq!(read(over.as_bytes()), None, "{over}");
        }
    }
}
