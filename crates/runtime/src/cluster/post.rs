//! What goes over the mesh. Frames begin with the version of the protocol; everything else with a byte above all of those.

use nimbus_control::{FromCoordinator, LoadReport, ToCoordinator};
use nimbus_model::{Nid, Tick, coding};

use super::asks::Ask;
use crate::checkpoints::Filed;
use crate::reading::Shown;

const TO_COORDINATOR: u8 = 0xf0;
const FROM_COORDINATOR: u8 = 0xf1;
const CLOCK_ASKED: u8 = 0xf2;
const CLOCK_TOLD: u8 = 0xf3;
const SHOWN: u8 = 0xf4;
const LOAD: u8 = 0xf5;
const ASKED: u8 = 0xf6;
const ANSWERED: u8 = 0xf7;
const CONTRIBUTE: u8 = 0xf8;
const CONTRIBUTED: u8 = 0xf9;

/// One message between processes.
#[derive(Clone, Debug, PartialEq)]
pub enum Post {
    /// Between servers, gateways and backups; not decoded yet.
    Frame(Vec<u8>),
    /// A process speaks to its coordinator.
    ToCoordinator(ToCoordinator),
    /// The coordinator speaks to a process.
    FromCoordinator(FromCoordinator),
    /// What does your calendar say? With what ours said, microseconds.
    ClockAsked(u64),
    /// The question again, and the answer.
    ClockTold(u64, u64),
    /// How a server does, for people to see.
    Shown(Shown),
    /// What a server costs and where, for whoever plans boundaries.
    Load(Box<LoadReport>),
    /// A gateway asks for a change of the clock or the world, under a number of its own.
    Asked(u64, Ask),
    /// The number again, and what became of it.
    Answered(u64, Result<Option<Nid>, String>),
    /// The coordinator wants what every region here is after a tick, for the checkpoint of this name.
    Contribute(String, Tick),
    /// A node has written that, or could not.
    Contributed(String, Result<Vec<Filed>, String>),
}

impl Post {
    /// The message as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let tagged = |tag: u8, body: &[u8]| [&[tag], body].concat();
        match self {
            Post::Frame(bytes) => bytes.clone(),
            Post::ToCoordinator(message) => tagged(TO_COORDINATOR, &message.encode()),
            Post::FromCoordinator(message) => tagged(FROM_COORDINATOR, &message.encode()),
            Post::ClockAsked(sent) => tagged(CLOCK_ASKED, &sent.to_le_bytes()),
            Post::Load(report) => tagged(LOAD, &coding::write(report)),
            Post::Asked(number, ask) => tagged(ASKED, &coding::write(&(number, ask))),
            Post::Answered(number, outcome) => tagged(ANSWERED, &coding::write(&(number, outcome))),
            Post::Contribute(name, tick) => tagged(CONTRIBUTE, &coding::write(&(name, tick))),
            Post::Contributed(name, outcome) => tagged(CONTRIBUTED, &coding::write(&(name, outcome))),
            Post::Shown(shown) => tagged(SHOWN, &coding::write(shown)),
            Post::ClockTold(sent, clock) => tagged(CLOCK_TOLD, &[sent.to_le_bytes(), clock.to_le_bytes()].concat()),
        }
    }

    /// Bytes from a process as a message; none when they are not one.
    pub fn decode(bytes: Vec<u8>) -> Option<Post> {
        let (&tag, body) = bytes.split_first()?;
        let number = |at: usize| Some(u64::from_le_bytes(body.get(at..at + 8)?.try_into().ok()?));
        match tag {
            TO_COORDINATOR => ToCoordinator::decode(body).ok().map(Post::ToCoordinator),
            FROM_COORDINATOR => FromCoordinator::decode(body).ok().map(Post::FromCoordinator),
            CLOCK_ASKED if body.len() == 8 => Some(Post::ClockAsked(number(0)?)),
            CLOCK_TOLD if body.len() == 16 => Some(Post::ClockTold(number(0)?, number(8)?)),
            LOAD => coding::read(body).ok().map(Post::Load),
            SHOWN => coding::read(body).ok().map(Post::Shown),
            ASKED => coding::read(body).ok().map(|(number, ask)| Post::Asked(number, ask)),
            ANSWERED => coding::read(body).ok().map(|(number, outcome)| Post::Answered(number, outcome)),
            CONTRIBUTE => coding::read(body).ok().map(|(name, tick)| Post::Contribute(name, tick)),
            CONTRIBUTED => coding::read(body).ok().map(|(name, outcome)| Post::Contributed(name, outcome)),
            tag if tag < TO_COORDINATOR => Some(Post::Frame(bytes)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::Reading;
    use nimbus_control::Incarnation;

    #[test]
    fn messages_survive_the_mesh_and_nonsense_is_none() {
        let posts = [
            Post::Frame(vec![nimbus_wire::PROTOCOL_VERSION, 1, 2, 3]),
            Post::ToCoordinator(ToCoordinator::Drain(Incarnation(3))),
            Post::FromCoordinator(FromCoordinator::NotLeading { leader: Some("coordinator-1".to_owned()) }),
            Post::ClockAsked(7),
            Post::ClockTold(7, u64::MAX),
            Post::Shown(Reading::default().shown(Tick(0))),
            Post::Asked(8, Ask::Scene("rain".to_owned())),
            Post::Answered(8, Err("not now".to_owned())),
            Post::Contribute("one".to_owned(), Tick(9)),
            Post::Contributed("one".to_owned(), Err("no room".to_owned())),
        ];
        for post in posts {
            assert_eq!(Post::decode(post.encode()), Some(post));
        }
        for bytes in [vec![], vec![0xff], vec![TO_COORDINATOR, 9, 9], vec![CLOCK_ASKED; 3], vec![CLOCK_TOLD; 9]] {
            assert_eq!(Post::decode(bytes.clone()), None, "{bytes:?}");
        }
    }
}
