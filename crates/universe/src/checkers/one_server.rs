//! No region is served by two processes under one epoch, and no number names two processes.

use nimbus_control::{Incarnation, Roster};
use nimbus_model::RegionId;
use std::collections::BTreeMap;

use super::Broken;

const RULE: &str = "one server";

#[derive(Default)]
pub(super) struct OneServer {
    /// Which start of a process began to serve a region under an epoch.
    served: BTreeMap<(RegionId, u32), u32>,
    /// What the process drew that has a number.
    numbers: BTreeMap<Incarnation, u64>,
}

impl OneServer {
    /// A process begins to serve.
    pub(super) fn begins(&mut self, region: RegionId, epoch: u32, process: u32, broken: &mut Vec<Broken>) {
        if let Some(other) = self.served.insert((region, epoch), process) {
            let what = format!("{region} is served under epoch {epoch} by process {process}, and was by {other}");
            broken.push(Broken(RULE, what));
        }
    }

    /// A roster got into the store.
    pub(super) fn stored(&mut self, roster: &Roster, broken: &mut Vec<Broken>) {
        for (number, process) in &roster.processes {
            if self.numbers.insert(*number, process.token).is_some_and(|token| token != process.token) {
                broken.push(Broken(RULE, format!("{number} is the number of two processes")));
            }
        }
    }
}
