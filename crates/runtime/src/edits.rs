//! What builders change of the whole world: statics put in and taken out, regions drawn anew. Whoever decides about a
//! world keeps the newest of both, and works out the next one from it.

use nimbus_model::{BodyDesc, Nid, Placed, Pose, RegionBox, RegionId, World};
use nimbus_node::{AuraConfig, Horizon};
use nimbus_space::PartitionMap;

/// A change of a world's statics that somebody asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StaticEdit {
    /// One more.
    Place(std::sync::Arc<BodyDesc>, Pose),
    /// One less.
    Remove(Nid),
}

impl StaticEdit {
    /// The statics of a world after it, and the static it was about; or why it cannot be.
    pub(crate) fn of(&self, newest: &Placed, world: &World, era: u16) -> Result<(Placed, Nid), String> {
        match self {
            StaticEdit::Place(desc, pose) => newest.with(world, era, (**desc).clone(), *pose),
            StaticEdit::Remove(nid) => newest.without(era, *nid).map(|placed| (placed, *nid)),
        }
    }
}

/// Why regions cannot be drawn like this in a world, whatever the tick; `None` when they can.
pub(crate) fn regions_problem(
    newest: &PartitionMap,
    (boxes, rest): (&[RegionBox], RegionId),
    (world, aura): (&World, &AuraConfig),
    served: impl Fn(&RegionId) -> bool,
) -> Option<String> {
    let map = match newest.redraw(boxes, rest, newest.effective()) {
        Ok(map) => map,
        Err(error) => return Some(error.to_string()),
    };
    if let Some(nobody) = map.regions().iter().find(|region| !served(region)) {
        return Some(format!("there is no server for region {}; there are others to give it to", nobody.0));
    }
    Horizon::layout_problem(world, aura, &map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nimbus_model::{Aabb, Layout, Vec3};

    #[test]
    fn regions_that_are_lost_narrow_or_served_by_nobody_are_refused() {
        let mut world = World::new("edits");
        world.layout = Layout::columns(2, 200.0);
        let map = PartitionMap::from_layout(&world.layout).unwrap();
        let slab = |region: u16, from: f32, to: f32| {
            let bounds = Aabb { min: Vec3::NEG_INFINITY.with_x(from), max: Vec3::INFINITY.with_x(to) };
            vec![RegionBox { region: RegionId(region), bounds }]
        };
        let aura = AuraConfig::PROCESSES;
        let problem = |boxes: Vec<RegionBox>, rest: u16| {
            regions_problem(&map, (&boxes, RegionId(rest)), (&world, &aura), |region| region.0 < 2)
        };
        assert_eq!(problem(slab(1, 20.0, f32::INFINITY), 0), None);
        assert!(problem(slab(1, 20.0, 21.0), 0).unwrap().contains("1.0 m wide"));
        assert!(problem(slab(0, 0.0, 500.0), 0).unwrap().contains("region r1 would have no place"));
        assert!(
            problem([slab(7, 0.0, 50.0), slab(1, 0.0, 500.0)].concat(), 0).unwrap().contains("no server for region 7")
        );
        assert!(problem(slab(1, f32::NAN, 500.0), 0).is_some());
    }
}
