//! What makes a leg longer than the way from one server to the other: backups, computing, frame times that vary.

use nimbus_node::AuraConfig;

use super::run::Setup;

/// Greatest time that a backup may take to store, milliseconds.
pub(crate) const STORE_MS: f32 = 2.0;
/// Greatest time that a wake-up may compute before it sends, milliseconds.
pub(crate) const COMPUTE_MS: f32 = 10.0;
/// Mean frame time as a share of the longest.
const MEAN_FRAME: f32 = 0.8;

/// One of them, at its tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strain {
    /// Every server has a backup, and its words wait for the commit.
    Backups,
    /// Every wake-up computes for a while before it sends.
    Compute,
    /// Frame times are normally distributed around their target.
    Jitter,
}

impl Strain {
    pub(crate) const ALL: [Strain; 3] = [Strain::Backups, Strain::Compute, Strain::Jitter];

    /// What reports call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Strain::Backups => "backups",
            Strain::Compute => "10 ms compute",
            Strain::Jitter => "jittered frames",
        }
    }

    /// What servers are told of it.
    pub(crate) fn aura(self, aura: AuraConfig) -> AuraConfig {
        match self {
            Strain::Backups => AuraConfig { store_ms: STORE_MS, ..aura }.with_commits(true),
            Strain::Compute => AuraConfig { compute_ms: COMPUTE_MS, ..aura },
            Strain::Jitter => aura,
        }
    }

    /// A setup under it; none when it makes no sense: nothing wakes more often than it can compute.
    pub(crate) fn of(self, setup: Setup) -> Option<Setup> {
        let aura = self.aura(setup.aura);
        match self {
            Strain::Backups => Some(Setup { aura, store_ms: Some(STORE_MS), ..setup }),
            Strain::Compute => {
                (setup.frame_ms >= COMPUTE_MS).then_some(Setup { aura, compute_ms: COMPUTE_MS, ..setup })
            }
            Strain::Jitter => {
                let longest = setup.frame_ms;
                let frame_ms = MEAN_FRAME * longest;
                Some(Setup { aura, frame_ms, frame_sigma_ms: (longest - frame_ms) / 3.0, ..setup })
            }
        }
    }
}
