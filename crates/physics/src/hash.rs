//! One number for a whole state.

use nimbus_model::{Mixer, Vec3};

use crate::PhysicsWorld;

impl PhysicsWorld {
    /// One number for the state of all owned bodies: id, pose, velocity, asleep or not, in the order of ids. Two
    /// worlds with the same history have the same; a difference means that they have diverged.
    pub fn state_hash(&self) -> u64 {
        let mut mixer = Mixer::new();
        for (nid, handle) in self.index.iter() {
            let body = &self.engine.bodies[handle];
            let [x, y, z, w] = body.rotation().to_array().map(|v| u64::from(v.to_bits()));
            mixer.word(nid.0);
            mix(&mut mixer, body.translation());
            mixer.word(x | (y << 32));
            mixer.word(z | (w << 32));
            mix(&mut mixer, body.linvel());
            mix(&mut mixer, body.angvel());
            mixer.word(u64::from(self.is_asleep(handle)));
        }
        mixer.word(self.index.len() as u64);
        mixer.finish()
    }
}

fn mix(mixer: &mut Mixer, vector: Vec3) {
    let [x, y, z] = vector.to_array().map(|v| u64::from(v.to_bits()));
    mixer.word(x | (y << 32));
    mixer.word(z);
}
