//! A binary range coder: a likely bit narrows an interval a little, an unlikely one a lot, and a number from the interval
//! stands for all bits. Bytes leave as soon as both ends of the interval agree on them, so there is no carry.

use super::odds::{Coder, ODDS_BITS, Odds};

/// Bytes that a reader holds ahead of what it has understood.
const AHEAD: usize = 4;
/// The odds of a bit of which nothing is known.
const HALF: u32 = 1 << (ODDS_BITS - 1);

/// Where an interval is cut: the lower part, up to and with this, stands for a set bit. Both parts are never empty.
fn cut(low: u32, high: u32, odds: u32) -> u32 {
    low + ((u64::from(high - low) * u64::from(odds)) >> ODDS_BITS) as u32
}

/// Appends bits to a buffer.
pub(super) struct RangeWriter<'a> {
    low: u32,
    high: u32,
    out: &'a mut Vec<u8>,
}

impl<'a> RangeWriter<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        RangeWriter { low: 0, high: u32::MAX, out }
    }

    fn put(&mut self, odds: u32, set: bool) {
        let cut = cut(self.low, self.high, odds);
        if set {
            self.high = cut;
        } else {
            self.low = cut + 1;
        }
        while (self.low ^ self.high) >> 24 == 0 {
            self.out.push((self.high >> 24) as u8);
            self.low <<= 8;
            self.high = (self.high << 8) | 0xff;
        }
    }

    /// One more byte makes the rest unmistakable: the ends differ in their first byte, and the lower one's plus one,
    /// followed by zeros that the reader adds by itself, lies between them.
    pub(super) fn finish(self) {
        self.out.push((self.low >> 24) as u8 + 1);
    }
}

impl Coder for RangeWriter<'_> {
    fn bit(&mut self, odds: &mut Odds, set: bool) -> bool {
        self.put(odds.of_set(), set);
        odds.learn(set);
        set
    }

    fn plain(&mut self, width: u32, value: u32) -> u32 {
        for i in (0..width).rev() {
            self.put(HALF, (value >> i) & 1 == 1);
        }
        value
    }
}

/// Reads what a [`RangeWriter`] wrote. Of other bytes it makes other bits; it never fails, but says at the end whether the
/// length fits.
pub(super) struct RangeReader<'a> {
    low: u32,
    high: u32,
    number: u32,
    bytes: &'a [u8],
    taken: usize,
}

impl<'a> RangeReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut reader = RangeReader { low: 0, high: u32::MAX, number: 0, bytes, taken: 0 };
        for _ in 0..AHEAD {
            reader.shift();
        }
        reader
    }

    fn shift(&mut self) {
        let next = self.bytes.get(self.taken).copied().unwrap_or(0);
        self.number = (self.number << 8) | u32::from(next);
        self.taken += 1;
    }

    fn take(&mut self, odds: u32) -> bool {
        let cut = cut(self.low, self.high, odds);
        let set = self.number <= cut;
        if set {
            self.high = cut;
        } else {
            self.low = cut + 1;
        }
        while (self.low ^ self.high) >> 24 == 0 {
            self.low <<= 8;
            self.high = (self.high << 8) | 0xff;
            self.shift();
        }
        set
    }

    /// Whether more was read than there is.
    pub(super) fn overrun(&self) -> bool {
        self.taken > self.bytes.len() + AHEAD - 1
    }

    /// Whether exactly everything was read.
    pub(super) fn complete(&self) -> bool {
        self.taken == self.bytes.len() + AHEAD - 1
    }
}

impl Coder for RangeReader<'_> {
    fn bit(&mut self, odds: &mut Odds, _: bool) -> bool {
        let set = self.take(odds.of_set());
        odds.learn(set);
        set
    }

    fn plain(&mut self, width: u32, _: u32) -> u32 {
        (0..width).fold(0, |value, _| (value << 1) | u32::from(self.take(HALF)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::Rng;

    #[test]
    fn bits_come_back_and_cost_what_they_tell() {
        for (share, bits_per_thousand) in [(0.5, 1030), (0.1, 500), (0.01, 100)] {
            let mut rng = Rng::new(5);
            let bits: Vec<bool> = (0..20_000).map(|_| rng.chance(share)).collect();
            let mut bytes = Vec::new();
            let (mut writer, mut odds) = (RangeWriter::new(&mut bytes), Odds::EVEN);
            for (i, &set) in bits.iter().enumerate() {
                writer.bit(&mut odds, set);
                if i % 1000 == 0 {
                    writer.plain(32, i as u32);
                }
            }
            writer.finish();
            assert!(bytes.len() * 8 < 20 * (bits_per_thousand + 40), "{} bytes at {share}", bytes.len());
            let (mut reader, mut odds) = (RangeReader::new(&bytes), Odds::EVEN);
            for (i, &set) in bits.iter().enumerate() {
                assert_eq!(reader.bit(&mut odds, false), set);
                if i % 1000 == 0 {
                    assert_eq!(reader.plain(32, 0), i as u32);
                }
            }
            assert!(reader.complete() && !reader.overrun());
        }
    }
}
