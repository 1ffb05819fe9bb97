//! A snapshot and the log that follows give the same bits again.

use nimbus_node::{Node, TickLog};

use super::Broken;

const RULE: &str = "replay";

/// A server as it once was, and everything that took effect since.
pub(crate) struct ReplayProof {
    snapshot: Vec<u8>,
    log: Vec<TickLog>,
}

impl ReplayProof {
    pub(crate) fn begin(node: &Node) -> ReplayProof {
        ReplayProof { snapshot: node.snapshot(), log: Vec::new() }
    }

    pub(crate) fn extend(&mut self, log: Vec<TickLog>) {
        self.log.extend(log);
    }

    /// Runs the server again from its snapshot and compares it with what it has become.
    pub(super) fn check(&self, node: &Node, broken: &mut Vec<Broken>) {
        let mut again = match Node::restore(&self.snapshot) {
            Ok(again) => again,
            Err(error) => return broken.push(Broken(RULE, format!("{}: {error}", node.region()))),
        };
        again.play(node.rules().cloned());
        for entry in &self.log {
            again.replay(entry);
        }
        let (first, second) = (node.state_hash(), again.state_hash());
        if first != second {
            let what = format!("{} is {first:016x}, its replay {second:016x}", node.region());
            broken.push(Broken(RULE, what));
        }
    }
}
