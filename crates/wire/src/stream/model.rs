//! What is likely, by circumstance. Part of every snapshot: a packet is coded with the odds of the snapshot it goes on
//! from, so both ends have the same ones whatever was lost in between.

use super::odds::{Coder, Odds};

/// Numbers are below two to this.
const SIZE_MAX: u32 = 27;
/// Sizes with odds of their own; larger ones share the last.
const SIZES: usize = 14;
/// Sizes whose second bit has odds of its own.
const TOPS: usize = 6;
/// Classes of how far off a prediction was, by its bits.
const MISSES: usize = 6;
/// Classes of how far off the components before it were: not, a little, a lot.
const SO_FAR: usize = 4;

/// The odds of a whole number that is small more often than large: whether it is zero, its sign, how many bits it has, one
/// by one, and the highest of those below the first. The rest is as good as random.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Number {
    zero: Odds,
    negative: [Odds; 3],
    size: [Odds; SIZES],
    top: [Odds; TOPS],
}

impl Number {
    const FRESH: Number =
        Number { zero: Odds::EVEN, negative: [Odds::EVEN; 3], size: [Odds::EVEN; SIZES], top: [Odds::EVEN; TOPS] };

    /// Codes a number. `lean` is one whose sign may have to do with this one's. Never more than 27 bits in magnitude,
    /// whatever is read.
    pub(super) fn code(&mut self, coder: &mut impl Coder, value: i32, lean: i32) -> i32 {
        if coder.bit(&mut self.zero, value == 0) {
            return 0;
        }
        let negative = coder.bit(&mut self.negative[(lean.signum() + 1) as usize], value < 0);
        let magnitude = value.unsigned_abs().clamp(1, (1 << SIZE_MAX) - 1);
        let wanted = magnitude.ilog2();
        let mut size = 0;
        while size < SIZE_MAX - 1 && coder.bit(&mut self.size[(size as usize).min(SIZES - 1)], wanted > size) {
            size += 1;
        }
        let mut read = 1;
        if size > 0 {
            let top = coder.bit(&mut self.top[(size as usize).min(TOPS) - 1], (magnitude >> (size - 1)) & 1 == 1);
            let rest = size - 1;
            read = ((2 | u32::from(top)) << rest) | coder.plain(rest, magnitude & ((1 << rest) - 1));
        }
        if negative { -(read as i32) } else { read as i32 }
    }
}

/// Odds of the components of a difference: by axis, by how far off the last prediction for the body was, and by how far off
/// the components before it are.
pub(super) type Components = [[[Number; SO_FAR]; MISSES]; 3];

const COMPONENTS: Components = [const { [const { [const { Number::FRESH }; SO_FAR] }; MISSES] }; 3];

/// All odds of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Model {
    /// Bodies more or fewer than in the snapshot before.
    pub(super) count: Number,
    /// Slots left out between two bodies.
    pub(super) gap: Number,
    /// By what the body did before, and whether the body before it in the packet stays where it is.
    pub(super) stays: [[Odds; 2]; 3],
    /// By what the body did before.
    pub(super) at_rest: [Odds; 3],
    /// A turn too far to be a difference.
    pub(super) leap: Odds,
    /// Differences to the same body earlier.
    pub(super) position: Components,
    pub(super) rotation: Components,
    /// Differences to another body, by axis.
    pub(super) fresh_position: [Number; 3],
    pub(super) fresh_rotation: [Number; 3],
}

impl Model {
    /// Knows nothing yet.
    pub(super) const FRESH: Model = Model {
        count: Number::FRESH,
        gap: Number::FRESH,
        stays: [[Odds::EVEN; 2]; 3],
        at_rest: [Odds::EVEN; 3],
        leap: Odds::EVEN,
        position: COMPONENTS,
        rotation: COMPONENTS,
        fresh_position: [Number::FRESH; 3],
        fresh_rotation: [Number::FRESH; 3],
    };
}

/// The class of a difference by its greatest component, for [`Components`].
pub(super) fn miss(greatest: u32) -> u8 {
    (u32::BITS - greatest.leading_zeros()).min(MISSES as u32 - 1) as u8
}

/// The class of the components so far by the greatest of them.
pub(super) fn so_far(greatest: u32) -> usize {
    match greatest {
        0 => 0,
        1..3 => 1,
        3..12 => 2,
        _ => SO_FAR - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::super::range_coder::{RangeReader, RangeWriter};
    use super::*;

    #[test]
    fn numbers_of_every_size_come_back() {
        let most = (1 << SIZE_MAX) - 1;
        let mut values: Vec<i32> = (0..SIZE_MAX).flat_map(|bits| [1 << bits, -(1 << bits), (1 << bits) - 1]).collect();
        values.extend([most, -most, 0, 5, -77]);
        let mut bytes = Vec::new();
        let (mut writer, mut number) = (RangeWriter::new(&mut bytes), Number::FRESH);
        for (i, &value) in values.iter().enumerate() {
            assert_eq!(number.code(&mut writer, value, i as i32 % 3 - 1), value);
        }
        writer.finish();
        let (mut reader, mut number) = (RangeReader::new(&bytes), Number::FRESH);
        for (i, &value) in values.iter().enumerate() {
            assert_eq!(number.code(&mut reader, 0, i as i32 % 3 - 1), value);
        }
        assert!(reader.complete());
    }

    #[test]
    fn what_is_too_large_is_the_largest_there_is() {
        let mut bytes = Vec::new();
        let most = (1 << SIZE_MAX) - 1;
        assert_eq!(Number::FRESH.clone().code(&mut RangeWriter::new(&mut bytes), i32::MIN, 0), -most);
    }
}
