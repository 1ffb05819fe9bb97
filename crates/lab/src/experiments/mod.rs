//! The experiments, one to a file.

mod aura_scalability;
mod node_memory;
mod node_overhead;
mod universe_speed;
mod viewer_stream;

use crate::experiment::Experiment;

pub(crate) const ALL: [Experiment; 5] = [
    aura_scalability::EXPERIMENT,
    universe_speed::EXPERIMENT,
    node_overhead::EXPERIMENT,
    viewer_stream::EXPERIMENT,
    node_memory::EXPERIMENT,
];
