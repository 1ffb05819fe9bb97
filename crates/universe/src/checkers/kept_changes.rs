//! A change of the whole world is announced until no successor can lack it: a backup that becomes a server has made every
//! change that its roster has in force.

use nimbus_control::Told;
use nimbus_model::RegionId;

use super::Broken;

const RULE: &str = "kept changes";

/// A backup becomes the server of a region.
pub(super) fn succeeds(region: RegionId, made: Told, in_force: Told, broken: &mut Vec<Broken>) {
    let lacks = if made.era == in_force.era {
        made.epoch < in_force.epoch || made.revision < in_force.revision
    } else {
        made.era < in_force.era
    };
    if lacks {
        let what = format!("{region} is taken over by a backup that has made {made:?}, and {in_force:?} is in force");
        broken.push(Broken(RULE, what));
    }
}
