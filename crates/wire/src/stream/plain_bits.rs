//! Bits as they are, eight to a byte: what a stream without entropy coding is made of.

use super::odds::{Coder, Odds};

/// Appends bits to a buffer, the first ones lowest.
pub(super) struct BitWriter<'a> {
    waiting: u64,
    count: u32,
    out: &'a mut Vec<u8>,
}

impl<'a> BitWriter<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        BitWriter { waiting: 0, count: 0, out }
    }

    /// Fills the last byte with zeros.
    pub(super) fn finish(self) {
        if self.count > 0 {
            self.out.push(self.waiting as u8);
        }
    }
}

impl Coder for BitWriter<'_> {
    fn bit(&mut self, _: &mut Odds, set: bool) -> bool {
        self.plain(1, u32::from(set));
        set
    }

    fn plain(&mut self, width: u32, value: u32) -> u32 {
        self.waiting |= u64::from(value) << self.count;
        self.count += width;
        while self.count >= 8 {
            self.out.push(self.waiting as u8);
            self.waiting >>= 8;
            self.count -= 8;
        }
        value
    }
}

/// Reads what a [`BitWriter`] wrote; zeros beyond the end.
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        BitReader { bytes, at: 0 }
    }

    /// Whether more was read than there is.
    pub(super) fn overrun(&self) -> bool {
        self.at > self.bytes.len() * 8
    }

    /// Whether everything was read but what fills the last byte.
    pub(super) fn complete(&self) -> bool {
        self.at.div_ceil(8) == self.bytes.len()
    }
}

impl Coder for BitReader<'_> {
    fn bit(&mut self, _: &mut Odds, _: bool) -> bool {
        self.plain(1, 0) == 1
    }

    fn plain(&mut self, width: u32, _: u32) -> u32 {
        let first = self.at / 8;
        let bytes = self.bytes.iter().skip(first).take(5).enumerate();
        let window = bytes.fold(0u64, |window, (i, byte)| window | (u64::from(*byte) << (8 * i)));
        let value = (window >> (self.at % 8)) & ((1 << width) - 1);
        self.at += width as usize;
        value as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width_come_back() {
        let numbers: Vec<(u32, u32)> = (1..=32).map(|width| (width, u32::MAX >> (32 - width) & 0xdead_beef)).collect();
        let mut bytes = Vec::new();
        let mut writer = BitWriter::new(&mut bytes);
        for &(width, value) in &numbers {
            writer.plain(width, value);
        }
        writer.finish();
        let mut reader = BitReader::new(&bytes);
        for (width, value) in numbers {
            assert_eq!(reader.plain(width, 0), value, "{width} bits");
        }
        assert!(reader.complete() && !reader.overrun());
        reader.plain(9, 0);
        assert!(reader.overrun());
    }
}
