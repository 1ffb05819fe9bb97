//! What the leader has heard from processes. Not kept anywhere: a new leader listens anew.

use nimbus_model::{RegionId, Tick};
use std::collections::BTreeMap;

use crate::exchange::Link;
use crate::messages::{Heartbeat, RegionReport};
use crate::roster::{Incarnation, Roster};

/// The latest from one process.
#[derive(Clone, Debug)]
pub(crate) struct Voice {
    /// When, in the leader's time. For one that was not heard yet, when the leader began to listen.
    pub(crate) at_ms: u64,
    pub(crate) link: Option<Link>,
    /// The newest roster that it has acted on, as far as we know.
    pub(crate) revision: u64,
    /// The newest roster it was told, and when.
    pub(crate) told: (u64, u64),
    /// The last tick it has completed; none while it was not heard.
    pub(crate) tick: Option<Tick>,
    pub(crate) reports: BTreeMap<RegionId, RegionReport>,
}

/// The latest from every member.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    voices: BTreeMap<Incarnation, Voice>,
    last_ms: u64,
}

impl Heard {
    /// Begins to listen anew: everybody counts as heard at `since_ms`, which is now unless somebody plants a mistake.
    pub(crate) fn restart(&mut self, roster: &Roster, since_ms: u64, now_ms: u64) {
        self.voices.clear();
        self.last_ms = now_ms;
        self.follow(roster, since_ms);
    }

    /// Listens to exactly the members.
    pub(crate) fn follow(&mut self, roster: &Roster, now_ms: u64) {
        self.voices.retain(|process, _| roster.member(*process).is_some());
        for (process, _) in roster.members() {
            self.voices.entry(process).or_insert_with(|| Voice {
                at_ms: now_ms,
                link: None,
                revision: 0,
                told: (0, 0),
                tick: None,
                reports: BTreeMap::new(),
            });
        }
    }

    /// Time passes. A leader that was itself away has not listened meanwhile, so no more than `most_ms` of one pause
    /// counts as silence of others.
    pub(crate) fn pass(&mut self, now_ms: u64, most_ms: u64) {
        let away_ms = now_ms.saturating_sub(self.last_ms).saturating_sub(most_ms);
        self.last_ms = self.last_ms.max(now_ms);
        if away_ms > 0 {
            self.voices.values_mut().for_each(|voice| voice.at_ms = voice.at_ms.saturating_add(away_ms).min(now_ms));
        }
    }

    /// A member is there.
    pub(crate) fn note(&mut self, beat: Heartbeat, link: Link, now_ms: u64) {
        let Some(voice) = self.voices.get_mut(&beat.process) else { return };
        let reports = beat.regions.into_iter().map(|report| (report.region, report)).collect();
        let revision = voice.revision.max(beat.revision);
        *voice = Voice { at_ms: now_ms, link: Some(link), revision, told: voice.told, tick: Some(beat.tick), reports };
    }

    pub(crate) fn voice(&self, process: Incarnation) -> Option<&Voice> {
        self.voices.get(&process)
    }

    pub(crate) fn voice_mut(&mut self, process: Incarnation) -> Option<&mut Voice> {
        self.voices.get_mut(&process)
    }

    pub(crate) fn voices_mut(&mut self) -> impl Iterator<Item = (Incarnation, &mut Voice)> {
        self.voices.iter_mut().map(|(process, voice)| (*process, voice))
    }

    pub(crate) fn reports(&self) -> impl Iterator<Item = (Incarnation, &RegionReport)> {
        self.voices.iter().flat_map(|(process, voice)| voice.reports.values().map(|report| (*process, report)))
    }

    /// For how long a process was silent; nothing is known of one that is no member.
    pub(crate) fn silence_ms(&self, process: Incarnation, now_ms: u64) -> Option<u64> {
        self.voices.get(&process).map(|voice| now_ms.saturating_sub(voice.at_ms))
    }

    /// What the server of a region last said about it in this epoch.
    pub(crate) fn report(&self, server: Incarnation, region: RegionId, epoch: u32) -> Option<&RegionReport> {
        self.voices.get(&server)?.reports.get(&region).filter(|report| report.epoch == epoch)
    }
}
