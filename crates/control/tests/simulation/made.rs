//! What a server, or a backup of one, has made of the changes of the whole world.

use nimbus_control::{Change, Roster, Told};
use nimbus_model::Tick;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Made {
    pub(crate) versions: Told,
    /// The tick as of which its world was loaded.
    pub(crate) loaded_at: Tick,
    /// The tick at which the last of them was made.
    pub(crate) at: Tick,
}

impl Made {
    /// By a server that begins with what is in force.
    pub(crate) fn in_force(roster: &Roster) -> Made {
        Made { versions: Told::in_force(roster), loaded_at: roster.loaded_at, at: roster.loaded_at }
    }

    /// A server that knows a roster has run a tick. `has` says of which worlds its process has made what it takes.
    pub(crate) fn follow(&mut self, roster: &Roster, tick: Tick, mut has: impl FnMut(u16) -> bool) {
        let mut can = |change: &Change| if let Change::Load { era, .. } = change { has(*era) } else { true };
        for change in roster.yet_to_tell(self.versions).iter().take_while(|change| change.at() <= tick && can(change)) {
            self.versions.hear(change);
            self.at = tick;
            if let Change::Load { at, .. } = change {
                self.loaded_at = *at;
            }
        }
    }
}
