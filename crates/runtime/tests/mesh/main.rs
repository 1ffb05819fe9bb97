//! The mesh from outside: real sockets on one host, real certificates.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::disallowed_methods, reason = "tests of real time wait in real time")]

mod cast;
mod certificates;
mod exchange;
mod refusals;
mod restart;
mod stranger;
