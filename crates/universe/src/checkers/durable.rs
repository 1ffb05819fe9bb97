//! Backups have what servers have: once the network is well every region has a server and a backup close behind it, and
//! what the backup would become is, bit for bit, what the server was.

use super::{Broken, Scene};

const RULE: &str = "durable";
/// On a healthy network a backup is no further behind.
const LAG_TICKS_MAX: u64 = 30;

pub(super) fn conclude(scene: &Scene<'_>, broken: &mut Vec<Broken>) {
    if !scene.recovery.durable {
        return;
    }
    for (i, region) in scene.recovery.regions.iter().enumerate() {
        if region.down {
            broken.push(Broken(RULE, format!("nobody has taken over r{i}")));
            continue;
        }
        let Some((backup, kept)) = region.backup().and_then(|backup| Some((backup, backup.kept()?))) else {
            broken.push(Broken(RULE, format!("the backup of r{i} has nothing")));
            continue;
        };
        if scene.tick.since(kept) > LAG_TICKS_MAX {
            broken.push(Broken(RULE, format!("the backup of r{i} has nothing after tick {kept}")));
        }
        match (backup.copy().map(|copy| copy.state_hash()), scene.recovery.hash_at(i, kept)) {
            (Ok(copy), Some(server)) if copy != server => {
                broken.push(Broken(RULE, format!("r{i} was {server:016x} at tick {kept}, its backup is {copy:016x}")));
            }
            (Err(error), _) => broken.push(Broken(RULE, error.to_string())),
            _ => {}
        }
    }
}
