//! Who should own what, decided after every step.

use crate::config::Policy;
use crate::node::Node;

impl Node {
    /// Finds the groups that should change server now and gives them away.
    pub(crate) fn apply_policy(&mut self) {
        match self.config.policy {
            Policy::Naive | Policy::Forgetful | Policy::Exclusive => self.apply_regional(),
            Policy::Cells | Policy::Utility => self.apply_joins(),
            Policy::Aura => self.apply_auras(),
        }
    }

    /// Aura projection: what may touch is brought together first, then what lies elsewhere alone goes home, then the
    /// neighbours are told of what is near them.
    fn apply_auras(&mut self) {
        let mut scene = std::mem::take(&mut self.seam.scene);
        scene.survey(self, false);
        self.seam.guests = scene.guests();
        self.seam.clusters.clear();
        self.watch_tolerances(&scene);
        self.find_anchored(&mut scene);
        let gone = self.pull(&mut scene);
        let births = self.planned_births();
        let births = self.pass_births_on(&scene, births);
        self.traverse(&mut scene, &gone);
        self.announce(&mut scene, &births);
        self.seam.scene = scene;
    }
}
