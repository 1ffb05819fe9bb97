//! Where changes of the whole world are handed in: every server gets one, or none does.

use nimbus_model::RegionId;
use nimbus_node::Change;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Permit, Receiver, Sender, channel};

/// Most changes of the world that wait at a server's door.
const CHANGES_MAX: usize = 16;

/// Changes that are remembered for servers that take over.
const REMEMBERED_MAX: usize = 64;

/// The doors of all servers of a process. Cheap to clone.
#[derive(Clone, Default)]
pub struct Doors(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    doors: Vec<(RegionId, Sender<Change>)>,
    /// What was announced last, the oldest first.
    announced: VecDeque<Change>,
}

/// Why a change was given to nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
    /// The server's thread has ended.
    #[error("the server of {0} is gone; wait until it is back, or restart the process")]
    Gone(RegionId),
    /// The server has not looked at earlier changes yet.
    #[error("the server of {0} is still busy with earlier changes; try again")]
    Full(RegionId),
}

impl Doors {
    /// A door for one more server; the other end is for its thread.
    pub(crate) fn add(&mut self, region: RegionId) -> Receiver<Change> {
        let (door, changes) = channel(CHANGES_MAX);
        self.lock().doors.push((region, door));
        changes
    }

    /// A new door for a server that takes over, and what was announced lately: some of it it may have made before.
    pub(crate) fn reopen(&self, region: RegionId) -> (Receiver<Change>, Vec<Change>) {
        let (door, changes) = channel(CHANGES_MAX);
        let mut state = self.lock();
        state.doors.retain(|(other, _)| *other != region);
        state.doors.push((region, door));
        (changes, state.announced.iter().cloned().collect())
    }

    /// Gives every server a change. When one of them cannot take it, none of them gets it.
    ///
    /// A server that dies while this runs misses the change; the others and whoever asked make it all the same.
    pub fn announce(&self, change: &Change) -> Result<(), Closed> {
        let mut state = self.lock();
        let places: Result<Vec<Permit<'_, Change>>, Closed> = state.doors.iter().map(place).collect();
        for place in places? {
            place.send(change.clone());
        }
        if state.announced.len() == REMEMBERED_MAX {
            state.announced.pop_front();
        }
        state.announced.push_back(change.clone());
        Ok(())
    }

    /// Says whether a change would be taken now, without giving one.
    pub fn check(&self) -> Result<(), Closed> {
        self.lock().doors.iter().try_for_each(|door| place(door).map(drop))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a place for one change at a door.
fn place((region, door): &(RegionId, Sender<Change>)) -> Result<Permit<'_, Change>, Closed> {
    door.try_reserve().map_err(|error| match error {
        TrySendError::Closed(()) => Closed::Gone(*region),
        TrySendError::Full(()) => Closed::Full(*region),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::Layout;
    use nimbus_space::PartitionMap;

    fn two() -> (Doors, Receiver<Change>, Receiver<Change>) {
        let mut doors = Doors::default();
        let (first, second) = (doors.add(RegionId(0)), doors.add(RegionId(1)));
        (doors, first, second)
    }

    fn change() -> Change {
        Change::Map(PartitionMap::from_layout(&Layout::columns(2, 50.0)).unwrap())
    }

    #[test]
    fn everybody_hears_of_a_change() {
        let (doors, mut first, mut second) = two();
        assert_eq!(doors.announce(&change()), Ok(()));
        assert!(first.try_recv().is_ok() && second.try_recv().is_ok());
    }

    #[test]
    fn nobody_hears_of_a_change_that_a_dead_server_would_miss() {
        let (doors, mut first, second) = two();
        drop(second);
        assert_eq!(doors.check(), Err(Closed::Gone(RegionId(1))));
        assert_eq!(doors.announce(&change()), Err(Closed::Gone(RegionId(1))));
        assert!(first.try_recv().is_err(), "the live server must not load alone");
        assert!(Closed::Gone(RegionId(1)).to_string().contains("r1"));
    }

    #[test]
    fn whoever_takes_over_hears_what_was_announced_before_and_after() {
        let (doors, _first, second) = two();
        assert_eq!(doors.announce(&change()), Ok(()));
        drop(second);
        let (mut again, announced) = doors.reopen(RegionId(1));
        assert_eq!(announced, [change()]);
        assert_eq!(doors.announce(&change()), Ok(()));
        assert!(again.try_recv().is_ok() && again.try_recv().is_err());
    }

    #[test]
    fn a_server_that_does_not_look_holds_changes_up_until_it_does() {
        let (doors, mut first, mut second) = two();
        let taken = (0..CHANGES_MAX * 2).take_while(|_| doors.announce(&change()).is_ok()).count();
        assert_eq!(taken, CHANGES_MAX);
        while first.try_recv().is_ok() {}
        assert_eq!(doors.announce(&change()), Err(Closed::Full(RegionId(1))));
        assert!(first.try_recv().is_err());
        assert!(second.try_recv().is_ok());
        assert_eq!(doors.check(), Ok(()));
        assert_eq!(doors.announce(&change()), Ok(()), "a check keeps no place");
    }
}
