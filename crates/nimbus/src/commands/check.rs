//! `nimbus check`: what is wrong with a world file.

use clap::Args;
use nimbus::model::Injection;
use nimbus::runtime::first_map;
use std::path::PathBuf;

use crate::concerns::{self, Machine};
use crate::exit::Verdict;
use crate::worlds;

/// Check a world file and say what is wrong or will disappoint, with line and remedy
#[derive(Args)]
pub(crate) struct Check {
    /// The world file
    world: PathBuf,
}

impl Check {
    pub(crate) fn run(self) -> anyhow::Result<Verdict> {
        let (world, lines) = worlds::file_with_lines(&self.world)?;
        let (_, regions) = first_map(&world, 0)?;
        let injected: u64 = world.injections.iter().filter_map(Injection::finite_count).map(u64::from).sum();
        let endless = world.injections.iter().filter(|injection| injection.finite_count().is_none()).count();
        let endless = if endless > 0 { format!(" ({endless} injections without end aside)") } else { String::new() };
        let file = self.world.display().to_string();
        let concerns = concerns::all(&world, regions.len(), Machine::this());
        for concern in &concerns {
            println!("{}", concerns::told_of_file(concern, &file, &lines));
        }
        let warnings = match concerns.len() {
            0 => String::new(),
            1 => ", with 1 warning".to_owned(),
            count => format!(", with {count} warnings"),
        };
        println!(
            "{file}: good{warnings}. `{}` has {} bodies, {} statics, {} joints, {} more bodies by injection{endless}, {} pushes, {} regions.",
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
