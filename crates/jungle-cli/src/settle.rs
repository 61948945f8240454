//! Settling the conflicts of a merge or a revert, as the command line says.

use jungle::{Change, Conflict, Editor, Merge, Path, Resolution, UpdateError, apply};
use jungle_tree::{Snapshot, Tree};
use jungle_words::conflict;

use crate::conflict::member_of;
use crate::failure::{Exit, Failure, failed};
use crate::member::{self, New, Parents};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Ours,
    Theirs,
}

/// What is said of all conflicts, and of single ones.
#[derive(Clone, Copy)]
pub(crate) struct Settle<'a> {
    pub(crate) prevails: Option<Side>,
    pub(crate) resolve: &'a [String],
}

/// How a single conflict is settled.
pub(crate) enum How {
    Take(Side),
    Put(New),
}

/// A conflict, and how it is settled if that was said for it alone.
pub(crate) struct Disputed<'m> {
    pub(crate) conflict: &'m Conflict,
    /// The member of the document that it is about.
    pub(crate) path: Path,
    pub(crate) how: Option<How>,
}

/// What must be done beyond who prevails.
pub(crate) enum Edit<'d> {
    Do(&'d Conflict, &'d Change),
    Put(&'d Conflict, &'d New),
}

impl Side {
    /// Who prevails, of two options that are not said together.
    pub(crate) fn said(ours: bool, theirs: bool) -> Option<Side> {
        match (ours, theirs) {
            (true, _) => Some(Side::Ours),
            (_, true) => Some(Side::Theirs),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Side::Ours => "ours",
            Side::Theirs => "theirs",
        }
    }

    pub(crate) fn other(self) -> Side {
        match self {
            Side::Ours => Side::Theirs,
            Side::Theirs => Side::Ours,
        }
    }

    /// It prevails.
    pub(crate) fn resolution(self) -> Resolution {
        match self {
            Side::Ours => Resolution::Ours,
            Side::Theirs => Resolution::Theirs,
        }
    }
}

/// How the conflict at each of these members is settled, as far as that was said for it alone;
/// `hint` says where one finds them.
pub(crate) fn hows(
    members: &[Path],
    resolve: &[String],
    hint: &str,
) -> Result<Vec<Option<How>>, Failure> {
    let mut hows: Vec<Option<How>> = members.iter().map(|_| None).collect();
    for text in resolve {
        let mut is_known = false;
        for (member, how) in members.iter().zip(&mut hows) {
            let said =
                text.strip_prefix(&member.to_string()).and_then(|said| said.strip_prefix('='));
            let Some(said) = said else { continue };
            is_known = true;
            let new = match said {
                "ours" => How::Take(Side::Ours),
                "theirs" => How::Take(Side::Theirs),
                value => How::Put(New::from_json(value)?),
            };
            if how.replace(new).is_some() {
                let message = format_args!("--resolve {text}: {member} is settled twice");
                return Err(Failure::usage(message).with_hint("say one of them"));
            }
        }
        if !is_known {
            let failure = Failure::usage(format_args!("--resolve {text}: no conflict is there"));
            return Err(failure.with_hint(hint));
        }
    }
    Ok(hows)
}

/// The conflicts, each with what `--resolve` says about it.
pub(crate) fn disputed<'m>(
    merge: &'m Merge,
    resolve: &[String],
    hint: &str,
) -> Result<Vec<Disputed<'m>>, Failure> {
    let members: Vec<Path> = merge.conflicts().iter().map(member_of).collect();
    let hows = hows(&members, resolve, hint)?;
    let disputed = merge.conflicts().iter().zip(members).zip(hows);
    Ok(disputed.map(|((conflict, path), how)| Disputed { conflict, path, how }).collect())
}

pub(crate) fn edits<'d>(disputed: &'d [Disputed<'_>], prevails: Side) -> Vec<(&'d Path, Edit<'d>)> {
    let edit = |one: &'d Disputed<'_>| {
        let conflict = one.conflict;
        let side = match &one.how {
            Some(How::Put(new)) => return Some((&one.path, Edit::Put(conflict, new))),
            Some(How::Take(side)) => *side,
            None => prevails,
        };
        let is_done = side == prevails && !conflict::is_left_out(conflict);
        let change = if side == Side::Ours { &conflict.ours } else { &conflict.theirs };
        (!is_done).then_some((&one.path, Edit::Do(conflict, change)))
    };
    disputed.iter().filter_map(edit).collect()
}

/// A merge with single conflicts settled otherwise than the rest. It is one that was prepared anew,
/// since the conflicts are a part of the first.
pub(crate) fn settled(merge: Merge, edits: &[(&Path, Edit<'_>)]) -> Result<Merge, Failure> {
    let ours = merge.ours().clone();
    let redo = |editor: &mut Editor, conflict: &Conflict, change: &Change, path: &Path| {
        conflict::redo(editor, conflict, change, &ours).map_err(|error| {
            Failure::new(Exit::Conflict, format_args!("--resolve {path}: {error}"))
                .with_hint("give a value, or use --ours or --theirs for all")
        })
    };
    let edit = |editor: &mut Editor| {
        edits.iter().try_for_each(|(path, edit)| match edit {
            Edit::Put(conflict, new) => {
                if conflict::is_left_out(conflict) {
                    redo(editor, conflict, &conflict.ours, path)?;
                }
                member::put(editor, path, new, Parents::MustBeThere)
            }
            Edit::Do(conflict, change) => redo(editor, conflict, change, path),
        })
    };
    merge.edit(edit).map_err(|error| match error {
        UpdateError::Closure(failure) => failure,
        UpdateError::NotWritten(error) => failed(error),
        error => Failure::new(Exit::Error, format_args!("{error:?}")),
    })
}

/// The version that a merge would make.
pub(crate) fn merged(merge: &Merge) -> Result<Snapshot, Failure> {
    let mut tree = Tree::from_snapshot(merge.theirs());
    tree.edit(|editor| apply(editor, merge.changes())).map_err(failed)?;
    Ok(tree.snapshot())
}
