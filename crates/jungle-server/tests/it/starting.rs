//! With what a server does not begin: it is reached by nobody unasked.

use jungle::{Jungle, Memory};
use jungle_server::{Access, Data, Options, Role, Server, StartError};

use crate::people::Guarded;
use crate::support::Served;
use crate::tls::tls;

#[test]
fn others_reach_it_only_encrypted_and_asked_or_where_that_is_said() {
    let guarded = Guarded::new("exposed", &[("ana", "*", "/", Role::Admin)]);
    let access = || Some(guarded.file.clone());
    let start = |options: Options| {
        let options = Options { listen: "0.0.0.0:0".parse().unwrap(), ..options };
        match Server::start(Data::Memory(Jungle::memory().unwrap()), options) {
            Err(StartError::Exposed { why, .. }) => why,
            Err(other) => panic!("{other}"),
            Ok(server) => {
                server.stop().unwrap();
                "started"
            }
        }
    };
    let usual = Options::default;
    for (options, expected) in [
        (usual(), "nothing is encrypted, and nobody is asked who they are"),
        (Options { tls: tls(), ..usual() }, "nobody is asked who they are"),
        (Options { access: access(), ..usual() }, "what is sent is not encrypted"),
        (Options { tls: tls(), access: access(), ..usual() }, "started"),
        (Options { expose: true, ..usual() }, "started"),
    ] {
        assert_eq!(start(options), expected);
    }
    // Nobody is left who may make a tree.
    let mut access = Access::read(&guarded.file).unwrap();
    for who in ["ana", "ended"] {
        access.revoke(who, None).unwrap();
    }
    access.write(&guarded.file).unwrap();
    let options = Options { tls: tls(), access: Some(guarded.file.clone()), ..usual() };
    assert_eq!(start(options), "nobody is made an admin in the access file");
}

#[test]
fn nobody_is_reached_by_others_unasked() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let options = Options { listen: address.parse().unwrap(), ..Options::default() };
        let data = Data::Memory(Jungle::memory().unwrap());
        let refused = Server::start(data, options);
        assert!(matches!(refused, Err(StartError::Exposed { .. })), "{address}");
    }
}

#[test]
fn address_that_is_taken_is_told() {
    let served = Served::memory();
    let options = Options { listen: served.address(), ..Options::default() };
    let data = Data::Memory(Jungle::memory().unwrap());
    assert!(matches!(Server::start(data, options), Err(StartError::Listen { .. })));
}
