//! The commands, one file each.

pub(crate) mod certs;
pub(crate) mod check;
pub(crate) mod checkpoint;
pub(crate) mod cluster;
pub(crate) mod demo;
pub(crate) mod inspect;
pub(crate) mod lab;
mod lab_all;
pub(crate) mod record;
pub(crate) mod relay;
pub(crate) mod replay;
pub(crate) mod roles;
pub(crate) mod run;
pub(crate) mod seam_words;
pub(crate) mod token;
pub(crate) mod universe;
