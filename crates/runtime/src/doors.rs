//! Where changes of the whole world are handed in: every server gets one, or none does.

use nimbus_model::RegionId;
use nimbus_node::Change;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Permit, Receiver, Sender, channel};

/// Most changes of the world that wait at a server's door.
const CHANGES_MAX: usize = 16;

/// The doors of all servers of a process. Cheap to clone.
#[derive(Clone, Default)]
pub struct Doors(Vec<(RegionId, Sender<Change>)>);

/// Why a change was given to nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
    /// The server's thread has ended.
    #[error("the server of {0} is gone; restart the process")]
    Gone(RegionId),
    /// The server has not looked at earlier changes yet.
    #[error("the server of {0} is still busy with earlier changes; try again")]
    Full(RegionId),
}

impl Doors {
    /// A door for one more server; the other end is for its thread.
    pub(crate) fn add(&mut self, region: RegionId) -> Receiver<Change> {
        let (door, changes) = channel(CHANGES_MAX);
        self.0.push((region, door));
        changes
    }

    /// True when no server of this process has one.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Gives every server a change. When one of them cannot take it, none of them gets it.
    ///
    /// A server that dies while this runs misses the change; the others and whoever asked make it all the same.
    pub fn announce(&self, change: &Change) -> Result<(), Closed> {
        let places: Result<Vec<Permit<'_, Change>>, Closed> = self.0.iter().map(place).collect();
        for place in places? {
            place.send(change.clone());
        }
        Ok(())
    }

    /// Says whether a change would be taken now, without giving one.
    pub fn check(&self) -> Result<(), Closed> {
        self.0.iter().try_for_each(|door| place(door).map(drop))
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
