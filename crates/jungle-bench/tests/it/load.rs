//! Load clients that are placed with Alice.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use jungle_testkit::NatsServers;

use crate::{bench, text};

/// Ends when its standard input is closed, with the test.
fn client(engine: &str, label: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jungle-bench"));
    command.args(["load-node", engine, label]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, format!("{label} is there\n"));
    child
}

#[test]
fn what_a_client_could_not_do_comes_back_to_whoever_asked() {
    let servers = NatsServers::start(1);
    let engine = servers.addresses();
    let clients = ["left", "right"].map(|label| client(&engine, label));
    // Nobody listens there any more.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let ask = |urls: usize| {
        let urls = format!(" http://127.0.0.1:{port}/").repeat(urls);
        let output = bench(&format!("load {engine} --clients left,right --requests 2{urls}"));
        assert!(!output.status.success());
        text(&output.stderr)
    };
    // Either the load tool has no answers, or it is not there itself.
    for _ in 0..2 {
        let told = ask(2);
        assert!(told.contains("left: ") && told.contains("h2load"), "{told}");
    }
    assert!(ask(3).contains("2 clients cannot do 3 jobs at once"));
    for mut client in clients {
        drop(client.stdin.take());
        assert!(client.wait().unwrap().success());
    }
}
