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
    /// Why the last attempt came to nothing.
    error: Option<String>,
}

impl Keeper {
    /// Begins with the certificate that is kept, if that is of use, so that a restart asks for
    /// nothing. That the authority cannot be reached is no reason not to start: what can only be
    /// waited for is waited for, as it is at a renewal; what somebody has to put right is an error.
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
        loop {
            let due = Instant::now() + self.due_in();
            let pause = due.max(not_before).saturating_duration_since(Instant::now());
            if !pause.is_zero() {
                tokio::select! {
                    () = sleep(pause.min(LOOK_EVERY)) => continue,
                    () = stopping.wait() => return,
                }
            }
            let got = tokio::select! {
                got = timeout(ATTEMPT_TIME, self.get()) => got.unwrap_or(Err(Refusal::Late)),
                () = stopping.wait() => return,
            };
            let names = self.names.join(", ");
            match got {
                Ok(until) => {
                    backoff.reset();
                    self.state().error = None;
                    tracing::info!(names, until = text(until), "there is a new certificate");
                }
                Err(error) => {
                    let pause = backoff.pause(error.kind());
                    not_before = Instant::now() + pause;
                    let again_in = pause.as_secs();
                    tracing::error!(names, %error, again_in, "there is no new certificate");
                    self.state().error = Some(error.to_string());
                }
            }
        }
    }

    /// Gets a certificate, shows and keeps it; tells until when it holds.
    async fn get(&self) -> Result<SystemTime, Refusal> {
        let ordered = async {
            let account = self.account().await?;
            order::order(&account, &self.names, &self.shown).await
        };
        let ordered = ordered.await;
        if ordered.as_ref().is_err_and(Refusal::is_of_no_account) {
            block_in_place(|| self.kept.forget_account()).map_err(Refusal::Unkept)?;
        }
        let text = ordered?;
        let usable = Usable::read(&text, &self.names).map_err(Refusal::Useless)?;
        let holds = usable.holds.clone();
        // It is used also where it cannot be kept.
        self.show(usable);
        block_in_place(|| self.kept.put_certificate(&text)).map_err(Refusal::Unkept)?;
        match renewed_in(&holds, SystemTime::now()).is_zero() {
            // Without this, one after the other would be ordered.
            true => Err(Refusal::Due),
            false => Ok(holds.end),
        }
    }

    async fn account(&self) -> Result<Account, Refusal> {
        let contact = self.contact.as_deref();
        let put = |account: &str| {
            block_in_place(|| self.kept.put_account(account)).map_err(Refusal::Unkept)
        };
        let Some(known) = block_in_place(|| self.kept.account()) else {
            let made = order::new_account(&self.transport, &self.directory, contact).await?;
            let (account, credentials) = made;
            put(&kept::Account { contact: self.contact.clone(), credentials }.text())?;
            return Ok(account);
        };
        let is_told = known.contact == self.contact;
        let known = kept::Account { contact: self.contact.clone(), ..known };
        let text = known.text();
        let account = order::account(&self.transport, known.credentials).await?;
        if !is_told {
            order::tell_contact(&account, contact).await?;
            put(&text)?;
        }
        Ok(account)
    }

    fn show(&self, usable: Usable) {
        self.shown.replace(usable.key);
        self.state().holds = Some(usable.holds);
    }

    fn due_in(&self) -> Duration {
        let state = self.state();
        state.holds.as_ref().map_or(Duration::ZERO, |holds| renewed_in(holds, SystemTime::now()))
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
