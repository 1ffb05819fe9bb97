//! `nimbus check`: what is wrong with a world file.

use clap::Args;
use nimbus::runtime::first_map;
use std::path::PathBuf;

use crate::exit::Verdict;
use crate::worlds;

/// Check a world file and say what is wrong, with line and remedy
#[derive(Args)]
pub(crate) struct Check {
    /// The world file
    world: PathBuf,
}

impl Check {
    pub(crate) fn run(self) -> anyhow::Result<Verdict> {
        let world = worlds::file(&self.world)?;
        let (_, regions) = first_map(&world, 0)?;
        let injected: u64 = world.injections.iter().map(|injection| u64::from(injection.count)).sum();
        println!(
            "{}: good. `{}` has {} bodies, {} statics, {} joints, {} more bodies by injection, {} pushes, {} regions.",
            self.world.display(),
            world.name,
            world.owned_bodies().count(),
            world.statics().count(),
            world.joints.len(),
            injected,
            world.script.len(),
            regions.len(),
        );
        Ok(Verdict::Good)
    }
}
