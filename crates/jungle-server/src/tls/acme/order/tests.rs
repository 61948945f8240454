use std::pin::Pin;

use axum::http::{Request, Response};
use bytes::Bytes;
use http_body_util::Full;
use instant_acme::{BodyWrapper, BytesResponse};

use super::*;

/// An authority that does as it should, but at one place.
#[derive(Clone, Copy)]
struct Authority {
    fails_at: &'static str,
    /// With what; with none, nothing comes back.
    answer: Option<(u16, &'static str)>,
}

impl HttpClient for Authority {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        let path = request.uri().path();
        let answer = match path {
            path if path == self.fails_at => self.answer,
            "/directory" => Some((
                200,
                r#"{"newNonce": "https://ca.example/nonce", "newOrder": "https://ca.example/order",
                    "newAccount": "https://ca.example/account"}"#,
            )),
            "/order" => Some((
                201,
                r#"{"status": "pending", "finalize": "https://ca.example/finalize",
                    "authorizations": ["https://ca.example/name"]}"#,
            )),
            _ => Some((200, "{}")),
        };
        Box::pin(async move {
            let (status, body) = answer.ok_or_else(|| Error::Other("nothing came".into()))?;
            let response = Response::builder().status(status).header("Replay-Nonce", "once");
            let response = response.header("Location", "https://ca.example/made");
            Ok(response.body(Full::new(Bytes::from(body)))?.into())
        })
    }
}

/// How an order fails.
async fn refused(fails_at: &'static str, answer: Option<(u16, &'static str)>) -> Refusal {
    let authority = Authority { fails_at, answer };
    let ordered = async {
        let (account, _) = new_account(authority, "https://ca.example/directory", None).await?;
        order(&account, &["tree.example".to_owned()], &Shown::default()).await
    };
    ordered.await.unwrap_err()
}

const UNAUTHORIZED: Option<(u16, &str)> =
    Some((403, r#"{"type": "urn:ietf:params:acme:error:unauthorized"}"#));

#[tokio::test]
async fn authority_is_asked_again_soon_only_while_nothing_was_ordered() {
    for answer in [None, Some((503, "<p>Back soon"))] {
        for (fails_at, expected) in [
            ("/directory", Failed::Unasked),
            ("/account", Failed::Unasked),
            ("/order", Failed::Refused),
            ("/name", Failed::Refused),
        ] {
            let refusal = refused(fails_at, answer).await;
            assert_eq!(refusal.kind(), expected, "{fails_at}: {refusal}");
        }
    }
}

#[tokio::test]
async fn account_is_of_no_use_where_the_authority_says_so_of_it_and_not_of_a_name() {
    let unknown = Some((400, r#"{"type": "urn:ietf:params:acme:error:accountDoesNotExist"}"#));
    let limited = Some((429, r#"{"type": "urn:ietf:params:acme:error:rateLimited"}"#));
    for (fails_at, answer, expected) in [
        ("/order", UNAUTHORIZED, true),
        ("/order", unknown, true),
        ("/order", limited, false),
        ("/name", UNAUTHORIZED, false),
    ] {
        let refusal = refused(fails_at, answer).await;
        let is_of_account = matches!(refusal, Refusal::NoAccount(_));
        assert_eq!(is_of_account, expected, "{fails_at}: {refusal}");
    }
}
