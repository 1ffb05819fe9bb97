//! The task that keeps a connection: reads, writes, notices when a gateway is gone, and finds another.

use nimbus_client::Gateways;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, interval, sleep, timeout};

use crate::connect_error::ConnectError;
use crate::options::Options;
use crate::shared::Shared;
use crate::socket::Socket;

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
        let mut heard = Instant::now();
        loop {
            tokio::select! {
                received = socket.receive() => match received {
                    Ok(message) => {
                        heard = Instant::now();
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
        let mut refusals = 0;
        loop {
            tokio::select! {
                () = sleep(pause) => {}
                () = unwanted(&mut self.outbound) => return Err(OWN_WISH.to_owned()),
            }
            match self.attempt().await {
                Ok(socket) => return Ok(socket),
                Err(error) if error.is_final() => {
                    refusals += 1;
                    if refusals >= self.gateways.count() {
                        return Err(error.to_string());
                    }
                }
                Err(_) => refusals = 0,
            }
            pause = self.gateways.next(None);
        }
    }

    async fn attempt(&mut self) -> Result<Socket, ConnectError> {
        let gateway = self.gateways.current().to_owned();
        let ticket = self.shared.with(|session| session.client().ticket().map(str::to_owned));
        let token = ticket.or_else(|| self.options.token.clone());
        let opened = timeout(self.options.attempt, Socket::open(&gateway, token.as_deref(), &self.options)).await;
        let socket = opened.unwrap_or_else(|_| Err(ConnectError::unreachable(&gateway, "it does not answer")))?;
        self.shared.connected_to(&gateway);
        Ok(socket)
    }
}

/// Ends when the program has dropped the connection.
async fn unwanted(outbound: &mut mpsc::Receiver<String>) {
    while outbound.recv().await.is_some() {}
}
