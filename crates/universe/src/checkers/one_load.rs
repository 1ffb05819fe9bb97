//! A world is loaded at one tick, everywhere: births and scripted pushes count from it, so two servers that differ in it
//! make the same body twice or not at all.

use nimbus_model::Tick;

use super::{Broken, Scene};

const RULE: &str = "one load";

/// The newest era that was looked at, and the tick at which the first server that was seen in it says it began.
#[derive(Default)]
pub(super) struct OneLoad {
    first: Option<(u16, Tick)>,
}

impl OneLoad {
    pub(super) fn inspect(&mut self, scene: &Scene<'_>, broken: &mut Vec<Broken>) {
        for node in &scene.nodes {
            let (era, at) = (node.era(), node.loaded_at());
            let known = self.first.filter(|(known, _)| *known == era);
            let (_, expected) = known.unwrap_or((era, at));
            self.first = Some((era, expected));
            if at != expected {
                let what = format!("{} loaded world {era} as of {at}, another server as of {expected}", node.region());
                broken.push(Broken(RULE, what));
            }
        }
    }
}
