//! The experiments, one to a file.

mod aura_correctness;
mod aura_scalability;
mod collision;
mod node_memory;
mod node_overhead;
mod packet_loss;
mod universe_speed;
mod viewer_stream;

use crate::experiment::Experiment;

pub(crate) const ALL: [Experiment; 7] = [
    aura_correctness::EXPERIMENT,
    packet_loss::EXPERIMENT,
    aura_scalability::EXPERIMENT,
    universe_speed::EXPERIMENT,
    node_overhead::EXPERIMENT,
    viewer_stream::EXPERIMENT,
    node_memory::EXPERIMENT,
];
