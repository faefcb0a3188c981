//! Encryption around a connection, below frames and handshake: TLS 1.3 in which both sides show a certificate.

#[cfg(feature = "tls")]
pub(crate) use real::Encryption;
#[cfg(not(feature = "tls"))]
pub(crate) use without::Encryption;

#[cfg(feature = "tls")]
mod real {
    use std::io;
    use std::path::Path;
    use std::pin::Pin;
    use std::sync::Arc;
    use std::task::{Context, Poll};

    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
    use rustls::server::WebPkiClientVerifier;
    use rustls::{ClientConfig, RootCertStore, ServerConfig};
    use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
    use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

    use crate::bridge::net::{Packed, Stream};
    use crate::bridge::settings::Tls;

    /// What both sides need.
    pub(crate) struct Encryption {
        connector: TlsConnector,
        acceptor: TlsAcceptor,
    }

    impl Encryption {
        /// Reads certificates and keys.
        ///
        /// # Errors
        /// A sentence that names the file.
        pub(crate) fn load(files: &Tls) -> Result<Self, String> {
            let wrong = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
            let certificates = |path: &Path| -> Result<Vec<CertificateDer<'static>>, String> {
                let read =
                    CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
                let read = read.map_err(|error| wrong(path, &error))?;
                if read.is_empty() { Err(wrong(path, &"there is no certificate in it")) } else { Ok(read) }
            };
            let mut roots = RootCertStore::empty();
            for authority in certificates(&files.authority)? {
                roots.add(authority).map_err(|error| wrong(&files.authority, &error))?;
            }
            let roots = Arc::new(roots);
            let chain = certificates(&files.certificate)?;
            let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| wrong(&files.key, &error))?;
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let clients =
                WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider));
            let clients = clients.build().map_err(|error| wrong(&files.authority, &error))?;
            let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
                .with_protocol_versions(&[&rustls::version::TLS13])
                .map(|builder| builder.with_client_cert_verifier(clients))
                .and_then(|builder| builder.with_single_cert(chain.clone(), key.clone_key()))
                .map_err(|error| wrong(&files.certificate, &error))?;
            let client = ClientConfig::builder_with_provider(provider)
                .with_protocol_versions(&[&rustls::version::TLS13])
                .map(|builder| builder.with_root_certificates(roots))
                .and_then(|builder| builder.with_client_auth_cert(chain, key))
                .map_err(|error| wrong(&files.certificate, &error))?;
            let (connector, acceptor) = (Arc::new(client).into(), Arc::new(server).into());
            Ok(Self { connector, acceptor })
        }

        /// The side that dialled; the certificate must be for the host that it dialled.
        pub(crate) async fn dial(&self, stream: Box<dyn Stream>, host: &str) -> io::Result<Box<dyn Stream>> {
            let host = host.trim_matches(['[', ']']).to_owned();
            let name = ServerName::try_from(host)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
            Ok(Box::new(Encrypted(self.connector.connect(name, stream).await?.into())))
        }

        pub(crate) async fn accept(&self, stream: Box<dyn Stream>) -> io::Result<Box<dyn Stream>> {
            Ok(Box::new(Encrypted(self.acceptor.accept(stream).await?.into())))
        }
    }

    /// A connection within a connection.
    struct Encrypted(TlsStream<Box<dyn Stream>>);

    impl Stream for Encrypted {
        fn pack(self: Box<Self>) -> io::Result<Packed> {
            Ok(Box::new(move || Ok(self as Box<dyn Stream>)))
        }
    }

    impl AsyncRead for Encrypted {
        fn poll_read(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            to: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_read(cx, to)
        }
    }

    impl AsyncWrite for Encrypted {
        fn poll_write(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            from: &[u8],
        ) -> Poll<io::Result<usize>> {
            Pin::new(&mut self.0).poll_write(cx, from)
        }

        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            from: &[io::IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            Pin::new(&mut self.0).poll_write_vectored(cx, from)
        }

        fn is_write_vectored(&self) -> bool {
            self.0.is_write_vectored()
        }

        fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_flush(cx)
        }

        fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_shutdown(cx)
        }
    }
}

#[cfg(not(feature = "tls"))]
mod without {
    use std::convert::Infallible;
    use std::io;

    use crate::bridge::net::Stream;
    use crate::bridge::settings::Tls;

    /// There is none in this build.
    pub(crate) struct Encryption(Infallible);

    impl Encryption {
        pub(crate) fn load(_: &Tls) -> Result<Self, String> {
            Err("this program was built without encryption: build it with the feature `tls`".to_owned())
        }

        pub(crate) async fn dial(&self, _: Box<dyn Stream>, _: &str) -> io::Result<Box<dyn Stream>> {
            match self.0 {}
        }

        pub(crate) async fn accept(&self, _: Box<dyn Stream>) -> io::Result<Box<dyn Stream>> {
            match self.0 {}
        }
    }
}
