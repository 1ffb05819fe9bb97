//! A small fixed hash for states and snapshots; its results are compared across machines, so it never changes quietly.

use nimbus_model::Vec3;

use crate::PhysicsWorld;

/// Mixes 64-bit words; one multiplication and one shift a word.
#[derive(Clone, Copy)]
pub(crate) struct Mixer(u64);

impl Mixer {
    const PRIME: u64 = 0x0000_0100_0000_01b3;

    pub(crate) const fn new() -> Mixer {
        Mixer(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn word(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(Self::PRIME);
        self.0 = mixed ^ (mixed >> 29);
    }

    fn vector(&mut self, vector: Vec3) {
        let [x, y, z] = vector.to_array().map(|v| u64::from(v.to_bits()));
        self.word(x | (y << 32));
        self.word(z);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last));
        self.word(bytes.len() as u64);
    }

    pub(crate) fn finish(mut self) -> u64 {
        self.word(0);
        self.word(0);
        self.0
    }
}

impl PhysicsWorld {
    /// One number for the state of all owned bodies: id, pose, velocity, asleep or not, in the order of ids. Two
    /// worlds with the same history have the same; a difference means that they have diverged.
    pub fn state_hash(&self) -> u64 {
        let mut mixer = Mixer::new();
        for (nid, handle) in self.index.iter() {
            let body = &self.engine.bodies[handle];
            let [x, y, z, w] = body.rotation().to_array().map(|v| u64::from(v.to_bits()));
            mixer.word(nid.0);
            mixer.vector(body.translation());
            mixer.word(x | (y << 32));
            mixer.word(z | (w << 32));
            mixer.vector(body.linvel());
            mixer.vector(body.angvel());
            mixer.word(u64::from(self.is_asleep(handle)));
        }
        mixer.word(self.index.len() as u64);
        mixer.finish()
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
