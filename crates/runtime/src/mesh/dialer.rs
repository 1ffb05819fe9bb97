//! Connections that this process makes, again and again for as long as a peer is one to talk to.

use quinn::{Endpoint, RecvStream, SendStream};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

use super::Shared;
use super::greeting::{HELLO_TIMEOUT, NotMet, broken, greet, refuse};
use super::link::serve;
use super::peer::{Attached, Peer};

/// The first pause after a connection broke or did not come about. Each further one is twice as long.
pub const PAUSE_MIN: Duration = Duration::from_millis(50);

/// The longest pause.
pub const PAUSE_MAX: Duration = Duration::from_millis(1_000);

/// Connects to a peer until the task is aborted.
pub(crate) async fn dial(shared: Arc<Shared>, endpoint: Endpoint, peer: Arc<Peer>) {
    let mut pause = PAUSE_MIN;
    loop {
        let Some(address) = peer.address() else {
            peer.redial.notified().await;
            continue;
        };
        let met = timeout(HELLO_TIMEOUT, meet(&shared, &endpoint, &peer, address)).await;
        let why = match met {
            Ok(Ok((attached, send, recv))) => {
                pause = PAUSE_MIN;
                serve(&shared, attached, send, recv).await
            }
            Ok(Err(NotMet { why, refused_here })) => {
                if refused_here {
                    shared.refusals.note(format!("{} at {address}: {why}", peer.name));
                }
                why
            }
            Err(_) => format!("{address} does not answer"),
        };
        peer.note_error(why);
        let news = timeout(pause, peer.redial.notified()).await.is_ok();
        pause = if news { PAUSE_MIN } else { PAUSE_MAX.min(pause * 2) };
    }
}

async fn meet(
    shared: &Shared,
    endpoint: &Endpoint,
    peer: &Arc<Peer>,
    address: SocketAddr,
) -> Result<(Attached, SendStream, RecvStream), NotMet> {
    // TLS makes sure that the certificate is for this process in this role.
    let connecting = endpoint
        .connect(address, &peer.name.certified(peer.role))
        .map_err(|error| NotMet { why: error.to_string(), refused_here: false })?;
    let connection = connecting.await.map_err(broken)?;
    let (mut send, mut recv) = connection.open_bi().await.map_err(broken)?;
    let theirs = greet(&shared.own, &connection, (&mut send, &mut recv), |theirs| {
        if (&theirs.name, theirs.role) != (&peer.name, peer.role) {
            return Err(format!("it is not {}", peer.name));
        }
        peer.check(theirs.incarnation)
    })
    .await?;
    let attached = peer.attach(&connection, theirs.incarnation).map_err(|why| refuse(&connection, &why))?;
    Ok((attached, send, recv))
}
