//! The web front of the boards on other stores: hyper and tokio as ours, and the very template of
//! our server, in each of the programs that are asked.

mod page;

use std::convert::Infallible;
use std::error::Error;
use std::process::ExitCode;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

pub use page::{PAGE, Row, page};

pub type Failure = Box<dyn Error + Send + Sync>;

/// What a program is asked for, and what it answers with.
pub trait Board: Send + Sync + 'static {
    /// Nothing where there is nothing.
    fn answer(&self, asked: &Asked)
    -> impl Future<Output = Result<Option<String>, Failure>> + Send;
}

/// `PATH?board=B&author=A&text=T`, as the load tool sends it: it needs no decoding.
pub struct Asked(Request<Incoming>);

impl Asked {
    pub fn path(&self) -> &str {
        self.0.uri().path()
    }

    pub fn board(&self) -> &str {
        self.of("board").unwrap_or("b")
    }

    pub fn author(&self) -> &str {
        self.of("author").unwrap_or("anonymous")
    }

    pub fn text(&self) -> &str {
        self.of("text").unwrap_or("hello")
    }

    fn of(&self, name: &str) -> Option<&str> {
        let query = self.0.uri().query().unwrap_or_default();
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find_map(|(found, value)| (found == name).then_some(value))
    }
}

/// Opens a board, prints where it is served, and serves it until the program is killed.
pub fn run<B: Board>(open: impl Future<Output = Result<B, Failure>>) -> ExitCode {
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let served = threads.map_err(Failure::from).and_then(|threads| {
        threads.block_on(async {
            // One for all connections, until the end.
            let board: &'static B = Box::leak(Box::new(open.await?));
            serve(board).await
        })
    });
    if let Err(failure) = served {
        eprintln!("peer: {failure}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

async fn serve<B: Board>(board: &'static B) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(connection(stream, board));
    }
}

async fn connection<B: Board>(stream: TcpStream, board: &'static B) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| async {
        Ok::<_, Infallible>(respond(board.answer(&Asked(request)).await))
    });
    // Whoever breaks a connection has what it wanted.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

fn respond(answer: Result<Option<String>, Failure>) -> Response<Full<Bytes>> {
    let (status, body) = match answer {
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
