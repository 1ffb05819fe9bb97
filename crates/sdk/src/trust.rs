//! Which certificates of gateways are trusted.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, ring as provider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// By what a gateway is known to be the right one, where the connection is encrypted: `quic://` and `wss://`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Its certificate is one of the public CAs that browsers trust, for the name in the address. Gateways themselves have
    /// no such certificates; proxies in front of them do.
    #[default]
    PublicCas,
    /// Its certificate is one of these, and nothing else about it matters. A gateway prints the fingerprint of its own one
    /// when it starts.
    Pinned(Vec<Fingerprint>),
    /// Its certificate was made by one of the CAs in this PEM text, for the name in the address. For a cluster, the text of
    /// the `ca.pem` that `nimbus certs` made.
    Ca(String),
    /// Any certificate. Whoever is between this program and the gateway can read and change everything, the token included:
    /// for tests on one machine.
    InsecureAnything,
}

/// The SHA-256 of a certificate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint(pub [u8; 32]);

/// The text is no fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a fingerprint has 64 hexadecimal digits")]
pub struct NoFingerprint;

impl Fingerprint {
    fn of(certificate: &CertificateDer<'_>) -> Fingerprint {
        let digest = ring::digest::digest(&ring::digest::SHA256, certificate);
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest.as_ref());
        Fingerprint(bytes)
    }
}

impl FromStr for Fingerprint {
    type Err = NoFingerprint;

    /// Reads hexadecimal digits, with or without colons between the bytes, and with or without `sha256:` before them.
    fn from_str(text: &str) -> Result<Fingerprint, NoFingerprint> {
        let digits: Vec<u32> = text
            .strip_prefix("sha256:")
            .unwrap_or(text)
            .chars()
            .filter(|c| *c != ':')
            .map(|c| c.to_digit(16).ok_or(NoFingerprint))
            .collect::<Result<_, _>>()?;
        let bytes: Vec<u8> = digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, d| byte << 4 | *d as u8)).collect();
        let sound = digits.len() == 64;
        bytes.try_into().ok().filter(|_| sound).map(Fingerprint).ok_or(NoFingerprint)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl Trust {
    /// How TLS is spoken. An error says what is wrong with what is trusted.
    pub(crate) fn tls(&self) -> Result<ClientConfig, String> {
        let provider = Arc::new(provider::default_provider());
        let algorithms = provider.signature_verification_algorithms;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| error.to_string())?;
        let pinned = |pins| Arc::new(Pins { pins, algorithms });
        Ok(match self {
            Trust::PublicCas => {
                let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
                builder.with_root_certificates(roots)
            }
            Trust::Ca(pem) => builder.with_root_certificates(authorities(pem)?),
            Trust::Pinned(pins) => builder.dangerous().with_custom_certificate_verifier(pinned(Some(pins.clone()))),
            Trust::InsecureAnything => builder.dangerous().with_custom_certificate_verifier(pinned(None)),
        }
        .with_no_client_auth())
    }
}

fn authorities(pem: &str) -> Result<RootCertStore, String> {
    let unusable = |problem: &dyn fmt::Display| format!("the CA in `Options::trust` cannot be used: {problem}");
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|error| unusable(&error))?;
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    if roots.is_empty() {
        return Err(unusable(&"the text has no certificate in it"));
    }
    Ok(roots)
}

/// Trusts some certificates, or all of them. That the other side has the key of the certificate is checked all the same.
#[derive(Debug)]
struct Pins {
    pins: Option<Vec<Fingerprint>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Pins {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.pins {
            Some(pins) if !pins.contains(&Fingerprint::of(end_entity)) => {
                Err(CertificateError::ApplicationVerificationFailure.into())
            }
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_read_as_they_are_written() {
        let text = "00ff".repeat(16);
        let fingerprint: Fingerprint = text.parse().unwrap();
        assert_eq!((fingerprint.0[0], fingerprint.0[1]), (0, 255));
        assert_eq!(fingerprint.to_string(), text);
        assert_eq!(format!("sha256:{text}").parse(), Ok(fingerprint));
        assert_eq!(["00:FF"; 16].join(":").parse(), Ok(fingerprint));
        for bad in ["", "00", &text[1..], &format!("{text}0"), &text.replace('f', "g")] {
            assert_eq!(bad.parse::<Fingerprint>(), Err(NoFingerprint), "{bad}");
        }
    }

    #[test]
    fn a_ca_that_is_none_is_said_so() {
        assert!(Trust::PublicCas.tls().is_ok());
        for bad in ["", "no PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            let problem = Trust::Ca(bad.to_owned()).tls().unwrap_err();
            assert!(problem.contains("Options::trust"), "{problem}");
        }
    }
}
