//! The gateway between regions that only pretend and clients that are real, all in memory.

mod asking;
mod bodies;
mod building;
mod commands;
mod convergence;
mod frames;
mod loading;
mod queries;
mod seams;
mod stage;
mod views;
mod watching;
mod wishing;
