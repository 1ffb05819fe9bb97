//! What really happened, and the rules that must hold whatever happens.

use nimbus_control::{Birth, Departure, Incarnation, Roster, Standing, Told};
use nimbus_model::{RegionId, Tick};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::made::Made;

/// What really happened, known to nobody in the cluster, and the first rule that was broken.
#[derive(Default)]
pub(crate) struct Truth {
    pub(crate) violation: Option<String>,
    /// Every roster that was ever in the store; the first has revision 1.
    pub(crate) history: Vec<Arc<Roster>>,
    /// Backups that were given everything: region, epoch of the server, life.
    pub(crate) seeded: BTreeSet<(RegionId, u32, u32)>,
    /// Who ran as the server of each epoch of each region.
    served: BTreeMap<(RegionId, u32), Incarnation>,
    /// Which start of a process got which number.
    incarnations: BTreeMap<Incarnation, u64>,
    /// Regions that somebody ordered to begin anew.
    pub(crate) restarts: BTreeSet<RegionId>,
    /// When each term got into the store.
    terms: BTreeMap<u64, u64>,
    /// As of which tick each world was loaded.
    loads: BTreeMap<u16, Tick>,
    /// Since when a region could be served and was not, and in which term: a new leader has to listen first.
    unserved_since: BTreeMap<RegionId, (u64, u64)>,
    pub(crate) counts: Counts,
}

/// How often what happened, to know that it did.
#[derive(Debug, Default)]
pub(crate) struct Counts(pub(crate) BTreeMap<&'static str, u64>);

impl Counts {
    pub(crate) fn count(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    pub(crate) fn add(&mut self, other: &Counts) {
        for (what, times) in &other.0 {
            *self.0.entry(what).or_default() += times;
        }
    }

    pub(crate) fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }
}

impl Truth {
    pub(crate) fn blame(&mut self, what: String) {
        self.violation.get_or_insert(what);
    }

    /// A process acts on a roster: it must be one that the store has, or had.
    pub(crate) fn note_taken(&mut self, roster: &Roster) {
        let stored = self.history.get(roster.revision as usize - 1);
        if stored.is_none_or(|stored| **stored != *roster) {
            self.blame(format!("a process acts on revision {}, which the store never had", roster.revision));
        }
    }

    /// A process is told that it is no member: the roster that says so must be in the store, and say so.
    pub(crate) fn note_fenced(&mut self, process: Incarnation, revision: u64) {
        let stored = self.history.get(revision as usize - 1);
        if stored.is_none_or(|stored| stored.member(process).is_some() || stored.issued < process.0) {
            self.blame(format!("{process} is fenced by revision {revision}, which does not say so"));
        }
    }

    /// A process begins to serve: nobody may have done so in that epoch.
    pub(crate) fn note_service(&mut self, region: RegionId, epoch: u32, server: Incarnation) {
        if let Some(other) = self.served.insert((region, epoch), server) {
            self.blame(format!("{region} epoch {epoch} is served by {server} and was by {other}"));
        }
    }

    /// A process turns its backup into a server.
    pub(crate) fn note_promotion(&mut self, region: RegionId, epoch: u32, life: u32, seeded: bool) {
        self.counts.count("promotion");
        if !seeded {
            self.blame(format!("{region} epoch {epoch} came from backup life {life}, which did not have everything"));
        }
    }

    /// A backup that becomes a server has made what is in force, as the roster says by which it does.
    pub(crate) fn note_succession(&mut self, region: RegionId, made: Told, roster: &Roster) {
        let in_force = Told::in_force(roster);
        let lacks = made.epoch < in_force.epoch || made.revision < in_force.revision;
        if made.era < in_force.era || (made.era == in_force.era && lacks) {
            self.blame(format!("{region} is taken over with {made:?}, and {in_force:?} is in force"));
        }
    }

    /// A server is in a world: all of them loaded it as of the same tick.
    pub(crate) fn note_load(&mut self, region: RegionId, made: Made) {
        let (era, at) = (made.versions.era, made.loaded_at);
        let first = *self.loads.entry(era).or_insert(at);
        if at != first {
            self.blame(format!("{region} loaded world {era} as of {at}, another server as of {first}"));
        }
    }

    /// A start of a process has a number.
    pub(crate) fn note_incarnation(&mut self, process: Incarnation, token: u64) {
        if self.incarnations.insert(process, token).is_some_and(|other| other != token) {
            self.blame(format!("{process} is the number of two processes"));
        }
    }

    /// A region could be served at this time, and is or is not.
    pub(crate) fn note_waiting(&mut self, region: RegionId, waits: bool, now_ms: u64, most_ms: u64) {
        if !waits {
            self.unserved_since.remove(&region);
            return;
        }
        let term = self.history.last().map_or(0, |roster| roster.term);
        let known = self.unserved_since.get(&region).filter(|(_, in_term)| *in_term == term);
        let since = known.map_or(now_ms, |(since, _)| *since);
        self.unserved_since.insert(region, (since, term));
        if now_ms - since > most_ms {
            self.blame(format!("{region} is not served since {since} ms, although it could be"));
        }
    }

    /// A roster got into the store.
    pub(crate) fn note_stored(&mut self, bytes: &[u8], now_ms: u64, suspect_ms: u64) {
        let after = Arc::new(Roster::decode(bytes).expect("a coordinator writes only what can be read"));
        let before = self.history.last().cloned();
        self.history.push(Arc::clone(&after));
        self.terms.entry(after.term).or_insert(now_ms);
        let leads_for_ms = now_ms - self.terms[&after.term];
        if let Some(before) = before {
            let problem = self.compare(&before, &after, leads_for_ms < suspect_ms);
            if let Some(problem) = problem {
                self.blame(format!("revision {}: {problem}", after.revision));
            }
        }
    }

    /// What is wrong with one roster after another.
    fn compare(&mut self, before: &Roster, after: &Roster, new_leader: bool) -> Option<String> {
        if after.revision != before.revision + 1 || after.term < before.term || after.issued < before.issued {
            return Some("revision, term or numbers went back".into());
        }
        let leader = |roster: &Roster| (roster.leader.clone(), roster.leader_token);
        if after.term == before.term && leader(after) != leader(before) {
            return Some(format!("term {} has two leaders", after.term));
        }
        for (id, process) in &after.processes {
            let Some(former) = before.processes.get(id) else {
                if id.0 <= before.issued {
                    return Some(format!("{id} was issued before"));
                }
                continue;
            };
            if (&former.name, former.token) != (&process.name, process.token) {
                return Some(format!("{id} is another process now"));
            }
            match (former.standing, process.standing) {
                (Standing::Gone(how), now) if now != Standing::Gone(how) => return Some(format!("{id} came back")),
                (Standing::Up | Standing::Draining, Standing::Gone(Departure::GivenUp)) => {
                    self.counts.count("given up");
                    if new_leader {
                        return Some(format!("{id} is given up by a leader that has hardly listened"));
                    }
                }
                (Standing::Draining, Standing::Gone(Departure::Left)) => self.counts.count("left"),
                _ => {}
            }
        }
        for (id, former) in &before.regions {
            let Some(region) = after.regions.get(id) else { return Some(format!("{id} disappeared")) };
            let same = region.epoch == former.epoch;
            if region.epoch < former.epoch || region.lives < former.lives {
                return Some(format!("{id}: epoch or life went back"));
            }
            if same && (region.server, region.origin, region.birth) != (former.server, former.origin, former.birth) {
                return Some(format!("{id}: another server in epoch {}", region.epoch));
            }
            if !same && region.origin.0 <= before.issued {
                return Some(format!("{id}: origin {} was issued before", region.origin.0));
            }
            let seat = region.backup.filter(|seat| !same || Some(*seat) != former.backup);
            if seat.is_some_and(|seat| seat.life <= former.lives) {
                return Some(format!("{id}: a new backup has a life that was there before"));
            }
            let key = region.backup.map(|seat| (*id, region.epoch, seat.life));
            if region.protected && !key.is_some_and(|key| self.seeded.contains(&key)) {
                return Some(format!("{id}: said to be protected, and is not"));
            }
            match region.birth {
                _ if same => {}
                Birth::World => return Some(format!("{id}: the world again")),
                Birth::Promoted { life } if !self.seeded.contains(&(*id, former.epoch, life)) => {
                    return Some(format!("{id}: promotes life {life}, which does not have everything"));
                }
                Birth::Promoted { .. } if former.lost.is_some() => return Some(format!("{id}: was lost, and is back")),
                Birth::Promoted { .. } => {}
                Birth::Empty { .. } if former.lost.is_none() || !self.restarts.remove(id) => {
                    return Some(format!("{id}: begins anew, and nobody said so"));
                }
                Birth::Empty { .. } => self.counts.count("restart"),
            }
            if region.lost.is_some() && former.lost.is_none() {
                self.counts.count("loss");
            }
            if same && region.lost.is_none() && former.lost.is_some() {
                return Some(format!("{id}: was lost, and is back in the same epoch"));
            }
        }
        None
    }
}
