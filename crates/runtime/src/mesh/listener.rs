//! Connections that others make: who they are is found out before anything they say is believed.

use quinn::{Endpoint, Incoming};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::Shared;
use super::greeting::{HELLO_TIMEOUT, NotMet, broken, greet, refuse};
use super::link::serve;
use super::names::{ProcessName, Role};
use super::peer::Peer;

/// Most strangers whose certificates and hellos are looked at, at once. More are turned away unheard.
const STRANGERS_MAX: usize = 32;

/// Receives connections until the endpoint is closed.
pub(crate) async fn listen(shared: Arc<Shared>, endpoint: Endpoint) {
    let places = Arc::new(Semaphore::new(STRANGERS_MAX));
    while let Some(incoming) = endpoint.accept().await {
        let Ok(place) = places.clone().try_acquire_owned() else {
            shared.refusals.note("too many connections are being made at once".to_owned());
            incoming.refuse();
            continue;
        };
        let shared = shared.clone();
        tokio::spawn(async move {
            let from = incoming.remote_address();
            let met = timeout(HELLO_TIMEOUT, meet(&shared, incoming)).await;
            drop(place);
            match met {
                Ok(Ok(met)) => {
                    let peer = met.attached.peer.clone();
                    let why = serve(&shared, met.attached, met.send, met.recv).await;
                    peer.note_error(why);
                }
                Ok(Err(NotMet { why, refused_here: true })) => shared.refusals.note(format!("{from}: {why}")),
                Ok(Err(NotMet { .. })) => {}
                Err(_) => shared.refusals.note(format!("{from}: it did not say who it is in time")),
            }
        });
    }
}

/// A connection on which both sides have accepted each other.
struct Met {
    attached: super::peer::Attached,
    send: quinn::SendStream,
    recv: quinn::RecvStream,
}

async fn meet(shared: &Shared, incoming: Incoming) -> Result<Met, NotMet> {
    let connection = incoming.accept().map_err(broken)?.await.map_err(broken)?;
    let (mut send, mut recv) = connection.accept_bi().await.map_err(broken)?;
    let mut peer = None;
    let theirs = greet(&shared.own, &connection, (&mut send, &mut recv), |theirs| {
        let expected = expected(shared, &theirs.name, theirs.role)?;
        expected.check(theirs.incarnation)?;
        peer = Some(expected);
        Ok(())
    })
    .await;
    let theirs = theirs.inspect_err(|not_met| {
        if let Some(peer) = &peer {
            peer.note_error(not_met.why.clone());
        }
    })?;
    let peer = peer.ok_or_else(|| refuse(&connection, "it is not expected here"))?;
    let attached = peer.attach(&connection, theirs.incarnation).map_err(|why| refuse(&connection, &why))?;
    Ok(Met { attached, send, recv })
}

/// The peer that may connect under this name and role.
fn expected(shared: &Shared, name: &ProcessName, role: Role) -> Result<Arc<Peer>, String> {
    let own = &shared.own.name;
    if name == own {
        return Err(format!("two processes are called {own}"));
    }
    let peer = shared.peer(name).ok_or_else(|| format!("the {role} {name} is not expected by {own}"))?;
    if peer.role != role {
        return Err(format!("{name} is a {role} by its certificate, but {own} expects a {}", peer.role));
    }
    if name > own {
        return Err(format!("{own} makes the connection to {name}, not the other way round"));
    }
    Ok(peer)
}
