//! Who may do what: the access file, paths, and roles.

use std::collections::BTreeSet;

use jungle_server::{Access, Role};
use jungle_tree::Path;

use super::Target;

/// What an access file has in it; or a path or a role by itself. What is taken is the same when it
/// is written and read again, and whoever was granted something is there.
pub const ACCESS: Target = Target {
    name: "access",
    samples: || SAMPLES.iter().map(|sample| sample.as_bytes().to_vec()).collect(),
    words: &[
        "[[user]]\n",
        "[[token]]\n",
        "[[grant]]\n",
        "name = \"ana\"\n",
        "who = \"ana\"\n",
        "tree = \"*\"\n",
        "path = \"/\"\n",
        "role = \"admin\"\n",
        "expires = \"2027-01-31T12:00:00Z\"\n",
        "password = ",
        "hash = ",
        "'''",
        "\"\"\"",
        "\\u0000",
        "\\\"",
        "=",
        "{",
        "}",
        "[",
        "]",
        "/\"",
        "/-1",
        "/0.8",
        "# ",
    ],
    take: access,
};

const SAMPLES: [&str; 7] = [
    "",
    "[[user]]\nname = \"ana\"\npassword = \"$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5IGhhcyBpdCEh\
     $dGhpcyBpcyB0aGUgaGFzaCBvZiBubyBwYXNzd29yZCE\"\n\n\
     [[grant]]\nwho = \"ana\"\ntree = \"notes-*\"\n\
     path = '/shared/7/\"8\"/0.8'\nrole = \"write\"\n\n[[grant]]\nwho = \"ana\"\ntree = \"*\"\n\
     role = \"read\"\n",
    "[[token]]\nname = \"ci\"\n\
     hash = \"af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262\"\n\
     expires = \"2027-01-31T12:00:00Z\"\n\n[[token]]\nname = \"b c\"\n\
     hash = \"2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213\"\n",
    "token = [{ name = \"ci\", hash = \
     \"af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262\" }]\n\
     grant = [{ who = 'ci', tree = \"\"\"a\"\"\", path = \"/\", role = \"admin\" }] # all\n",
    "/a/7/\"7\"/\"b c\"/0.8",
    "/",
    "write",
];

fn access(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    if let Ok(path) = text.parse::<Path>() {
        let again = path.to_string().parse::<Path>();
        assert!(again.is_ok_and(|again| again == path), "{path} changes");
    }
    if let Ok(role) = text.parse::<Role>() {
        assert_eq!(role.to_string(), text);
    }
    let Ok(access) = Access::parse(text) else { return };
    let written = access.text().unwrap_or_else(|error| panic!("what was taken: {error}"));
    let again = Access::parse(&written);
    let again = again.unwrap_or_else(|error| panic!("what was taken is refused: {error}"));
    assert!(again == access, "what was taken changes:\n{written}");
    let names: BTreeSet<&str> = access.people().map(|person| person.name).collect();
    assert_eq!(names.len(), access.people().count(), "two have the same name");
    for grant in access.grants() {
        // Everybody may read, at most.
        let is_right = match &*grant.who {
            Access::PUBLIC => grant.role == Role::Read && !names.contains(Access::PUBLIC),
            who => names.contains(who),
        };
        assert!(is_right, "{grant:?} is for nobody, or too much for everybody");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_right_is_taken() {
        for (sample, grants) in SAMPLES.iter().zip([0, 2, 0, 1]) {
            assert_eq!(Access::parse(sample).unwrap().grants().len(), grants, "{sample}");
        }
        let [path, root, role] = [SAMPLES[4], SAMPLES[5], SAMPLES[6]];
        assert_eq!(path.parse::<Path>().unwrap().len(), 5);
        assert!(root.parse::<Path>().unwrap().is_empty());
        assert_eq!(role.parse(), Ok(Role::Write));
    }
}
