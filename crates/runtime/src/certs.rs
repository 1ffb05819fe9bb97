//! A private CA, and certificates by which the processes of a cluster know each other.
//!
//! A certificate names one process and its role (`node-0.node.nimbus`). Nothing else decides who may speak as whom.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::mesh::{IdentityError, ProcessName, Role, certified, read_certificate, vouch};

/// How long certificates are valid. Long, because a certificate that runs out stops a cluster in the middle of its work.
const VALID: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// How long ago certificates began to be valid, for machines whose clocks are behind.
const CLOCK_SLACK: Duration = Duration::from_secs(24 * 60 * 60);

/// Where the files of a cluster's certificates are.
pub struct CertFiles<'a>(&'a Path);

impl<'a> CertFiles<'a> {
    /// The files in this directory.
    pub fn new(dir: &'a Path) -> CertFiles<'a> {
        CertFiles(dir)
    }

    /// The CA's certificate. Every process needs it.
    pub fn ca(&self) -> PathBuf {
        self.0.join("ca.pem")
    }

    /// The CA's key. No process needs it; whoever has it can make certificates.
    pub fn ca_key(&self) -> PathBuf {
        self.0.join("ca.key")
    }

    /// The certificate of a process.
    pub fn certificate(&self, name: &ProcessName) -> PathBuf {
        self.0.join(format!("{name}.pem"))
    }

    /// The key of a process. Only that process needs it.
    pub fn key(&self, name: &ProcessName) -> PathBuf {
        self.0.join(format!("{name}.key"))
    }
}

/// What certificates are wanted.
#[derive(Clone, Debug, Default)]
pub struct CertsRequest {
    /// The processes and their roles.
    pub processes: Vec<(ProcessName, Role)>,
    /// Host names and addresses that every new certificate is also good for.
    pub hosts: Vec<String>,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertsMade {
    /// Whether the CA is new.
    pub ca: bool,
    /// Processes that got a certificate.
    pub made: Vec<ProcessName>,
    /// Processes that had one.
    pub kept: Vec<ProcessName>,
}

/// Why certificates cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CertsError {
    /// A file or directory cannot be read or written.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Half of the CA is missing.
    #[error("{} is not there, but {} is; bring it back, or choose an empty directory for a new CA", missing.display(), there.display())]
    HalfCa {
        /// The file that is missing.
        missing: PathBuf,
        /// The file that is there.
        there: PathBuf,
    },
    /// An existing certificate cannot be used.
    #[error(transparent)]
    Existing(#[from] IdentityError),
    /// A name has a certificate for another role, or is wanted for two.
    #[error("`{name}` is a {has}, and a process has one role; choose another name for the {wanted}")]
    OtherRole {
        /// The process.
        name: ProcessName,
        /// The role it has.
        has: Role,
        /// The role it should get.
        wanted: Role,
    },
    /// The name is that of the CA's files.
    #[error("no process can be called `ca`: the files of the CA have that name")]
    Reserved,
    /// A host that cannot be in a certificate.
    #[error("`{0}` is neither a host name nor an address that can be in a certificate")]
    Host(String),
    /// The CA's key cannot be used, or is not that of the CA's certificate.
    #[error("{} is not the key of the CA's certificate beside it: {problem}", path.display())]
    CaKey {
        /// The key.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The cryptography refused.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
}

/// Makes the CA and the certificates that are missing. What is there stays as it is.
pub fn make_certs(dir: &Path, request: &CertsRequest) -> Result<CertsMade, CertsError> {
    let wanted = roles(request)?;
    for host in &request.hosts {
        check_host(host)?;
    }
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|source| file("make", dir, source))?;
    let files = CertFiles::new(dir);
    let mut done = CertsMade::default();
    let ca_key = ca(&files, &mut done)?;
    let issuer = Issuer::new(ca_params(), ca_key);
    let ca = read_certificate(&files.ca())?;
    for (name, role) in wanted {
        let path = files.certificate(&name);
        if path.exists() {
            let has = read_certificate(&path)?;
            let Some((_, has)) = certified(&has).filter(|(found, _)| *found == name) else {
                return Err(IdentityError::Unnamed { path }.into());
            };
            if has != role {
                return Err(CertsError::OtherRole { name, has, wanted: role });
            }
            done.kept.push(name);
            continue;
        }
        let key = KeyPair::generate()?;
        let certificate = process_params(&name, role, &request.hosts)?.signed_by(&key, &issuer)?;
        vouch(&ca, certificate.der()).map_err(|problem| CertsError::CaKey { path: files.ca_key(), problem })?;
        // The certificate comes last: it is what says that the process is provided for.
        write(&files.key(&name), &key.serialize_pem(), 0o600)?;
        write(&path, &certificate.pem(), 0o644)?;
        done.made.push(name);
    }
    Ok(done)
}

/// Every name once, with its role.
fn roles(request: &CertsRequest) -> Result<BTreeMap<ProcessName, Role>, CertsError> {
    let mut roles = BTreeMap::new();
    for (name, role) in &request.processes {
        if name.as_str() == "ca" {
            return Err(CertsError::Reserved);
        }
        let has = *roles.entry(name.clone()).or_insert(*role);
        if has != *role {
            return Err(CertsError::OtherRole { name: name.clone(), has, wanted: *role });
        }
    }
    Ok(roles)
}

/// A host must not look like a process: that would give a process a second role.
fn check_host(host: &str) -> Result<(), CertsError> {
    let label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    let top = host.rsplit('.').next().unwrap_or(host);
    let is_name = host.len() <= 253 && host.split('.').all(label) && !top.eq_ignore_ascii_case("nimbus");
    if is_name || host.parse::<IpAddr>().is_ok() {
        Ok(())
    } else {
        Err(CertsError::Host(host.escape_debug().collect()))
    }
}

/// The key of the CA, which is made when there is none.
fn ca(files: &CertFiles<'_>, done: &mut CertsMade) -> Result<KeyPair, CertsError> {
    let (path, key_path) = (files.ca(), files.ca_key());
    match (path.exists(), key_path.exists()) {
        (true, true) => {
            let text = fs::read_to_string(&key_path).map_err(|source| file("read", &key_path, source))?;
            KeyPair::from_pem(&text).map_err(|error| CertsError::CaKey { path: key_path, problem: error.to_string() })
        }
        (true, false) => Err(CertsError::HalfCa { missing: key_path, there: path }),
        (false, true) => Err(CertsError::HalfCa { missing: path, there: key_path }),
        (false, false) => {
            let key = KeyPair::generate()?;
            let certificate = ca_params().self_signed(&key)?;
            write(&key_path, &key.serialize_pem(), 0o600)?;
            write(&path, &certificate.pem(), 0o644)?;
            done.ca = true;
            Ok(key)
        }
    }
}

/// The CA as it stands in its own certificate and, as issuer, in all others. The name must never change: certificates
/// find their CA by it.
fn ca_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = called("nimbus private CA");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    limit(&mut params);
    params
}

fn process_params(name: &ProcessName, role: Role, hosts: &[String]) -> Result<CertificateParams, CertsError> {
    let names: Vec<String> = [name.certified(role)].into_iter().chain(hosts.iter().cloned()).collect();
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = called(&name.certified(role));
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    params.use_authority_key_identifier_extension = true;
    limit(&mut params);
    Ok(params)
}

fn called(name: &str) -> DistinguishedName {
    let mut called = DistinguishedName::new();
    called.push(DnType::CommonName, name);
    called
}

#[allow(clippy::disallowed_methods, reason = "a certificate says from when until when it is valid")]
fn limit(params: &mut CertificateParams) {
    let now = SystemTime::now();
    params.not_before = (now - CLOCK_SLACK).into();
    params.not_after = (now + VALID).into();
}

/// Writes a file that is either there as a whole or not at all, and never readable for more than it should be.
fn write(path: &Path, text: &str, mode: u32) -> Result<(), CertsError> {
    let draft = path.with_extension("draft");
    let written = || -> io::Result<()> {
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    written().map_err(|source| file("write", path, source))
}

fn file(what: &'static str, path: &Path, source: io::Error) -> CertsError {
    CertsError::File { what, path: path.to_owned(), source }
}
