//! What figures depend on besides the code: they are held against those of the same build only.

use serde::Serialize;

use crate::lab::{revision, said};

/// What was counted, and with what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Build {
    /// How the program was built: figures of another kind cannot be compared.
    pub kind: String,
    /// The compiler: another one makes other instructions of the same code.
    pub compiler: String,
    /// The valgrind that counted.
    pub counter: String,
    /// The revision that was counted, as it is told of experiments.
    pub revision: String,
}

impl Build {
    /// Of this program.
    pub fn of(counter: String) -> Build {
        let known = |said: Option<String>| said.unwrap_or_else(|| "unknown".to_owned());
        let compiler = known(said("rustc", &["--version"]));
        Build { kind: kind(), compiler, counter, revision: known(revision()) }
    }

    /// Can figures of the two be compared at all?
    pub fn is_comparable(&self, other: &Build) -> bool {
        self.kind == other.kind
    }
}

/// The profile, whether incrementally (which keeps functions from being put into others), and for
/// which processors. Planted bugs, asleep, cost less than one percent, so they may be there or not.
fn kind() -> String {
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    let incremental = match (profile, option_env!("CARGO_INCREMENTAL")) {
        ("dev", None) | (_, Some("1")) => "incremental",
        _ => "at once",
    };
    format!("{profile}, {incremental}, {}", std::env::consts::ARCH)
}
