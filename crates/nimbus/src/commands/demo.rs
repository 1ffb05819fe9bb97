//! `nimbus demo`: a scene in one process, with the viewer in the browser.

use clap::Args;
use nimbus::node::Policy;
use nimbus::runtime::{EmbeddedConfig, Play};

use crate::commands::run::{Serving, serve};
use crate::commands::universe::policy;
use crate::exit::Verdict;
use crate::worlds;

/// Run a scene in one process, with the viewer in the browser
#[derive(Args)]
pub(crate) struct Demo {
    /// How many servers share the world
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    servers: u16,
    /// Which scene to begin with
    #[arg(long, default_value = "showcase")]
    scene: String,
    /// Who should own what: aura, or a reference to see what it saves you from: naive, forgetful (loses bodies), exclusive
    /// (collisions at boundaries come late), cells or utility
    #[arg(long, default_value = "aura", value_parser = policy)]
    policy: Policy,
    #[command(flatten)]
    serving: Serving,
}

impl Demo {
    pub(crate) fn run(self, play: Option<Play>) -> anyhow::Result<Verdict> {
        let begins_on = if self.serving.burst.is_some() { 1 } else { self.servers };
        let world = worlds::scene(&self.scene, begins_on, 1, 1.0)?;
        let (servers, policy) = (self.servers, self.policy);
        let config = EmbeddedConfig { servers, policy, scenes: worlds::choice(1, 1.0), ..EmbeddedConfig::new(world) };
        // Whoever plays with it may kill a server. Schemes other than the default lose bodies or time, which is enough to watch.
        let config = EmbeddedConfig { durable: policy == Policy::default(), play, ..config };
        serve(config, &self.serving)
    }
}
