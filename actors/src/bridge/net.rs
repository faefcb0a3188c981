//! The network: what binds, connects and accepts. Real sockets here; a simulation brings its own.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

/// What a network does, when it is done.
pub type Doing<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// A way to reach other processes.
pub trait Network: Send + Sync + 'static {
    /// Listens at an address.
    fn bind(&self, address: SocketAddr) -> Doing<'_, Box<dyn Listener>>;
    /// Connects to `host:port`.
    fn connect<'a>(&'a self, address: &'a str) -> Doing<'a, Box<dyn Stream>>;
}

/// What accepts connections.
pub trait Listener: Send {
    /// Where it listens.
    ///
    /// # Errors
    /// When the system does not say.
    fn address(&self) -> io::Result<SocketAddr>;
    /// The next connection, and from where.
    fn accept(&mut self) -> Doing<'_, (Box<dyn Stream>, SocketAddr)>;
}

/// A connection.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {
    /// Takes it off this thread, to be unpacked on another.
    ///
    /// # Errors
    /// When the system refuses.
    fn pack(self: Box<Self>) -> io::Result<Packed>;
}

/// A connection on its way to another thread.
pub type Packed = Box<dyn FnOnce() -> io::Result<Box<dyn Stream>> + Send>;

/// TCP.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tcp;

impl Network for Tcp {
    fn bind(&self, address: SocketAddr) -> Doing<'_, Box<dyn Listener>> {
        Box::pin(async move { Ok(Box::new(TcpListener::bind(address).await?) as Box<dyn Listener>) })
    }

    fn connect<'a>(&'a self, address: &'a str) -> Doing<'a, Box<dyn Stream>> {
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Stream>)
        })
    }
}

impl Listener for TcpListener {
    fn address(&self) -> io::Result<SocketAddr> {
        self.local_addr()
    }

    fn accept(&mut self) -> Doing<'_, (Box<dyn Stream>, SocketAddr)> {
        Box::pin(async move {
            let (stream, from) = TcpListener::accept(self).await?;
            stream.set_nodelay(true)?;
            Ok((Box::new(stream) as Box<dyn Stream>, from))
        })
    }
}

impl Stream for TcpStream {
    fn pack(self: Box<Self>) -> io::Result<Packed> {
        let stream = self.into_std()?;
        Ok(Box::new(move || Ok(Box::new(TcpStream::from_std(stream)?) as Box<dyn Stream>)))
    }
}
