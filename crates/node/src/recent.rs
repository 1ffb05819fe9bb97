//! Which commands a body has obeyed. The list goes with the body, so that a command that comes again, or over two ways,
//! is obeyed once even when the body has changed server in between.

use nimbus_model::Nid;
use nimbus_wire::CommandRef;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// So many commands are remembered for each body.
pub(crate) const RECENT_MAX: usize = 8;

/// The latest commands that bodies of this server have obeyed, the oldest first. Bodies without any have no entry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Recent {
    obeyed: BTreeMap<Nid, VecDeque<CommandRef>>,
}

impl Recent {
    /// Notes that a body has obeyed a command.
    pub(crate) fn note(&mut self, nid: Nid, by: CommandRef) {
        let obeyed = self.obeyed.entry(nid).or_default();
        if obeyed.len() >= RECENT_MAX {
            obeyed.pop_front();
        }
        obeyed.push_back(by);
    }

    /// True when a body has obeyed a command already, as far as is remembered.
    pub(crate) fn has(&self, nid: Nid, by: CommandRef) -> bool {
        self.obeyed.get(&nid).is_some_and(|obeyed| obeyed.contains(&by))
    }

    /// How many commands are remembered for a body.
    pub(crate) fn count(&self, nid: Nid) -> usize {
        self.obeyed.get(&nid).map_or(0, VecDeque::len)
    }

    /// Forgets a body and returns what it has obeyed.
    pub(crate) fn take(&mut self, nid: Nid) -> Vec<CommandRef> {
        self.obeyed.remove(&nid).map(Vec::from).unwrap_or_default()
    }

    /// Takes over what a body has obeyed elsewhere; no more of it than would have been remembered here.
    pub(crate) fn put(&mut self, nid: Nid, obeyed: &[CommandRef]) {
        for by in &obeyed[obeyed.len().saturating_sub(RECENT_MAX)..] {
            self.note(nid, *by);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::ClientId;
    use nimbus_wire::GatewayId;

    fn by(sequence: u64) -> CommandRef {
        CommandRef { gateway: GatewayId(0), client: ClientId(1), sequence }
    }

    #[test]
    fn a_body_remembers_its_latest_commands_wherever_it_goes() {
        let (mut here, mut there) = (Recent::default(), Recent::default());
        let nid = Nid(5);
        (1..=9).for_each(|sequence| here.note(nid, by(sequence)));
        assert!(!here.has(nid, by(1)) && (2..=9).all(|sequence| here.has(nid, by(sequence))));
        assert!(!here.has(Nid(6), by(9)));
        there.put(nid, &here.take(nid));
        assert_eq!(here, Recent::default());
        assert!((2..=9).all(|sequence| there.has(nid, by(sequence))));
        there.put(Nid(6), &[by(7); 100]);
        assert_eq!(there.take(Nid(6)).len(), RECENT_MAX, "whatever a peer says");
    }
}
