//! What a client may ask to see on top of the bodies, and what it is told of broken promises.

use nimbus_model::{Nid, RegionId, Tick, nearest};
use serde::{Deserialize, Serialize};
use std::fmt;

use super::nid_text;
use crate::breach::{Breach, Factor};

/// One thing to see on top of the bodies. Nobody is sent what nobody asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overlay {
    /// How far each aura reaches.
    Auras,
    /// Which bodies hang together near a seam.
    Clusters,
    /// Bodies on their way between servers.
    InTransit,
    /// Promises that are void.
    Breaches,
}

impl Overlay {
    /// All of them.
    pub const ALL: [Overlay; 4] = [Overlay::Auras, Overlay::Clusters, Overlay::InTransit, Overlay::Breaches];

    /// The word that clients use.
    pub fn name(self) -> &'static str {
        match self {
            Overlay::Auras => "auras",
            Overlay::Clusters => "clusters",
            Overlay::InTransit => "in-transit",
            Overlay::Breaches => "breaches",
        }
    }

    /// The overlay of this name, or why there is none, for a person.
    pub(super) fn named(name: &str) -> Result<Overlay, String> {
        if let Some(overlay) = Overlay::ALL.into_iter().find(|overlay| overlay.name() == name) {
            return Ok(overlay);
        }
        let names = Overlay::ALL.map(Overlay::name);
        let shown: String = name.chars().take(40).collect();
        Err(match nearest(name, names) {
            Some(near) => format!("there is no overlay `{shown}`; did you mean `{near}`?"),
            None => format!("there is no overlay `{shown}`; there are {}", names.join(", ")),
        })
    }
}

impl fmt::Display for Overlay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A breach as clients are told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BreachNews {
    /// When.
    pub tick: Tick,
    /// Whose server says so.
    pub region: RegionId,
    /// What was exceeded.
    pub factor: Factor,
    /// What was measured.
    pub value: f32,
    /// What was promised.
    pub limit: f32,
    /// The first few bodies concerned; none when it concerns the whole server.
    #[serde(with = "nid_text::several")]
    pub bodies: Vec<Nid>,
}

impl From<&Breach> for BreachNews {
    fn from(breach: &Breach) -> BreachNews {
        let Breach { tick, region, factor, value, limit, bodies } = breach.clone();
        BreachNews { tick, region, factor, value, limit, bodies }
    }
}
