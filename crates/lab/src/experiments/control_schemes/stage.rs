//! The scenes that every scheme is run on.

use nimbus_model::{Nid, World};
use nimbus_scenes::SceneParams;

/// Columns of the rain are so wide, metres.
const RAIN_WIDTH_M: f32 = 100.0;
/// Share of frames that links lose in the scene that is about loss.
const LOSS: f32 = 0.01;
/// Free pendulums hang in planes of this distance along z, the first of them at zero, metres.
const FREE_PITCH_M: f32 = 15.0;

/// A scene, for how long it is run, and what is judged in it.
pub(super) struct Stage {
    pub(super) name: &'static str,
    pub(super) servers: u16,
    pub(super) ticks: u64,
    pub(super) loss: f32,
    pub(super) world: World,
    pub(super) dominoes: bool,
    /// Pendulums that touch nothing.
    pub(super) pendulums: Vec<Nid>,
    /// Whether energy can be compared: runs are long enough alike.
    pub(super) energy: bool,
}

/// All of them.
pub(super) fn all(quick: bool) -> Vec<Stage> {
    let sized = |full: u64, less: u64| if quick { less } else { full };
    let scene = |name: &'static str, servers, scale, ticks| Stage {
        name,
        servers,
        ticks,
        loss: 0.0,
        world: build(name, servers, scale),
        dominoes: false,
        pendulums: Vec::new(),
        energy: true,
    };
    let dominoes = scene("dominoes", 3, if quick { 0.4 } else { 1.0 }, sized(3_600, 1_500));
    let pendulums = scene("pendulums", 2, 0.5, sized(2_400, 900));
    let rain = nimbus_scenes::rain_on_columns(4, 4, RAIN_WIDTH_M, 1, if quick { 0.15 } else { 0.4 });
    let crossing = scene("crossing", 3, 1.0, sized(1_800, 600));
    vec![
        Stage { dominoes: true, ..dominoes },
        Stage { pendulums: free_pendulums(&pendulums.world), ..pendulums },
        Stage { name: "rain", world: rain, ..scene("crossing", 4, 0.1, sized(1_800, 600)) },
        Stage { name: "crossing, 1 % loss", loss: LOSS, energy: false, ..crossing },
    ]
}

fn build(name: &str, servers: u16, scale: f32) -> World {
    nimbus_scenes::build(name, &SceneParams { servers, seed: 1, scale }).expect("the scene exists")
}

fn free_pendulums(world: &World) -> Vec<Nid> {
    let is_free = |z: f32| (z / FREE_PITCH_M - (z / FREE_PITCH_M).round()).abs() * FREE_PITCH_M < 0.5;
    let free = world.owned_bodies().filter(|(_, spawn)| is_free(spawn.pose.position.z));
    free.map(|(i, _)| World::nid(1, i)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_free_pendulum_at_every_seam() {
        for stage in all(true).into_iter().filter(|stage| stage.name == "pendulums") {
            assert_eq!(stage.pendulums.len(), usize::from(stage.servers) - 1);
        }
    }

    #[test]
    fn every_scene_has_a_name_of_its_own_and_as_many_regions_as_it_says() {
        let stages = all(true);
        for stage in &stages {
            assert_eq!(stages.iter().filter(|other| other.name == stage.name).count(), 1);
            let map = nimbus_space::PartitionMap::from_layout(&stage.world.layout).unwrap();
            assert_eq!(map.regions().len(), usize::from(stage.servers), "{}", stage.name);
        }
    }
}
