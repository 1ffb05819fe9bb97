//! A server as bytes: with the log that follows, enough to continue bit for bit.

use crate::node::Node;

/// Why bytes are not a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a snapshot of a server: {0}")]
pub struct SnapshotError(String);

impl Node {
    /// The server as bytes. Events and log not yet taken are not part of it.
    pub fn snapshot(&self) -> Vec<u8> {
        bitcode::serialize(self).expect("plain data always serialises")
    }

    /// A server from bytes.
    pub fn restore(bytes: &[u8]) -> Result<Node, SnapshotError> {
        bitcode::deserialize(bytes).map_err(|error| SnapshotError(error.to_string()))
    }
}

/// The physics world inside a snapshot, in its own format.
pub(crate) mod physics_bytes {
    use nimbus_physics::PhysicsWorld;
    use serde::{Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(physics: &PhysicsWorld, serializer: S) -> Result<S::Ok, S::Error> {
        serde_bytes::serialize(&physics.snapshot(), serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PhysicsWorld, D::Error> {
        PhysicsWorld::restore(&serde_bytes::deserialize::<Vec<u8>, D>(deserializer)?).map_err(D::Error::custom)
    }
}
