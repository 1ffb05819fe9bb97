//! The same world with regions hardly wider than its promises demand: where auras of opposite boundaries all but meet.

use nimbus_model::{Aabb, Layout, World};
use nimbus_node::{AuraConfig, Horizon};
use nimbus_space::PartitionMap;

use crate::config::UniverseError;

/// How much wider than they must be.
const SPARE: f32 = 1.02;
/// Regions that are narrow already stay exactly as they are.
const NARROW_ENOUGH: f32 = 0.999;
/// What lies beyond is an outer wall, not a boundary, metres.
const OUTSIDE_M: f32 = 4_000.0;

/// Shrinks the regions of a world, about the origin, to hardly more than their least width. Where every region is an outer
/// one, none has a width.
pub(crate) fn narrowed(mut world: World, aura: &AuraConfig) -> Result<World, UniverseError> {
    let map = PartitionMap::from_layout(&world.layout).map_err(|error| UniverseError::Layout(error.to_string()))?;
    let factor = SPARE * Horizon::width_min(&world, aura) / map.narrowest();
    if factor > 0.0 && factor < NARROW_ENOUGH {
        world.layout = scaled(&world.layout, factor);
    }
    Ok(world)
}

fn scaled(layout: &Layout, factor: f32) -> Layout {
    let place = |at: f32| if at.abs() < OUTSIDE_M { at * factor } else { at };
    let corner = |at: nimbus_model::Vec3| nimbus_model::Vec3::new(place(at.x), place(at.y), place(at.z));
    match layout {
        Layout::Columns { count, width } => Layout::Columns { count: *count, width: width * factor },
        Layout::Grid { count, size } => Layout::Grid { count: *count, size: size.map(|extent| extent * factor) },
        Layout::Corner3 => Layout::Corner3,
        Layout::Boxes { boxes, default } => {
            let mut boxes = boxes.clone();
            for part in &mut boxes {
                part.bounds = Aabb::new(corner(part.bounds.min), corner(part.bounds.max));
            }
            Layout::Boxes { boxes, default: *default }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::UniverseConfig;
    use crate::universe::Universe;
    use nimbus_scenes::SceneParams;

    #[test]
    fn regions_are_as_narrow_as_they_may_be_on_any_number_of_servers() {
        for servers in 1..=25 {
            let world = nimbus_scenes::build("crossing", &SceneParams::on(servers)).unwrap();
            let aura = AuraConfig::default();
            let narrow = narrowed(world.clone(), &aura).unwrap();
            let map = PartitionMap::from_layout(&narrow.layout).unwrap();
            assert_eq!(map.regions().len(), usize::from(servers));
            assert_eq!(narrowed(narrow.clone(), &aura).unwrap(), narrow, "{servers}: twice is once");
            assert_eq!(Horizon::layout_problem(&narrow, &aura, &map), None, "{servers}");
            let before = PartitionMap::from_layout(&world.layout).unwrap().narrowest();
            assert!(
                map.narrowest() < 0.6 * before || before.is_infinite(),
                "{servers}: {} of {before}",
                map.narrowest()
            );
        }
    }

    #[test]
    fn narrow_regions_leave_room_for_the_commit_leg_where_there_are_backups() {
        for (servers, durable) in [(9, true), (16, true), (25, true), (25, false)] {
            let mut config = UniverseConfig::new("crossing", servers, 1, 1);
            (config.narrow, config.durable, config.scale) = (true, durable, 0.4);
            let made = Universe::new(config).map(|universe| universe.map().narrowest());
            assert!(made.as_ref().is_ok_and(|narrowest| *narrowest < 8.0), "{servers}: {made:?}");
        }
    }
}
