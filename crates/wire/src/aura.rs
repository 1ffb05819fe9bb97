//! Auras: what a server tells its neighbours of bodies that theirs may soon touch.

use nimbus_model::{Aabb, Extent, Nid, RegionId, Tick, Vec3};
use serde::{Deserialize, Serialize};

use crate::frame::DecodeError;

/// Most auras in one frame.
pub const AURAS_PER_FRAME: usize = 32_768;

/// One body as its neighbours must know it. The receiver judges with it and with its own bodies what may touch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aura {
    /// Which body.
    pub nid: Nid,
    /// Who owns it, or is about to: a body on its way counts as its receiver's.
    pub host: RegionId,
    /// When it was there.
    pub tick: Tick,
    /// The room it takes.
    pub extent: Extent,
    /// How fast its centre may move soon, m/s.
    pub speed: f32,
    /// How hard it strikes what it meets.
    pub strike: Strike,
    /// It moves within the step as far as its first contact (continuous collision detection).
    pub sweeps: bool,
    /// Its cluster has more bodies than may change server at once: bodies that may touch it go to its host, whatever
    /// the ranks.
    pub anchored: bool,
}

/// What decides how fast a body leaves that is struck by another one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Strike {
    /// Speed of its centre, m/s, whatever is around it.
    pub speed: f32,
    /// Kilograms; infinite for a body that nothing moves.
    pub mass: f32,
    /// Coefficient of restitution, 0 to 1.
    pub restitution: f32,
    /// What spin adds to the speed of its surface, m/s.
    pub spin: f32,
    /// The mass that strikes with that, kilograms.
    pub spin_mass: f32,
}

impl Aura {
    /// True when every number in it makes sense.
    pub fn is_valid(&self) -> bool {
        let Extent { bounds: Aabb { min, max }, axis, radius } = self.extent;
        let is_size = |number: f32| number.is_finite() && number >= 0.0;
        let is_box = min.is_finite() && max.is_finite() && min.cmple(max).all();
        let Strike { speed, mass, restitution, spin, spin_mass } = self.strike;
        let masses = mass >= 0.0 && spin_mass >= 0.0;
        let strikes = masses && is_size(speed) && is_size(spin) && (0.0..=1.0).contains(&restitution);
        is_box && axis.is_finite() && is_size(radius) && is_size(self.speed) && strikes
    }
}

/// Bits of the byte that ends an aura.
const SWEEPS: u8 = 1;
const ANCHORED: u8 = 2;

/// Every aura that concerns one neighbour. Only the latest counts: it replaces all earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AuraFrame {
    /// When it was sent, microseconds on the common timeline; zero when the sender does not know.
    pub sent_us: u64,
    /// All that the sender had to say up to this tick has gone: its backup has it, where it has one.
    pub settled: Tick,
    /// What the sender has to do, for policies that weigh it: bodies awake and cells held.
    pub load: u32,
    /// The sender hosts nearly as many bodies as its budget allows: what can stay elsewhere is not to go home to it.
    pub near_full: bool,
    /// Servers that announce bodies into the sender's region, so that they learn of each other.
    pub others: Vec<RegionId>,
    /// The auras, in order of id.
    pub auras: Vec<Aura>,
}

/// Bytes of an aura: id, host, tick, sixteen numbers, and a byte of flags.
const AURA_BYTES: usize = 8 + 2 + 8 + 16 * 4 + 1;

impl AuraFrame {
    /// Appends the frame as bytes. Every field has a fixed width: this goes out at every tick to every neighbour, and a
    /// general encoder takes longer to set up than a short frame takes to write.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let others = &self.others[..self.others.len().min(usize::from(u16::MAX))];
        let auras = &self.auras[..self.auras.len().min(AURAS_PER_FRAME)];
        out.reserve(25 + 2 * others.len() + AURA_BYTES * auras.len());
        out.extend_from_slice(&self.sent_us.to_le_bytes());
        out.extend_from_slice(&self.settled.0.to_le_bytes());
        out.extend_from_slice(&self.load.to_le_bytes());
        out.push(u8::from(self.near_full));
        out.extend_from_slice(&(others.len() as u16).to_le_bytes());
        out.extend_from_slice(&(auras.len() as u16).to_le_bytes());
        others.iter().for_each(|other| out.extend_from_slice(&other.0.to_le_bytes()));
        for Aura { nid, host, tick, extent, speed, strike, sweeps, anchored } in auras {
            let Extent { bounds, axis, radius } = extent;
            out.extend_from_slice(&nid.0.to_le_bytes());
            out.extend_from_slice(&host.0.to_le_bytes());
            out.extend_from_slice(&tick.0.to_le_bytes());
            let vectors = [bounds.min, bounds.max, *axis];
            let Strike { speed: own, mass, restitution, spin, spin_mass } = strike;
            let rest = [radius, speed, own, mass, restitution, spin, spin_mass];
            for number in vectors.iter().flat_map(Vec3::as_ref).chain(rest) {
                out.extend_from_slice(&number.to_le_bytes());
            }
            out.push((SWEEPS * u8::from(*sweeps)) | (ANCHORED * u8::from(*anchored)));
        }
    }

    /// Bytes from outside as a frame, or why they are none.
    pub(crate) fn decode(bytes: &[u8]) -> Result<AuraFrame, DecodeError> {
        let mut bytes = Bytes(bytes);
        let sent_us = u64::from_le_bytes(bytes.take()?);
        let settled = Tick(u64::from_le_bytes(bytes.take()?));
        let load = u32::from_le_bytes(bytes.take()?);
        let near_full = match bytes.take()? {
            [0] => false,
            [1] => true,
            _ => return Err(DecodeError::Malformed),
        };
        let others = usize::from(u16::from_le_bytes(bytes.take()?));
        let count = usize::from(u16::from_le_bytes(bytes.take()?));
        if count > AURAS_PER_FRAME || bytes.0.len() != 2 * others + AURA_BYTES * count {
            return Err(DecodeError::Malformed);
        }
        let (with_others, with_auras) = (Vec::with_capacity(others), Vec::with_capacity(count));
        let mut frame = AuraFrame { sent_us, settled, load, near_full, others: with_others, auras: with_auras };
        for _ in 0..others {
            frame.others.push(RegionId(u16::from_le_bytes(bytes.take()?)));
        }
        for _ in 0..count {
            let nid = Nid(u64::from_le_bytes(bytes.take()?));
            let host = RegionId(u16::from_le_bytes(bytes.take()?));
            let tick = Tick(u64::from_le_bytes(bytes.take()?));
            let bounds = Aabb { min: bytes.vector()?, max: bytes.vector()? };
            let extent = Extent { bounds, axis: bytes.vector()?, radius: bytes.number()? };
            let speed = bytes.number()?;
            let (own, mass, restitution) = (bytes.number()?, bytes.number()?, bytes.number()?);
            let (spin, spin_mass) = (bytes.number()?, bytes.number()?);
            let strike = Strike { speed: own, mass, restitution, spin, spin_mass };
            let [flags] = bytes.take()?;
            if flags & !(SWEEPS | ANCHORED) != 0 {
                return Err(DecodeError::Malformed);
            }
            let (sweeps, anchored) = (flags & SWEEPS != 0, flags & ANCHORED != 0);
            let aura = Aura { nid, host, tick, extent, speed, strike, sweeps, anchored };
            if !aura.is_valid() {
                return Err(DecodeError::NotFinite);
            }
            frame.auras.push(aura);
        }
        Ok(frame)
    }
}

/// Bytes still to be read.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl Bytes<'_> {
    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(DecodeError::Malformed)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn number(&mut self) -> Result<f32, DecodeError> {
        self.take().map(f32::from_le_bytes)
    }

    fn vector(&mut self) -> Result<Vec3, DecodeError> {
        Ok(Vec3::new(self.number()?, self.number()?, self.number()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(count: u64) -> AuraFrame {
        let aura = |i| Aura {
            nid: Nid(1 << 50 | i),
            host: RegionId(3),
            tick: Tick(1 << 40),
            extent: Extent {
                bounds: Aabb::new(Vec3::new(-1.0, 2.0, i as f32), Vec3::new(0.5, 3.0, 1e4)),
                axis: Vec3::new(0.1, 0.2, 0.3),
                radius: 0.7,
            },
            speed: 4.5,
            strike: Strike {
                speed: 2.5,
                mass: if i % 2 == 0 { f32::INFINITY } else { 3.5 },
                restitution: 0.25,
                spin: 1.5,
                spin_mass: 0.5,
            },
            sweeps: i % 3 == 0,
            anchored: i % 5 == 0,
        };
        AuraFrame {
            sent_us: 77,
            settled: Tick(1 << 33),
            load: 5,
            near_full: count == 1,
            others: vec![RegionId(1), RegionId(9)],
            auras: (0..count).map(aura).collect(),
        }
    }

    #[test]
    fn auras_survive_the_wire() {
        for count in [0, 1, 300] {
            let mut bytes = Vec::new();
            frame(count).encode(&mut bytes);
            assert_eq!(AuraFrame::decode(&bytes), Ok(frame(count)));
        }
    }

    #[test]
    fn a_frame_of_another_length_or_with_nonsense_is_none() {
        let mut bytes = Vec::new();
        frame(2).encode(&mut bytes);
        for length in 0..bytes.len() {
            assert_eq!(AuraFrame::decode(&bytes[..length]), Err(DecodeError::Malformed));
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert_eq!(AuraFrame::decode(&longer), Err(DecodeError::Malformed));
        let mut neither = bytes.clone();
        neither[20] = 2;
        assert_eq!(AuraFrame::decode(&neither), Err(DecodeError::Malformed));
        let mut unknown = bytes.clone();
        *unknown.last_mut().unwrap() |= 0x80;
        assert_eq!(AuraFrame::decode(&unknown), Err(DecodeError::Malformed));
        let spin_mass = bytes.len() - 5..bytes.len() - 1;
        bytes[spin_mass].copy_from_slice(&f32::NAN.to_le_bytes());
        assert_eq!(AuraFrame::decode(&bytes), Err(DecodeError::NotFinite));
    }
}
