//! Keys. Each end has one and knows its peers by theirs: mutual TLS 1.3 with raw public keys (RFC 7250).
//! There are no names, dates or authorities, so nothing expires or can be issued by someone else.
//!
//! A key file is PKCS#8 in PEM format, as written by `openssl genpkey -algorithm ed25519`.

use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq_proto::rustls::client::AlwaysResolvesClientRawPublicKeys;
use noq_proto::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use noq_proto::rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring as provider};
use noq_proto::rustls::crypto::{ring::sign::any_eddsa_type, verify_tls13_signature_with_raw_key};
use noq_proto::rustls::pki_types::pem::PemObject;
use noq_proto::rustls::pki_types::{
    CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use noq_proto::rustls::server::AlwaysResolvesServerRawPublicKeys;
use noq_proto::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use noq_proto::rustls::sign::CertifiedKey;
use noq_proto::rustls::version::TLS13;
use noq_proto::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig,
    SignatureScheme,
};
use proxy::PublicKey;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

/// The protocol of both ends (ALPN, RFC 7301).
const PROTOCOL: &[u8] = b"longfat-pair/1";
/// The bytes before the 32 bytes of a private Ed25519 key in PKCS#8 version 1 (RFC 8410 section 7).
const PKCS8_HEAD: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
/// The bytes before the 32 bytes of a public key (RFC 8410 section 4).
const SPKI_HEAD: [u8; 12] = [0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];

/// The private key of this end.
pub struct PrivateKey {
    pkcs8: [u8; 48],
    public: PublicKey,
}

impl PrivateKey {
    /// Generates a new key from the system's randomness.
    ///
    /// # Errors
    /// Fails if the system has no randomness.
    pub fn generate() -> io::Result<PrivateKey> {
        let mut seed = [0; 32];
        SystemRandom::new().fill(&mut seed).map_err(|_| io::Error::other("the system has no randomness"))?;
        PrivateKey::of_seed(&seed)
    }

    fn of_seed(seed: &[u8; 32]) -> io::Result<PrivateKey> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).map_err(|e| io::Error::other(e.to_string()))?;
        let mut pkcs8 = [0; 48];
        pkcs8[..16].copy_from_slice(&PKCS8_HEAD);
        pkcs8[16..].copy_from_slice(seed);
        let public = pair.public_key().as_ref().try_into().map_err(io::Error::other)?;
        Ok(PrivateKey { pkcs8, public: PublicKey(public) })
    }

    /// Reads a key file.
    ///
    /// # Errors
    /// Fails if the file cannot be read or contains no Ed25519 key.
    pub fn read(path: &Path) -> io::Result<PrivateKey> {
        PrivateKey::of_pem(&std::fs::read(path)?)
    }

    /// Reads a key from PEM text.
    ///
    /// # Errors
    /// Fails if the text contains no Ed25519 key.
    pub fn of_pem(text: &[u8]) -> io::Result<PrivateKey> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidData, "holds no Ed25519 key (PKCS#8, PEM)");
        let der = PrivatePkcs8KeyDer::from_pem_slice(text).map_err(|_| wrong())?;
        let seed = der.secret_pkcs8_der().strip_prefix(&PKCS8_HEAD).ok_or_else(wrong)?;
        PrivateKey::of_seed(seed.try_into().map_err(|_| wrong())?)
    }

    /// Writes the key to a new file that only its owner may read.
    ///
    /// # Errors
    /// Fails if the file exists already or cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(self.pem().as_bytes())
    }

    fn pem(&self) -> String {
        const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::from("-----BEGIN PRIVATE KEY-----\n");
        for three in self.pkcs8.chunks_exact(3) {
            let bits = (three[0] as u32) << 16 | (three[1] as u32) << 8 | three[2] as u32;
            text.extend([18, 12, 6, 0].map(|shift| DIGITS[(bits >> shift & 63) as usize] as char));
        }
        text + "\n-----END PRIVATE KEY-----\n"
    }

    /// The public key, by which peers know it.
    pub fn public(&self) -> PublicKey {
        self.public
    }

    fn certified(&self) -> Result<Arc<CertifiedKey>, Error> {
        let signer = any_eddsa_type(&PrivatePkcs8KeyDer::from(&self.pkcs8[..]))?;
        let spki = [&SPKI_HEAD[..], &self.public.0].concat();
        Ok(Arc::new(CertifiedKey::new(vec![CertificateDer::from(spki)], signer)))
    }

    /// TLS for connecting to the peer with this key.
    ///
    /// # Errors
    /// Fails with the error of the TLS library.
    pub fn client_tls(&self, peer: PublicKey, early_data: bool) -> Result<QuicClientConfig, Error> {
        let verifier = Arc::new(PinnedKeys::of(vec![peer]));
        let mut config = ClientConfig::builder_with_provider(Arc::new(crypto()))
            .with_protocol_versions(&[&TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(self.certified()?)));
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        config.enable_early_data = early_data;
        QuicClientConfig::try_from(config).map_err(|e| Error::General(e.to_string()))
    }

    /// TLS for connections from peers with these keys.
    ///
    /// # Errors
    /// Fails with the error of the TLS library.
    pub fn server_tls(&self, peers: Vec<PublicKey>, early_data: bool) -> Result<QuicServerConfig, Error> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(crypto()))
            .with_protocol_versions(&[&TLS13])?
            .with_client_cert_verifier(Arc::new(PinnedKeys::of(peers)))
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(self.certified()?)));
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        config.max_early_data_size = if early_data { u32::MAX } else { 0 };
        QuicServerConfig::try_from(config).map_err(|e| Error::General(e.to_string()))
    }
}

fn crypto() -> CryptoProvider {
    provider::default_provider()
}

/// The key in a raw public key certificate; `None` for other certificates.
pub fn key_of(certificate: &[u8]) -> Option<PublicKey> {
    Some(PublicKey(certificate.strip_prefix(&SPKI_HEAD)?.try_into().ok()?))
}

/// Accepts only these keys, from clients and servers.
#[derive(Debug)]
struct PinnedKeys {
    keys: Vec<PublicKey>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl PinnedKeys {
    fn of(keys: Vec<PublicKey>) -> PinnedKeys {
        PinnedKeys { keys, algorithms: crypto().signature_verification_algorithms }
    }

    fn check(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        let known = key_of(certificate).is_some_and(|key| self.keys.contains(&key));
        if known { Ok(()) } else { Err(CertificateError::ApplicationVerificationFailure.into()) }
    }

    fn check_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(certificate.as_ref());
        verify_tls13_signature_with_raw_key(message, &key, signed, &self.algorithms)
    }
}

/// TLS 1.2 is not offered, so no signature of it is valid.
fn no_tls12() -> Result<HandshakeSignatureValid, Error> {
    Err(Error::General("only TLS 1.3 is supported".into()))
}

impl ServerCertVerifier for PinnedKeys {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(end_entity).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        no_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for PinnedKeys {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end_entity).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        no_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8032 section 7.1, test 1: the secret key and its public key.
    const SEED: [u8; 32] = [
        0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c, 0xc4, 0x44,
        0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60,
    ];
    const PUBLIC: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

    #[test]
    fn a_key_survives_writing_and_reading() {
        let key = PrivateKey::of_seed(&SEED).unwrap();
        assert_eq!(key.public().to_string(), PUBLIC);
        let again = PrivateKey::of_pem(key.pem().as_bytes()).unwrap();
        assert_eq!((again.public(), again.pkcs8), (key.public(), key.pkcs8));
        assert_eq!(key_of(&key.certified().unwrap().cert[0]), Some(key.public()));
    }

    #[test]
    fn invalid_keys_are_refused() {
        assert!(PrivateKey::of_pem(b"").is_err());
        let text = PrivateKey::of_seed(&SEED).unwrap().pem();
        assert!(PrivateKey::of_pem(text.replace("MC4C", "MC8C").as_bytes()).is_err());
        assert_eq!(key_of(&[0x30; 44]), None);
        assert!("d75a".parse::<PublicKey>().is_err());
        assert_eq!(PUBLIC.parse::<PublicKey>().unwrap().to_string(), PUBLIC);
    }
}
