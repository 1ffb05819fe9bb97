//! The experiments, one to a file.

mod insertion_cost;
mod node_memory;
mod node_overhead;
mod transplant;
mod universe_speed;
mod viewer_stream;

use crate::experiment::Experiment;

pub(crate) const ALL: [Experiment; 6] = [
    universe_speed::EXPERIMENT,
    node_overhead::EXPERIMENT,
    viewer_stream::EXPERIMENT,
    node_memory::EXPERIMENT,
    insertion_cost::EXPERIMENT,
    transplant::EXPERIMENT,
];
