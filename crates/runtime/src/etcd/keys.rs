//! What is done with keys and leases.

use serde::de::IgnoredAny;
use serde_json::json;

use super::client::Client;
use super::messages::{Coded, EtcdError, KeyValue, Lease, Line, Number, Range, Txn};

/// What must be true of a key for it to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// It is not there.
    Absent,
    /// It was last written in this revision of the store.
    Revision(i64),
}

/// How a compare-and-swap went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Swap {
    /// Written, in this revision of the store.
    Done(i64),
    /// Something else is there, and nothing was written.
    Other(Option<KeyValue>),
}

impl Client {
    /// What a key holds now, by the word of a majority of etcd's members.
    pub(crate) async fn get(&mut self, key: &str) -> Result<Option<KeyValue>, EtcdError> {
        let range: Range = self.ask("/v3/kv/range", &json!({ "key": coded(key) })).await?;
        Ok(range.kvs.into_iter().next())
    }

    /// All keys that begin with this, and the revision of the store in which they were so.
    pub(crate) async fn list(&mut self, prefix: &str) -> Result<(Vec<KeyValue>, i64), EtcdError> {
        let question = json!({ "key": coded(prefix), "range_end": after(prefix) });
        let range: Range = self.ask("/v3/kv/range", &question).await?;
        Ok((range.kvs, range.header.revision.0))
    }

    /// Writes a key that goes when its lease does.
    pub(crate) async fn put(&mut self, key: &str, value: &[u8], lease: i64) -> Result<(), EtcdError> {
        let question = json!({ "key": coded(key), "value": Coded(value.to_vec()), "lease": Number(lease) });
        let _: IgnoredAny = self.ask("/v3/kv/put", &question).await?;
        Ok(())
    }

    /// Writes a key if it is as expected, as one step.
    pub(crate) async fn swap(&mut self, key: &str, expect: Expect, value: &[u8]) -> Result<Swap, EtcdError> {
        let compare = match expect {
            Expect::Absent => json!({ "key": coded(key), "target": "CREATE", "create_revision": "0" }),
            Expect::Revision(revision) => {
                json!({ "key": coded(key), "target": "MOD", "mod_revision": Number(revision) })
            }
        };
        let put = json!({ "key": coded(key), "value": Coded(value.to_vec()) });
        let question = json!({
            "compare": [compare],
            "success": [{ "request_put": put }],
            "failure": [{ "request_range": { "key": coded(key) } }],
        });
        let txn: Txn = self.ask("/v3/kv/txn", &question).await?;
        if txn.succeeded {
            return Ok(Swap::Done(txn.header.revision.0));
        }
        let found = txn.responses.into_iter().find_map(|part| part.response_range);
        Ok(Swap::Other(found.and_then(|range| range.kvs.into_iter().next())))
    }

    /// Removes a key, if it is there.
    pub(crate) async fn delete(&mut self, key: &str) -> Result<(), EtcdError> {
        let _: IgnoredAny = self.ask("/v3/kv/deleterange", &json!({ "key": coded(key) })).await?;
        Ok(())
    }

    /// A new lease. etcd may give a longer one than asked for.
    pub(crate) async fn grant(&mut self, seconds: u32) -> Result<i64, EtcdError> {
        let lease: Lease = self.ask("/v3/lease/grant", &json!({ "TTL": seconds })).await?;
        if lease.id.0 == 0 { Err(EtcdError::Nonsense("/v3/lease/grant")) } else { Ok(lease.id.0) }
    }

    /// Has a lease begin anew; false when it is gone.
    pub(crate) async fn keep_alive(&mut self, lease: i64) -> Result<bool, EtcdError> {
        let line: Line<Lease> = self.ask("/v3/lease/keepalive", &json!({ "ID": Number(lease) })).await?;
        let lease = line.result.ok_or(EtcdError::Nonsense("/v3/lease/keepalive"))?;
        Ok(lease.ttl.0 > 0)
    }

    /// Gives a lease back, and with it every key that it has.
    pub(crate) async fn revoke(&mut self, lease: i64) -> Result<(), EtcdError> {
        let _: IgnoredAny = self.ask("/v3/lease/revoke", &json!({ "ID": Number(lease) })).await?;
        Ok(())
    }
}

pub(super) fn coded(key: &str) -> Coded {
    Coded(key.as_bytes().to_vec())
}

/// The first key after all that begin with this. Our prefixes end with a slash, so there always is one.
pub(super) fn after(prefix: &str) -> Coded {
    let mut end = prefix.as_bytes().to_vec();
    if let Some(last) = end.last_mut() {
        *last = last.saturating_add(1);
    }
    Coded(end)
}
