//! Many data segments under way at once. Each is still one of its own in the engine: what is taken
//! by one may be taken by another next time, and each is done, or comes again, by itself.

use std::sync::Arc;

use alice::Wait;
use bytes::Bytes;
use futures_util::{StreamExt, stream};

use super::publish::{Id, Keep, bytes_max, publish, publish_batch};
use super::taken::{NotDone, Taken, confirm};
use super::{Durable, Names, ended};
use crate::engine::Shared;
use crate::error::{NotReceived, NotSent, SendError};
use crate::parcel::{Parcel, Portable};

/// So many are under way at once, and are taken at once at most.
pub const TOGETHER_MAX: usize = 256;

impl<T: Portable> Durable<T> {
    /// As [`put`](Durable::put) of each, but up to [`TOGETHER_MAX`] and a megabyte at once, which
    /// the engine stores, and syncs, together: for many it is many times as quick. They come in
    /// their order, unless the engine fails meanwhile and some of them have to be tried again.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use alice::Key;
    /// # use alice_nats::{Engine, Options, Taken};
    /// const JOBS: Key<u64> = Key::new("jobs");
    ///
    /// let engine = Engine::connect("localhost", Options::default())?;
    /// let jobs = engine.peer("farm").durable(&JOBS);
    /// for put in jobs.put_all(0..1000) {
    ///     put?;
    /// }
    /// let taken = jobs.take_up_to(100, Duration::from_secs(1))?;
    /// for done in Taken::done_all(taken) {
    ///     done?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Tells of each its index, or gives it back, as [`put`](Durable::put) does.
    pub fn put_all<P: Into<Parcel<T>>>(
        &self,
        data: impl IntoIterator<Item = P>,
    ) -> Vec<Result<u64, SendError<T>>> {
        let parcels: Vec<Parcel<T>> = data.into_iter().map(Into::into).collect();
        let put = self
            .shared
            .wait_for(self.put_each(&parcels))
            .unwrap_or_else(|inside| parcels.iter().map(|_| Err(NotSent::from(inside))).collect());
        let put = parcels.into_iter().zip(put);
        put.map(|(parcel, put)| put.map_err(|why| SendError { parcel, why })).collect()
    }

    async fn put_each(&self, parcels: &[Parcel<T>]) -> Vec<Result<u64, NotSent>> {
        let names = match self.names() {
            Ok(names) => names,
            Err(error) => return parcels.iter().map(|_| Err(error.clone().into())).collect(),
        };
        let (mut put, mut batch) = (Vec::with_capacity(parcels.len()), Batch::default());
        for parcel in parcels {
            match parcel.wire(self.compress) {
                Ok(form) => {
                    if !batch.has_room(&self.shared, &form) {
                        put.extend(std::mem::take(&mut batch).put(&self.shared, names).await);
                    }
                    batch.add(Id::new(self.shared.next_id()), form);
                }
                Err(error) => {
                    put.extend(std::mem::take(&mut batch).put(&self.shared, names).await);
                    put.push(Err(error.into()));
                }
            }
        }
        put.extend(batch.put(&self.shared, names).await);
        put
    }

    /// Takes what is there, up to so many (and up to [`TOGETHER_MAX`]), until each is
    /// [done](Taken::done); when there is nothing, it waits for the first.
    ///
    /// # Errors
    /// As [`take_within`](Durable::take_within).
    pub fn take_up_to(
        &self,
        max: usize,
        wait: impl Into<Wait>,
    ) -> Result<Vec<Taken<T>>, NotReceived> {
        let (wait, max) = (wait.into(), max.min(TOGETHER_MAX));
        if max == 0 {
            return Ok(Vec::new());
        }
        self.shared.wait_for(async {
            let pulling = async { self.puller().await?.pull_up_to(max, &wait).await };
            let pulled = ended(&wait, pulling).await?;
            let taken = pulled.into_iter();
            Ok(taken.map(|(it, origin)| Taken::new(Arc::clone(&self.shared), it, origin)).collect())
        })?
    }
}

/// What is put together.
#[derive(Default)]
struct Batch {
    puts: Vec<(Id, Bytes)>,
    bytes: usize,
}

impl Batch {
    fn has_room(&self, shared: &Shared, form: &Bytes) -> bool {
        let bytes = self.bytes + form.len();
        self.puts.is_empty() || (self.puts.len() < TOGETHER_MAX && bytes <= bytes_max(shared))
    }

    fn add(&mut self, id: Id, form: Bytes) {
        self.bytes += form.len();
        self.puts.push((id, form));
    }

    /// All at once, or, if that fails, each by itself.
    async fn put(self, shared: &Shared, names: &Names) -> Vec<Result<u64, NotSent>> {
        if self.puts.len() > 1
            && let Some(first) = publish_batch(shared, names, &self.puts).await
        {
            return (first..).take(self.puts.len()).map(Ok).collect();
        }
        let putting = self
            .puts
            .into_iter()
            .map(|(id, form)| async move { publish(shared, names, form, &id, Keep::All).await });
        stream::iter(putting).buffered(TOGETHER_MAX).collect().await
    }
}

impl<T: Portable> Taken<T> {
    /// As [`done`](Taken::done) of each, with up to [`TOGETHER_MAX`] under way at once.
    ///
    /// # Errors
    /// Tells of each whether the engine knows, as [`done`](Taken::done) does.
    pub fn done_all(mut taken: Vec<Taken<T>>) -> Vec<Result<(), NotDone>> {
        let Some(first) = taken.first() else { return Vec::new() };
        let shared = Arc::clone(&first.hold.shared);
        let confirming = taken.iter().map(|taken| confirm(&shared, &taken.hold.reply));
        let confirmed = stream::iter(confirming).buffered(TOGETHER_MAX).collect::<Vec<_>>();
        let confirmed = shared
            .wait_for(confirmed)
            .unwrap_or_else(|inside| taken.iter().map(|_| Err(inside.into())).collect());
        for (taken, confirmed) in taken.iter_mut().zip(&confirmed) {
            taken.hold.is_done = confirmed.is_ok();
        }
        confirmed
    }
}
