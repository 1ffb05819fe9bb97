//! Nobody acts on what the store never had: a coordinator writes, and only then tells.

use nimbus_control::{Incarnation, Roster};
use std::sync::Arc;

use super::Broken;

const RULE: &str = "stored first";

/// A process acts on a roster; `stored` is what the store had under that revision, if it ever had one.
pub(super) fn acts_on(roster: &Roster, stored: Option<&Arc<Roster>>, broken: &mut Vec<Broken>) {
    if stored.is_none_or(|stored| **stored != *roster) {
        let what = format!("a process acts on revision {}, which the store never had", roster.revision);
        broken.push(Broken(RULE, what));
    }
}

/// A process is told that it is no member: the roster that says so must have been there, and say so.
pub(super) fn fenced(own: Incarnation, revision: u64, stored: Option<&Arc<Roster>>, broken: &mut Vec<Broken>) {
    if stored.is_none_or(|stored| stored.member(own).is_some() || stored.issued < own.0) {
        broken.push(Broken(RULE, format!("{own} is fenced by revision {revision}, which does not say so")));
    }
}
