//! What the program and the link both see: the session, and who waits for which answer.

use nimbus_client::{Answered, AskError, Event, FromClient, Session, SessionConfig};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};

use crate::clock::Clock;
use crate::socket::Received;

/// Gets the answer to what was asked.
pub(crate) type Waiter = oneshot::Sender<Result<Answered, AskError>>;

struct State {
    session: Session,
    /// By the number that was asked under. What the session settles leaves.
    waiters: BTreeMap<u64, Waiter>,
    gateway: String,
    is_over: bool,
}

/// The state that the program and the link share.
pub(crate) struct Shared {
    state: Mutex<State>,
    clock: Clock,
    news: Notify,
}

impl Shared {
    pub(crate) fn new(config: SessionConfig) -> Shared {
        let session = Session::new(config);
        let state = State { session, waiters: BTreeMap::new(), gateway: String::new(), is_over: false };
        Shared { state: Mutex::new(state), clock: Clock::start(), news: Notify::new() }
    }

    pub(crate) fn now(&self) -> Duration {
        self.clock.now()
    }

    /// Looks at the session, or moves it on.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&mut Session) -> R) -> R {
        look(&mut self.lock().session)
    }

    pub(crate) fn gateway(&self) -> String {
        self.lock().gateway.clone()
    }

    /// From now on we hear from this gateway.
    pub(crate) fn connected_to(&self, gateway: &str) {
        self.lock().gateway = gateway.to_owned();
    }

    /// Takes in what a gateway said. Returns what is to be said to it at once.
    pub(crate) fn received(&self, message: Received) -> Vec<String> {
        let now = self.now();
        let mut state = self.lock();
        let was_live = state.session.is_live();
        match message {
            Received::Text(text) => state.session.handle_text(&text, now),
            Received::Binary(bytes) => state.session.handle_binary(&bytes, now),
        }
        let greeting = (state.session.is_live() && !was_live).then(|| state.session.subscription());
        let commands = greeting.into_iter().flatten();
        let texts =
            commands.filter_map(|command| state.session.ask(&command, now).ok()).map(|(_, text)| text).collect();
        self.told(state);
        texts
    }

    /// Gives up what has waited too long.
    pub(crate) fn expire(&self) {
        let mut state = self.lock();
        // Whoever draws moves on what is shown; here only the clock of the questions counts.
        state.session.expire(self.now());
        self.told(state);
    }

    pub(crate) fn lost(&self, reason: &str) {
        let mut state = self.lock();
        state.session.lost(reason);
        self.told(state);
    }

    pub(crate) fn closed(&self, reason: &str) {
        let mut state = self.lock();
        state.session.closed(reason);
        state.is_over = true;
        self.told(state);
    }

    /// Numbers a command, remembers who waits for it, and hands its text to `send`.
    pub(crate) fn ask(&self, command: &FromClient, waiter: Waiter, send: impl FnOnce(String)) -> Result<(), AskError> {
        let mut state = self.lock();
        // Remembered even if nobody is there to hear it now: the next gateway is told.
        if let FromClient::Overlays { on } = command {
            state.session.subscribe(on);
        }
        let (seq, text) = state.session.ask(command, self.now())?;
        state.waiters.insert(seq, waiter);
        // Under the lock, so that texts leave in the order of their numbers and none after the connection was lost.
        send(text);
        Ok(())
    }

    /// The next event; none when the connection is over.
    pub(crate) async fn next_event(&self) -> Option<Event> {
        loop {
            {
                let mut state = self.lock();
                if let Some(event) = state.session.next_event() {
                    return Some(event);
                }
                if state.is_over {
                    // Others who wait must hear it, too.
                    self.news.notify_one();
                    return None;
                }
            }
            self.news.notified().await;
        }
    }

    /// Waits until there may be something new.
    pub(crate) async fn news(&self) {
        self.news.notified().await;
    }

    fn told(&self, mut state: MutexGuard<'_, State>) {
        for settled in state.session.take_settled() {
            if let Some(waiter) = state.waiters.remove(&settled.seq) {
                // Who has stopped waiting does not mind.
                _ = waiter.send(settled.outcome);
            }
        }
        drop(state);
        self.news.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
