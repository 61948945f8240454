//! The file that says who there is and what they may do. Only hashes of secrets are in it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path as FsPath, PathBuf};

use blake3::Hash;
use jungle::{Key, Timestamp};
use jungle_words::time;
use serde::{Deserialize, Serialize};

use super::grants::{Grant, Role};
use super::secret;
use super::view::View;
use crate::limits::AUTHOR_BYTES_MAX;
use crate::private;

/// Bytes of the file.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Who there is, and what they may do: the content of an access file.
///
/// ```
/// use jungle_server::{Access, Grant, Role};
///
/// let mut access = Access::default();
/// let token = access.add_token("ci", None)?;
/// assert!(token.starts_with("jungle_"));
/// let path = jungle::Path::root();
/// access.grant(Grant { who: "ci".into(), tree: "*".into(), path, role: Role::Read })?;
/// # Ok::<(), jungle_server::AccessError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    #[serde(default, rename = "user")]
    users: Vec<User>,
    #[serde(default, rename = "token")]
    tokens: Vec<Token>,
    #[serde(default, rename = "grant")]
    grants: Vec<Grant>,
}

/// Somebody who logs in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct User {
    pub(super) name: String,
    /// Its hash.
    pub(super) password: String,
}

/// A program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Token {
    name: String,
    #[serde(with = "as_text")]
    hash: Hash,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "as_time")]
    expires: Option<Timestamp>,
}

/// Why an access file was not read, changed or written.
///
/// ```
/// use jungle_server::{Access, AccessError};
/// let mut access = Access::default();
/// access.add_token("ci", None)?;
/// assert!(matches!(access.add_user("ci", None), Err(AccessError::Exists { .. })));
/// assert!(matches!(access.revoke("ana", None), Err(AccessError::NoSuchName { .. })));
/// # Ok::<(), AccessError>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Others than its owner may read or change the file.
    #[error("{} can be read or changed by others: its mode is {mode:o}", path.display())]
    Shared {
        /// The file.
        path: PathBuf,
        /// Its mode; it must be 600.
        mode: u32,
    },
    /// The file does not say what it must.
    #[error("{}: {why}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        why: String,
    },
    /// The file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is somebody of this name.
    #[error("there is somebody named {name:?} already")]
    Exists {
        /// The name.
        name: String,
    },
    /// There is nobody of this name.
    #[error("there is nobody named {name:?}")]
    NoSuchName {
        /// The name.
        name: String,
    },
    /// A name, a password or the like is not as it must be.
    #[error("{0}")]
    Wrong(String),
    /// The system has no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(String),
}

/// Somebody, as [`Access::people`] tells.
///
/// ```
/// use jungle_server::Access;
/// let mut access = Access::default();
/// access.add_user("ana", Some("correct horse battery staple"))?;
/// access.add_token("ci", None)?;
/// let people: Vec<_> = access.people().map(|one| (one.name, one.is_user, one.expires)).collect();
/// assert_eq!(people, [("ana", true, None), ("ci", false, None)]);
/// # Ok::<(), jungle_server::AccessError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Person<'a> {
    /// The name, for commits and grants.
    pub name: &'a str,
    /// Is it a user, who logs in, and not a token?
    pub is_user: bool,
    /// When a token ends.
    pub expires: Option<Timestamp>,
}

impl Access {
    /// Whose name stands in a grant for everybody, those too who do not say who they are. Nobody
    /// else has it, and all that can be granted to it is to read.
    ///
    /// ```
    /// use jungle_server::{Access, Grant, Role};
    /// let mut access = Access::default();
    /// let (who, tree) = (Access::PUBLIC.to_owned(), "news".to_owned());
    /// access.grant(Grant { who, tree, path: jungle::Path::root(), role: Role::Read })?;
    /// assert!(access.add_user(Access::PUBLIC, None).is_err());
    /// # Ok::<(), jungle_server::AccessError>(())
    /// ```
    pub const PUBLIC: &str = "public";

    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, others than its owner may read it, it is not what it must be, or it
    /// is larger than 4 MiB.
    pub fn read(path: &FsPath) -> Result<Access, AccessError> {
        let failed = |source| AccessError::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        own(&file, path)?;
        let mut text = String::new();
        file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(failed)?;
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(failed(io::ErrorKind::FileTooLarge.into()));
        }
        let wrong = |why| AccessError::Parse { path: path.to_owned(), why };
        Access::parse(&text).map_err(|error| wrong(error.to_string()))
    }

    /// What a file has in it.
    #[doc(hidden)]
    pub fn parse(text: &str) -> Result<Access, AccessError> {
        let wrong = |error: toml::de::Error| AccessError::Wrong(error.to_string());
        let access: Access = toml::from_str(text).map_err(wrong)?;
        access.check()?;
        Ok(access)
    }

    /// What is written to a file.
    #[doc(hidden)]
    pub fn text(&self) -> Result<String, AccessError> {
        toml::to_string(self).map_err(|error| AccessError::Wrong(error.to_string()))
    }

    /// Writes a file that only its owner may read, in place of the one that is there.
    ///
    /// # Errors
    /// When it cannot be written; the old one is there then.
    ///
    /// ```
    /// use jungle_server::Access;
    /// # let dir = std::env::temp_dir().join(format!("jungle-access-doc-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir)?;
    /// let mut access = Access::default();
    /// let token = access.add_token("ci", None)?;
    /// access.write(&dir.join("access.toml"))?;
    /// assert_eq!(Access::read(&dir.join("access.toml"))?, access);
    /// // Only its hash is there.
    /// assert!(!std::fs::read_to_string(dir.join("access.toml"))?.contains(&token));
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write(&self, path: &FsPath) -> Result<(), AccessError> {
        let failed = |source| AccessError::Write { path: path.to_owned(), source };
        private::write(path, &self.text()?).map_err(failed)
    }

    /// Changes a file, or makes it. Of several who change one so at the same time, none undoes what
    /// another one did.
    ///
    /// # Errors
    /// When it cannot be read or written, or what `change` says; it is as it was then.
    ///
    /// ```
    /// use jungle_server::Access;
    /// # let dir = std::env::temp_dir().join(format!("jungle-change-doc-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir)?;
    /// let file = dir.join("access.toml");
    /// let token = Access::change(&file, |access| access.add_token("ci", None))?;
    /// assert!(token.starts_with("jungle_"));
    /// assert_eq!(Access::read(&file)?.people().count(), 1);
    /// # std::fs::remove_dir_all(&dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn change<T>(
        path: &FsPath,
        change: impl FnOnce(&mut Access) -> Result<T, AccessError>,
    ) -> Result<T, AccessError> {
        let _alone = private::alone(path);
        let mut access = match Access::read(path) {
            Err(AccessError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Access::default()
            }
            read => read?,
        };
        let done = change(&mut access)?;
        access.write(path)?;
        Ok(done)
    }

    /// Adds a user, or gives one another password. Without a password of their own they get one,
    /// which is the answer: nobody can read it again.
    ///
    /// # Errors
    /// When a token has the name, or name or password are not as they must be.
    pub fn add_user(&mut self, name: &str, password: Option<&str>) -> Result<String, AccessError> {
        if self.tokens.iter().any(|token| token.name == name) {
            return Err(AccessError::Exists { name: name.to_owned() });
        }
        check_name(name)?;
        let password = password.map_or_else(secret::password, |own| Ok(own.to_owned()))?;
        self.users.retain(|user| user.name != name);
        let hash = secret::hash_password(&password)?;
        self.users.push(User { name: name.to_owned(), password: hash });
        Ok(password)
    }

    /// Adds a token that may be used until it `expires`. The answer is the token: nobody can
    /// read it again.
    ///
    /// # Errors
    /// When somebody has the name, or it is not as it must be.
    pub fn add_token(
        &mut self,
        name: &str,
        expires: Option<Timestamp>,
    ) -> Result<String, AccessError> {
        check_name(name)?;
        if self.has(name) {
            return Err(AccessError::Exists { name: name.to_owned() });
        }
        let token = secret::token()?;
        self.tokens.push(Token { name: name.to_owned(), hash: secret::hash(&token), expires });
        Ok(token)
    }

    /// Gives somebody a role; what was granted for the same trees and path before ends.
    ///
    /// # Errors
    /// When there is nobody of the name, or [everybody](Access::PUBLIC) would get more than
    /// [`Role::Read`].
    pub fn grant(&mut self, grant: Grant) -> Result<(), AccessError> {
        check_grant(&grant, |who| self.has(who))?;
        let place = |of: &Grant| (of.who.clone(), of.tree.clone(), of.path.clone());
        self.grants.retain(|old| place(old) != place(&grant));
        self.grants.push(grant);
        Ok(())
    }

    /// Takes back what somebody was granted for `tree`, as it was said in the grant; without a tree
    /// everything, the user or token, too.
    ///
    /// # Errors
    /// When there is nobody of the name, or nothing was granted there.
    ///
    /// ```
    /// use jungle_server::{Access, Grant, Role};
    /// let mut access = Access::default();
    /// access.add_token("ci", None)?;
    /// for tree in ["notes", "board"] {
    ///     let path = jungle::Path::root();
    ///     access.grant(Grant { who: "ci".into(), tree: tree.into(), path, role: Role::Read })?;
    /// }
    /// access.revoke("ci", Some("notes"))?;
    /// assert_eq!((access.grants().len(), &*access.grants()[0].tree), (1, "board"));
    /// access.revoke("ci", None)?;
    /// assert!(access.grants().is_empty() && access.people().next().is_none());
    /// # Ok::<(), jungle_server::AccessError>(())
    /// ```
    pub fn revoke(&mut self, who: &str, tree: Option<&str>) -> Result<(), AccessError> {
        if who != Access::PUBLIC && !self.has(who) {
            return Err(AccessError::NoSuchName { name: who.to_owned() });
        }
        let is_of = |grant: &Grant| tree.is_none_or(|tree| grant.tree == tree);
        let before = self.grants.len();
        self.grants.retain(|grant| !(grant.who == who && is_of(grant)));
        match tree {
            Some(tree) if self.grants.len() == before => {
                Err(AccessError::Wrong(format!("{who:?} was granted nothing for {tree:?}")))
            }
            Some(_) => Ok(()),
            None => {
                self.users.retain(|user| user.name != who);
                self.tokens.retain(|token| token.name != who);
                Ok(())
            }
        }
    }

    /// All users and tokens.
    pub fn people(&self) -> impl Iterator<Item = Person<'_>> {
        let users = self.users.iter();
        let users = users.map(|user| Person { name: &user.name, is_user: true, expires: None });
        users.chain(self.tokens.iter().map(|token| Person {
            name: &token.name,
            is_user: false,
            expires: token.expires,
        }))
    }

    /// Is somebody an admin of something? Else nobody can make a tree.
    pub(crate) fn has_admin(&self) -> bool {
        self.grants.iter().any(|grant| grant.role == Role::Admin)
    }

    /// All that was granted.
    #[must_use]
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }

    fn has(&self, name: &str) -> bool {
        self.people().any(|person| person.name == name)
    }

    fn check(&self) -> Result<(), AccessError> {
        let mut names = BTreeSet::new();
        for person in self.people() {
            check_name(person.name)?;
            if !names.insert(person.name) {
                return Err(AccessError::Exists { name: person.name.to_owned() });
            }
        }
        let is_wrong = |user: &&User| !secret::is_password_hash(&user.password);
        if let Some(user) = self.users.iter().find(is_wrong) {
            let why = format!("the password of {:?} is no hash made with argon2id", user.name);
            return Err(AccessError::Wrong(why));
        }
        self.grants.iter().try_for_each(|grant| check_grant(grant, |who| names.contains(who)))
    }

    pub(super) fn user(&self, name: &str) -> Option<&User> {
        self.users.iter().find(|user| user.name == name)
    }

    /// The name of a token and when it ends, if there is it and it has not ended. All are compared,
    /// each in the same time whatever it is.
    pub(super) fn token(&self, token: &str, now: Timestamp) -> Option<(&str, Option<Timestamp>)> {
        let hash = secret::hash(token);
        let found = self.tokens.iter().fold(None, |found, token| match token.hash == hash {
            true => Some(token),
            false => found,
        })?;
        let is_good = found.expires.is_none_or(|expires| now < expires);
        is_good.then_some((&*found.name, found.expires))
    }

    /// What of a tree somebody may know of.
    pub(super) fn view(&self, who: &str, tree: &str) -> View {
        let grants = self.of(who).filter(|grant| grant.is_for(tree));
        View::of(grants.map(|grant| grant.path.clone()).collect())
    }

    /// The nodes to which, and to all below them, somebody may do this: in document order, and none
    /// of them in another one.
    pub(super) fn tops(&self, who: &str, tree: &str, role: Role) -> Vec<jungle::Path> {
        let grants = self.of(who).filter(|grant| grant.role >= role && grant.is_for(tree));
        let mut tops: Vec<jungle::Path> = grants.map(|grant| grant.path.clone()).collect();
        tops.sort();
        // A node comes right before what is below it.
        tops.dedup_by(|path, top| path.starts_with(top));
        tops
    }

    /// May somebody do this to the node at `path`, and to all below it?
    pub(super) fn may(&self, who: &str, tree: &str, path: &[Key], role: Role) -> bool {
        self.of(who).any(|grant| grant.covers(tree, path, role))
    }

    /// May somebody do this in some part of the tree?
    pub(super) fn may_somewhere(&self, who: &str, tree: &str, role: Role) -> bool {
        self.of(who).any(|grant| grant.role >= role && grant.is_for(tree))
    }

    /// May somebody do this in some part of any tree?
    pub(super) fn may_anywhere(&self, who: &str, role: Role) -> bool {
        self.of(who).any(|grant| grant.role >= role)
    }

    /// May somebody do this everywhere?
    pub(super) fn may_everywhere(&self, who: &str, role: Role) -> bool {
        self.of(who).any(|grant| grant.role >= role && grant.tree == "*" && grant.path.is_empty())
    }

    /// May somebody administer the whole of any tree, so that some names may be given?
    pub(super) fn may_create(&self, who: &str) -> bool {
        self.of(who).any(|grant| grant.role == Role::Admin && grant.path.is_empty())
    }

    /// Is somebody known by the same there, and granted the same?
    pub(super) fn is_same_for(&self, who: &str, other: &Access) -> bool {
        let is_it = |token: &&Token| token.name == who;
        self.user(who) == other.user(who)
            && self.tokens.iter().find(is_it) == other.tokens.iter().find(is_it)
            && self.of(who).eq(other.of(who))
    }

    /// What is otherwise in a newer file, each in a few words: `+` has come, `-` is gone. Whoever
    /// has another password or token than before is both.
    pub(super) fn changes(&self, newer: &Access) -> Vec<String> {
        let (old, new) = (self.all(), newer.all());
        let gone = old.difference(&new).map(|(what, _)| format!("- {what}"));
        gone.chain(new.difference(&old).map(|(what, _)| format!("+ {what}"))).collect()
    }

    /// Who there is and what is granted, each with the hash of its secret, if it has one.
    fn all(&self) -> BTreeSet<(String, String)> {
        let users = self.users.iter();
        let users = users.map(|user| (format!("user {:?}", user.name), user.password.clone()));
        let tokens = self.tokens.iter().map(|Token { name, hash, expires }| {
            let until = expires.map(|end| format!(" until {}", time::text(end)));
            (format!("token {name:?}{}", until.unwrap_or_default()), hash.to_string())
        });
        let grants = self.grants.iter().map(|Grant { who, tree, path, role }| {
            (format!("{role} {tree:?} {path} for {who:?}"), String::new())
        });
        users.chain(tokens).chain(grants).collect()
    }

    /// Is something granted to everybody?
    pub(super) fn is_public(&self) -> bool {
        self.grants.iter().any(|grant| grant.who == Access::PUBLIC)
    }

    /// What is granted to somebody, and to everybody.
    fn of(&self, who: &str) -> impl Iterator<Item = &Grant> {
        self.grants.iter().filter(move |grant| grant.who == who || grant.who == Access::PUBLIC)
    }
}

/// Refuses a grant for nobody, and one by which everybody could do more than read.
fn check_grant(grant: &Grant, is_there: impl Fn(&str) -> bool) -> Result<(), AccessError> {
    match &*grant.who {
        Access::PUBLIC if grant.role > Role::Read => {
            let why = format!("{:?} is everybody, and has the role read only", Access::PUBLIC);
            Err(AccessError::Wrong(why))
        }
        Access::PUBLIC => Ok(()),
        who if is_there(who) => Ok(()),
        who => Err(AccessError::NoSuchName { name: who.to_owned() }),
    }
}

/// A name is shown as the author of commits.
fn check_name(name: &str) -> Result<(), AccessError> {
    if name == Access::PUBLIC {
        let why = format!("nobody can have the name {name:?}: it stands for everybody");
        return Err(AccessError::Wrong(why));
    }
    let is_right = !name.is_empty()
        && name.len() <= AUTHOR_BYTES_MAX
        && name.trim() == name
        && !name.chars().any(char::is_control);
    if is_right {
        return Ok(());
    }
    let why = format!(
        "the name {name:?} is not 1 to {AUTHOR_BYTES_MAX} bytes without control characters, and \
         without white space at its ends"
    );
    Err(AccessError::Wrong(why))
}

/// Refuses a file that others may read: with the hashes they could guess passwords.
#[cfg(unix)]
fn own(file: &File, path: &FsPath) -> Result<(), AccessError> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = file.metadata();
    let metadata =
        metadata.map_err(|source| AccessError::Read { path: path.to_owned(), source })?;
    match metadata.permissions().mode() & 0o777 {
        mode if mode & 0o077 != 0 => Err(AccessError::Shared { path: path.to_owned(), mode }),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn own(_: &File, _: &FsPath) -> Result<(), AccessError> {
    Ok(())
}

/// What is text in the file.
pub(super) mod as_text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::access) fn serialize<T: Display, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(in crate::access) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// A time, if there is one.
mod as_time {
    use jungle::Timestamp;
    use jungle_words::time;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::ref_option, reason = "serde gives it so")]
    pub(super) fn serialize<S: Serializer>(
        expires: &Option<Timestamp>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&expires.map(time::text).unwrap_or_default())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong =
            || D::Error::custom(format!("{text:?} is no time such as 2027-01-31T12:00:00Z"));
        time::parse(&text).map(Some).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_changed_is_told_without_secrets() {
        let grant = |who: &str, role| {
            let (who, tree, path) = (who.to_owned(), "notes".to_owned(), jungle::Path::root());
            Grant { who, tree, path, role }
        };
        let mut old = Access::default();
        old.add_user("ana", None).unwrap();
        old.add_token("ci", None).unwrap();
        old.grant(grant("ana", Role::Read)).unwrap();
        old.grant(grant("ci", Role::Read)).unwrap();
        assert!(old.changes(&old).is_empty());
        let mut new = old.clone();
        new.add_user("ana", None).unwrap();
        new.revoke("ci", None).unwrap();
        new.grant(grant("ana", Role::Write)).unwrap();
        new.add_token("x \"y", Some(Timestamp::from_micros(0))).unwrap();
        let expected = [
            "- read \"notes\" / for \"ana\"",
            "- read \"notes\" / for \"ci\"",
            "- token \"ci\"",
            "- user \"ana\"",
            "+ token \"x \\\"y\" until 1970-01-01T00:00:00.000000Z",
            "+ user \"ana\"",
            "+ write \"notes\" / for \"ana\"",
        ];
        assert_eq!(old.changes(&new), expected);
    }
}
