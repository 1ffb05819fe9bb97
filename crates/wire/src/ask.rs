//! Questions that every server answers after one and the same tick, and what each says.
//!
//! A gateway sends an [`Ask`] again and again until it hears a [`Reply`] to it; both are known by a number that a gateway
//! never gives twice, so hearing one twice does no harm. A reply is for the bodies that the server owned after the tick,
//! and apart from these for those it had given away and not heard of since. How far its lanes had come is part of it:
//! with that, whoever has the replies of all regions knows of every body under way whether the receiver has answered for
//! it already, and counts each exactly once.

use nimbus_model::{Nid, RegionId, Tick};
use serde::{Deserialize, Serialize};

use crate::client::{Hit, NearestBody, OVERLAP_BODIES_MAX, QUERIES_MAX, Query, QueryFilter};

/// Most answers about bodies under way in one reply.
pub const UNDER_WAY_ANSWERS_MAX: usize = 16_384;
/// Most lanes that a reply speaks of.
const LANES_MAX: usize = 4_096;

/// Questions for one tick, from a gateway to every region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// The gateway's number for it.
    pub number: u64,
    /// To be answered right after this tick.
    pub at: Tick,
    /// At most [`QUERIES_MAX`], each sound.
    pub queries: Vec<Query>,
    /// Which bodies count for all of them.
    pub filter: QueryFilter,
}

/// What a region says to an [`Ask`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The number of the ask.
    pub number: u64,
    /// The tick that was asked for.
    pub at: Tick,
    /// What was found, or why there is nothing.
    pub found: Result<Part, Unanswered>,
}

/// Why a region has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unanswered {
    /// It had run the tick already when it heard of it, or fell behind and skipped it.
    Missed,
    /// It would have taken too much of the server's time.
    TooMuch,
}

/// The answers of one region.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// One to each question, from what the region owned and from the statics.
    pub answers: Vec<PartAnswer>,
    /// Bodies given away and not known to have arrived.
    pub under_way: Vec<UnderWay>,
    /// Where that is not all of them, because some have been under way for long or there was no time: the receiver, and
    /// the last number on the lane that is left out.
    pub unsaid: Vec<(RegionId, u64)>,
    /// How far the lanes between the region and each neighbour had come.
    pub lanes: Vec<LaneMarks>,
}

/// What was found in one part of the world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PartAnswer {
    /// What a ray meets first.
    Ray(Option<Hit>),
    /// What a moving shape meets first.
    Cast(Option<Hit>),
    /// What a shape overlaps.
    Overlap {
        /// Bodies.
        bodies: Lowest,
        /// Statics, which every region knows.
        statics: Lowest,
    },
    /// What is nearest to a place.
    Nearest(Option<NearestBody>),
}

/// Some bodies by id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lowest {
    /// The lowest ids, in order, at most [`OVERLAP_BODIES_MAX`].
    pub nids: Vec<Nid>,
    /// How many there are.
    pub total: u64,
}

/// A group that has been given away and whose arrival is not acknowledged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnderWay {
    /// Who is to have it.
    pub to: RegionId,
    /// Its number on the lane.
    pub sequence: u64,
    /// What was found of it, with the number of the question; questions that it does not matter for are left out.
    pub answers: Vec<(u16, PartAnswer)>,
}

/// How far the two lanes between a region and a neighbour have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneMarks {
    /// The neighbour.
    pub peer: RegionId,
    /// Up to here the neighbour has acknowledged what it was sent.
    pub acknowledged: u64,
    /// Up to here what the neighbour sent has taken effect.
    pub mark: u64,
}

impl Lowest {
    /// Those of some ids, which are in order.
    pub fn of(mut nids: Vec<Nid>) -> Lowest {
        let total = nids.len() as u64;
        nids.truncate(OVERLAP_BODIES_MAX);
        Lowest { nids, total }
    }

    /// Takes others in, none of which is here already.
    pub fn add(&mut self, others: &Lowest) {
        self.nids.extend_from_slice(&others.nids);
        self.nids.sort_unstable();
        self.nids.truncate(OVERLAP_BODIES_MAX);
        self.total = self.total.saturating_add(others.total);
    }

    fn is_sound(&self) -> bool {
        self.nids.len() <= OVERLAP_BODIES_MAX && self.total >= self.nids.len() as u64
    }
}

impl PartAnswer {
    /// True when nothing was found.
    pub fn is_empty(&self) -> bool {
        match self {
            PartAnswer::Ray(hit) | PartAnswer::Cast(hit) => hit.is_none(),
            PartAnswer::Overlap { bodies, statics } => bodies.total + statics.total == 0,
            PartAnswer::Nearest(near) => near.is_none(),
        }
    }

    fn is_sound(&self) -> bool {
        match self {
            PartAnswer::Ray(hit) | PartAnswer::Cast(hit) => hit
                .as_ref()
                .is_none_or(|hit| hit.distance.is_finite() && hit.point.is_finite() && hit.normal.is_finite()),
            PartAnswer::Overlap { bodies, statics } => bodies.is_sound() && statics.is_sound(),
            PartAnswer::Nearest(near) => {
                near.as_ref().is_none_or(|near| near.distance.is_finite() && near.point.is_finite())
            }
        }
    }
}

impl Ask {
    pub(crate) fn is_sound(&self) -> bool {
        (1..=QUERIES_MAX).contains(&self.queries.len()) && self.queries.iter().all(Query::is_sound)
    }
}

impl Reply {
    pub(crate) fn is_sound(&self) -> bool {
        let Ok(Part { answers, under_way, unsaid, lanes }) = &self.found else { return true };
        let about_others = || under_way.iter().flat_map(|group| &group.answers);
        answers.len() <= QUERIES_MAX
            && lanes.len().max(unsaid.len()) <= LANES_MAX
            && about_others().count() <= UNDER_WAY_ANSWERS_MAX
            && answers.iter().chain(about_others().map(|(_, answer)| answer)).all(PartAnswer::is_sound)
    }
}

impl Part {
    /// The lanes between the region and a neighbour; nothing has come of lanes that are not known.
    pub fn lanes_with(&self, peer: RegionId) -> LaneMarks {
        let known = self.lanes.iter().find(|lanes| lanes.peer == peer).copied();
        known.unwrap_or(LaneMarks { peer, acknowledged: 0, mark: 0 })
    }
}
