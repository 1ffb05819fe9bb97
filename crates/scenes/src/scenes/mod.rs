//! The scenes, one file each.

mod building;
mod corner_stacks;
mod crossing;
pub(crate) mod cubes_901;
mod dominoes;
mod head_on;
mod pendulums;
mod ragdolls;
pub(crate) mod rain;
mod showcase;
mod tower;
mod vehicles;
mod wall;

use crate::Scene;

/// Every scene, the first one first.
pub(crate) const ALL: &[Scene] = &[
    showcase::SCENE,
    rain::SCENE,
    rain::CORNER_SCENE,
    rain::SHOWER,
    crossing::SCENE,
    corner_stacks::SCENE,
    building::SCENE,
    wall::SCENE,
    tower::SCENE,
    dominoes::SCENE,
    pendulums::SCENE,
    ragdolls::SCENE,
    vehicles::SCENE,
    head_on::SCENE,
    cubes_901::SCENE,
];
