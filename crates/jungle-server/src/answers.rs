//! What a server answers, without connections.

use std::convert::Infallible;
use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HOST};
use axum::http::{Request, request};
use axum::response::Response;
use http_body_util::BodyExt;
use jungle::Jungle;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tower_service::Service;

use crate::client::Client;
use crate::options::{Options, StartError};
use crate::server::{Data, Served, app, router};

/// A server that nobody is connected with: it answers on the thread that asks, one request after
/// the other, as [`Server`](crate::Server) does with its default options. For tests, and to count
/// what an answer takes.
///
/// ```
/// use jungle::{Clock, Jungle, Memory, SystemClock};
/// use jungle_server::{Answers, Board};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let jungle = Jungle::memory()?;
/// let board = Board::of(jungle.create_tree("plans")?)?;
/// board.post("ana", "Shall we go?", SystemClock.now())?;
/// let page = Answers::of(jungle)?.ask("GET", "/boards/plans", "")?;
/// assert_eq!(page.status, 200);
/// assert!(String::from_utf8(page.body)?.contains("Shall we go?"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Answers {
    router: Router,
    runtime: Runtime,
    /// Without it the server would be one that stops.
    _stop: watch::Sender<bool>,
}

/// An answer, as far as it is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// Its status, as 200.
    pub status: u16,
    /// All of its body.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// HTTP has no such request.
    #[error("there is no such request")]
    Request(#[source] Box<dyn Error + Send + Sync>),
    /// It ended before all of it was there.
    #[error("the answer has ended early")]
    Cut(#[source] Box<dyn Error + Send + Sync>),
}

impl Answers {
    /// Of what is in memory. What is asked comes from this machine.
    ///
    /// # Errors
    /// When the system does not give what a runtime needs.
    pub fn of(jungle: Jungle) -> Result<Answers, StartError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(StartError::Threads)?;
        let (stop, stopping) = watch::channel(false);
        let data = Served::new(Data::Memory(jungle));
        let app = Arc::new(app(&data, (None, None), Options::default(), stopping)?);
        Ok(Answers { router: router(&app), runtime, _stop: stop })
    }

    /// What a request with this method, address and form is answered; without a form it has no
    /// body.
    ///
    /// # Errors
    /// When the method or the address is none, or the answer ends early.
    ///
    /// # Panics
    /// On a thread that serves.
    pub fn ask(&self, method: &str, address: &str, form: &str) -> Result<Answer, AskError> {
        let mut request = asked(method, address);
        if !form.is_empty() {
            request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        }
        self.answer(request, Body::from(form.to_owned()))
    }

    /// As [`ask`](Answers::ask), with these headers besides `Host` and any body. Of an answer that
    /// need not end, as one that watches, only what comes first is there.
    ///
    /// # Errors
    /// As [`ask`](Answers::ask), or when a header is none.
    ///
    /// # Panics
    /// On a thread that serves.
    ///
    /// ```
    /// use jungle::{Jungle, Memory};
    /// use jungle_server::Answers;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let answers = Answers::of(Jungle::memory()?)?;
    /// let headers = [("content-type", "application/json")];
    /// let made = answers.ask_with(("POST", "/api/v1/trees"), &headers, br#"{"name": "plans"}"#)?;
    /// assert_eq!(made.status, 201);
    /// # Ok(())
    /// # }
    /// ```
    pub fn ask_with(
        &self,
        (method, address): (&str, &str),
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, AskError> {
        let begun = asked(method, address);
        let request =
            headers.iter().fold(begun, |request, &(name, value)| request.header(name, value));
        self.answer(request, Body::from(body.to_vec()))
    }

    fn answer(&self, request: request::Builder, body: Body) -> Result<Answer, AskError> {
        let request = request.body(body).map_err(|error| AskError::Request(error.into()))?;
        let (status, body) = self.runtime.block_on(async {
            let answered: Result<_, Infallible> = self.router.clone().call(request).await;
            let Ok(answer) = answered;
            (answer.status().as_u16(), read(answer).await)
        });
        let body = body.map_err(|error| AskError::Cut(error.into()))?;
        Ok(Answer { status, body })
    }
}

/// A request from this machine.
fn asked(method: &str, address: &str) -> request::Builder {
    let request = Request::builder().method(method).uri(address).header(HOST, "localhost");
    request.extension(Client::connected(Ipv4Addr::LOCALHOST.into(), false))
}

/// All of a body; of events, which may come for ever, the first.
async fn read(answer: Response) -> Result<Vec<u8>, axum::Error> {
    let form = answer.headers().get(CONTENT_TYPE);
    let is_endless = form.is_some_and(|form| form == "text/event-stream");
    let mut body = answer.into_body();
    if !is_endless {
        return Ok(body.collect().await?.to_bytes().into());
    }
    let first = body.frame().await.transpose()?;
    Ok(first.and_then(|first| first.into_data().ok()).unwrap_or_default().into())
}

#[cfg(test)]
mod tests {
    use jungle::Memory;

    use super::*;
    use crate::Board;

    #[test]
    fn who_asks_is_answered_as_by_a_server() {
        let jungle = Jungle::memory().unwrap();
        Board::of(jungle.create_tree("plans").unwrap()).unwrap();
        let answers = Answers::of(jungle.clone()).unwrap();
        let ask = |method, address, form| answers.ask(method, address, form).unwrap();
        assert_eq!(ask("POST", "/boards/plans", "author=ana&text=Hello").status, 303);
        let page = ask("GET", "/boards/plans", "");
        assert_eq!(page.status, 200);
        assert!(String::from_utf8(page.body).unwrap().contains("Hello"));
        assert_eq!(jungle.open_tree("plans").unwrap().read().root().child_count(), 1);
        assert_eq!(ask("GET", "/nowhere", "").status, 404);
        assert_eq!(ask("POST", "/nowhere", "text=Hello").status, 404);
        let none = answers.ask("GET", "no address", "");
        assert!(matches!(none, Err(AskError::Request(_))), "{none:?}");
    }

    #[test]
    fn headers_and_bodies_of_any_form_are_asked_with() {
        let jungle = Jungle::memory().unwrap();
        jungle.create_tree("plans").unwrap();
        let answers = Answers::of(jungle.clone()).unwrap();
        let put = ("PUT", "/api/v1/trees/plans/document");
        let json = [("content-type", "application/json")];
        let done = answers.ask_with(put, &json, br#"{"a": {}}"#).unwrap();
        assert!(done.status < 300, "{done:?}");
        assert_eq!(jungle.open_tree("plans").unwrap().read().root().child_count(), 1);
        let watch = ("GET", "/api/v1/trees/plans/watch");
        let begun = answers.ask_with(watch, &[], b"").unwrap();
        assert!(begun.status == 200 && begun.body.starts_with(b"retry: "), "{begun:?}");
        let none = answers.ask_with(watch, &[("no header", "")], b"");
        assert!(matches!(none, Err(AskError::Request(_))), "{none:?}");
    }
}
