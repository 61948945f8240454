//! The loop that takes connections. axum's own has no time-outs, so this one is ours.

mod linger;
mod patient;

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tower_service::Service;

use self::linger::Reading;
use self::patient::Patient;
use crate::app::App;
use crate::client::{Client, is_proxy};
use crate::limits::places::{Place, Places};
use crate::limits::rate::network;
use crate::options::Options;
use crate::problem::{Kind, Problem};
use crate::tls::Encryption;
use crate::tls::acme::is_challenge;

/// How long it may take to tell a connection that it is beyond the limits.
const FULL_TIME: Duration = Duration::from_secs(1);

/// A pause after the system refused a connection, for want of files usually.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves connections until the server stops, and then waits for what is being worked on.
pub(crate) async fn accept(listener: TcpListener, app: Arc<App>, router: Router) {
    let mut stopping = app.stopping.clone();
    let (alive, mut all_gone) = mpsc::channel::<()>(1);
    let places = Arc::new(Places::new(app.options.limits.connections_max));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopping.wait() => break,
        };
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let (app, router, alive) = (Arc::clone(&app), router.clone(), alive.clone());
        let tls = app.encryption.as_ref().map(Encryption::acceptor);
        let place = place(&places, peer.ip(), &app.options);
        tokio::spawn(async move {
            let _alive = alive;
            match place {
                Some(_place) => connection(stream, tls, peer, app, router).await,
                None => Box::pin(refuse(stream, tls.is_none(), &app)).await,
            }
        });
    }
    drop((listener, alive));
    let end = all_gone.recv();
    if tokio::time::timeout(app.options.limits.stop_time, end).await.is_err() {
        tracing::warn!("some requests were given up, since they took too long");
    }
}

async fn refuse(mut stream: TcpStream, is_plain: bool, app: &App) {
    app.metrics.connections_refused.count();
    if !is_plain {
        return;
    }
    // Whoever does not listen need not be told.
    let _ = tokio::time::timeout(FULL_TIME, stream.write_all(full().as_bytes())).await;
}

/// What a connection beyond the limits is told.
fn full() -> String {
    let problem = Problem::new(Kind::Full, "there are as many connections as may be");
    let body = problem.hint("use one that you have, or ask again in a second").body();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n\
         Content-Length: {}\r\nRetry-After: 1\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

async fn connection(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    peer: SocketAddr,
    app: Arc<App>,
    router: Router,
) {
    let limits = &app.options.limits;
    let _present = app.metrics.connections.enter();
    let _watched = app.metrics.panics.on_unwind();
    // Answers are small, and nobody should wait for more of them to come.
    let _ = stream.set_nodelay(true);
    let stream = Patient::new(stream, limits.write_time);
    let Some(tls) = tls else {
        return serve(stream, peer, &app, router).await;
    };
    // Apart, as whatever few connections come to: each takes memory for the largest part of this.
    match Box::pin(tokio::time::timeout(limits.head_time, encrypt(&tls, stream))).await {
        Ok(Ok(Some(stream))) => Box::pin(serve(stream, peer, &app, router)).await,
        Ok(Ok(None)) => tracing::debug!(%peer, "an authority looked whether a name is ours"),
        Ok(Err(error)) => tracing::debug!(%peer, %error, "no encryption came about"),
        Err(_) => tracing::debug!(%peer, "no encryption came about in time"),
    }
}

/// Encrypts; there is nothing to be served to an authority that only wanted to see a proof.
async fn encrypt<S>(tls: &TlsAcceptor, stream: S) -> io::Result<Option<TlsStream<S>>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut stream = tls.accept(stream).await?;
    if !is_challenge(stream.get_ref().1) {
        return Ok(Some(stream));
    }
    stream.shutdown().await?;
    Ok(None)
}

async fn serve<S>(stream: S, peer: SocketAddr, app: &App, router: Router)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let limits = &app.options.limits;
    let is_unread = AtomicBool::new(false);
    let service = service_fn(|request| {
        let (reading, mut request) = Reading::of(request);
        let is_encrypted = app.encryption.is_some();
        request.extensions_mut().insert(Client::connected(peer.ip(), is_encrypted));
        let answered = router.clone().call(request);
        let is_unread = &is_unread;
        Box::pin(async move {
            let mut answer = answered.await?;
            is_unread.store(reading.end(&mut answer), Ordering::SeqCst);
            Ok::<_, Infallible>(answer)
        })
    });
    let mut served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_header_size(limits.head_bytes_max)
        .max_buf_size(limits.head_bytes_max)
        .serve_connection(TokioIo::new(stream), service);
    let mut stopping = app.stopping.clone();
    let ended = tokio::select! {
        ended = poll_fn(|context| served.poll_without_shutdown(context)) => Some(ended),
        () = stopping.wait() => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            Pin::new(&mut served).graceful_shutdown();
            poll_fn(|context| served.poll_without_shutdown(context)).await
        }
    };
    // A head that is none, or too long, is answered, too, and what follows it is not read.
    let is_head = ended.as_ref().is_err_and(hyper::Error::is_parse);
    if let Err(error) = ended {
        tracing::debug!(%peer, %error, "a connection ended early");
    }
    let mut stream = served.into_parts().io.into_inner();
    if is_head || is_unread.load(Ordering::SeqCst) {
        tokio::select! {
            () = Box::pin(linger::close(stream)) => {}
            () = stopping.wait() => {}
        }
    } else {
        // Whoever has gone already need not be told.
        let _ = stream.shutdown().await;
    }
}

/// A connection's place, if there is one for it: so many from each address.
fn place(
    places: &Arc<Places<IpAddr>>,
    address: IpAddr,
    options: &Options,
) -> Option<Place<IpAddr>> {
    let (limits, is_proxy) = (&options.limits, is_proxy(&options.proxies, address));
    // A proxy's neighbours are not counted with it.
    let address = if is_proxy { address.to_canonical() } else { network(address) };
    let of_one = match address.is_loopback() || is_proxy {
        true => limits.connections_max,
        false => limits.connections_per_address_max,
    };
    places.take(address, of_one).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    #[test]
    fn each_address_has_so_many_places_but_this_machine_and_proxies_have_all() {
        let (connections_max, connections_per_address_max) = (20, 3);
        let limits = Limits { connections_max, connections_per_address_max, ..Limits::default() };
        let proxies = vec!["192.0.2.9".parse().unwrap()];
        let options = Options { proxies, limits, ..Options::default() };
        let places = Arc::new(Places::new(connections_max));
        let take = |address: &str| place(&places, address.parse().unwrap(), &options);
        let take_many = |address: &str| -> Vec<Place<IpAddr>> {
            (0..10).filter_map(|_| take(address)).collect()
        };
        let mut held = take_many("192.0.2.1");
        assert_eq!(held.len(), connections_per_address_max);
        // As it comes to a socket of IPv6.
        assert!(take("::ffff:192.0.2.1").is_none());
        assert!(take("192.0.2.2").is_some());
        // Whoever gives one up may have another one.
        drop(held.pop());
        held.extend(take("192.0.2.1"));
        assert_eq!(held.len(), connections_per_address_max);
        // Of IPv6 one has many addresses.
        let network = take_many("2001:db8::1");
        assert_eq!(network.len(), connections_per_address_max);
        assert!(take("2001:db8::2").is_none() && take("2001:db8:0:1::1").is_some());
        drop(network);
        for address in ["127.0.0.1", "127.0.0.2", "::1", "192.0.2.9"] {
            assert_eq!(take_many(address).len(), 10, "{address}");
        }
        // Of all there are only so many for anybody.
        let own = [take_many("127.0.0.1"), take_many("127.0.0.1")];
        assert_eq!(own.iter().map(Vec::len).sum::<usize>(), connections_max - held.len());
    }
}
