//! How likely a bit is, learnt from the bits before it.

/// Odds have this many bits.
pub(super) const ODDS_BITS: u32 = 16;

/// How much of the surprise the quick and the slow guess take over, as shifts.
const QUICK: u32 = 4;
const SLOW: u32 = 7;

/// How likely it is that the next bit of a kind is set: the mean of a guess that follows quickly and one that follows
/// slowly, in integers, so that both ends of a stream have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Odds {
    quick: u16,
    slow: u16,
}

impl Odds {
    /// As likely as not.
    pub(super) const EVEN: Odds = Odds { quick: 1 << 15, slow: 1 << 15 };

    /// Parts in 65,536. Never 0 or all: both guesses stop short of the ends by what their shifts cut off.
    pub(super) fn of_set(self) -> u32 {
        (u32::from(self.quick) + u32::from(self.slow)) / 2
    }

    /// Takes a bit into account.
    pub(super) fn learn(&mut self, set: bool) {
        if set {
            self.quick += (u16::MAX - self.quick) >> QUICK;
            self.slow += (u16::MAX - self.slow) >> SLOW;
        } else {
            self.quick -= self.quick >> QUICK;
            self.slow -= self.slow >> SLOW;
        }
    }
}

/// One end of a sequence of bits. Writers take what they are given and hand it back; readers ignore it and hand out what
/// they read. That way one function says what a body looks like in bits, for both ends, and they cannot disagree.
pub(super) trait Coder {
    /// A bit of which something may be known; that is taken into account and learnt from.
    fn bit(&mut self, odds: &mut Odds, set: bool) -> bool;

    /// The lowest `width` bits of a number, at most 32, of which nothing is known.
    fn plain(&mut self, width: u32, value: u32) -> u32;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odds_follow_what_happens_and_never_become_certain() {
        let mut odds = Odds::EVEN;
        for _ in 0..10_000 {
            odds.learn(true);
        }
        assert!((65_000..1 << ODDS_BITS).contains(&odds.of_set()));
        for _ in 0..10_000 {
            odds.learn(false);
        }
        assert!((1..500).contains(&odds.of_set()));
    }
}
