//! Commands and questions that wait for their answers, by number.

use nimbus_model::Nid;
use nimbus_wire::client::{BodyCard, Hits};
use std::collections::BTreeMap;
use std::time::Duration;

/// What came of something that was asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Answered {
    /// A command was carried out, about this body if any.
    Done(Option<Nid>),
    /// What is where.
    Hits(Hits),
    /// What is known of a body.
    Card(BodyCard),
}

/// Why nothing came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskError {
    /// The gateway refused, with a reason for a person.
    Refused(String),
    /// The connection was lost before the answer came, or there is none. The command may have been carried out.
    Lost,
    /// No answer came in time.
    Silent,
    /// So much waits for an answer already that nothing more is sent.
    TooMany,
}

impl std::fmt::Display for AskError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            AskError::Refused(reason) => write!(f, "refused: {reason}"),
            AskError::Lost => f.write_str("there is no connection to a gateway"),
            AskError::Silent => f.write_str("no answer came in time"),
            AskError::TooMany => f.write_str("too many commands wait for their answers"),
        }
    }
}

impl std::error::Error for AskError {}

/// Something that was asked, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// The number that it was asked under.
    pub seq: u64,
    /// What came of it.
    pub outcome: Result<Answered, AskError>,
}

/// What waits for an answer. Everything that enters leaves again, settled: answered, refused, lost or too late.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending {
    until: BTreeMap<u64, Duration>,
    settled: Vec<Settled>,
}

impl Pending {
    pub(crate) fn len(&self) -> usize {
        self.until.len()
    }

    pub(crate) fn wait(&mut self, seq: u64, until: Duration) {
        self.until.insert(seq, until);
    }

    /// An answer came. Answers to what nobody waits for are nobody's.
    pub(crate) fn settle(&mut self, seq: Option<u64>, outcome: Result<Answered, AskError>) {
        if let Some(seq) = seq.filter(|seq| self.until.remove(seq).is_some()) {
            self.settled.push(Settled { seq, outcome });
        }
    }

    /// Gives up what has waited for too long.
    pub(crate) fn expire(&mut self, now: Duration) {
        let late: Vec<u64> = self.until.iter().filter(|(_, until)| **until <= now).map(|(seq, _)| *seq).collect();
        for seq in late {
            self.settle(Some(seq), Err(AskError::Silent));
        }
    }

    /// Gives up everything.
    pub(crate) fn lose(&mut self) {
        let lost = std::mem::take(&mut self.until);
        self.settled.extend(lost.into_keys().map(|seq| Settled { seq, outcome: Err(AskError::Lost) }));
    }

    pub(crate) fn take(&mut self) -> Vec<Settled> {
        std::mem::take(&mut self.settled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn whatever_is_asked_is_settled_once() {
        let mut pending = Pending::default();
        for seq in 1..=4 {
            pending.wait(seq, at(seq));
        }
        pending.settle(Some(2), Ok(Answered::Done(None)));
        pending.settle(Some(2), Err(AskError::Refused("again".to_owned())));
        pending.settle(Some(9), Ok(Answered::Done(None)));
        pending.settle(None, Ok(Answered::Done(None)));
        pending.expire(at(1));
        assert_eq!(
            pending.take(),
            [Settled { seq: 2, outcome: Ok(Answered::Done(None)) }, Settled { seq: 1, outcome: Err(AskError::Silent) }]
        );
        pending.lose();
        let lost: Vec<u64> = pending.take().iter().map(|settled| settled.seq).collect();
        assert_eq!((lost, pending.len()), (vec![3, 4], 0));
    }
}
