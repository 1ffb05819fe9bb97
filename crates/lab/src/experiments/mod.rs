//! The experiments, one to a file.

mod aura_correctness;
mod aura_scalability;
mod authority_swap;
mod balance;
mod checkpoint;
mod clients;
mod collision;
mod compression;
mod control_schemes;
mod failover;
mod game;
mod handover_latency;
mod insertion_cost;
mod link_throughput;
mod mirror_rays;
mod node_memory;
mod node_overhead;
mod overload;
mod packet_loss;
mod seam;
mod seam_cases;
mod soak;
mod transplant;
mod two_cores;
mod universe_speed;
mod viewer_stream;

use crate::experiment::Experiment;

/// Every experiment, in the order in which they are listed and run: the one place where one is registered.
pub(crate) static ALL: &[Experiment] = &[
    aura_correctness::EXPERIMENT,
    packet_loss::EXPERIMENT,
    seam::EXPERIMENT,
    seam_cases::EXPERIMENT,
    aura_scalability::EXPERIMENT,
    control_schemes::EXPERIMENT,
    balance::EXPERIMENT,
    balance::burst::EXPERIMENT,
    transplant::EXPERIMENT,
    authority_swap::EXPERIMENT,
    failover::EXPERIMENT,
    handover_latency::EXPERIMENT,
    checkpoint::EXPERIMENT,
    overload::EXPERIMENT,
    two_cores::EXPERIMENT,
    soak::EXPERIMENT,
    insertion_cost::EXPERIMENT,
    universe_speed::EXPERIMENT,
    node_overhead::EXPERIMENT,
    viewer_stream::EXPERIMENT,
    compression::EXPERIMENT,
    mirror_rays::EXPERIMENT,
    clients::EXPERIMENT,
    node_memory::EXPERIMENT,
    game::EXPERIMENT,
];
