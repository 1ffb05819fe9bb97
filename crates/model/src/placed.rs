//! Statics that are put into a world while it runs, and taken out again.
//!
//! They are one value with a revision, like a partition: whoever has the value with the highest revision has all of it,
//! however many changes it missed.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::{BodyDesc, BodyKind, BodySpawn, Nid, Pose, Velocity, World};

/// Most statics that may be in a world beside those of its description. Every server holds all of them.
pub const PLACED_MAX: usize = 256;
/// Most points, triangles, heights and parts that they may have in all. What is announced goes to every server at once.
pub const PLACED_ELEMENTS_MAX: usize = 4_096;
/// No placed static reaches further from its middle, metres.
pub const PLACED_RADIUS_MAX: f32 = 500.0;

/// Indices of bodies from here on are those of placed statics. A description and its injections stay far below.
const FIRST_INDEX: u32 = 0xF000_0000;
/// A world takes so many changes of its statics between two loads.
const REVISION_MAX: u32 = u32::MAX - FIRST_INDEX;

/// A static that was put into a running world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlacedStatic {
    /// The revision that it came with. Names it, because every revision adds one at the most.
    pub number: u32,
    /// What it is and where it stands; its velocity is zero.
    pub body: BodySpawn,
}

impl PlacedStatic {
    /// Its index among the bodies of the world.
    pub fn index(&self) -> u32 {
        FIRST_INDEX.saturating_add(self.number)
    }

    /// Its id in the era of its world.
    pub fn nid(&self, era: u16) -> Nid {
        Nid::of_world(era, self.index())
    }
}

/// All statics that were put into a world and are still there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Placed {
    /// Raised with every change; 0 in a world as it was loaded.
    pub revision: u32,
    /// In order of number.
    pub statics: Vec<PlacedStatic>,
}

impl Placed {
    /// With one static more, and the id of it, or why this world cannot have it, in words for the person who asked.
    pub fn with(&self, world: &World, era: u16, desc: BodyDesc, pose: Pose) -> Result<(Placed, Nid), String> {
        if let Some(problem) = static_problem(world, &desc, &pose) {
            return Err(problem);
        }
        if self.statics.len() >= PLACED_MAX {
            return Err(format!("{PLACED_MAX} statics were put into this world already; remove one first"));
        }
        let elements = self.elements() + desc.shape.elements();
        if elements > PLACED_ELEMENTS_MAX {
            return Err(format!(
                "the statics put into this world would have {elements} points and parts; {PLACED_ELEMENTS_MAX} is the most"
            ));
        }
        let mut next = self.succeed()?;
        let body = BodySpawn { desc: Arc::new(desc), pose, velocity: Velocity::ZERO };
        next.statics.push(PlacedStatic { number: next.revision, body });
        let nid = next.statics.last().map_or(Nid(0), |placed| placed.nid(era));
        Ok((next, nid))
    }

    /// Without one of them, or why not.
    pub fn without(&self, era: u16, nid: Nid) -> Result<Placed, String> {
        let mut next = self.succeed()?;
        next.statics.retain(|placed| placed.nid(era) != nid);
        if next.statics.len() == self.statics.len() {
            return Err(format!("{nid} is no static that was put into this world"));
        }
        Ok(next)
    }

    /// True when one of them has this id.
    pub fn contains(&self, era: u16, nid: Nid) -> bool {
        self.statics.iter().any(|placed| placed.nid(era) == nid)
    }

    /// True for any id that a placed static could have, also one that is gone or still to come.
    pub fn may_name(nid: Nid) -> bool {
        nid.origin() == crate::Origin::WORLD && (nid.serial() & u64::from(u32::MAX)) >= u64::from(FIRST_INDEX)
    }

    /// What is wrong with it as a whole, when it comes from somewhere else; `None` when nothing is.
    pub fn problem(&self) -> Option<String> {
        let ordered = self.statics.is_sorted_by(|one, two| one.number < two.number);
        let known = self.statics.last().is_none_or(|last| last.number <= self.revision);
        if self.statics.len() > PLACED_MAX || self.elements() > PLACED_ELEMENTS_MAX {
            return Some("there are too many placed statics".to_owned());
        }
        if !ordered || !known || self.revision > REVISION_MAX {
            return Some("the placed statics are not in order".to_owned());
        }
        self.statics.iter().map(|placed| &placed.body).find_map(|body| {
            let stands = body.desc.kind == BodyKind::Static && body.pose.is_valid();
            body.desc.problem().or_else(|| (!stands).then(|| "a placed static is none".to_owned()))
        })
    }

    fn elements(&self) -> usize {
        self.statics.iter().map(|placed| placed.body.desc.shape.elements()).sum()
    }

    fn succeed(&self) -> Result<Placed, String> {
        if self.revision >= REVISION_MAX {
            return Err("the statics of this world changed too often; load it again".to_owned());
        }
        Ok(Placed { revision: self.revision + 1, statics: self.statics.clone() })
    }
}

/// Why a static cannot be put into this world; `None` when it can.
fn static_problem(world: &World, desc: &BodyDesc, pose: &Pose) -> Option<String> {
    if desc.kind != BodyKind::Static {
        return Some("only a static body stays where it is put".to_owned());
    }
    if let Some(problem) = desc.problem() {
        return Some(problem);
    }
    if !pose.is_valid() {
        return Some("the place is not finite".to_owned());
    }
    let radius = desc.shape.bounding_radius();
    if radius > PLACED_RADIUS_MAX {
        return Some(format!("the static reaches {radius} m from its middle; {PLACED_RADIUS_MAX} m is the most"));
    }
    let position = pose.position;
    (!world.kill_box.holds(position)).then(|| format!("{position} is outside the world"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Shape, Vec3};

    fn slab(world: &World, placed: &Placed, x: f32) -> Result<(Placed, Nid), String> {
        placed.with(world, 3, BodyDesc::fixed(Shape::cuboid(1.0, 0.5, 1.0)), Pose::at(Vec3::X * x))
    }

    #[test]
    fn a_static_that_is_gone_never_lends_its_name() {
        let world = World::new("placed");
        let (one, first) = slab(&world, &Placed::default(), 0.0).unwrap();
        let (two, second) = slab(&world, &one, 5.0).unwrap();
        assert!(first != second && Placed::may_name(first) && two.contains(3, first));
        assert!(!Placed::may_name(World::nid(3, 7)) && !two.contains(4, first));
        let third = two.without(3, second).unwrap();
        assert_eq!((third.revision, third.statics.len()), (3, 1));
        let (fourth, again) = slab(&world, &third, 5.0).unwrap();
        assert!(again != second && fourth.problem().is_none());
        assert!(third.without(3, second).unwrap_err().contains("no static"));
        assert!(third.without(3, World::nid(3, 0)).is_err(), "what the description has stays");
    }

    #[test]
    fn what_does_not_fit_is_refused_in_words() {
        let world = World::new("placed");
        let refusal = |desc, at| Placed::default().with(&world, 1, desc, Pose::at(at)).unwrap_err();
        let cube = || Shape::cuboid(1.0, 1.0, 1.0);
        assert!(refusal(BodyDesc::dynamic(cube()), Vec3::ZERO).contains("static"));
        assert!(refusal(BodyDesc::fixed(Shape::cuboid(900.0, 1.0, 1.0)), Vec3::ZERO).contains("500 m"));
        assert!(refusal(BodyDesc::fixed(cube()), Vec3::X * 5_000.0).contains("outside"));
        assert!(refusal(BodyDesc::fixed(cube()), Vec3::splat(f32::NAN)).contains("finite"));
        assert!(refusal(BodyDesc::fixed(Shape::ball(-1.0)), Vec3::ZERO).contains("radius"));
        let mut full = Placed::default();
        for _ in 0..PLACED_MAX {
            full = slab(&world, &full, 0.0).unwrap().0;
        }
        assert!(slab(&world, &full, 0.0).unwrap_err().contains("remove one"));
        assert!(full.problem().is_none());
        full.statics.reverse();
        assert!(full.problem().is_some());
    }
}
