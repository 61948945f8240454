//! Sees to it that there is a certificate, for as long as the server runs.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use instant_acme::Account;
use jungle::Timestamp;
use jungle_words::time;
use serde_json::{Value, json};
use tokio::task::block_in_place;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::backoff::Backoff;
use super::challenge::{PROTOCOL, Shown};
use super::kept::{self, Kept, Usable, renewed_in};
use super::order::{self, Refusal};
use super::transport::Transport;
use super::{Acme, AcmeError, check_directory, names};
use crate::app::Stopping;
use crate::metrics::{kind, line};
use crate::tls;

/// How often it is looked whether it is time: clocks are set, and machines sleep.
const LOOK_EVERY: Duration = Duration::from_mins(1);

/// How long an authority may take for all of it: it is asked a dozen times.
const ATTEMPT_TIME: Duration = Duration::from_mins(10);

/// Gets a certificate, and renews it.
pub(crate) struct Keeper {
    names: Vec<String>,
    contact: Option<String>,
    directory: String,
    transport: Transport,
    kept: Kept,
    shown: Arc<Shown>,
    state: Mutex<State>,
}

/// How it stands.
#[derive(Debug, Default)]
struct State {
    /// How long the certificate that is shown holds; none while there is none.
    holds: Option<Range<SystemTime>>,
    /// A name was added that it is not for.
    is_short: bool,
    /// Why the last attempt came to nothing.
    error: Option<String>,
}

impl Keeper {
    /// Begins with the certificate that is kept, if that is of use, so that a restart asks for
    /// nothing, but for one with the names that were added. That the authority cannot be reached is
    /// no reason not to start: what can only be waited for is waited for, as it is at a renewal;
    /// what somebody has to put right is an error.
    pub(crate) fn open(acme: &Acme) -> Result<Keeper, AcmeError> {
        let names = names(acme)?;
        check_directory(&acme.directory)?;
        let keeper = Keeper {
            contact: acme.contact.clone(),
            directory: acme.directory.clone(),
            transport: Transport::new(acme.root.as_deref())?,
            kept: Kept::open(acme)?,
            shown: Arc::default(),
            state: Mutex::default(),
            names,
        };
        if let Some(usable) = keeper.kept.certificate(&keeper.names)? {
            keeper.show(usable);
        }
        Ok(keeper)
    }

    /// What encrypts with the certificate that there is.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let mut config = tls::builder().with_cert_resolver(Arc::<Shown>::clone(&self.shown));
        // The first that a client speaks, too.
        config.alpn_protocols = [tls::HTTP, PROTOCOL].map(<[u8]>::to_vec).to_vec();
        TlsAcceptor::from(Arc::new(config))
    }

    /// Gets a certificate where there is none, and renews it, until the server stops.
    pub(crate) async fn keep(&self, mut stopping: Stopping) {
        let (mut backoff, mut not_before) = (Backoff::default(), Instant::now());
        let mut unkept = None;
        loop {
            let due_in = if unkept.is_some() { Duration::ZERO } else { self.due_in() };
            let due = Instant::now() + due_in;
            let pause = due.max(not_before).saturating_duration_since(Instant::now());
            if !pause.is_zero() {
                tokio::select! {
                    () = sleep(pause.min(LOOK_EVERY)) => continue,
                    () = stopping.wait() => return,
                }
            }
            let got = tokio::select! {
                got = timeout(ATTEMPT_TIME, self.get(&mut unkept)) => got,
                () = stopping.wait() => return,
            };
            let names = self.names.join(", ");
            match got.unwrap_or(Err(Refusal::Late)) {
                Ok(until) => {
                    backoff.reset();
                    self.state().error = None;
                    tracing::info!(names, until = text(until), "there is a new certificate");
                }
                Err(error) => {
                    let pause = backoff.pause(error.kind());
                    not_before = Instant::now() + pause;
                    let again_in = pause.as_secs();
                    let what = match error {
                        Refusal::Unkept(_) => "the new certificate is not kept",
                        _ => "there is no new certificate",
                    };
                    tracing::error!(names, %error, again_in, "{what}");
                    self.state().error = Some(error.to_string());
                }
            }
        }
    }

    /// Gets a certificate, shows and keeps it, or only keeps the one that could not be kept; tells
    /// until when it holds.
    async fn get(&self, unkept: &mut Option<String>) -> Result<SystemTime, Refusal> {
        if self.due_in().is_zero() {
            let text = self.order().await?;
            let usable = Usable::read(&text).map_err(Refusal::Useless)?;
            if let Some(name) = usable.lacks(&self.names) {
                return Err(Refusal::Useless(format!("it is not for {name}")));
            }
            // It is used also where it cannot be kept.
            self.show(usable);
            *unkept = Some(text);
        }
        if let Some(text) = unkept {
            block_in_place(|| self.kept.put_certificate(text)).map_err(Refusal::Unkept)?;
            *unkept = None;
        }
        let holds = self.state().holds.clone();
        // If it were due, one after the other would be ordered.
        holds.filter(|_| !self.due_in().is_zero()).map(|holds| holds.end).ok_or(Refusal::Due)
    }

    /// Orders a certificate: with the account that there is, or else with a new one, which also
    /// takes the place of one that is of no use any more.
    async fn order(&self) -> Result<String, Refusal> {
        if let Some(known) = block_in_place(|| self.kept.account()) {
            let ordered = async {
                let account = self.account(known).await?;
                order::order(&account, &self.names, &self.shown).await
            };
            match ordered.await {
                Err(error @ Refusal::NoAccount(_)) => {
                    tracing::warn!(%error, "a new account is made");
                }
                ordered => return ordered,
            }
        }
        let contact = self.contact.as_deref();
        let made = order::new_account(self.transport.clone(), &self.directory, contact).await?;
        let (account, credentials) = made;
        self.keep_account(&kept::Account { contact: self.contact.clone(), credentials }.text());
        order::order(&account, &self.names, &self.shown).await
    }

    /// The account that there is. Who has it now is told to the authority, but what it thinks of
    /// that is no reason to have no certificate.
    async fn account(&self, known: kept::Account) -> Result<Account, Refusal> {
        let is_told = known.contact == self.contact;
        let known = kept::Account { contact: self.contact.clone(), ..known };
        let text = known.text();
        let account = order::account(self.transport.clone(), known.credentials).await?;
        if !is_told {
            match order::tell_contact(&account, self.contact.as_deref()).await {
                Ok(()) => self.keep_account(&text),
                Err(error) => tracing::warn!(%error, "the authority does not take the contact"),
            }
        }
        Ok(account)
    }

    /// One that cannot be kept is used all the same: another can be made the next time.
    fn keep_account(&self, text: &str) {
        if let Err(error) = block_in_place(|| self.kept.put_account(text)) {
            tracing::warn!(%error, "the account cannot be kept");
        }
    }

    fn show(&self, usable: Usable) {
        let is_short = usable.lacks(&self.names).is_some();
        self.shown.replace(usable.key);
        let mut state = self.state();
        (state.holds, state.is_short) = (Some(usable.holds), is_short);
    }

    fn due_in(&self) -> Duration {
        let state = self.state();
        let holds = state.holds.as_ref().filter(|_| !state.is_short);
        holds.map_or(Duration::ZERO, |holds| renewed_in(holds, SystemTime::now()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn health(&self) -> Value {
        let state = self.state();
        let until = state.holds.as_ref().map(|holds| text(holds.end));
        json!({"names": self.names, "until": until, "error": state.error})
    }

    pub(crate) fn metrics(&self, out: &mut String) {
        let state = self.state();
        let until = state.holds.as_ref().map_or(0, |holds| since_1970(holds.end).as_secs());
        let all = [
            (
                "jungle_certificate_expires_timestamp_seconds",
                "Until when the authority's certificate holds; 0: there is none yet.",
                until,
            ),
            (
                "jungle_certificate_failed",
                "Whether the last attempt to get a certificate came to nothing.",
                state.error.is_some().into(),
            ),
        ];
        for (name, help, value) in all {
            kind(out, name, "gauge", help);
            line(out, name, "", value);
        }
    }
}

fn since_1970(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn text(at: SystemTime) -> String {
    let micros = i64::try_from(since_1970(at).as_micros()).unwrap_or(i64::MAX);
    time::text(Timestamp::from_micros(micros))
}
