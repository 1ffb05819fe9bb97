//! What programs hold: everything that is known, where to show it, and what happens.

use nimbus_client::{Answered, AskError, Body, Client, Event, FromClient, Gateways, Overlay};
use nimbus_model::{Nid, Pose};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use crate::clock::Clock;
use crate::connect_error::ConnectError;
use crate::link::Link;
use crate::options::Options;
use crate::shared::Shared;

/// A body and where to show it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// What is known of it; its own pose is the newest that came.
    pub body: Body,
    /// Where to show it: smooth, and a little behind the newest.
    pub pose: Pose,
}

/// A connection to a world. It moves to another gateway by itself when one dies; dropping it ends it.
///
/// All methods take `&self`, so it can be shared by an `Arc`. A future that is dropped gives up its answer, not the
/// command.
pub struct Connection {
    shared: Arc<Shared>,
    outbound: mpsc::Sender<String>,
    task: JoinHandle<()>,
}

impl Connection {
    /// Connects to a gateway (`ws://host:port/ws`, `wss://host/ws` or `quic://host:port`), or to the first of
    /// [`Options::gateways`] that lets us in, and waits until it has told of a world. Bodies come right after.
    pub async fn connect(url: &str, options: Options) -> Result<Connection, ConnectError> {
        let shared = Arc::new(Shared::new(options.session.clone()));
        // Room for all that may wait for an answer, so that it is only that which decides how much is too much.
        let (outbound, texts) = mpsc::channel(options.session.pending_max.clamp(1, Semaphore::MAX_PERMITS));
        let gateways = Gateways::new(url, &options.gateways, Clock::seed());
        let patience = options.attempt;
        let mut link = Link { shared: shared.clone(), gateways, options, outbound: texts };
        let socket = link.first().await?;
        let task = tokio::spawn(link.run(socket));
        let connection = Connection { shared, outbound, task };
        let until = Instant::now() + patience;
        while connection.look(|client| client.world().is_none()) {
            if timeout_at(until, connection.shared.news()).await.is_err() {
                return Err(ConnectError::Silent { gateway: connection.gateway() });
            }
        }
        Ok(connection)
    }

    /// The time of this connection, for [`Connection::poses_at`].
    pub fn now(&self) -> Duration {
        self.shared.now()
    }

    /// Every body in order of id, and where to show it. `now` is [`Connection::now`], or the moment at which a frame that is
    /// being made will be seen; it should not go back.
    pub fn poses_at(&self, now: Duration) -> Vec<Placed> {
        self.shared.with(|session| session.poses_at(now).map(|(body, pose)| Placed { body: *body, pose }).collect())
    }

    /// Where to show one body.
    pub fn pose_at(&self, nid: Nid, now: Duration) -> Option<Pose> {
        self.shared.with(|session| session.pose_at(nid, now))
    }

    /// A body as it was seen last.
    pub fn body(&self, nid: Nid) -> Option<Body> {
        self.look(|client| client.body(nid).copied())
    }

    /// Looks at everything that is known: bodies, shapes, statics, map, figures, clock. Nothing comes in meanwhile.
    pub fn look<R>(&self, look: impl FnOnce(&Client) -> R) -> R {
        self.shared.with(|session| look(session.client()))
    }

    /// True while a gateway has us. False while another one is sought.
    pub fn is_live(&self) -> bool {
        self.shared.with(|session| session.is_live())
    }

    /// The gateway that has us, or had us last.
    pub fn gateway(&self) -> String {
        self.shared.gateway()
    }

    /// How far what is shown keeps behind the newest states; it follows the jitter.
    pub fn delay(&self) -> Duration {
        self.shared.with(|session| session.delay())
    }

    /// How late all but a few states come, against the earliest.
    pub fn jitter(&self) -> Duration {
        self.shared.with(|session| session.jitter())
    }

    /// The next thing that happened; none once the connection is over. For one task at a time. Events wait in a queue that
    /// forgets the oldest when it is full, and says so with [`Event::Missed`].
    pub async fn next_event(&self) -> Option<Event> {
        self.shared.next_event().await
    }

    /// Chooses what to be told on top of the bodies, from every gateway from now on.
    pub async fn subscribe(&self, overlays: &[Overlay]) -> Result<(), AskError> {
        self.command(FromClient::Overlays { on: overlays.to_vec() }).await.map(|_| ())
    }

    /// Sends any command and waits for what comes of it.
    pub async fn command(&self, command: FromClient) -> Result<Answered, AskError> {
        let (waiter, answer) = oneshot::channel();
        let place = self.outbound.try_reserve().map_err(|error| match error {
            mpsc::error::TrySendError::Full(()) => AskError::TooMany,
            mpsc::error::TrySendError::Closed(()) => AskError::Lost,
        })?;
        self.shared.ask(&command, waiter, |text| place.send(text))?;
        answer.await.unwrap_or(Err(AskError::Lost))
    }

    /// Says goodbye and waits until it is said.
    pub async fn close(self) {
        let Connection { outbound, task, .. } = self;
        drop(outbound);
        // A task that panicked has said so on its way.
        _ = task.await;
    }
}
