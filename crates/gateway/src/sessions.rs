//! Clients that are connected, and how much each may cost.

use nimbus_model::ClientId;
use nimbus_wire::client::{ClientRole, Overlay, Reject, ToClient};
use std::collections::BTreeMap;

use crate::{Counters, Message, Request};

/// Messages that are no commands, after which a client is disconnected.
pub const BAD_MAX: u32 = 50;
/// Control commands and questions of one client between two polls. They work while the clock stands still, so no tick
/// can count them.
const CONTROLS_PER_POLL: u32 = 20;
/// Refusals for haste that a client is told of between two polls; beyond that its commands vanish unanswered.
const REFUSALS_PER_POLL: u32 = 100;
/// The same for messages that are no commands.
pub const RUBBISH_ANSWERED_PER_POLL: u32 = 4;
/// Commands that may vanish unanswered before the client is disconnected. Forgiven once its allowance is full again.
const IGNORED_MAX: u32 = 10_000;

/// What a client may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowance {
    pub(crate) commands_per_second: u32,
    pub(crate) burst: u32,
    pub(crate) tick_hz: u32,
}

impl Allowance {
    /// Credit that one command costs. A tick earns `commands_per_second`, so that whole numbers do.
    fn price(self) -> u64 {
        u64::from(self.tick_hz.max(1))
    }

    fn credit_max(self) -> u64 {
        u64::from(self.burst) * self.price()
    }
}

#[derive(Debug)]
struct Session {
    /// What it may do.
    role: ClientRole,
    /// Knows the world as of the last tick.
    settled: bool,
    /// Sees what it watches, and not everything.
    watches: bool,
    /// What it wants to see on top of the bodies, in order.
    overlays: Vec<Overlay>,
    /// Its choice is new: it is owed a picture even when nothing changed.
    owed_picture: bool,
    credit: u64,
    controls: u32,
    refusals: u32,
    rubbish: u32,
    ignored: u32,
    bad: u32,
}

/// The connected clients, and what waits to be sent to one of them alone.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    by_client: BTreeMap<ClientId, Session>,
    pub(crate) mail: Vec<(ClientId, Message)>,
    pub(crate) requests: Vec<(ClientId, Option<u64>, Request)>,
    pub(crate) closed: Vec<(ClientId, String)>,
}

impl Sessions {
    pub(crate) fn connect(
        &mut self,
        (client, role, watches): (ClientId, ClientRole, bool),
        max: usize,
        allowance: Allowance,
    ) -> Result<(), String> {
        if self.by_client.contains_key(&client) {
            return Err(format!("client {} is connected already", client.0));
        }
        if self.by_client.len() >= max {
            return Err(format!("this gateway serves {max} clients already; try again later"));
        }
        let credit = allowance.credit_max();
        let session = Session {
            role,
            settled: false,
            watches,
            overlays: Vec::new(),
            owed_picture: false,
            credit,
            controls: 0,
            refusals: 0,
            rubbish: 0,
            ignored: 0,
            bad: 0,
        };
        self.by_client.insert(client, session);
        Ok(())
    }

    pub(crate) fn disconnect(&mut self, client: ClientId) {
        self.by_client.remove(&client);
    }

    pub(crate) fn knows(&self, client: ClientId) -> bool {
        self.by_client.contains_key(&client)
    }

    /// What a client may do; nothing is known of one that is not there.
    pub(crate) fn role(&self, client: ClientId) -> Option<ClientRole> {
        self.by_client.get(&client).map(|session| session.role)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_client.len()
    }

    /// Clients that know the world as of the last tick, in order.
    pub(crate) fn settled(&self) -> impl Iterator<Item = ClientId> {
        self.by_client.iter().filter(|(_, session)| session.settled).map(|(client, _)| *client)
    }

    /// Those of them that see everything.
    pub(crate) fn all_seeing(&self) -> impl Iterator<Item = ClientId> {
        let sees_all = |session: &Session| session.settled && !session.watches;
        self.by_client.iter().filter(move |(_, session)| sees_all(session)).map(|(client, _)| *client)
    }

    /// True when some client sees everything, or is about to.
    pub(crate) fn anybody_sees_all(&self) -> bool {
        self.by_client.values().any(|session| !session.watches)
    }

    /// From now on a client sees what it watches. True if it has seen everything so far.
    pub(crate) fn watches(&mut self, client: ClientId) -> bool {
        let Some(session) = self.by_client.get_mut(&client) else { return false };
        !std::mem::replace(&mut session.watches, true) && session.settled
    }

    /// Clients that know nothing yet, and whether they see everything; from now on they count as settled.
    pub(crate) fn take_newcomers(&mut self) -> Vec<(ClientId, bool)> {
        let fresh = self.by_client.iter_mut().filter(|(_, session)| !session.settled);
        fresh
            .map(|(client, session)| {
                session.settled = true;
                (*client, !session.watches)
            })
            .collect()
    }

    /// A client chooses what it sees on top of the bodies.
    pub(crate) fn choose(&mut self, client: ClientId, overlays: Vec<Overlay>) {
        if let Some(session) = self.by_client.get_mut(&client) {
            (session.overlays, session.owed_picture) = (overlays, true);
        }
    }

    /// True when some client wants to see this.
    pub(crate) fn anybody_wants(&self, overlay: Overlay) -> bool {
        self.by_client.values().any(|session| session.overlays.contains(&overlay))
    }

    /// Settled clients that are to get this overlay now: all who want it when it changed, else those who are owed it.
    pub(crate) fn viewers(&self, overlay: Overlay, changed: bool) -> impl Iterator<Item = ClientId> {
        let wants = move |session: &Session| {
            session.settled && session.overlays.contains(&overlay) && (changed || session.owed_picture)
        };
        self.by_client.iter().filter(move |(_, session)| wants(session)).map(|(client, _)| *client)
    }

    /// Everybody has the picture of the overlays.
    pub(crate) fn pictured(&mut self) {
        for session in self.by_client.values_mut().filter(|session| session.settled) {
            session.owed_picture = false;
        }
    }

    /// Some ticks have passed: every client earns credit.
    pub(crate) fn earn(&mut self, ticks: u64, allowance: Allowance) {
        let earned = ticks.saturating_mul(u64::from(allowance.commands_per_second));
        let max = allowance.credit_max();
        for session in self.by_client.values_mut() {
            session.credit = session.credit.saturating_add(earned).min(max);
            if session.credit == max {
                session.ignored = 0;
            }
        }
    }

    /// The shell has looked in: limits that are not counted in ticks begin anew.
    pub(crate) fn polled(&mut self) {
        for session in self.by_client.values_mut() {
            session.controls = 0;
            session.refusals = 0;
            session.rubbish = 0;
        }
    }

    /// True when the client may give another command to the world.
    pub(crate) fn pay(&mut self, client: ClientId, allowance: Allowance) -> bool {
        let Some(session) = self.by_client.get_mut(&client) else { return false };
        let paid = session.credit >= allowance.price();
        if paid {
            session.credit -= allowance.price();
        }
        paid
    }

    /// How many commands the client could still pay for.
    pub(crate) fn affords(&self, client: ClientId, allowance: Allowance) -> u64 {
        self.by_client.get(&client).map_or(0, |session| session.credit / allowance.price())
    }

    /// The client did something that costs so many commands more; it pays what it can.
    pub(crate) fn charge(&mut self, client: ClientId, commands: u64, allowance: Allowance) {
        if let Some(session) = self.by_client.get_mut(&client) {
            session.credit = session.credit.saturating_sub(commands.saturating_mul(allowance.price()));
        }
    }

    /// True when the client may ask the shell for something again.
    pub(crate) fn control(&mut self, client: ClientId) -> bool {
        let Some(session) = self.by_client.get_mut(&client) else { return false };
        session.controls += 1;
        session.controls <= CONTROLS_PER_POLL
    }

    /// Refuses a command for haste; says so only so many times, then disconnects who does not listen.
    pub(crate) fn hasty(&mut self, client: ClientId, seq: Option<u64>, reason: &str, counters: &mut Counters) {
        let Some(session) = self.by_client.get_mut(&client) else { return };
        if session.refusals < REFUSALS_PER_POLL {
            session.refusals += 1;
            self.refuse(client, seq, reason.to_owned(), counters);
            return;
        }
        counters.commands_ignored += 1;
        session.ignored += 1;
        if session.ignored > IGNORED_MAX {
            self.close(client, "you send far more commands than this gateway takes", counters);
        }
    }

    /// Messages that are no commands; `reject` is about the last.
    pub(crate) fn rubbish(&mut self, client: ClientId, count: u32, reject: Reject, counters: &mut Counters) {
        let Some(session) = self.by_client.get_mut(&client) else { return };
        counters.messages_bad += u64::from(count);
        counters.commands_refused += u64::from(count.saturating_sub(1));
        session.bad = session.bad.saturating_add(count);
        let last = session.bad >= BAD_MAX;
        let reason = if last {
            format!("after {BAD_MAX} messages that are no commands; the last: {}", reject.reason)
        } else {
            String::new()
        };
        // Whoever pours it out is not answered every time: that would cost more than reading it.
        let answers = session.rubbish < RUBBISH_ANSWERED_PER_POLL;
        session.rubbish += 1;
        if answers {
            self.refuse(client, reject.seq, reject.reason, counters);
        } else {
            counters.commands_refused += 1;
        }
        if last {
            self.close(client, &reason, counters);
        }
    }

    pub(crate) fn refuse(&mut self, client: ClientId, seq: Option<u64>, reason: String, counters: &mut Counters) {
        counters.commands_refused += 1;
        self.tell(client, ToClient::Refused { seq, reason });
    }

    pub(crate) fn tell(&mut self, client: ClientId, message: ToClient) {
        if self.knows(client) {
            self.mail.push((client, message.into()));
        }
    }

    pub(crate) fn close(&mut self, client: ClientId, reason: &str, counters: &mut Counters) {
        self.by_client.remove(&client);
        self.closed.push((client, reason.to_owned()));
        counters.clients_closed += 1;
    }
}
