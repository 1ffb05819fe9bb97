//! Auras: what a server tells its neighbours of bodies that theirs may soon touch.

use nimbus_model::{Aabb, Nid, RegionId, Tick};
use serde::{Deserialize, Serialize};

/// Most auras in one frame.
pub const AURAS_PER_FRAME: usize = 32_768;

/// One body as its neighbours must know it. The receiver judges with it and with its own bodies what may touch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aura {
    /// Which body.
    pub nid: Nid,
    /// Who owns it, or is about to: a body on its way counts as its receiver's.
    pub host: RegionId,
    /// When it was there.
    pub tick: Tick,
    /// The box around it.
    pub bounds: Aabb,
    /// How fast any point of it may move soon, m/s.
    pub speed: f32,
}

impl Aura {
    /// True when every number in it makes sense.
    pub fn is_valid(&self) -> bool {
        let Aabb { min, max } = self.bounds;
        min.is_finite() && max.is_finite() && min.cmple(max).all() && self.speed.is_finite() && self.speed >= 0.0
    }
}

/// Every aura that concerns one neighbour. Only the latest counts: it replaces all earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AuraFrame {
    /// When it was sent, microseconds on the common timeline; zero when the sender does not know.
    pub sent_us: u64,
    /// What the sender has to do, for policies that weigh it: bodies awake and cells held.
    pub load: u32,
    /// Servers that announce bodies into the sender's region, so that they learn of each other.
    pub others: Vec<RegionId>,
    /// The auras, in order of id.
    pub auras: Vec<Aura>,
}

impl AuraFrame {
    pub(crate) fn is_valid(&self) -> bool {
        self.auras.len() <= AURAS_PER_FRAME && self.auras.iter().all(Aura::is_valid)
    }
}
