//! The table from errors to statuses: nothing else decides what an error is answered with.

use axum::http::StatusCode;
use jungle::json::ImportError;
use jungle::{
    BackupError, BranchError, CommitError, CreateTreeError, DeleteTreeError, DiffError, EditError,
    IndexError, MergeBranchError, NoSuchBranch, NoSuchNode, NoSuchRevision, NoSuchTree, NotWritten,
    ParsePathError, RenameTreeError, RetentionError, RevertError, SetRootError, TooManySteps,
    UpdateError, WatchError,
};
use jungle_cluster::{LocalError, LocalUpdateError};
use jungle_formats::WriteError;
use jungle_words::conflict::turned;
use jungle_words::{FindError, with_causes};

use super::Problem;
use crate::access::AccessError;
use crate::api::change::conflicts;
use crate::etag::changed;

/// The kinds of problems: what they are called here and in `type`, the status, and what they mean.
macro_rules! kinds {
    ($($kind:ident $name:literal $status:ident $title:literal,)*) => {
        /// The kinds of problems.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Kind {
            $($kind,)*
        }

        impl Kind {
            /// All that there are.
            pub(crate) const ALL: &[Kind] = &[$(Kind::$kind,)*];

            /// Its name in `type`, the status, and what it means. Names never change.
            pub(crate) fn row(self) -> (&'static str, StatusCode, &'static str) {
                match self {
                    $(Kind::$kind => ($name, StatusCode::$status, $title),)*
                }
            }
        }
    };
}

kinds! {
    BadRequest "bad-request" BAD_REQUEST "The request is not as it must be",
    Unauthorized "unauthorized" UNAUTHORIZED "Who you are must be said first",
    Forbidden "forbidden" FORBIDDEN "This is not allowed",
    NoSuchAddress "no-such-address" NOT_FOUND "Nothing has this address",
    NoSuchTree "no-such-tree" NOT_FOUND "There is no such tree",
    NoSuchBranch "no-such-branch" NOT_FOUND "There is no such branch or tag",
    NoSuchRevision "no-such-revision" NOT_FOUND "There is no such revision",
    NoSuchNode "no-such-node" NOT_FOUND "There is no such node",
    NoSuchAttribute "no-such-attribute" NOT_FOUND "The node has no such attribute",
    NoSuchIndex "no-such-index" NOT_FOUND "The tree has no such index",
    NoForm "no-form" NOT_ACCEPTABLE "What is there does not fit the form",
    MethodNotAllowed "method-not-allowed" METHOD_NOT_ALLOWED "This address has no such method",
    TimedOut "timed-out" REQUEST_TIMEOUT "The request came too slowly",
    Exists "exists" CONFLICT "There is one of this name already",
    Conflict "conflict" CONFLICT "Changes contradict each other",
    Busy "busy" CONFLICT "The same request is still being worked on",
    UnderWay "under-way" CONFLICT "This is being done already",
    NotUnderWay "not-under-way" CONFLICT "This is not being done",
    Gone "gone" GONE "The history does not have that any more",
    Changed "changed" PRECONDITION_FAILED "The newest revision is another one",
    TestFailed "test-failed" PRECONDITION_FAILED "A test was not met",
    TooLarge "too-large" PAYLOAD_TOO_LARGE "The request is too large",
    UnsupportedMedia "unsupported-media" UNSUPPORTED_MEDIA_TYPE "The body has another form",
    Misdirected "misdirected" MISDIRECTED_REQUEST "This server has not that name",
    Elsewhere "elsewhere" MISDIRECTED_REQUEST "Servers of another cluster have this tree",
    OtherRequest "other-request" UNPROCESSABLE_ENTITY "Another request had this key",
    TooMuch "too-much" UNPROCESSABLE_ENTITY "It takes more steps than this server does",
    TooMany "too-many" TOO_MANY_REQUESTS "Too many requests",
    Failed "failed" INTERNAL_SERVER_ERROR "The server failed",
    Stopped "stopped" SERVICE_UNAVAILABLE "Nothing is written at the moment",
    Full "full" SERVICE_UNAVAILABLE "There is no place for a connection",
    NoRoom "no-room" INSUFFICIENT_STORAGE "There is no room",
}

/// Errors that are of one kind whatever is in them.
macro_rules! of_kind {
    ($($error:ty => $kind:ident,)*) => {$(
        impl From<$error> for Problem {
            fn from(error: $error) -> Problem {
                Problem::new(Kind::$kind, error)
            }
        }
    )*};
}

of_kind! {
    NoSuchTree => NoSuchTree,
    NoSuchBranch => NoSuchBranch,
    NoSuchNode => NoSuchNode,
    jungle::NameError => BadRequest,
    jungle_words::NameError => BadRequest,
    ParsePathError => BadRequest,
    std::io::Error => Failed,
    jungle::ArchiveError => Failed,
    jungle::SlabError => Failed,
    jungle::AuditError => Failed,
    AccessError => Failed,
}

/// What cannot be read may be there: it is no answer that it is not. How much happens in trees that
/// are not granted is nobody's business, so what the newest revision is of all is not said.
impl From<NoSuchRevision> for Problem {
    fn from(error: NoSuchRevision) -> Problem {
        match error {
            NoSuchRevision::NotRead(error) => error.into(),
            NoSuchRevision::NotYet { .. } => {
                Problem::new(Kind::NoSuchRevision, "the revision has not been made yet")
            }
            error => Problem::new(Kind::NoSuchRevision, error),
        }
    }
}

impl From<FindError> for Problem {
    fn from(error: FindError) -> Problem {
        match error {
            FindError::NotRead(error)
            | FindError::NoSuchRevision { source: NoSuchRevision::NotRead(error), .. } => {
                error.into()
            }
            FindError::NoSuchRevision { name, source: NoSuchRevision::NotYet { .. } } => {
                not_yet(name)
            }
            error => Problem::new(Kind::NoSuchRevision, error),
        }
    }
}

/// A revision that has not been made.
pub(crate) fn not_yet(revision: impl std::fmt::Display) -> Problem {
    Problem::new(Kind::NoSuchRevision, format_args!("there is no revision {revision} yet"))
}

impl From<NotWritten> for Problem {
    fn from(error: NotWritten) -> Problem {
        let kind = match error {
            NotWritten::Deleted => Kind::NoSuchTree,
            NotWritten::NoRoom(_) => Kind::NoRoom,
            NotWritten::KeyInUse { .. } => Kind::OtherRequest,
            NotWritten::NotLookedUp(_) => Kind::Failed,
            NotWritten::TooManySteps(error) => {
                let hint = "change less at once, or have the server do more: --limit compare-steps";
                return Problem::new(Kind::TooMuch, error).hint(hint);
            }
            _ => Kind::Stopped,
        };
        Problem::new(kind, error)
    }
}

impl From<LocalError> for Problem {
    fn from(error: LocalError) -> Problem {
        let kind = match &error {
            LocalError::Revision(error) => return error.clone().into(),
            LocalError::TooLong { .. } => Kind::TooLarge,
            LocalError::NoRoom(_) => Kind::NoRoom,
            LocalError::Outbox(_)
            | LocalError::Fault(_)
            | LocalError::Copied { .. }
            | LocalError::Left => Kind::Stopped,
            _ => Kind::Failed,
        };
        Problem::new(kind, error)
    }
}

impl From<LocalUpdateError<Problem>> for Problem {
    fn from(error: LocalUpdateError<Problem>) -> Problem {
        match error {
            LocalUpdateError::Closure(problem) => problem,
            LocalUpdateError::NotKept(error) => error.into(),
        }
    }
}

/// Of a backup that is sent.
impl From<&BackupError> for Problem {
    fn from(error: &BackupError) -> Problem {
        let kind = match error {
            BackupError::OutOfReach { .. } => {
                let hint = "leave out `since`, and begin a new copy with what comes";
                return Problem::new(Kind::Gone, error).hint(hint);
            }
            BackupError::NotWritten(_) => Kind::Stopped,
            error if error.is_given_up() => Kind::Stopped,
            _ => Kind::Failed,
        };
        Problem::new(kind, with_causes(error))
    }
}

impl From<RetentionError> for Problem {
    fn from(error: RetentionError) -> Problem {
        match error {
            RetentionError::NotWritten(error) => error.into(),
            error => Problem::new(Kind::Failed, error),
        }
    }
}

impl From<IndexError> for Problem {
    fn from(error: IndexError) -> Problem {
        let kind = match error {
            IndexError::NotWritten(error) => return error.into(),
            IndexError::Exists { .. } => Kind::Exists,
            IndexError::NoSuchIndex { .. } => Kind::NoSuchIndex,
            _ => Kind::BadRequest,
        };
        Problem::new(kind, error)
    }
}

impl From<EditError> for Problem {
    fn from(error: EditError) -> Problem {
        let kind = match error {
            EditError::NoSuchNode { .. } => Kind::NoSuchNode,
            EditError::ChildExists { .. } => Kind::Exists,
            EditError::TooManyKeysOfTree { .. } => {
                let hint = "who may administer all trees can put it, or let trees have more: \
                            --limit attribute-keys";
                return Problem::new(Kind::NoRoom, error).hint(hint);
            }
            ref full if full.is_full() => Kind::NoRoom,
            EditError::OtherArena | EditError::Unpublished => Kind::Failed,
            _ => Kind::BadRequest,
        };
        Problem::new(kind, error)
    }
}

impl From<CreateTreeError> for Problem {
    fn from(error: CreateTreeError) -> Problem {
        match error {
            CreateTreeError::Name(error) => error.into(),
            CreateTreeError::NotWritten(error) => error.into(),
            error => Problem::new(Kind::Exists, error),
        }
    }
}

impl From<RenameTreeError> for Problem {
    fn from(error: RenameTreeError) -> Problem {
        match error {
            RenameTreeError::Name(error) => error.into(),
            RenameTreeError::NoSuchTree(error) => error.into(),
            RenameTreeError::NotWritten(error) => error.into(),
            error => Problem::new(Kind::Exists, error),
        }
    }
}

impl From<DeleteTreeError> for Problem {
    fn from(error: DeleteTreeError) -> Problem {
        match error {
            DeleteTreeError::NoSuchTree(error) => error.into(),
            DeleteTreeError::NotWritten(error) => error.into(),
            error => Problem::new(Kind::Failed, error),
        }
    }
}

impl From<BranchError> for Problem {
    fn from(error: BranchError) -> Problem {
        match error {
            BranchError::Name(error) => error.into(),
            BranchError::NoSuchBranch(error) => error.into(),
            BranchError::NoSuchRevision(error) => error.into(),
            BranchError::NotWritten(error) => error.into(),
            BranchError::Main => Problem::new(Kind::Conflict, error),
            error => Problem::new(Kind::Exists, error),
        }
    }
}

impl From<TooManySteps> for Problem {
    fn from(error: TooManySteps) -> Problem {
        let hint = "ask for what differs less, or have the server do more: --limit compare-steps";
        Problem::new(Kind::TooMuch, error).hint(hint)
    }
}

impl From<DiffError> for Problem {
    fn from(error: DiffError) -> Problem {
        match error {
            DiffError::NoSuchNode(error) => error.into(),
            DiffError::TooManySteps(error) => error.into(),
            error => Problem::new(Kind::Failed, error),
        }
    }
}

impl From<MergeBranchError> for Problem {
    fn from(error: MergeBranchError) -> Problem {
        match error {
            MergeBranchError::NoSuchBranch(error) => error.into(),
            MergeBranchError::TooManySteps(error) => error.into(),
            MergeBranchError::NoRoom(error) => Problem::new(Kind::NoRoom, error),
            error @ MergeBranchError::Renumbered { .. } => {
                Problem::new(Kind::Conflict, error).hint("a new branch begins without them")
            }
            error => Problem::new(Kind::BadRequest, error),
        }
    }
}

impl From<CommitError> for Problem {
    fn from(error: CommitError) -> Problem {
        match error {
            CommitError::NotWritten(error) => error.into(),
            error => Problem::new(Kind::Conflict, error),
        }
    }
}

impl From<SetRootError> for Problem {
    fn from(error: SetRootError) -> Problem {
        match error {
            SetRootError::NotWritten(error) => error.into(),
            SetRootError::Edit(error) => error.into(),
            SetRootError::TooManySteps(error) => error.into(),
            error => Problem::new(Kind::Changed, error),
        }
    }
}

impl From<RevertError> for Problem {
    fn from(error: RevertError) -> Problem {
        match error {
            RevertError::NoSuchRevision(error) => error.into(),
            RevertError::NotWritten(error) => error.into(),
            RevertError::TooManySteps(error) => error.into(),
            RevertError::Changed { newest } => changed(newest),
            RevertError::OfAnother { .. } => Problem::new(Kind::NoSuchRevision, error),
            RevertError::Conflict(ref why) => {
                let taken: Vec<String> = why.reads().iter().map(ToString::to_string).collect();
                Problem::new(Kind::Conflict, &error)
                    .with("conflicts", conflicts(why.list().into_iter().map(turned)))
                    .with("conflict_count", why.list().len())
                    .with("taken", taken)
            }
            error => Problem::new(Kind::Conflict, error),
        }
    }
}

impl<E: Into<Problem> + std::fmt::Debug> From<UpdateError<E>> for Problem {
    fn from(error: UpdateError<E>) -> Problem {
        match error {
            UpdateError::Closure(error) => error.into(),
            UpdateError::NotWritten(error) => error.into(),
            error => Problem::new(Kind::Failed, format_args!("{error:?}")),
        }
    }
}

impl From<WatchError> for Problem {
    fn from(error: WatchError) -> Problem {
        let kind = match error {
            WatchError::TooOld { .. } | WatchError::TooManySteps { .. } => Kind::Gone,
            WatchError::Deleted => Kind::NoSuchTree,
            _ => Kind::Failed,
        };
        Problem::new(kind, error)
    }
}

impl From<ImportError> for Problem {
    fn from(error: ImportError) -> Problem {
        let kind = match &error {
            // The body itself says what was wrong with it; see `api/document.rs`.
            ImportError::Read(_) => Kind::BadRequest,
            ImportError::Limit { .. } => Kind::TooLarge,
            ImportError::Edit { source, .. } => return Problem::from(source.clone()),
            ImportError::NoSuchNode(_) => Kind::NoSuchNode,
            _ => Kind::BadRequest,
        };
        Problem::new(kind, error)
    }
}

impl From<WriteError> for Problem {
    fn from(error: WriteError) -> Problem {
        match error {
            WriteError::NoPlace { .. } => {
                Problem::new(Kind::NoForm, error).hint("format=json takes all")
            }
            error => Problem::new(Kind::Failed, error),
        }
    }
}

/// For what an update's closure says.
impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.detail())
    }
}

#[cfg(test)]
mod tests {
    use jungle::{ArchiveError, Revision};

    use super::*;

    #[test]
    fn history_that_cannot_be_read_is_a_failure_of_the_server() {
        let damage = || NoSuchRevision::NotRead(ArchiveError::new("a piece is damaged"));
        let name = "5".into();
        for problem in [
            Problem::from(damage()),
            Problem::from(FindError::NoSuchRevision { name, source: damage() }),
            Problem::from(FindError::NotRead(ArchiveError::new("a piece is damaged"))),
            Problem::from(BranchError::NoSuchRevision(damage())),
            Problem::from(RevertError::NoSuchRevision(damage())),
            Problem::from(LocalError::Revision(damage())),
        ] {
            assert_eq!(problem.status(), StatusCode::INTERNAL_SERVER_ERROR, "{problem}");
            assert!(problem.detail().ends_with("a piece is damaged"), "{problem}");
        }
    }

    #[test]
    fn revision_that_is_missing_tells_nothing_of_other_trees() {
        let missing = || NoSuchRevision::NotYet { newest: Revision::new(70_512) };
        for problem in [
            Problem::from(missing()),
            Problem::from(FindError::NoSuchRevision { name: "9".into(), source: missing() }),
            Problem::from(BranchError::NoSuchRevision(missing())),
            Problem::from(RevertError::NoSuchRevision(missing())),
            Problem::from(LocalError::Revision(missing())),
        ] {
            assert_eq!(problem.status(), StatusCode::NOT_FOUND, "{problem}");
            assert!(!problem.body().contains("70512"), "{problem}");
        }
    }
}
