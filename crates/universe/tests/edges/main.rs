//! The rules at the edges, each with a test of its name: what happens to bodies, commands and partitions where two
//! servers meet and something is under way. See the table in `docs/aura-projection.md`.

mod births;
mod building;
mod commands;
mod joints;
mod limits;
mod maps;
mod meetings;
mod stage;
