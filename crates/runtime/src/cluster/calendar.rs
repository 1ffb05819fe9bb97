//! The calendar by which ticks are due: that of the first leader. Whoever takes over goes on with it, as far as it could be
//! told from afar, so that no tick jumps when machines disagree about the time.
//!
//! A leader that has heard of it from no other one, because all were away, asks the members: they go by it all the time.
//! Until some have answered it shows nothing, and members go on as they are.

use std::time::Duration;

use crate::offset::ClockOffset;

/// How long members are asked at the most. Where all of them are new as well, nobody knows.
const SEARCH_MAX: Duration = Duration::from_secs(2);
/// So many answers are enough: the quickest counts.
const ANSWERS: usize = 6;

/// What a coordinator knows of it. Times are unix microseconds by its own steady clock unless said otherwise.
#[derive(Default)]
pub(super) struct Calendar {
    /// As heard while following.
    heard: ClockOffset,
    /// By how much it is ahead of our clock.
    ahead_us: i64,
    /// True from when we lead until another one does.
    is_ours: bool,
    /// We lead, and members are asked what it shows.
    search: Option<Search>,
}

struct Search {
    told: ClockOffset,
    answers: usize,
    until: Duration,
}

impl Calendar {
    /// Another coordinator, which keeps it, has told what it shows.
    pub(super) fn note(&mut self, sent_us: u64, shown_us: u64, received_us: u64) {
        self.heard.note(sent_us, shown_us, received_us);
    }

    /// A member has told what it shows.
    pub(super) fn note_member(&mut self, sent_us: u64, shown_us: u64, received_us: u64) {
        if let Some(search) = &mut self.search {
            search.told.note(sent_us, shown_us, received_us);
            search.answers += 1;
        }
    }

    /// What it shows; none while another one keeps it, or members are asked.
    pub(super) fn shown(&self, now_us: u64) -> Option<u64> {
        (self.is_ours && !self.is_sought()).then(|| self.ahead_us(now_us))
    }

    /// What it would show if we took it over now.
    pub(super) fn inherit(&mut self, now_us: u64) -> u64 {
        if !self.is_ours {
            self.ahead_us = self.heard.ahead_us().unwrap_or(self.ahead_us);
        }
        self.ahead_us(now_us)
    }

    /// We lead: it is ours to keep. Members are asked first if ticks are due by it already and nobody has told us of it.
    pub(super) fn keep(&mut self, has_begun: bool, now: Duration) {
        if !std::mem::replace(&mut self.is_ours, true) && has_begun && self.heard.ahead_us().is_none() {
            self.search = Some(Search { told: ClockOffset::default(), answers: 0, until: now + SEARCH_MAX });
        }
    }

    /// Ends the search when enough have answered or it has taken long enough.
    pub(super) fn settle(&mut self, now: Duration) {
        let done = |search: &mut Search| search.answers >= ANSWERS || now >= search.until;
        if let Some(search) = self.search.take_if(done) {
            self.ahead_us = search.told.ahead_us().unwrap_or(self.ahead_us);
        }
    }

    /// True while members are asked.
    pub(super) fn is_sought(&self) -> bool {
        self.search.is_some()
    }

    /// Another one leads. What was heard before we did is too old to go by.
    pub(super) fn hand_over(&mut self) {
        self.search = None;
        if std::mem::replace(&mut self.is_ours, false) {
            self.heard = ClockOffset::default();
        }
    }

    fn ahead_us(&self, now_us: u64) -> u64 {
        now_us.saturating_add_signed(self.ahead_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One asks the other, by clocks that are this far ahead, and the way takes a tenth of a millisecond.
    fn ask(asker: &mut Calendar, asker_ahead: u64, keeper: &Calendar, keeper_ahead: u64, now: u64) {
        let shown = keeper.shown(now + 50 + keeper_ahead).unwrap();
        asker.note(now + asker_ahead, shown, now + 100 + asker_ahead);
    }

    #[test]
    fn machines_that_disagree_hand_one_calendar_on() {
        let clocks = [0, 5_000_000, 90_000_000];
        let mut calendars = [(); 3].map(|()| Calendar::default());
        assert_eq!(calendars[0].shown(1), None, "nobody keeps it yet");
        assert_eq!(calendars[0].inherit(1), 1);
        calendars[0].keep(false, Duration::ZERO);
        let mut now = 1_000_000;
        for taker in [1, 2, 0, 1] {
            let keeper = calendars.iter().position(|calendar| calendar.is_ours).unwrap();
            let mut next = std::mem::take(&mut calendars[taker]);
            ask(&mut next, clocks[taker], &calendars[keeper], clocks[keeper], now);
            assert_eq!(next.shown(now), None);
            now += 7_000_000;
            assert_eq!(next.inherit(now + clocks[taker]), now, "{taker} goes on where {keeper} was");
            next.keep(true, Duration::ZERO);
            calendars[keeper].hand_over();
            calendars[taker] = next;
            now += 1_000_000;
            assert_eq!(calendars[taker].shown(now + clocks[taker]), Some(now));
            // One that leads again after it was away for a moment does not listen to what it heard before.
            assert_eq!(calendars[taker].inherit(now + clocks[taker]), now);
        }
    }
    #[test]
    fn who_was_told_by_no_leader_goes_on_with_what_members_know() {
        let mut calendar = Calendar::default();
        let (now_us, members_ahead) = (50_000_000, 3_600_000_000);
        assert_eq!(calendar.inherit(now_us), now_us);
        calendar.keep(true, Duration::ZERO);
        for late in (1..=ANSWERS as u64).map(|i| i * 100) {
            calendar.settle(Duration::ZERO);
            assert_eq!(calendar.shown(now_us), None, "a guess would hold members up");
            calendar.note_member(now_us, now_us + members_ahead + 100, now_us + 100 + late);
        }
        calendar.settle(Duration::ZERO);
        assert_eq!(calendar.shown(now_us), Some(now_us + members_ahead), "the quickest counts");
        calendar.keep(true, Duration::ZERO);
        assert!(!calendar.is_sought(), "it asks once");
    }

    #[test]
    fn where_nobody_knows_it_is_what_our_clock_shows() {
        let mut calendar = Calendar::default();
        calendar.keep(true, Duration::from_secs(7));
        calendar.settle(Duration::from_secs(7) + SEARCH_MAX / 2);
        assert_eq!(calendar.shown(1), None);
        calendar.settle(Duration::from_secs(7) + SEARCH_MAX);
        assert_eq!(calendar.shown(1), Some(1));
        let mut fresh = Calendar::default();
        fresh.keep(false, Duration::ZERO);
        assert_eq!(fresh.shown(1), Some(1), "a cluster that begins asks nobody");
    }
}
