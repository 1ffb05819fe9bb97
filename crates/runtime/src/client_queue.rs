//! What waits to be sent to one client. Bounded in bytes and in time: a client that does not read is let go.

use nimbus_gateway::Message;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Bytes that may wait for one client. A first picture of 100,000 bodies is 5 MB.
pub const BACKLOG_BYTES_MAX: usize = 16 << 20;

/// How long something may wait for a client while nothing leaves. Long enough for the largest message, half a megabyte, over
/// 300 kbit/s, and for a line that is dead for a while; a client that comes back later connects again by itself.
pub const STANDSTILL_MAX: Duration = Duration::from_secs(15);

/// With so little waiting, a client has taken what it was sent.
const LITTLE_BYTES: usize = 64 << 10;

/// What a message costs beyond its bytes, so that empty messages are bounded too.
const MESSAGE_OVERHEAD: usize = 64;

/// The gateway's end.
pub(crate) struct ClientQueue {
    messages: mpsc::UnboundedSender<Message>,
    backlog: Arc<AtomicUsize>,
    /// Messages that have left, as the socket counts them.
    left: Arc<AtomicUsize>,
    /// How many had left when that was looked at, and since when it is so many.
    looked: Option<(usize, Duration)>,
    /// Bytes of texts that were pushed since little waited: worlds, answers. Nobody is slow for having asked.
    texts: usize,
    close: oneshot::Sender<String>,
}

/// The socket's end.
pub struct ClientEnd {
    messages: mpsc::UnboundedReceiver<Message>,
    backlog: Arc<AtomicUsize>,
    left: Arc<AtomicUsize>,
    closed: oneshot::Receiver<String>,
}

/// What the socket has to do next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Send this, then say [`ClientEnd::sent`].
    Message(Message),
    /// Say goodbye, with this reason.
    Close(String),
}

/// Both ends of a queue.
pub(crate) fn client_queue() -> (ClientQueue, ClientEnd) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let (close, closed) = oneshot::channel();
    let (backlog, left) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
    (
        ClientQueue { messages: sender, backlog: backlog.clone(), left: left.clone(), looked: None, texts: 0, close },
        ClientEnd { messages: receiver, backlog, left, closed },
    )
}

impl ClientQueue {
    /// Puts a message in the queue. False when too much waits already: then the client has to go.
    pub(crate) fn push(&mut self, message: Message) -> bool {
        let before = self.backlog.fetch_add(cost(&message), Ordering::Relaxed);
        if before <= LITTLE_BYTES {
            self.texts = 0;
        }
        if let Message::Text(_) = &message {
            self.texts += cost(&message);
        }
        let has_room = before <= BACKLOG_BYTES_MAX;
        if has_room {
            // A closed receiver means that the socket is gone, and an event says so presently.
            _ = self.messages.send(message);
        }
        has_room
    }

    /// Bytes that wait.
    fn waiting(&self) -> usize {
        self.backlog.load(Ordering::Relaxed)
    }

    /// Bytes of bodies that wait, beyond those that texts before them would explain.
    pub(crate) fn arrears(&self) -> usize {
        self.waiting().saturating_sub(self.texts)
    }

    /// Whether something waits and nothing has left for too long. Has to be asked now and then to notice.
    pub(crate) fn stands_still(&mut self, now: Duration) -> bool {
        let left = self.left.load(Ordering::Relaxed);
        let (_, since) = match self.looked {
            Some(looked) if looked.0 == left && self.waiting() > 0 => looked,
            _ => *self.looked.insert((left, now)),
        };
        now.saturating_sub(since) > STANDSTILL_MAX
    }

    /// Ends the connection, whatever still waits.
    pub(crate) fn close(self, reason: String) {
        // Nobody listens when the socket is gone, and then nothing has to be said.
        _ = self.close.send(reason);
    }
}

impl ClientEnd {
    /// What to do next. A goodbye overtakes messages.
    pub async fn next(&mut self) -> Next {
        tokio::select! {
            biased;
            reason = &mut self.closed => Next::Close(reason.unwrap_or_else(|_| GONE.to_owned())),
            message = self.messages.recv() => match message {
                Some(message) => Next::Message(message),
                None => Next::Close(self.goodbye().await),
            },
        }
    }

    /// What else waits to be sent, without waiting for it.
    pub fn more(&mut self) -> Option<Message> {
        self.messages.try_recv().ok()
    }

    /// Waits for the goodbye alone, while something is being sent.
    pub async fn goodbye(&mut self) -> String {
        (&mut self.closed).await.unwrap_or_else(|_| GONE.to_owned())
    }

    /// A message has left.
    pub fn sent(&self, message: &Message) {
        self.backlog.fetch_sub(cost(message), Ordering::Relaxed);
        self.left.fetch_add(1, Ordering::Relaxed);
    }
}

/// The reason given when the gateway ended without one.
const GONE: &str = "the gateway is gone";

/// What a message takes up while it waits.
pub(crate) fn cost(message: &Message) -> usize {
    MESSAGE_OVERHEAD + message.size()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn a_backlog_is_bounded_and_shrinks_when_sent() {
        let (mut queue, mut end) = client_queue();
        let megabyte = Message::Binary(vec![0; 1 << 20].into());
        let taken = (0..100).take_while(|_| queue.push(megabyte.clone())).count();
        assert!((16..=17).contains(&taken), "{taken}");
        let Next::Message(first) = block_on(end.next()) else { panic!("nothing came") };
        for _ in 0..taken {
            end.sent(&first);
        }
        assert!(queue.push(first));
    }

    #[test]
    fn nobody_is_behind_for_a_long_text_and_what_came_after_it() {
        let (mut queue, mut end) = client_queue();
        let (world, states) = (Message::Text("x".repeat(1 << 20).into()), Message::Binary(vec![0; 10 << 10].into()));
        assert!(queue.push(world.clone()));
        assert!((0..50).all(|_| queue.push(states.clone())));
        assert!((500 << 10..600 << 10).contains(&queue.arrears()), "{}", queue.arrears());
        assert_eq!(block_on(end.next()), Next::Message(world.clone()));
        end.sent(&world);
        assert_eq!(queue.arrears(), 0, "these could not leave before");
        (0..50).for_each(|_| end.sent(&states));
        assert!((0..50).all(|_| queue.push(states.clone())));
        assert!(queue.arrears() > 500 << 10, "but these could");
    }

    #[test]
    fn who_takes_nothing_is_noticed_and_who_is_slow_or_has_nothing_to_read_is_not() {
        let (mut queue, mut end) = client_queue();
        let at = |seconds: u64| Duration::from_secs(1_000 + seconds);
        assert!(!queue.stands_still(at(0)));
        assert!(!queue.stands_still(at(100)), "nothing was sent");
        assert!(queue.push(Message::Text("one".into())) && queue.push(Message::Text("two".into())));
        assert!(!queue.stands_still(at(110)));
        let Next::Message(one) = block_on(end.next()) else { panic!("nothing came") };
        end.sent(&one);
        assert!(!queue.stands_still(at(120)), "one has left");
        assert!(!queue.stands_still(at(135)));
        assert!(queue.stands_still(at(136)), "the other waits");
        let Next::Message(two) = block_on(end.next()) else { panic!("nothing came") };
        end.sent(&two);
        assert!(!queue.stands_still(at(137)));
        assert!(!queue.stands_still(at(1_000)));
    }

    #[test]
    fn a_goodbye_overtakes() {
        let (mut queue, mut end) = client_queue();
        assert!(queue.push(Message::Text("late".into())));
        queue.close("too slow".to_owned());
        assert_eq!(block_on(end.next()), Next::Close("too slow".to_owned()));
    }
}
