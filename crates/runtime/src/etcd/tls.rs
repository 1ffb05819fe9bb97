//! `https` to etcd: it must show a certificate of the CA that the configuration names, and nothing else is trusted.

use rustls::crypto::ring as provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsConnector;

use super::config::EtcdTls;
use super::messages::EtcdError;

/// Reads the files and is ready to connect.
pub(super) fn connector(tls: &EtcdTls) -> Result<TlsConnector, EtcdError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&tls.ca)? {
        roots.add(certificate).map_err(|error| unusable(&tls.ca, &error))?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(provider::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&tls.ca, &error))?
        .with_root_certificates(roots);
    let config = match &tls.identity {
        None => config.with_no_client_auth(),
        Some((certificate, key)) => {
            let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(key, &error))?;
            config.with_client_auth_cert(certificates(certificate)?, secret).map_err(|error| unusable(key, &error))?
        }
    };
    Ok(TlsConnector::from(Arc::new(config)))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, EtcdError> {
    let found: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).map_err(|error| unusable(path, &error))?.collect();
    let found = found.map_err(|error| unusable(path, &error))?;
    if found.is_empty() {
        return Err(EtcdError::File { path: path.to_owned(), problem: "it has no certificate in it".to_owned() });
    }
    Ok(found)
}

fn unusable(path: &Path, problem: &impl ToString) -> EtcdError {
    EtcdError::File { path: path.to_owned(), problem: problem.to_string() }
}
