//! What gateways ask of the coordinator for their clients: another world, a pause, a step, another pace.

use nimbus_gateway::Request;
use nimbus_model::{BodyDesc, ClientId, Nid, Pose, RegionBox, RegionId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::council::{Answer, Wish};
use crate::timeline::SPEED_RANGE;

/// How long a gateway waits for an answer before it tells its client that there is none.
const PATIENCE: Duration = Duration::from_secs(5);
/// Wishes of one gateway that may be under way.
const UNDER_WAY_MAX: usize = 16;
/// Longest name that is passed on; no world has a longer one.
const NAME_BYTES_MAX: usize = 64;

/// A wish as it goes to the coordinator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Ask {
    /// Load the present world again.
    Reset,
    /// Load the world of this name.
    Scene(String),
    /// Stand still, or go on.
    Pause(bool),
    /// Run this many ticks while time stands still.
    Step(u32),
    /// Run at this speed, thousandths of real time.
    Speed(u32),
    /// Put a static into the world.
    PlaceStatic(Arc<BodyDesc>, Pose),
    /// Take one out again.
    RemoveStatic(Nid),
    /// Draw the regions anew.
    Regions(Vec<RegionBox>, RegionId),
}

impl Ask {
    fn of(request: Request) -> Result<Ask, String> {
        Ok(match request {
            Request::Reset => Ask::Reset,
            Request::Scene(name) if name.len() <= NAME_BYTES_MAX => Ask::Scene(name),
            Request::Scene(_) => return Err("no scene has so long a name".to_owned()),
            Request::Pause(paused) => Ask::Pause(paused),
            Request::Step(ticks) => Ask::Step(ticks),
            Request::Kill(_) => return Err("processes of a cluster are killed by whoever runs them".to_owned()),
            Request::PlaceStatic(desc, pose) => Ask::PlaceStatic(desc, pose),
            Request::RemoveStatic(nid) => Ask::RemoveStatic(nid),
            Request::Regions(boxes, rest) => Ask::Regions(boxes, rest),
            Request::Speed(factor) => {
                let factor = if factor.is_finite() { factor } else { 1.0 };
                Ask::Speed((factor.clamp(*SPEED_RANGE.start(), *SPEED_RANGE.end()) * 1000.0).round() as u32)
            }
        })
    }
}

/// The wishes of one gateway that have no answer yet.
pub(super) struct Asks {
    /// Raised with every wish. Begins anywhere, so that an answer to a former start of the gateway is no answer to this.
    last: u64,
    under_way: BTreeMap<u64, (ClientId, Option<u64>, Duration)>,
}

impl Asks {
    pub(super) fn new(token: u64) -> Asks {
        Asks { last: token, under_way: BTreeMap::new() }
    }

    /// Takes a wish on; the number and the question to send, or what to tell the client at once.
    pub(super) fn open(&mut self, wish: Wish, now: Duration) -> Result<(u64, Ask), Answer> {
        let Wish { client, seq, request } = wish;
        let refused = |why: &str| Answer { client, seq, outcome: Err(why.to_owned()) };
        if self.under_way.len() >= UNDER_WAY_MAX {
            return Err(refused("too much is asked of the coordinator at once; try again"));
        }
        let ask = Ask::of(request).map_err(|why| refused(&why))?;
        self.last = self.last.wrapping_add(1);
        self.under_way.insert(self.last, (client, seq, now + PATIENCE));
        Ok((self.last, ask))
    }

    /// The coordinator has answered. None when nobody waits for it.
    pub(super) fn close(&mut self, number: u64, outcome: Result<Option<Nid>, String>) -> Option<Answer> {
        let (client, seq, _) = self.under_way.remove(&number)?;
        Some(Answer { client, seq, outcome })
    }

    /// Wishes that have waited for too long.
    pub(super) fn expired(&mut self, now: Duration) -> Vec<Answer> {
        let late = self.under_way.extract_if(.., |_, (_, _, until)| *until < now);
        let why = "no coordinator answers; it may or may not have happened";
        late.map(|(_, (client, seq, _))| Answer { client, seq, outcome: Err(why.to_owned()) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(request: Request) -> Wish {
        Wish { client: ClientId(3), seq: Some(7), request }
    }

    fn said(answer: Option<Answer>) -> Option<Result<Option<Nid>, String>> {
        answer.map(|answer| {
            assert_eq!((answer.client, answer.seq), (ClientId(3), Some(7)));
            answer.outcome
        })
    }

    #[test]
    fn an_answer_reaches_who_asked_once() {
        let mut asks = Asks::new(u64::MAX);
        let (number, ask) = asks.open(wish(Request::Speed(0.25)), Duration::ZERO).ok().unwrap();
        assert_eq!((number, ask), (0, Ask::Speed(250)));
        assert!(asks.close(99, Ok(None)).is_none());
        assert_eq!(said(asks.close(number, Ok(Some(Nid(4))))), Some(Ok(Some(Nid(4)))));
        assert!(asks.close(number, Ok(None)).is_none());
    }

    #[test]
    fn silence_and_haste_are_answered_too() {
        let mut asks = Asks::new(0);
        for _ in 0..UNDER_WAY_MAX {
            assert!(asks.open(wish(Request::Reset), Duration::ZERO).is_ok());
        }
        assert!(said(asks.open(wish(Request::Reset), Duration::ZERO).err()).unwrap().is_err());
        assert!(asks.expired(PATIENCE).is_empty());
        assert_eq!(asks.expired(PATIENCE + Duration::from_millis(1)).len(), UNDER_WAY_MAX);
        let long = wish(Request::Scene("x".repeat(65)));
        assert!(said(asks.open(long, Duration::ZERO).err()).unwrap().is_err());
    }
}
