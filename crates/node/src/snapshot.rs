//! A server as bytes: with the log that follows, enough to continue bit for bit.

use nimbus_model::coding::{self, Allowance, Broken};

use crate::node::Node;

/// Names the form; change it with the fields of a server or of what it holds.
const NAME: &[u8; 8] = b"nnode\x00\x00\x03";

impl Node {
    /// The server as bytes. Events and log not yet taken are not part of it.
    pub fn snapshot(&self) -> Vec<u8> {
        coding::write_sealed(NAME, self)
    }

    /// A server from bytes. Memory follows their length, whatever they say.
    pub fn restore(bytes: &[u8]) -> Result<Node, Broken> {
        let mut node: Node = coding::read_sealed(NAME, bytes, Allowance::SNAPSHOT)?;
        node.applied_at = node.now;
        Ok(node)
    }
}
