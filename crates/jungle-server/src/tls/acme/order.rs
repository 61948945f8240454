//! How one certificate is got: an account, an order, a proof for each name, and the signature.

use std::time::Duration;

use instant_acme::{
    Account, AccountCredentials, AuthorizationStatus, ChallengeType, Error, HttpClient, Identifier,
    NewAccount, NewOrder, Order, OrderStatus, RetryPolicy,
};

use super::backoff::Failed;
use super::challenge::Shown;

/// How long an authority may take to look for the names, and to sign.
const PATIENCE: RetryPolicy = RetryPolicy::new().timeout(Duration::from_mins(2));

/// What an authority says of an account that it does not know, any more or at all, and of one that
/// has been deactivated. Of a name that it did not find it says the latter, too.
const NO_ACCOUNT: [&str; 2] =
    ["urn:ietf:params:acme:error:accountDoesNotExist", "urn:ietf:params:acme:error:unauthorized"];

/// Why there is no certificate this time, or none that outlasts a restart.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error(transparent)]
    Unreached(Error),
    #[error("the account is of no use: {0}")]
    NoAccount(Error),
    #[error(transparent)]
    Refused(#[from] Error),
    #[error("the proof cannot be made: {0}")]
    Unmade(String),
    #[error("the authority does not look for {0} by a handshake (TLS-ALPN-01)")]
    NoChallenge(String),
    #[error("the authority did not find {name} here: {reason}")]
    NotFound { name: String, reason: String },
    #[error("what the authority gave is not used: {0}")]
    Useless(String),
    #[error("the new certificate is to be renewed at once: is the clock of this machine right?")]
    Due,
    #[error("the new certificate is used, but it cannot be kept: {0}")]
    Unkept(std::io::Error),
    #[error("it took too long")]
    Late,
}

impl Refusal {
    pub(super) fn kind(&self) -> Failed {
        match self {
            Refusal::Unreached(_) | Refusal::Unkept(_) => Failed::Unasked,
            _ => Failed::Refused,
        }
    }

    /// What went wrong before anything was ordered.
    fn early(error: Error) -> Refusal {
        match error {
            Error::Other(_) | Error::Json(_) | Error::Http(_) => Refusal::Unreached(error),
            error => Refusal::of_account(error),
        }
    }

    /// What went wrong where only an order was asked for. It may be that one was made all the same,
    /// so it is not asked again soon.
    fn of_account(error: Error) -> Refusal {
        let is_of_account = match &error {
            Error::KeyRejected => true,
            Error::Api(problem) => {
                problem.r#type.as_deref().is_some_and(|kind| NO_ACCOUNT.contains(&kind))
            }
            _ => false,
        };
        if is_of_account { Refusal::NoAccount(error) } else { Refusal::Refused(error) }
    }
}

/// The account that there is.
pub(super) async fn account(
    authority: impl HttpClient,
    known: AccountCredentials,
) -> Result<Account, Refusal> {
    let builder = Account::builder_with_http(Box::new(authority));
    builder.from_credentials(known).await.map_err(Refusal::early)
}

/// A new account. Whoever has the server ask agrees to the authority's terms: it has no other way
/// to be asked.
pub(super) async fn new_account(
    authority: impl HttpClient,
    directory: &str,
    contact: Option<&str>,
) -> Result<(Account, AccountCredentials), Refusal> {
    let contact: Vec<String> = contact.iter().map(|mail| at(mail)).collect();
    let contact: Vec<&str> = contact.iter().map(|mail| &**mail).collect();
    let account = NewAccount {
        contact: &contact,
        terms_of_service_agreed: true,
        only_return_existing: false,
    };
    let builder = Account::builder_with_http(Box::new(authority));
    builder.create(&account, directory.to_owned(), None).await.map_err(Refusal::early)
}

/// Tells the authority whom it reaches now.
pub(super) async fn tell_contact(account: &Account, contact: Option<&str>) -> Result<(), Error> {
    let contact: Vec<String> = contact.iter().map(|mail| at(mail)).collect();
    let contact: Vec<&str> = contact.iter().map(|mail| &**mail).collect();
    account.update_contacts(&contact).await
}

fn at(mail: &str) -> String {
    format!("mailto:{mail}")
}

/// Orders a certificate for the names; gives it, with those above it and its key, as PEM.
pub(super) async fn order(
    account: &Account,
    names: &[String],
    shown: &Shown,
) -> Result<String, Refusal> {
    let identifiers: Vec<_> = names.iter().cloned().map(Identifier::Dns).collect();
    let order = account.new_order(&NewOrder::new(&identifiers)).await;
    fulfil(order.map_err(Refusal::of_account)?, shown).await
}

/// Proves what is ordered, and has it signed. Whatever fails from here on has used up an order, and
/// authorities give only so many.
async fn fulfil(mut order: Order, shown: &Shown) -> Result<String, Refusal> {
    let mut proofs = Vec::new();
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization?;
        // What it has seen a while ago, it need not look for again.
        if authorization.status == AuthorizationStatus::Valid {
            continue;
        }
        let Identifier::Dns(name) = authorization.identifier().identifier.clone() else {
            return Err(Refusal::Useless("an order for what is no name".to_owned()));
        };
        let challenge = authorization.challenge(ChallengeType::TlsAlpn01);
        let mut challenge = challenge.ok_or_else(|| Refusal::NoChallenge(name.clone()))?;
        proofs.push(shown.prove(&name, challenge.key_authorization().digest().as_ref())?);
        challenge.set_ready().await?;
    }
    match order.poll_ready(&PATIENCE).await {
        Ok(OrderStatus::Ready) => {}
        Ok(_) => return Err(reason(&mut order).await),
        // An order that has failed says little itself.
        Err(Error::Api(problem)) if order.state().status == OrderStatus::Invalid => {
            return Err(match reason(&mut order).await {
                Refusal::Useless(_) => Refusal::Refused(Error::Api(problem)),
                reason => reason,
            });
        }
        Err(error) => return Err(error.into()),
    }
    drop(proofs);
    let key = order.finalize().await?;
    let certificates = order.poll_certificate(&PATIENCE).await?;
    Ok(format!("{certificates}\n{key}"))
}

/// Why an order has failed: what the authority says of the names that it looked for.
async fn reason(order: &mut Order) -> Refusal {
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let asked = async {
            let mut authorization = authorization?;
            authorization.refresh().await?;
            let name = authorization.identifier().to_string();
            let error =
                authorization.challenges.iter().find_map(|challenge| challenge.error.as_ref());
            Ok::<_, Error>(error.map(|error| Refusal::NotFound { name, reason: error.to_string() }))
        };
        match asked.await {
            Ok(Some(refusal)) => return refusal,
            Ok(None) => {}
            Err(error) => return error.into(),
        }
    }
    Refusal::Useless("an order that failed for no reason".to_owned())
}

#[cfg(test)]
mod tests;
