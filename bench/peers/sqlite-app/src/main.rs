//! The bulletin board as an application on SQLite, behind a web front as ours: hyper, tokio, our
//! template. `/board?board=B` shows the newest messages of a board, `/post?board=B&author=A&text=T`
//! adds one, and `/count?board=B` says how many there are. It prints its address and serves until
//! it is killed.
//!
//! `peer FOLDER normal|full`: where its database is, and SQLite's `synchronous`.

#[path = "../../cassandra/src/page.rs"]
mod page;
mod store;

use std::convert::Infallible;
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use store::{Store, Synchronous};

/// As ours.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (folder, synchronous) = match &arguments[..] {
        [folder, word] if word == "normal" => (folder, Synchronous::Normal),
        [folder, word] if word == "full" => (folder, Synchronous::Full),
        _ => {
            eprintln!("peer FOLDER normal|full");
            return ExitCode::from(2);
        }
    };
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let served = threads.map_err(Failure::from).and_then(|threads| {
        let store = Store::open(folder.as_ref(), synchronous)?;
        threads.block_on(serve(Arc::new(store)))
    });
    if let Err(failure) = served {
        eprintln!("peer: {failure}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

async fn serve(store: Arc<Store>) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(connection(stream, Arc::clone(&store)));
    }
}

async fn connection(stream: TcpStream, store: Arc<Store>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let store = Arc::clone(&store);
        async move { Ok::<_, Infallible>(respond(&request, &store).await) }
    });
    // Whoever breaks a connection has what it wanted.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn respond(request: &Request<Incoming>, store: &Store) -> Response<Full<Bytes>> {
    let (status, body) = match answer(request, store).await {
        Ok(Some(body)) => (StatusCode::OK, body),
        Ok(None) => (StatusCode::NOT_FOUND, "there is nothing here\n".to_owned()),
        Err(failure) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{failure}\n")),
    };
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, html);
    response
}

async fn answer(request: &Request<Incoming>, store: &Store) -> Result<Option<String>, Failure> {
    // What the load tool sends needs no decoding.
    let query = request.uri().query().unwrap_or_default();
    let of = |name| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find_map(|(found, value)| (found == name).then_some(value))
    };
    let board = of("board").unwrap_or("b");
    Ok(Some(match request.uri().path() {
        "/board" => page::page(board, &store.newest(board)?)?,
        "/post" => {
            let (author, text) = (of("author").unwrap_or("anonymous"), of("text"));
            store.post(board, author, text.unwrap_or("hello")).await?;
            "posted\n".to_owned()
        }
        "/count" => store.count(board)?.to_string(),
        _ => return Ok(None),
    }))
}
