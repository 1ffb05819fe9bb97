//! A WebSocket to a gateway that is read without waiting, so that one thread can hold a thousand of them.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Error, Message, WebSocket};

use crate::experiment::LabError;

/// What is read at once; states come in messages of one or two kilobytes.
const READ_BYTES: usize = 8 << 10;
/// How long a gateway may take to answer a new client.
const PATIENCE: Duration = Duration::from_secs(10);

/// What came of reading.
pub(crate) enum Got {
    /// A message.
    Message(Message),
    /// Nothing has come since.
    Nothing,
    /// The connection is over.
    Over,
}

/// One connection.
pub(crate) struct WebClient(WebSocket<TcpStream>);

impl WebClient {
    /// Connects. `asks` is what comes after the `?` of the address.
    pub(crate) fn connect(address: SocketAddr, asks: &str) -> Result<WebClient, LabError> {
        let failed = |what: &dyn std::fmt::Display| LabError::Failed(format!("cannot connect to the gateway: {what}"));
        let stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(|error| failed(&error))?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(|error| failed(&error))?;
        stream.set_nodelay(true).map_err(|error| failed(&error))?;
        let config = WebSocketConfig::default().read_buffer_size(READ_BYTES);
        let url = format!("ws://{address}/ws?{asks}");
        let (socket, _) = tungstenite::client::client_with_config(url, stream, Some(config)).map_err(|e| failed(&e))?;
        socket.get_ref().set_nonblocking(true).map_err(|error| failed(&error))?;
        Ok(WebClient(socket))
    }

    /// Sends a text. False when that is not possible now, or never again.
    pub(crate) fn say(&mut self, text: &str) -> bool {
        self.0.send(Message::text(text)).is_ok()
    }

    /// Sends bytes. False when that is not possible now, or never again.
    pub(crate) fn say_bytes(&mut self, bytes: &[u8]) -> bool {
        self.0.send(Message::binary(bytes.to_vec())).is_ok()
    }

    /// What has come, if anything.
    pub(crate) fn read(&mut self) -> Got {
        match self.0.read() {
            Ok(message) => Got::Message(message),
            Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => Got::Nothing,
            Err(_) => Got::Over,
        }
    }
}
