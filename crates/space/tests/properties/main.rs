//! The partition map against plain definitions: for any layout, every answer of the tree equals what a slow and obvious
//! computation says.

mod contacts;
mod distances;
mod layouts;
mod moves;
mod ownership;
mod round_trip;
