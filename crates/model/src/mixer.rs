//! A small fixed hash for states; its results are compared across machines, so it never changes quietly.

/// Mixes 64-bit words; one multiplication and one shift a word. Tells mistakes and damage apart, not forgeries.
#[derive(Clone, Copy, Debug)]
pub struct Mixer(u64);

impl Default for Mixer {
    fn default() -> Self {
        Mixer::new()
    }
}

impl Mixer {
    const PRIME: u64 = 0x0000_0100_0000_01b3;

    /// Nothing mixed in yet.
    pub const fn new() -> Mixer {
        Mixer(0xcbf2_9ce4_8422_2325)
    }

    /// Mixes a word in.
    pub const fn word(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(Self::PRIME);
        self.0 = mixed ^ (mixed >> 29);
    }

    /// Mixes bytes and their number in.
    pub fn bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last));
        self.word(bytes.len() as u64);
    }

    /// The hash of everything mixed in.
    pub const fn finish(mut self) -> u64 {
        self.word(0);
        self.word(0);
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> u64 {
        let mut mixer = Mixer::new();
        mixer.bytes(bytes);
        mixer.finish()
    }

    #[test]
    fn every_bit_and_the_length_count() {
        let base = [7_u8; 37];
        let plain = of(&base);
        for i in 0..base.len() * 8 {
            let mut flipped = base;
            flipped[i / 8] ^= 1 << (i % 8);
            assert_ne!(of(&flipped), plain, "bit {i}");
        }
        assert_ne!(of(&[0; 8]), of(&[0; 9]));
        assert_ne!(of(&[]), of(&[0]));
    }
}
