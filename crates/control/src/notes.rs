//! What people should know when one roster has followed another.

use crate::exchange::Note;
use crate::roster::{Departure, Roster, Standing};

/// Everything that is new in `after`.
pub(crate) fn between(before: &Roster, after: &Roster) -> Vec<Note> {
    let mut notes = Vec::new();
    for (id, process) in &after.processes {
        let former = before.processes.get(id).map(|process| process.standing);
        let (process, name) = (*id, process.name.clone());
        match after.processes[id].standing {
            standing if former == Some(standing) => {}
            Standing::Up if former.is_none() => notes.push(Note::Joined { process, name }),
            Standing::Up | Standing::Draining => {}
            Standing::Gone(Departure::GivenUp) => notes.push(Note::GivenUp { process, name }),
            Standing::Gone(Departure::Left) => notes.push(Note::Left { process, name }),
        }
    }
    if before.regions.is_empty()
        && !after.regions.is_empty()
        && let Some(timeline) = &after.timeline
    {
        notes.push(Note::Placed { start_us: timeline.start_us() });
    }
    for (id, region) in &after.regions {
        let former = before.regions.get(id);
        let was_lost = former.is_some_and(|former| former.lost.is_some());
        match &region.lost {
            Some(loss) if !was_lost => notes.push(Note::Lost { region: *id, server: loss.server.clone() }),
            None if former.is_some_and(|former| former.epoch != region.epoch) => {
                notes.push(Note::Served { region: *id, epoch: region.epoch, server: region.server });
            }
            _ => {}
        }
    }
    let announced = after.changes.iter().filter(|change| !before.changes.contains(change));
    notes.extend(announced.map(|change| Note::Announced { at: change.at() }));
    if let (Some(before), Some(after)) = (&before.timeline, &after.timeline) {
        let paces = after.paces().iter().filter(|pace| !before.paces().contains(pace));
        // How far the world is slowed down changes often; that it is, and is no more, is news.
        let (held, holds) = (before.is_held(), after.is_held());
        if held && holds {
            return notes;
        }
        notes.extend(paces.map(|pace| {
            if held == holds {
                Note::Announced { at: pace.from }
            } else {
                Note::Dilated { at: pace.from, slows: holds }
            }
        }));
    }
    notes
}
