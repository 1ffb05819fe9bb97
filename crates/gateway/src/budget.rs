//! What a view may cost: the bytes its clients asked for, less where one of them cannot take them.

use nimbus_wire::client::Watch;

/// What was not used may be saved up for so many sends.
const SAVED_SENDS: f32 = 3.0;
/// The share of the budget that pays for a newcomer's first packet, which all clients of a view get, so that those who have
/// been there before go on seeing motion.
const DEBT_SHARE: f32 = 0.5;
/// How fast the mean cost of a send follows what is measured.
const LEARNS: f32 = 0.2;
/// A client that reads too slowly is sent this share of what it usually is at the least.
const SHARE_MIN: f32 = 1.0 / 16.0;
/// When it keeps up again, it gets this share of that more with every send.
const SHARE_STEP: f32 = 1.0 / 64.0;
/// Whatever clients are sent, it is taken to be worth so much, so that a quiet world does not make anybody seem slow. Nobody
/// is sent less for being slow either: with nothing sent, nothing would show that it keeps up again. Bytes a second.
const USUAL_MIN: f32 = 4096.0;
/// How much of what is usual is left after a send that took less, so that a moment of rest does not count for much.
const USUAL_LASTS: f32 = 0.99;

/// The bytes of a view.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    credit: f32,
    /// What was sent ahead of what was earned, and is paid little by little.
    debt: f32,
    /// What a send costs lately.
    send_bytes: f32,
    /// What clients that keep up are sent, bytes a second.
    usual: f32,
    /// The share of that which the client can take, where it reads too slowly for all of it.
    share: f32,
}

impl Budget {
    pub(crate) fn new() -> Budget {
        Budget { credit: 0.0, debt: 0.0, send_bytes: 0.0, usual: USUAL_MIN, share: 1.0 }
    }

    /// Bytes that may be spent now; less than none after a send that cost more than it seemed.
    pub(crate) fn credit(&self) -> f32 {
        self.credit
    }

    /// Bytes a second that clients are sent, or would be if they kept up.
    pub(crate) fn usual(&self) -> f32 {
        self.usual
    }

    /// The share of that which the client can take.
    pub(crate) fn share(&self) -> f32 {
        self.share
    }

    pub(crate) fn has_debt(&self) -> bool {
        self.debt > 0.0
    }

    /// It is time to send again, for the first time in so many turns.
    pub(crate) fn earn(&mut self, watch: &Watch, hz: f32, turns: f32) {
        let asked = watch.kbit as f32 * 125.0;
        let rate = if self.share < 1.0 { asked.min((self.share * self.usual).max(USUAL_MIN)) } else { asked };
        let per_send = rate / hz;
        let earned = per_send * turns.clamp(1.0, SAVED_SENDS);
        let paid = self.debt.min(DEBT_SHARE * earned);
        self.debt -= paid;
        self.credit = (self.credit + earned - paid).min(SAVED_SENDS * per_send);
    }

    pub(crate) fn spend(&mut self, bytes: f32) {
        self.credit -= bytes;
    }

    /// Spends what has not been earned.
    pub(crate) fn borrow(&mut self, bytes: f32) {
        self.debt += bytes;
    }

    /// A send is over that began with so much credit.
    pub(crate) fn sent(&mut self, credit: f32, hz: f32) {
        self.send_bytes += LEARNS * (credit - self.credit - self.send_bytes);
        if self.share == 1.0 {
            self.usual = (self.send_bytes * hz).max(USUAL_LASTS * self.usual).max(USUAL_MIN);
        }
    }

    /// The client reads too slowly: it gets half as much. That is half of what there was to say, however much it asked for.
    pub(crate) fn slow_down(&mut self) {
        self.share = (0.5 * self.share).max(SHARE_MIN);
    }

    /// The client keeps up.
    pub(crate) fn speed_up(&mut self) {
        self.share = (self.share + SHARE_STEP).min(1.0);
    }
}
