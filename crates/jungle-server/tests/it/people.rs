//! A server that asks who is there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jungle::{Durability, Jungle, Memory, OpenOptions, Timestamp};
use jungle_server::{Access, Data, Grant, Options, Role};

use crate::support::{Answer, Folder, Served};

/// A server with an access file; everybody has a token.
pub(crate) struct Guarded {
    pub(crate) served: Served,
    pub(crate) access: Access,
    pub(crate) file: PathBuf,
    tokens: BTreeMap<String, String>,
    _folder: Folder,
}

/// Who may do what, in which tree and where.
pub(crate) type Granted<'a> = (&'a str, &'a str, &'a str, Role);

impl Guarded {
    /// `name` must be unique among the tests. There are the trees `t` and `u`, of which `t` has the
    /// nodes `/a`, `/a/x` and `/b`.
    pub(crate) fn new(name: &str, granted: &[Granted<'_>]) -> Guarded {
        Guarded::with(name, granted, |_, _| ())
    }

    pub(crate) fn with(
        name: &str,
        granted: &[Granted<'_>],
        change: impl FnOnce(&mut Access, &mut Options),
    ) -> Guarded {
        let memory = |_: &Path| Data::Memory(Jungle::memory().unwrap());
        Guarded::serve(name, memory, granted, change)
    }

    /// The same in a folder, with another one for backups.
    pub(crate) fn folder(
        name: &str,
        granted: &[Granted<'_>],
        change: impl FnOnce(&mut Access, &mut Options),
    ) -> Guarded {
        // Most of the tests would wait for the disk.
        let open = OpenOptions::new().durability(Durability::Memory);
        let kept = |folder: &Path| Data::Folder(open.open(folder.join("data")).unwrap());
        Guarded::serve(name, kept, granted, |access, options| {
            let file = options.access.clone().unwrap();
            options.backups = Some(file.with_file_name("backups"));
            change(access, options);
        })
    }

    fn serve(
        name: &str,
        data: impl FnOnce(&Path) -> Data,
        granted: &[Granted<'_>],
        change: impl FnOnce(&mut Access, &mut Options),
    ) -> Guarded {
        let folder = Folder::new(name);
        std::fs::create_dir_all(&folder.0).unwrap();
        let file = folder.0.join("access.toml");
        let (mut access, mut tokens) = (Access::default(), BTreeMap::new());
        for &(who, tree, path, role) in granted {
            if !tokens.contains_key(who) {
                tokens.insert(who.to_owned(), access.add_token(who, None).unwrap());
            }
            access.grant(grant(who, tree, path, role)).unwrap();
        }
        let ended = access.add_token("ended", Some(Timestamp::from_micros(1))).unwrap();
        tokens.insert("ended".to_owned(), ended);
        access.grant(grant("ended", "*", "/", Role::Admin)).unwrap();
        let mut options = Options { access: Some(file.clone()), ..Options::default() };
        change(&mut access, &mut options);
        access.write(&file).unwrap();
        let served = Served::start(data(&folder.0), options);
        let served = served.tree("t").tree("u");
        let tree = served.server.jungle().open_tree("t").unwrap();
        tree.update(|tx| {
            for path in ["/a", "/a/x", "/b"] {
                let path: jungle::Path = path.parse().unwrap();
                let (key, parent) = path.split_last().unwrap();
                tx.insert_child(parent, key)?;
            }
            Ok::<(), jungle::EditError>(())
        })
        .unwrap();
        Guarded { served, access, file, tokens, _folder: folder }
    }

    /// The header that says that this is somebody.
    pub(crate) fn header(&self, who: &str) -> String {
        format!("Bearer {}", self.tokens[who])
    }

    #[track_caller]
    pub(crate) fn send(&self, who: &str, method: &str, path: &str, body: Option<&str>) -> Answer {
        let header = self.header(who);
        self.served.send(method, path, &[("authorization", &header)], body)
    }

    #[track_caller]
    pub(crate) fn get(&self, who: &str, path: &str) -> Answer {
        self.send(who, "GET", path, None)
    }

    /// Commits edits to `t`.
    #[track_caller]
    pub(crate) fn edit(&self, who: &str, edits: &str) -> Answer {
        let body = format!(r#"{{"author":"somebody else","edits":[{edits}]}}"#);
        self.send(who, "POST", "/api/v1/trees/t/commits", Some(&body))
    }
}

pub(crate) fn grant(who: &str, tree: &str, path: &str, role: Role) -> Grant {
    Grant { who: who.into(), tree: tree.into(), path: path.parse().unwrap(), role }
}
