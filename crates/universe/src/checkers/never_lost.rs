//! No region is lost: faults never strike the only copy, so somebody always has all of it.

use nimbus_control::Roster;

use super::Broken;

const RULE: &str = "never lost";

/// A roster got into the store.
pub(super) fn stored(roster: &Roster, broken: &mut Vec<Broken>) {
    for (id, loss) in roster.regions.iter().filter_map(|(id, region)| Some((id, region.lost.as_ref()?))) {
        let what = format!("{id} is lost; {} served it, {:?} was to keep it", loss.server, loss.backup);
        broken.push(Broken(RULE, what));
    }
}
