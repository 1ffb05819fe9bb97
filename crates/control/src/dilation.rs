//! Time dilation: how fast the whole world may run so that its dearest region keeps up.
//!
//! A region that cannot keep up would have to skip ticks, and bodies of other regions would meet it where it was. So the
//! world slows down as a whole: every region runs every tick, later. The law is a function of what regions report and of
//! the present pace. It falls at once, to what the dearest region holds, and rises step by step.

/// Share of real time that the dearest region may be busy, thousandths. The rest is for catching up and for everything
/// else that the machine does.
const BUSY_PERMILLE: u64 = 850;
/// A region that is more ticks behind than this is given the time to catch up within some seconds.
const BEHIND_TICKS: u64 = 4;
const CATCH_UP_S: u64 = 2;
/// A pace is lowered only by more than this, and raised by no less, thousandths: reports are never exact.
const FALL_PERMILLE: u64 = 30;
const RISE_PERMILLE: u64 = 100;
/// Greatest factor by which the pace rises at a time, thousandths.
const RISE_PERMILLE_MAX: u64 = 4_000;

/// How hard it is for one region to keep up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strain {
    /// Time that a tick takes, microseconds of real time: everything between waking up and having sent its frames, over the
    /// latest ticks.
    pub tick_us: u32,
    /// Ticks that are due and not done.
    pub behind: u32,
}

/// What the pace of a world is decided by. All paces are thousandths of real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dilation {
    /// Ticks a second at pace 1000.
    pub tick_hz: u32,
    /// The pace that was ordered.
    pub ordered: u32,
    /// The pace at present, no higher than what was ordered.
    pub present: u32,
    /// Least share of the ordered pace; 1000 forbids time dilation.
    pub slowest: u32,
}

impl Dilation {
    /// The lowest pace that it may come to.
    pub fn floor(&self) -> u32 {
        let floor = u64::from(self.ordered) * u64::from(self.slowest.min(1000)) / 1000;
        (floor as u32).max(1)
    }

    /// True when a region whose ticks take so long keeps up at the lowest pace, so that it will catch up whatever it is behind.
    pub fn floor_holds(&self, tick_us: u32) -> bool {
        u64::from(tick_us) * u64::from(self.tick_hz) * u64::from(self.floor()) < 1_000_000_000
    }

    /// The pace that should hold next, given how hard each region finds the present one; none when the present one is right.
    pub fn next(&self, strains: impl IntoIterator<Item = Strain>) -> Option<u32> {
        let (present, ordered) = (u64::from(self.present), u64::from(self.ordered));
        let tick_hz = u64::from(self.tick_hz.max(1));
        let fits = strains.into_iter().map(|strain| {
            let holds = BUSY_PERMILLE * 1_000_000 / (u64::from(strain.tick_us.max(1)) * tick_hz);
            let behind = Some(u64::from(strain.behind)).filter(|behind| *behind > BEHIND_TICKS).unwrap_or(0);
            holds.saturating_sub(behind * 1000 / (CATCH_UP_S * tick_hz))
        });
        let fits = fits.min().unwrap_or(ordered).clamp(u64::from(self.floor()), ordered.max(1));
        let next = if fits * 1000 < present * (1000 - FALL_PERMILLE) {
            fits
        } else if fits == ordered || fits * 1000 >= present * (1000 + RISE_PERMILLE) {
            fits.min((present * RISE_PERMILLE_MAX / 1000).max(present + 1))
        } else {
            present
        };
        (next != present).then_some(next as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine on which a tick takes so long, under a world that is 60 Hz unless dilated.
    struct Machine {
        pace: u32,
        behind: f64,
        slowest: u32,
    }

    impl Machine {
        /// A quarter of a second passes, and the law looks.
        fn pass(&mut self, tick_us: u32) {
            let due = 0.25 * 60.0 * f64::from(self.pace) / 1000.0;
            let done = 250_000.0 / f64::from(tick_us);
            self.behind = (self.behind + due - done).max(0.0);
            let law = Dilation { tick_hz: 60, ordered: 1000, present: self.pace, slowest: self.slowest };
            self.pace = law.next([Strain { tick_us, behind: self.behind as u32 }]).unwrap_or(self.pace);
        }
    }

    #[test]
    fn a_world_that_is_too_dear_slows_down_catches_up_and_comes_back() {
        let mut machine = Machine { pace: 1000, behind: 0.0, slowest: 50 };
        machine.pass(5_000);
        assert_eq!((machine.pace, machine.behind), (1000, 0.0));
        for _ in 0..16 {
            machine.pass(66_000);
        }
        assert!((180..=215).contains(&machine.pace) && machine.behind < 5.0, "{} {}", machine.pace, machine.behind);
        let settled = machine.pace;
        machine.pass(66_500);
        assert_eq!(machine.pace, settled, "no change for noise");
        let mut quarters = 0;
        while machine.pace < 1000 {
            machine.pass(2_000);
            quarters += 1;
        }
        assert!(quarters <= 6, "{quarters}");
    }

    #[test]
    fn no_pace_is_below_the_floor_or_above_the_order() {
        let strain = |tick_us, behind| [Strain { tick_us, behind }, Strain::default()];
        let law = Dilation { tick_hz: 60, ordered: 500, present: 500, slowest: 100 };
        assert_eq!(law.next(strain(10_000_000, 900)), Some(50));
        assert_eq!(Dilation { present: 50, ..law }.next(strain(10_000_000, 900)), None);
        assert_eq!(Dilation { present: 450, ..law }.next(strain(1, 0)), Some(500));
        assert_eq!(law.next(strain(1, 0)), None);
        assert_eq!(Dilation { slowest: 1000, ..law }.next(strain(10_000_000, 900)), None, "it is forbidden");
        assert_eq!(Dilation { ordered: 4000, present: 4000, ..law }.next(strain(8_000, 0)), Some(1770));
        assert_eq!(law.next([]), None);
        assert_eq!(Dilation { ordered: 0, present: 0, tick_hz: 0, slowest: 0 }.next(strain(0, 0)), Some(1));
    }

    #[test]
    fn the_lowest_pace_holds_ticks_that_are_shorter_than_they_are_apart_at_it() {
        let law = Dilation { tick_hz: 50, ordered: 1000, present: 1000, slowest: 100 };
        assert!(law.floor_holds(199_999) && !law.floor_holds(200_000));
        assert!(!Dilation { slowest: 1000, ..law }.floor_holds(20_000));
    }

    #[test]
    fn the_smallest_pace_still_rises() {
        let law = Dilation { tick_hz: 60, ordered: 1000, present: 1, slowest: 1 };
        assert_eq!(law.next([Strain { tick_us: 1_000, behind: 0 }]), Some(4));
    }
}
