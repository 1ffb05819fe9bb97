//! Names of things: bodies, regions, clients, and the stamp that orders claims of authority.

use serde::{Deserialize, Serialize};
use std::fmt;

use crate::Tick;

/// Who issued a body id: one incarnation of a process. Control hands these out and never twice, so that a restarted
/// process cannot reuse a serial. [`Origin::WORLD`] is the world file itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Origin(pub u16);

impl Origin {
    /// Bodies described by the world: those it starts with and those its injections add.
    pub const WORLD: Origin = Origin(0);
    /// Bodies that a game makes in the name of others. Control never hands it out.
    pub const GAME: Origin = Origin(u16::MAX);
}

/// The name of a body, given once at birth and kept until death, whichever server owns it.
///
/// 16 bits of [`Origin`], 48 bits of serial. Ordered, so every listing of bodies has one defined order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Nid(pub u64);

impl Nid {
    const SERIAL_BITS: u32 = 48;

    /// The id with this origin and serial; only the low 48 bits of the serial are kept.
    pub const fn new(origin: Origin, serial: u64) -> Self {
        Nid(((origin.0 as u64) << Self::SERIAL_BITS) | (serial & ((1 << Self::SERIAL_BITS) - 1)))
    }

    /// The id of the `index`-th body that the world itself brings in `era` (how often the world was loaded).
    ///
    /// The same on any number of servers, which is what makes runs comparable.
    pub const fn of_world(era: u16, index: u32) -> Self {
        Self::new(Origin::WORLD, ((era as u64) << 32) | index as u64)
    }

    /// Who issued the id.
    pub const fn origin(self) -> Origin {
        Origin((self.0 >> Self::SERIAL_BITS) as u16)
    }

    /// The issuer's running number.
    pub const fn serial(self) -> u64 {
        self.0 & ((1 << Self::SERIAL_BITS) - 1)
    }
}

impl fmt::Display for Nid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.origin().0, self.serial())
    }
}

impl fmt::Debug for Nid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for Nid {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("`{text}` is not a body id; write origin.serial, for example 0.42");
        let (origin, serial) = text.split_once('.').ok_or_else(wrong)?;
        let origin = origin.parse().map_err(|_| wrong())?;
        let serial: u64 = serial.parse().map_err(|_| wrong())?;
        if serial >> Self::SERIAL_BITS != 0 {
            return Err(wrong());
        }
        Ok(Nid::new(Origin(origin), serial))
    }
}

/// A set of partition leaves with one physics world, one log and one owner. A process hosts one or several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RegionId(pub u16);

impl fmt::Display for RegionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.0)
    }
}

/// One viewer or player, as numbered by the gateway that let it in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClientId(pub u32);

/// How strong a claim about a body is. Observers never accept a lower stamp than one they have seen.
///
/// The order of the fields is the order of strength: a hand-over raises `body_epoch`, a restart of a region raises
/// `region_epoch`, and within one reign the later tick wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Stamp {
    /// Raised by one with every change of owner.
    pub body_epoch: u32,
    /// Which life of the owning region spoke.
    pub region_epoch: u32,
    /// When it spoke.
    pub tick: Tick,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nid_keeps_origin_and_serial_apart() {
        let nid = Nid::new(Origin(0xffff), (1 << 48) - 1);
        assert_eq!(nid.origin(), Origin(0xffff));
        assert_eq!(nid.serial(), (1 << 48) - 1);
        assert_eq!(Nid::new(Origin(1), 1 << 48), Nid::new(Origin(1), 0), "a serial cannot leak into the origin");
        assert_eq!("7.42".parse(), Ok(Nid::new(Origin(7), 42)));
        assert!("7".parse::<Nid>().is_err());
        assert!("7.281474976710656".parse::<Nid>().is_err());
    }

    #[test]
    fn a_hand_over_beats_a_later_tick_of_the_former_owner() {
        let before = Stamp { body_epoch: 1, region_epoch: 9, tick: Tick(900) };
        let after = Stamp { body_epoch: 2, region_epoch: 1, tick: Tick(3) };
        assert!(after > before);
    }
}
