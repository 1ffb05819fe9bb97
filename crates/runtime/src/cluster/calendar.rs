//! The calendar by which ticks are due: that of the first leader. Whoever takes over goes on with it, as far as it could be
//! told from afar, so that no tick jumps when machines disagree about the time.

use crate::offset::ClockOffset;

/// What a coordinator knows of it. Times are unix microseconds by the machine's own clock unless said otherwise.
#[derive(Default)]
pub(super) struct Calendar {
    /// As heard while following.
    heard: ClockOffset,
    /// By how much it is ahead of our clock.
    ahead_us: i64,
    /// True from when we lead until another one does.
    is_ours: bool,
}

impl Calendar {
    /// Another coordinator, which keeps it, has told what it shows.
    pub(super) fn note(&mut self, sent_us: u64, shown_us: u64, received_us: u64) {
        self.heard.note(sent_us, shown_us, received_us);
    }

    /// What it shows; none while another one keeps it.
    pub(super) fn shown(&self, now_us: u64) -> Option<u64> {
        self.is_ours.then(|| self.ahead_us(now_us))
    }

    /// What it would show if we took it over now.
    pub(super) fn inherit(&mut self, now_us: u64) -> u64 {
        if !self.is_ours {
            self.ahead_us = self.heard.ahead_us().unwrap_or(self.ahead_us);
        }
        self.ahead_us(now_us)
    }

    /// We lead: it is ours to keep.
    pub(super) fn keep(&mut self) {
        self.is_ours = true;
    }

    /// Another one leads. What was heard before we did is too old to go by.
    pub(super) fn hand_over(&mut self) {
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
        calendars[0].keep();
        let mut now = 1_000_000;
        for taker in [1, 2, 0, 1] {
            let keeper = calendars.iter().position(|calendar| calendar.is_ours).unwrap();
            let mut next = std::mem::take(&mut calendars[taker]);
            ask(&mut next, clocks[taker], &calendars[keeper], clocks[keeper], now);
            assert_eq!(next.shown(now), None);
            now += 7_000_000;
            assert_eq!(next.inherit(now + clocks[taker]), now, "{taker} goes on where {keeper} was");
            next.keep();
            calendars[keeper].hand_over();
            calendars[taker] = next;
            now += 1_000_000;
            assert_eq!(calendars[taker].shown(now + clocks[taker]), Some(now));
            // One that leads again after it was away for a moment does not listen to what it heard before.
            assert_eq!(calendars[taker].inherit(now + clocks[taker]), now);
        }
    }
}
