//! Where etcd is and who we are to it. Checked here once, so that the client has nothing left to doubt.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// Longest lease that a coordinator may ask for, seconds: so long may nobody lead after it died.
pub const LEASE_S_MAX: u32 = 60;
/// Most endpoints; a cluster of etcd has three or five members.
const ENDPOINTS_MAX: usize = 16;

/// Where one member of etcd listens for clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub(super) secure: bool,
    /// A name or an address, without brackets.
    pub(super) host: String,
    pub(super) port: u16,
}

/// By which name and password etcd knows us. The password is read when a coordinator starts: other processes of the cluster
/// read the same configuration and must not need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdLogin {
    /// The user.
    pub user: String,
    /// The file that has the password, and nothing else but the end of a line.
    pub password_file: PathBuf,
}

/// What `https` needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdTls {
    /// The certificate, in a PEM file, of the CA that etcd's own certificate comes from.
    pub ca: PathBuf,
    /// Our certificate and its key, in PEM files, for an etcd that asks for one.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// How to use etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdConfig {
    endpoints: Vec<Endpoint>,
    lease_s: u32,
    login: Option<EtcdLogin>,
    tls: Option<EtcdTls>,
}

/// Why etcd cannot be used so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EtcdConfigError {
    /// Not an endpoint.
    #[error("`{0}` is no endpoint of etcd; write one like http://127.0.0.1:2379")]
    Endpoint(String),
    /// Somebody wrote a password where it would be shown.
    #[error("an endpoint of etcd has no user or password in it; say `user` and `password_file`")]
    PasswordInEndpoint,
    /// None, or too many.
    #[error("list 1 to {ENDPOINTS_MAX} endpoints of etcd, such as [\"http://127.0.0.1:2379\"]; there are {0}")]
    Count(usize),
    /// Out of range.
    #[error("a lease has 1 to {LEASE_S_MAX} seconds, not {0}; 2 is usual")]
    Lease(u32),
    /// Some members could be read by others on the way.
    #[error("use http or https for all endpoints of etcd, not both")]
    Mixed,
    /// Nobody could vouch for etcd.
    #[error("https needs `ca`: the PEM file of the CA that made etcd's certificate")]
    NoCa,
    /// Files that would not be used.
    #[error("`ca`, `certificate` and `key` are for https; write https:// in the endpoints, or leave them out")]
    NotSecure,
}

impl Endpoint {
    /// True when it is on this host, where nobody else hears what is said.
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    /// True for https.
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// Host and port, as a socket or an HTTP header wants them.
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl FromStr for Endpoint {
    type Err = EtcdConfigError;

    fn from_str(text: &str) -> Result<Endpoint, EtcdConfigError> {
        if text.contains('@') {
            return Err(EtcdConfigError::PasswordInEndpoint);
        }
        let parse = || {
            let (secure, rest) = match text.strip_prefix("http://") {
                Some(rest) => (false, rest),
                None => (true, text.strip_prefix("https://")?),
            };
            let (host, port) = rest.strip_suffix('/').unwrap_or(rest).rsplit_once(':')?;
            let port = port.parse().ok().filter(|port| *port != 0)?;
            let host = match host.strip_prefix('[') {
                Some(inner) => inner.strip_suffix(']').filter(|inner| inner.parse::<IpAddr>().is_ok())?,
                None => host,
            };
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':');
            let named = !host.is_empty() && host.len() <= 253 && host.chars().all(plain);
            named.then(|| Endpoint { secure, host: host.to_owned(), port })
        };
        let shown = || text.chars().take(100).collect();
        let endpoint: Endpoint = parse().ok_or_else(|| EtcdConfigError::Endpoint(shown()))?;
        if endpoint.host.contains(':') && endpoint.host.parse::<IpAddr>().is_err() {
            return Err(EtcdConfigError::Endpoint(shown()));
        }
        Ok(endpoint)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.secure { "https" } else { "http" }, self.authority())
    }
}

impl EtcdConfig {
    /// Makes sure that the parts fit.
    pub fn new(
        endpoints: Vec<Endpoint>,
        lease_s: u32,
        login: Option<EtcdLogin>,
        tls: Option<EtcdTls>,
    ) -> Result<EtcdConfig, EtcdConfigError> {
        let secure = endpoints.iter().filter(|endpoint| endpoint.secure).count();
        match endpoints.len() {
            count if count == 0 || count > ENDPOINTS_MAX => Err(EtcdConfigError::Count(count)),
            _ if lease_s == 0 || lease_s > LEASE_S_MAX => Err(EtcdConfigError::Lease(lease_s)),
            count if secure != 0 && secure != count => Err(EtcdConfigError::Mixed),
            _ if secure > 0 && tls.is_none() => Err(EtcdConfigError::NoCa),
            _ if secure == 0 && tls.is_some() => Err(EtcdConfigError::NotSecure),
            _ => Ok(EtcdConfig { endpoints, lease_s, login, tls }),
        }
    }

    /// The members, at least one.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// How long the lead outlives whoever had it, seconds.
    pub fn lease_s(&self) -> u32 {
        self.lease_s
    }

    /// By which name and password etcd knows us, if it asks.
    pub fn login(&self) -> Option<&EtcdLogin> {
        self.login.as_ref()
    }

    /// What `https` needs.
    pub(super) fn tls(&self) -> Option<&EtcdTls> {
        self.tls.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_read_and_shown_alike() {
        for text in ["http://127.0.0.1:2379", "https://etcd-0.etcd:2379", "http://[::1]:1", "http://localhost:65535"] {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), text);
        }
        assert_eq!("http://a:1/".parse::<Endpoint>().unwrap().authority(), "a:1");
        assert!("http://[::1]:1".parse::<Endpoint>().unwrap().is_loopback());
        assert!(!"http://10.0.0.1:1".parse::<Endpoint>().unwrap().is_loopback());
    }

    #[test]
    fn what_is_no_endpoint_is_answered_with_one() {
        for text in
            ["", "127.0.0.1:2379", "ftp://a:1", "http://a", "http://a:0", "http://a:b", "http://:1", "http://a/b:1"]
        {
            let problem = text.parse::<Endpoint>().unwrap_err();
            assert!(problem.to_string().contains("http://127.0.0.1:2379"), "{text}: {problem}");
        }
        for text in ["http://a:b:1", "http://[x]:1", "http://a b:1", "http://a\r\n:1"] {
            assert!(text.parse::<Endpoint>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_password_in_an_endpoint_is_refused_and_not_shown() {
        let problem = "http://root:hunter2@127.0.0.1:2379".parse::<Endpoint>().unwrap_err();
        for shown in [problem.to_string(), format!("{problem:?}")] {
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let plain: Endpoint = "http://a:1".parse().unwrap();
        let secure: Endpoint = "https://a:1".parse().unwrap();
        let tls = || Some(EtcdTls { ca: "ca.pem".into(), identity: None });
        let new = |endpoints: &[&Endpoint], lease_s, tls| {
            EtcdConfig::new(endpoints.iter().map(|endpoint| (*endpoint).clone()).collect(), lease_s, None, tls)
        };
        assert_eq!(new(&[], 2, None), Err(EtcdConfigError::Count(0)));
        assert_eq!(new(&[&plain; 17], 2, None), Err(EtcdConfigError::Count(17)));
        assert_eq!(new(&[&plain], 0, None), Err(EtcdConfigError::Lease(0)));
        assert_eq!(new(&[&plain], 61, None), Err(EtcdConfigError::Lease(61)));
        assert_eq!(new(&[&plain, &secure], 2, tls()), Err(EtcdConfigError::Mixed));
        assert_eq!(new(&[&secure], 2, None), Err(EtcdConfigError::NoCa));
        assert_eq!(new(&[&plain], 2, tls()), Err(EtcdConfigError::NotSecure));
        assert!(new(&[&secure, &secure], 2, tls()).is_ok());
    }
}
