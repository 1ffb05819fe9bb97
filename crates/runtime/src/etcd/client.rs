//! One conversation with etcd: a connection, a token if it wants one, and questions one after another.

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::config::{Endpoint, EtcdConfig, EtcdLogin};
use super::messages::{EtcdError, Token, complaint};
use super::tls;

/// How long one question may take, with connecting. Less than a lease, so that several fit into one.
const ASK_MAX: Duration = Duration::from_millis(900);
/// Most bytes of an answer. etcd takes values of 1.5 MB, which base64 makes a third longer.
const ANSWER_BYTES_MAX: usize = 4 << 20;
/// The question that gets a token.
const AUTHENTICATE: &str = "/v3/auth/authenticate";

/// One end of a connection; dropping it ends the connection.
pub(super) type Speaker = SendRequest<Full<Bytes>>;

/// A stream of either kind.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// See the description of this file. A question that fails or is given up costs the connection; the next one goes to the
/// next endpoint.
pub(crate) struct Client {
    config: Arc<EtcdConfig>,
    tls: Option<TlsConnector>,
    /// User and password. This type has no `Debug`, so that they cannot be shown.
    login: Option<(String, String)>,
    turn: usize,
    speaker: Option<Speaker>,
    token: Option<HeaderValue>,
}

impl Client {
    /// Reads what `https` needs, and the password; connects when it is first asked something.
    pub(crate) fn new(config: Arc<EtcdConfig>) -> Result<Client, EtcdError> {
        let tls = config.tls().map(tls::connector).transpose()?;
        let login = config.login().map(password).transpose()?;
        Ok(Client { config, tls, login, turn: 0, speaker: None, token: None })
    }

    /// Asks and waits for the answer.
    pub(crate) async fn ask<R: DeserializeOwned>(
        &mut self,
        call: &'static str,
        question: &impl Serialize,
    ) -> Result<R, EtcdError> {
        let answer = match timeout(ASK_MAX, self.converse_with_token(call, question)).await {
            Ok(answer) => answer,
            Err(_) => Err(self.unreachable(&format!("no answer to {call} within {} ms", ASK_MAX.as_millis()))),
        };
        self.conclude(&answer);
        serde_json::from_slice(&answer?).map_err(|_| EtcdError::Nonsense(call))
    }

    /// Asks for a stream, on a connection of its own.
    pub(super) async fn open_stream(
        &mut self,
        call: &'static str,
        question: &impl Serialize,
    ) -> Result<(Incoming, Speaker), EtcdError> {
        let opening = async {
            let mut speaker = self.connect().await?;
            let response = self.say(&mut speaker, call, question).await?;
            Ok((response, speaker))
        };
        let opened = match timeout(ASK_MAX, opening).await {
            Ok(opened) => opened,
            Err(_) => Err(self.unreachable(&format!("no answer to {call} within {} ms", ASK_MAX.as_millis()))),
        };
        self.conclude(&opened);
        let (response, speaker) = opened?;
        if !response.status().is_success() {
            self.token = None;
            let message = format!("HTTP status {}", response.status().as_u16());
            return Err(EtcdError::Refused { call, message });
        }
        Ok((response.into_body(), speaker))
    }

    /// Asks once more with a new token if etcd refuses an old one: it forgets those that nobody used for a while.
    async fn converse_with_token(&mut self, call: &'static str, question: &impl Serialize) -> Result<Bytes, EtcdError> {
        let is_old = self.token.is_some();
        match self.converse(call, question).await {
            Err(EtcdError::Refused { .. }) if is_old => {
                self.token = None;
                self.converse(call, question).await
            }
            outcome => outcome,
        }
    }

    async fn converse(&mut self, call: &'static str, question: &impl Serialize) -> Result<Bytes, EtcdError> {
        // Taken out, so that a question that is given up in the middle takes its connection with it.
        let mut speaker = match self.speaker.take() {
            Some(speaker) if !speaker.is_closed() => speaker,
            _ => self.connect().await?,
        };
        if self.token.is_none()
            && let Some((user, password)) = &self.login
        {
            let question = serde_json::json!({ "name": user, "password": password });
            let response = self.say(&mut speaker, AUTHENTICATE, &question).await?;
            let Token { token } = serde_json::from_slice(&self.listen(AUTHENTICATE, response).await?)
                .map_err(|_| EtcdError::Nonsense(AUTHENTICATE))?;
            let mut token = HeaderValue::try_from(token).map_err(|_| EtcdError::Nonsense(AUTHENTICATE))?;
            token.set_sensitive(true);
            self.token = Some(token);
        }
        let response = self.say(&mut speaker, call, question).await?;
        let answer = self.listen(call, response).await?;
        self.speaker = Some(speaker);
        Ok(answer)
    }

    async fn say(
        &self,
        speaker: &mut Speaker,
        call: &'static str,
        question: &impl Serialize,
    ) -> Result<Response<Incoming>, EtcdError> {
        let body = serde_json::to_vec(question).map_err(|_| EtcdError::Nonsense(call))?;
        let mut request =
            Request::post(call).header(HOST, self.endpoint().authority()).header(CONTENT_TYPE, "application/json");
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token.clone());
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(|_| EtcdError::Nonsense(call))?;
        speaker.ready().await.map_err(|error| self.unreachable(&error))?;
        speaker.send_request(request).await.map_err(|error| self.unreachable(&error))
    }

    async fn listen(&self, call: &'static str, response: Response<Incoming>) -> Result<Bytes, EtcdError> {
        let status = response.status();
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
        let body = body.map_err(|error| self.unreachable(&error))?.to_bytes();
        if !status.is_success() {
            return Err(EtcdError::Refused { call, message: complaint(&body, status.as_u16()) });
        }
        Ok(body)
    }

    async fn connect(&self) -> Result<Speaker, EtcdError> {
        let endpoint = self.endpoint();
        let socket = TcpStream::connect((endpoint.host.as_str(), endpoint.port)).await;
        let socket = socket.map_err(|error| self.unreachable(&error))?;
        socket.set_nodelay(true).map_err(|error| self.unreachable(&error))?;
        let stream: Box<dyn Stream> = match &self.tls {
            None => Box::new(socket),
            Some(connector) => {
                let name = ServerName::try_from(endpoint.host.clone()).map_err(|error| self.unreachable(&error))?;
                Box::new(connector.connect(name, socket).await.map_err(|error| self.unreachable(&error))?)
            }
        };
        let (speaker, connection) = handshake(TokioIo::new(stream)).await.map_err(|error| self.unreachable(&error))?;
        // It ends when the speaker is dropped, and whoever speaks hears of its failures.
        tokio::spawn(async move { _ = connection.await });
        Ok(speaker)
    }

    /// Leaves an endpoint that does not answer, and a token that may have run out.
    fn conclude<T>(&mut self, outcome: &Result<T, EtcdError>) {
        match outcome {
            Ok(_) => {}
            Err(EtcdError::Refused { .. }) => self.token = None,
            Err(_) => {
                (self.speaker, self.token) = (None, None);
                self.turn = (self.turn + 1) % self.config.endpoints().len();
            }
        }
    }

    fn endpoint(&self) -> &Endpoint {
        &self.config.endpoints()[self.turn]
    }

    /// That the endpoint whose turn it is does not answer.
    pub(crate) fn unreachable(&self, problem: &impl ToString) -> EtcdError {
        EtcdError::Unreachable { endpoint: self.endpoint().to_string(), problem: problem.to_string() }
    }
}

/// The user and the password in the file.
fn password(login: &EtcdLogin) -> Result<(String, String), EtcdError> {
    let EtcdLogin { user, password_file } = login;
    let text = std::fs::read_to_string(password_file)
        .map_err(|error| EtcdError::File { path: password_file.clone(), problem: error.to_string() })?;
    Ok((user.clone(), text.trim_end_matches(['\r', '\n']).to_owned()))
}
