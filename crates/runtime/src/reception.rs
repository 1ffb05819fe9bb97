//! Lets clients in and serves them, whatever they came over.

use nimbus_gateway::Message;
use nimbus_model::ClientId;
use nimbus_wire::client::{ClientRole, FromClient, Reject, ToClient};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::access::{Access, AccessError};
use crate::client_queue::{ClientEnd, Next};
use crate::client_socket::{Broken, ClientSocket, Received};
use crate::clock::Clock;
use crate::embedded::ClusterHandle;
use crate::rubbish_bin::RubbishBin;

/// Clients at once, over all transports; beyond that newcomers are turned away before they cost anything.
pub(crate) const CLIENTS_MAX: usize = 1024;
/// Messages are sent together until they are so long.
const TOGETHER_BYTES_MAX: usize = 32 << 10;
/// How often a client that needed a token gets one for the next time.
const RENEWAL: Duration = Duration::from_secs(20 * 60);
/// Tokens for the next time that a client has from the start. One is spent when the answer to it gets lost on the way, and
/// who had only that one could not come again.
const TICKETS: usize = 2;

/// Where a gateway is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatewayAt {
    /// Where browsers find it.
    pub http: SocketAddr,
    /// Where it takes QUIC, if it does.
    pub quic: Option<SocketAddr>,
}

/// What every way in has in common.
pub(crate) struct Reception {
    cluster: ClusterHandle,
    access: Access,
    /// Every gateway to this world, where there are several.
    gateways: Vec<GatewayAt>,
    places: Arc<Semaphore>,
}

/// A client that is let in.
pub(crate) struct Guest {
    role: ClientRole,
    /// It sees only what it says it watches.
    watches: bool,
    _place: OwnedSemaphorePermit,
}

/// Why a client is not let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// As in HTTP: 401 without a token, 403 with a bad one, 503 when there is no room.
    pub(crate) status: u16,
    /// For a person.
    pub(crate) reason: String,
}

impl Reception {
    pub(crate) fn new(cluster: ClusterHandle, access: Access, gateways: Vec<GatewayAt>) -> Reception {
        Reception { cluster, access, gateways, places: Arc::new(Semaphore::new(CLIENTS_MAX)) }
    }

    pub(crate) fn cluster(&self) -> &ClusterHandle {
        &self.cluster
    }

    pub(crate) fn gateways(&self) -> &[GatewayAt] {
        &self.gateways
    }

    /// Lets a client in if there is room and its token is good, which is used up by that. Look at everything else before.
    pub(crate) fn admit(&self, token: Option<&str>, watches: bool) -> Result<Guest, Refusal> {
        let Ok(place) = self.places.clone().try_acquire_owned() else {
            return Err(Refusal { status: 503, reason: "too many clients are connected; try again later".to_owned() });
        };
        let role = self.access.admit(token, now_s()).map_err(|refused| Refusal {
            status: if refused == AccessError::Missing { 401 } else { 403 },
            reason: refused.to_string(),
        })?;
        Ok(Guest { role, watches, _place: place })
    }

    /// Serves a client until either side ends it.
    pub(crate) async fn serve(&self, mut socket: ClientSocket, guest: Guest) {
        let Some((client, mut queue)) = self.cluster.connect(guest.role, guest.watches).await else {
            return socket.close(Some("the server is shutting down")).await;
        };
        self.count(&socket, 1);
        let mut bin = RubbishBin::default();
        let Err(reason) = self.converse(&mut socket, &mut queue, &mut bin, client, guest.role).await;
        // What it sent last counts as well; when the process is ending nobody counts any more.
        _ = bin.empty(&self.cluster, client).await;
        self.cluster.disconnect(client).await;
        self.count(&socket, -1);
        socket.close(reason.as_deref()).await;
    }

    /// Says to a client what there is to say, and hears what it says, until that ends, perhaps with a reason to give.
    async fn converse(
        &self,
        socket: &mut ClientSocket,
        queue: &mut ClientEnd,
        bin: &mut RubbishBin,
        client: ClientId,
        role: ClientRole,
    ) -> Result<Infallible, Option<String>> {
        let first = self.told_gateways(socket).into_iter().chain((0..TICKETS).filter_map(|_| self.ticket(role)));
        for message in first {
            tell(socket, queue, &message).await?;
        }
        let mut renewal = tokio::time::interval(RENEWAL);
        renewal.reset();
        loop {
            tokio::select! {
                _ = renewal.tick() => if let Some(ticket) = self.ticket(role) {
                    tell(socket, queue, &ticket).await?;
                },
                next = queue.next() => match next {
                    Next::Message(message) => deliver(socket, queue, message).await?,
                    Next::Close(reason) => return Err(Some(reason)),
                },
                () = bin.is_due() => if !bin.empty(&self.cluster, client).await {
                    return Err(None);
                },
                received = socket.receive() => {
                    let goes_on = match received {
                        Received::Text(text) => match FromClient::parse(&text) {
                            Ok(parsed) => self.cluster.ask(client, parsed).await,
                            Err(reject) => bin.put(reject, &self.cluster, client).await,
                        },
                        Received::Binary => bin.put(no_text(), &self.cluster, client).await,
                        Received::Nothing => true,
                        Received::Unreadable(why) => return Err(Some(why)),
                        Received::End => false,
                    };
                    if !goes_on {
                        return Err(None);
                    }
                }
            }
        }
    }

    /// Waits until all clients are gone.
    pub(crate) async fn everybody_left(&self) {
        // Nobody closes the semaphore, so this fails never.
        _ = self.places.acquire_many(CLIENTS_MAX as u32).await;
    }

    /// Where the gateways are, for a client that should come again the way it came.
    fn told_gateways(&self, socket: &ClientSocket) -> Option<Message> {
        let place = |gateway: &GatewayAt| if socket.is_quic() { gateway.quic } else { Some(gateway.http) };
        let at: Vec<String> = self.gateways.iter().filter_map(place).map(|place| place.to_string()).collect();
        (at.len() > 1).then(|| ToClient::Gateways { at }.into())
    }

    /// A token for the next time, where one is needed.
    fn ticket(&self, role: ClientRole) -> Option<Message> {
        self.access.renew(role, now_s()).map(|token| ToClient::Ticket { token }.into())
    }

    fn count(&self, socket: &ClientSocket, change: isize) {
        if socket.is_quic() {
            let add = |reading: &mut usize| *reading = reading.saturating_add_signed(change);
            self.cluster.board().write_gateway(|reading| add(&mut reading.quic_clients));
        }
    }
}

/// The second of the calendar.
fn now_s() -> u64 {
    Clock::unix_us() / 1_000_000
}

/// Sends a message that did not wait in the queue, unless the gateway wants the client gone meanwhile: one that takes
/// nothing would hold its place for ever. An error ends the connection, perhaps with a reason to give.
async fn tell(socket: &mut ClientSocket, queue: &mut ClientEnd, message: &Message) -> Result<(), Option<String>> {
    tokio::select! {
        result = socket.send(message) => result.map_err(|Broken| None),
        reason = queue.goodbye() => Err(Some(reason)),
    }
}

/// Sends a message and what waits behind it, unless the gateway wants the client gone meanwhile. An error ends the
/// connection, perhaps with a reason to give.
async fn deliver(socket: &mut ClientSocket, queue: &mut ClientEnd, first: Message) -> Result<(), Option<String>> {
    let mut next = Some(first);
    let mut fed = Vec::new();
    let mut bytes = 0;
    while let Some(message) = next {
        tokio::select! {
            result = socket.feed(&message) => result.map_err(|Broken| None)?,
            reason = queue.goodbye() => return Err(Some(reason)),
        }
        bytes += message.size();
        fed.push(message);
        next = if bytes < TOGETHER_BYTES_MAX { queue.more() } else { None };
    }
    tokio::select! {
        result = socket.flush() => result.map_err(|Broken| None)?,
        reason = queue.goodbye() => return Err(Some(reason)),
    }
    fed.iter().for_each(|message| queue.sent(message));
    Ok(())
}

fn no_text() -> Reject {
    Reject { seq: None, reason: "commands are text, not binary".to_owned() }
}
