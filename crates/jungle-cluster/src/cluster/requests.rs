//! Whether commits may say which request asked for them.

use std::sync::PoisonError;
use std::time::Instant;

use crate::cluster::Cluster;
use crate::cluster::survey::{ANSWERS_WITHIN, ASKED_EVERY};

/// What is known of that.
#[derive(Default)]
pub(crate) struct Requests {
    are_read: bool,
    asked: Option<Instant>,
}

impl Cluster {
    /// May commits say which [request](jungle_db::CommitMeta::asked_by) asked for them? Servers
    /// that were built before there was that cannot read it, and would follow the log no further.
    /// So all servers are asked, which takes a second: again after half a minute if one cannot, and
    /// never again once all can. `false` where the [log](crate::Log::survey) cannot ask. One that
    /// is away at that moment is not heard.
    #[must_use]
    pub fn reads_requests(&self) -> bool {
        // Whoever else wants to know waits for the same answer.
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = requests.asked.is_none_or(|asked| asked.elapsed() > ASKED_EVERY);
        if !requests.are_read && is_due {
            let survey = self.survey(ANSWERS_WITHIN);
            requests.are_read = survey
                .is_ok_and(|survey| survey.is_some_and(|it| it.do_all(|server| server.requests)));
            requests.asked = Some(Instant::now());
        }
        requests.are_read
    }
}
