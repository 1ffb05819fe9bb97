//! A gateway by hand, which does what no real one should: answers late, cuts lines, or says the half of something.

use nimbus_model::ClientId;
use nimbus_sdk::{ClientRole, FromClient};
use nimbus_wire::client::ToClient;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocket};

use super::{HOST, PATIENCE};

/// A door that programs knock at.
pub(crate) struct FakeGateway(TcpListener);

/// A program at the door. Dropping it cuts the line.
pub(crate) struct Visitor {
    stream: TcpStream,
    /// The token that it showed.
    pub(crate) token: Option<String>,
    /// It asked for no bodies before it has said what it watches.
    pub(crate) watches: bool,
    key: String,
}

/// A program that was let in. Dropping it cuts the line.
pub(crate) struct Guest(WebSocket<TcpStream>);

impl FakeGateway {
    /// At a port, or at any if that is 0.
    pub(crate) fn listen(port: u16) -> FakeGateway {
        FakeGateway(TcpListener::bind((HOST, port)).unwrap())
    }

    pub(crate) fn place(&self) -> SocketAddr {
        self.0.local_addr().unwrap()
    }

    pub(crate) fn address(&self) -> String {
        format!("ws://{}/ws", self.place())
    }

    /// The next who knocks, and what it says.
    pub(crate) fn visitor(&self) -> Visitor {
        let stream = self.0.accept().unwrap().0;
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
        let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let query = head[0].split(' ').nth(1).unwrap().split_once('?').map_or("", |(_, query)| query);
        let token = query.split('&').find_map(|part| part.strip_prefix("token=")).map(str::to_owned);
        let watches = query.split('&').any(|part| part == "bodies=watched");
        let named = |line: &String| line.to_lowercase().starts_with("sec-websocket-key:");
        let key = head.iter().find(|line| named(line)).unwrap().split_once(':').unwrap().1.trim().to_owned();
        Visitor { stream, token, watches, key }
    }
}

impl Visitor {
    /// Does not let it in.
    pub(crate) fn refuse(mut self, status: u16) {
        write!(self.stream, "HTTP/1.1 {status} No\r\nContent-Length: 2\r\n\r\nno").unwrap();
    }

    /// Lets it in and shows it an empty world.
    pub(crate) fn let_in(mut self) -> Guest {
        let accept = derive_accept_key(self.key.as_bytes());
        let head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket";
        write!(self.stream, "{head}\r\nSec-WebSocket-Accept: {accept}\r\n\r\n").unwrap();
        let mut guest = Guest(WebSocket::from_raw_socket(self.stream, Role::Server, None));
        first_words().iter().for_each(|message| guest.tell(message));
        guest
    }
}

impl Guest {
    pub(crate) fn tell(&mut self, message: &ToClient) {
        self.0.send(Message::text(message.to_text())).unwrap();
    }

    pub(crate) fn give_ticket(&mut self, token: &str) {
        self.tell(&ToClient::Ticket { token: token.to_owned() });
    }

    /// The next command.
    pub(crate) fn command(&mut self) -> FromClient {
        loop {
            if let Message::Text(text) = self.0.read().unwrap() {
                return FromClient::parse(&text).unwrap().command;
            }
        }
    }

    /// Sends one message of so many bytes in pieces, each so long after the one before.
    pub(crate) fn tell_slowly(&mut self, bytes: usize, pieces: usize, pause: Duration) {
        let stream = self.0.get_mut();
        // Binary, whole, and with a length of eight bytes.
        stream.write_all(&[0x82, 127]).unwrap();
        stream.write_all(&(bytes as u64).to_be_bytes()).unwrap();
        for piece in slow_message(bytes).chunks(bytes.div_ceil(pieces)) {
            stream.write_all(piece).unwrap();
            wait(pause);
        }
    }
}

/// What a gateway says first.
pub(crate) fn first_words() -> [ToClient; 2] {
    let (client, role) = (ClientId(1), ClientRole::Player);
    let welcome = ToClient::Welcome { protocol: 1, client, role, scenes: Vec::new() };
    [welcome, ToClient::world(&nimbus_model::World::new("empty"), 1)]
}

/// A message of so many bytes, of a kind that nobody knows.
pub(crate) fn slow_message(bytes: usize) -> Vec<u8> {
    vec![99; bytes]
}

/// Does nothing for so long.
pub(crate) fn wait(pause: Duration) {
    std::thread::park_timeout(pause);
}

/// Plays the gateway besides the test. A panic in it is one of the test.
pub(crate) fn play(gateway: impl FnOnce() + Send + 'static) -> std::thread::JoinHandle<()> {
    std::thread::Builder::new().spawn(gateway).unwrap()
}
