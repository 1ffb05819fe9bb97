//! What travels on ordered lanes: ownership, births and deaths, commands and their outcomes.

use nimbus_model::{BodyDesc, Keepsake, Motion, Nid, Tick};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

use crate::aura::Aura;
use crate::command::{CommandRef, Course, Linkage, Order, Outcome};
use crate::deed::{Deed, PlannedBirth};
use crate::touch::Touches;

/// One body of a transfer with the epoch its new owner will hold it under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Which body.
    pub nid: Nid,
    /// The new owner's epoch for it.
    pub body_epoch: u32,
    /// How often in a row an owner had it for a moment only.
    pub restless: u8,
}

/// Why a receiver did not take a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Refusal {
    /// It hosts as many bodies as it may.
    Full,
    /// The payload does not parse or does not match its claims.
    Malformed,
    /// A state that is not finite, or faster than any body may be.
    BadState,
    /// The engine cannot build the body.
    BadBody,
    /// It hosts a body of that id already.
    Known,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Full => "the receiver hosts as many bodies as it may",
            Refusal::Malformed => "the payload does not match its claims",
            Refusal::BadState => "a state is not finite or too fast",
            Refusal::BadBody => "the engine cannot build the body",
            Refusal::Known => "the receiver hosts that id already",
        })
    }
}

/// Authority over a group, on its way from one region to another. The sender has stopped stepping the group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    /// The last tick at which the sender stepped the group.
    pub tick: Tick,
    /// The bodies and their new epochs, in order of id.
    pub claims: Vec<Claim>,
    /// The group, encoded. Opaque here, so that a receiver that cannot read it can still give it back unharmed.
    #[serde(with = "serde_bytes")]
    pub payload: Vec<u8>,
    /// Commands that bodies of the group have obeyed lately, so that none is obeyed again by their next owner.
    pub obeyed: Vec<(Nid, Vec<CommandRef>)>,
    /// Set when a receiver gives back what it could not take; such a transfer is always taken.
    pub returned: Option<Refusal>,
    /// What a game keeps with bodies of the group.
    pub keepsakes: Vec<(Nid, Keepsake)>,
    /// Where kinematic bodies of the group are on their way to.
    pub courses: Vec<(Nid, Course)>,
}

/// What travels on ordered lanes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Item {
    /// Region to region: authority over a group.
    Transfer(Transfer),
    /// Gateway to region, or region to region after the body it is for: something to do.
    Order(Order),
    /// Region to region of lower rank: a body that will appear beside yours, for you to make.
    Birth(PlannedBirth),
    /// Region to region: these bodies near you lie still until I say otherwise.
    Rests(Vec<Aura>),
    /// Region to region: these bodies no longer lie still near you, or are no longer mine.
    Stirs(Vec<Nid>),
    /// Region to region of higher rank: these islands of mine lie in your space; will you have them?
    Offer {
        /// Names the offer.
        id: u32,
        /// The islands, each to be taken whole.
        islands: Vec<Vec<Nid>>,
    },
    /// Region to region of lower rank: give me these islands of your offer, if you can until then.
    Accept {
        /// Which offer.
        id: u32,
        /// Which of its islands, by their place in the offer.
        islands: Vec<u16>,
        /// The last tick at which they may be given.
        until: Tick,
    },
    /// Region to gateway: this body is here, by birth or by arrival.
    Hosted {
        /// Which body.
        nid: Nid,
        /// Under which reign.
        body_epoch: u32,
        /// What it is.
        desc: Arc<BodyDesc>,
        /// What it is doing.
        motion: Motion,
    },
    /// Region to gateway: this body came to rest exactly here.
    Rested {
        /// Which body.
        nid: Nid,
        /// Under which reign.
        body_epoch: u32,
        /// Where and how.
        motion: Motion,
    },
    /// Region to gateway: this body is no more. Death is a reign of its own, so nothing later can revive it.
    Died {
        /// Which body.
        nid: Nid,
        /// The epoch of its death.
        body_epoch: u32,
    },
    /// Region to gateway: what became of a command.
    Outcome(CommandRef, Outcome),
    /// Region to region: a joint to be made once both its bodies are with one of us. Now it is yours to see to.
    Linkage(Linkage),
    /// Region to region: do you have this body?
    Seek(Nid),
    /// Region to region: I have the body that you seek.
    Found(Nid),
    /// Region to region: something that a game does.
    Deed(Deed),
    /// Region to gateway: touches that began and ended.
    Touches(Touches),
}
