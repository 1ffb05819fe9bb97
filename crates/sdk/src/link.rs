//! The task that keeps a connection: reads, writes, notices when a gateway is gone, and finds another.

use nimbus_client::Gateways;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, interval, sleep, timeout};

use crate::connect_error::ConnectError;
use crate::options::Options;
use crate::refusals::Refusals;
use crate::shared::Shared;
use crate::socket::{Knock, Socket};

/// How often silence and late answers are looked for.
const WATCH: Duration = Duration::from_millis(500);
/// How long a goodbye may take.
const GOODBYE: Duration = Duration::from_millis(500);
/// Why a connection ends that its own program ends.
const OWN_WISH: &str = "closed by this program";

pub(crate) struct Link {
    pub(crate) shared: Arc<Shared>,
    pub(crate) gateways: Gateways,
    pub(crate) options: Options,
    /// Texts to send. The program ends the connection by dropping the other end.
    pub(crate) outbound: mpsc::Receiver<String>,
}

/// Why a connection is no more.
enum End {
    /// The program has had enough.
    Wanted,
    /// It broke.
    Lost(String),
}

impl Link {
    /// Tries every gateway once; the error is the last one's.
    pub(crate) async fn first(&mut self) -> Result<Socket, ConnectError> {
        let mut tries = self.gateways.count();
        loop {
            let error = match self.attempt().await {
                Ok(socket) => return Ok(socket),
                Err(error) => error,
            };
            tries -= 1;
            if tries == 0 {
                return Err(error);
            }
            sleep(self.gateways.next(None)).await;
        }
    }

    /// Serves a connection and those that follow it, until the program wants no more or no gateway wants us.
    pub(crate) async fn run(mut self, mut socket: Socket) {
        loop {
            let since = Instant::now();
            match self.serve(&mut socket).await {
                End::Wanted => {
                    _ = timeout(GOODBYE, socket.close()).await;
                    return self.shared.closed(OWN_WISH);
                }
                End::Lost(reason) => self.shared.lost(&reason),
            }
            // What was not sent yet is settled as lost, so it must not be sent to the next gateway.
            while self.outbound.try_recv().is_ok() {}
            match self.again(since.elapsed()).await {
                Ok(next) => socket = next,
                Err(reason) => return self.shared.closed(&reason),
            }
        }
    }

    async fn serve(&mut self, socket: &mut Socket) -> End {
        let mut watch = interval(WATCH);
        // Bytes, not messages: a long message over a slow line is no silence.
        let (mut heard, mut bytes_heard) = (Instant::now(), socket.bytes_heard());
        loop {
            tokio::select! {
                received = socket.receive() => match received {
                    Ok(message) => {
                        for text in self.shared.received(message) {
                            if let Err(reason) = self.send(socket, text).await {
                                return End::Lost(reason);
                            }
                        }
                    }
                    Err(reason) => return End::Lost(reason),
                },
                text = self.outbound.recv() => match text {
                    Some(text) => if let Err(reason) = self.send(socket, text).await {
                        return End::Lost(reason);
                    },
                    None => return End::Wanted,
                },
                _ = watch.tick() => {
                    self.shared.expire();
                    if bytes_heard != socket.bytes_heard() {
                        (heard, bytes_heard) = (Instant::now(), socket.bytes_heard());
                    }
                    if heard.elapsed() > self.options.silence {
                        return End::Lost(format!("no word for {:.1} s", self.options.silence.as_secs_f64()));
                    }
                }
            }
        }
    }

    async fn send(&self, socket: &mut Socket, text: String) -> Result<(), String> {
        let sent = timeout(self.options.silence, socket.send(text)).await;
        sent.unwrap_or_else(|_| Err("the gateway does not listen".to_owned()))
    }

    /// Finds a gateway that lets us in, however long it takes. An error says why there is none.
    async fn again(&mut self, lasted: Duration) -> Result<Socket, String> {
        let told = self.shared.with(|session| session.client().gateways().to_vec());
        self.gateways.learn(&told);
        let mut pause = self.gateways.next(Some(lasted));
        let mut refusals = Refusals::default();
        loop {
            tokio::select! {
                () = sleep(pause) => {}
                () = unwanted(&mut self.outbound) => return Err(OWN_WISH.to_owned()),
            }
            let error = match self.attempt().await {
                Ok(socket) => return Ok(socket),
                Err(error) => error,
            };
            // Who refuses one ticket may take another.
            let has_another = error.is_final() && self.shared.with(|session| session.tickets().unspent() > 0);
            if !has_another && refusals.are_final(self.gateways.current(), &error, self.gateways.count()) {
                return Err(error.to_string());
            }
            pause = self.gateways.next(None);
        }
    }

    async fn attempt(&mut self) -> Result<Socket, ConnectError> {
        let gateway = self.gateways.current().to_owned();
        let (ticket, is_watching) = self.shared.with(|session| (session.tickets().take(), session.is_watching()));
        let token = ticket.as_deref().or(self.options.token.as_deref());
        let watches = self.options.only_watched || is_watching;
        let mut knock = Knock { token, watches, is_token_shown: false };
        let opened = timeout(self.options.attempt, Socket::open(&gateway, &mut knock, &self.options.trust)).await;
        let opened = opened.unwrap_or_else(|_| Err(ConnectError::unreachable(&gateway, "it does not answer")));
        // A gateway looks at the token last of all.
        let is_unspent = matches!(&opened, Err(error @ ConnectError::Refused { .. }) if !error.is_final());
        if is_unspent || !knock.is_token_shown {
            self.shared.with(|session| session.tickets().give_back());
        }
        let socket = opened?;
        self.shared.connected_to(&gateway);
        Ok(socket)
    }
}

/// Ends when the program has dropped the connection.
async fn unwanted(outbound: &mut mpsc::Receiver<String>) {
    while outbound.recv().await.is_some() {}
}
