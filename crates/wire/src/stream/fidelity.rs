//! How exact a stream is: as exact as the eye can tell, and no more.

/// How somebody looks at the world, from which follows what they can tell apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Distance to what is looked at, metres.
    pub distance_m: f64,
    /// Width of the field of view, radians.
    pub field_rad: f64,
    /// Pixels across it.
    pub pixels: f64,
}

impl View {
    /// Metres that a pixel covers at this distance: `2 d tan(f/2) / r`.
    pub fn metres_per_pixel(&self) -> f64 {
        2.0 * self.distance_m * (self.field_rad / 2.0).tan() / self.pixels
    }

    /// Bits below the metre that are exact to a quarter of a pixel: `-log2(d tan(f/2) / (2 r))`.
    pub fn bits_below_metre(&self) -> f64 {
        -(self.metres_per_pixel() / 4.0).log2()
    }

    /// The distance at which this many bits below the metre are exact to a quarter of a pixel: `2 r 2^-n / tan(f/2)`.
    pub fn distance_for_bits(&self, bits: f64) -> f64 {
        2.0 * self.pixels * (-bits).exp2() / (self.field_rad / 2.0).tan()
    }
}

/// Why a fidelity was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FidelityError {
    /// A step of nothing, or of more than a world can make sense of.
    #[error("a step must be from 50 micrometres to 1 metre, and from 0.01 to 20 degrees")]
    Step,
    /// The world has too many steps.
    #[error("a world may have at most 16 million steps from its middle to its end")]
    Reach,
}

/// How exact a stream is. In whole numbers, so that both ends have the same without question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fidelity {
    position_um: u32,
    rotation_mdeg: u32,
    reach_m: u32,
}

impl Fidelity {
    /// Steps of a position, micrometres, of a rotation, thousandths of a degree, and how far bodies may be from the origin
    /// along an axis, metres. What is decoded is off by half a step at the most, along or about each axis.
    pub fn new(position_um: u32, rotation_mdeg: u32, reach_m: u32) -> Result<Fidelity, FidelityError> {
        if !(50..=1_000_000).contains(&position_um) || !(10..=20_000).contains(&rotation_mdeg) {
            return Err(FidelityError::Step);
        }
        let steps = u64::from(reach_m) * 1_000_000 / u64::from(position_um);
        if steps == 0 || steps > STEPS_MAX {
            return Err(FidelityError::Reach);
        }
        Ok(Fidelity { position_um, rotation_mdeg, reach_m })
    }

    /// What a view can tell of bodies of a given radius, metres: a position to a quarter of a pixel, in whole bits below
    /// the metre, and a rotation such that the surface is off by no more than that.
    pub fn of_view(view: &View, radius_m: f64, reach_m: u32) -> Result<Fidelity, FidelityError> {
        let bits = view.bits_below_metre().round();
        let step_m = (-bits).exp2();
        let rotation_mdeg = (step_m / radius_m).to_degrees() * 1e3;
        Fidelity::new((step_m * 1e6) as u32, rotation_mdeg as u32, reach_m)
    }

    /// Step of a position, micrometres.
    pub fn position_um(&self) -> u32 {
        self.position_um
    }

    /// Step of a rotation, thousandths of a degree.
    pub fn rotation_mdeg(&self) -> u32 {
        self.rotation_mdeg
    }

    /// How far from the origin bodies may be along an axis, metres; what is further away is shown there.
    pub fn reach_m(&self) -> u32 {
        self.reach_m
    }
}

/// Most steps from the middle of a world to its end: what leaves room in 32 bits for parts of a step and for differences.
const STEPS_MAX: u64 = 1 << 24;

impl Default for Fidelity {
    /// A millimetre, a quarter of a degree, and worlds of four kilometres in every direction.
    fn default() -> Self {
        Fidelity { position_um: 1_000, rotation_mdeg: 250, reach_m: 4_096 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::FRAC_PI_2;

    #[test]
    fn a_quarter_of_a_pixel_at_four_metres_is_nine_bits() {
        let view = View { distance_m: 4.0, field_rad: FRAC_PI_2, pixels: 1280.0 };
        assert!((view.metres_per_pixel() - 0.00625).abs() < 1e-9);
        assert_eq!(view.bits_below_metre().round(), 9.0);
        assert!((view.distance_for_bits(view.bits_below_metre()) - 4.0).abs() < 1e-9);
        let fidelity = Fidelity::of_view(&view, 0.35, 512).unwrap();
        assert_eq!(fidelity.position_um(), 1953);
        assert_eq!(fidelity.rotation_mdeg(), 319);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert_eq!(Fidelity::new(0, 250, 100), Err(FidelityError::Step));
        assert_eq!(Fidelity::new(1_000, 0, 100), Err(FidelityError::Step));
        assert_eq!(Fidelity::new(1_000, 250, 0), Err(FidelityError::Reach));
        assert_eq!(Fidelity::new(50, 250, 4_096), Err(FidelityError::Reach));
        let ours = Fidelity::default();
        assert_eq!(Fidelity::new(ours.position_um, ours.rotation_mdeg, ours.reach_m), Ok(ours));
        let blind = View { distance_m: f64::NAN, field_rad: 1.0, pixels: 1.0 };
        assert!(Fidelity::of_view(&blind, 0.0, 512).is_err());
    }
}
