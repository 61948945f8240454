//! `torture http`: bad requests to a real server: the catalogue made by hand, and what schemathesis
//! makes of the OpenAPI document, of a server that anybody may ask and of one with an access file.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use super::ledger::{Entry, children_cpu_seconds};
use crate::command::{cargo, command, need, output, root, run as run_command, target_dir};
use crate::error::{Context, Result, fail};

/// The version that was tried.
const VERSION: &str = "4.32.5";

/// What must hold of every answer.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
response_schema_conformance";

/// What would take the tree away from under the other requests, or never ends.
const LEFT_OUT: [&str; 3] = ["deleteTree", "renameTree", "watch"];

/// How much is asked of each of the two servers.
struct Extent {
    /// What schemathesis is told of that.
    arguments: &'static [&'static str],
    /// Where it made less, it has left out most of the document.
    requests_min: u64,
}

/// Other requests each time, some 13,000.
const LONG: Extent = Extent {
    arguments: &["--phases=examples,coverage,fuzzing", "--max-examples=300", "--workers=2"],
    requests_min: 5000,
};

/// The same requests each time, as long as it and what it was installed with stay: at most 18 for
/// each operation, one after the other, so that each finds what those before it have left. How many
/// cover each parameter depends on the document, so these are left out. That the machine is busy
/// fails none of them, nor that a server is asked to wait, which it does for up to a minute.
const BRIEF: Extent = Extent {
    arguments: &[
        "--phases=examples,fuzzing",
        "--max-examples=18",
        "--workers=1",
        "--seed=0",
        "--generation-database=none",
        "--suppress-health-check=all",
        "--request-timeout=120",
    ],
    requests_min: 400,
};

/// Asks a brief extent only, of the command as tests have built it.
pub const BRIEFLY: &str = "--brief";

pub fn run(arguments: &[String]) -> Result<()> {
    let program = match arguments {
        [] => schemathesis()?,
        [flag] if flag == BRIEFLY => return generated(&schemathesis()?, &BRIEF),
        [flag, program] if flag == "--schemathesis" => program.into(),
        _ => return fail("usage: cargo xtask torture http [--brief | --schemathesis PROGRAM]"),
    };
    let by_hand = ["test", "--quiet", "-p", "jungle-server", "--test", "it", "--"];
    run_command(cargo(by_hand.into_iter().chain(["catalogue", "bad_requests"])))?;
    run_command(cargo(["build", "--quiet", "-p", "jungle-cli"]))?;
    generated(&program, &LONG)
}

/// Installs it, in a folder of its own. Its own version is always the same; what it needs is of the
/// day.
pub fn schemathesis() -> Result<PathBuf> {
    let folder = target_dir().join(format!("schemathesis-{VERSION}"));
    let program = folder.join("bin/schemathesis");
    // Made last: where pip was killed the program may be there, and not all that it needs.
    let whole = folder.join("whole");
    if whole.is_file() {
        return Ok(program);
    }
    need("python:ensurepip", "python3-venv")?;
    let mut make = command("python3", ["-m", "venv", "--clear"]);
    make.arg(&folder);
    run_command(make)?;
    let install = ["install", "--quiet", "--disable-pip-version-check"];
    let mut install = command(folder.join("bin/pip"), install);
    install.arg(format!("schemathesis=={VERSION}"));
    run_command(install)?;
    std::fs::write(&whole, "").context(format!("cannot write {}", whole.display()))?;
    Ok(program)
}

/// Asks a server that anybody may ask, and one that asks who is there.
fn generated(program: &Path, extent: &Extent) -> Result<()> {
    let cpu_before = children_cpu_seconds();
    let (mut passed, mut failed) = (0, 0);
    for token in [None, Some(granted()?)] {
        let found = beside(program, extent, token)?;
        passed += found.0;
        failed += found.1;
    }
    let mut entry = Entry::default();
    let last = format!("{passed} passed, {failed} failed");
    entry.read(&format!("http: {} points from seed 0", passed + failed));
    entry.read(&last);
    entry.cpu_seconds = children_cpu_seconds() - cpu_before;
    entry.append()?;
    println!("{last}");
    if failed > 0 {
        return fail("not every answer was as it must be");
    }
    if passed < extent.requests_min {
        return fail(format!("these are fewer than {} requests", extent.requests_min));
    }
    Ok(())
}

/// Asks a server; one that asks who is there, where there is a token. How many answers were as they
/// must be, and how many were not.
fn beside(program: &Path, extent: &Extent, token: Option<Token>) -> Result<(u64, u64)> {
    let server = Server::start(token)?;
    let status = ask(program, extent, &server)?;
    let metrics = server.send("GET /metrics", "")?;
    drop(server);
    let [good, refused, failed, panics] = [
        "jungle_http_requests_total{status=\"2xx\"} ",
        "jungle_http_requests_total{status=\"4xx\"} ",
        "jungle_http_requests_total{status=\"5xx\"} ",
        "jungle_panics_total ",
    ]
    .map(|name| number(&metrics, name));
    let (good, refused, failed, panics) = (good?, refused?, failed?, panics?);
    println!("http: {good} requests done, {refused} refused, {failed} failures, {panics} panics");
    let failed = failed + panics + u64::from(!status);
    Ok((good + refused, failed))
}

/// Where the access file is, and the tokens of who may do little and of who may do everything.
struct Token {
    folder: PathBuf,
    part: String,
    admin: String,
}

/// Makes an access file: all of the tree may be read, and a part of it written.
fn granted() -> Result<Token> {
    let folder = target_dir().join("schemathesis-access");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).context("cannot make a folder")?;
    let jungle = |words: &[&str]| {
        let mut access = command(target_dir().join("debug/jungle"), ["access", words[0]]);
        access.arg(&folder).args(&words[1..]);
        output(access)
    };
    let [part, admin] = ["part", "admin"].map(|name| jungle(&["add-token", name]));
    jungle(&["grant", "part", "t", "read"])?;
    jungle(&["grant", "part", "t", "write", "/a"])?;
    jungle(&["grant", "admin", "*", "admin"])?;
    Ok(Token { part: part?.trim().to_owned(), admin: admin?.trim().to_owned(), folder })
}

/// Runs schemathesis; `true` if all answers passed its checks.
fn ask(program: &Path, extent: &Extent, server: &Server) -> Result<bool> {
    let config = target_dir().join("schemathesis.toml");
    // Most requests should get as far as a tree that is there.
    let text = "[parameters]\n\"path.tree\" = \"t\"\n";
    std::fs::write(&config, text).context(format!("cannot write {}", config.display()))?;
    let mut run = command(program, ["--config-file"]);
    // It leaves a folder behind where it runs.
    run.current_dir(target_dir());
    run.arg(&config).arg("run").arg(root().join("docs/openapi.json")).args(["--url", &server.url]);
    run.args(["--checks", CHECKS, "--continue-on-failure"]).args(extent.arguments);
    // The server is on this machine, whatever is between it and others.
    run.env("no_proxy", "127.0.0.1");
    if let Some(token) = &server.token {
        run.args(["--header", &format!("Authorization: Bearer {}", token.part)]);
    }
    LEFT_OUT.iter().for_each(|id| _ = run.args(["--exclude-operation-id", id]));
    Ok(run.status().context(format!("cannot start {}", program.display()))?.success())
}

/// What a line of metrics says.
fn number(metrics: &str, name: &str) -> Result<u64> {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|number| number.trim().parse().ok());
    number.context(format!("the server does not tell {}", name.trim()))
}

/// A server of a folder, with another one for backups; killed at the end.
struct Server {
    child: Child,
    url: String,
    token: Option<Token>,
    folder: PathBuf,
}

impl Server {
    /// One with a tree that has a node `/a`.
    fn start(token: Option<Token>) -> Result<Server> {
        let folder = target_dir().join("schemathesis-data");
        let _ = std::fs::remove_dir_all(&folder);
        let program: PathBuf = target_dir().join("debug/jungle");
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--json", "--log", "warn"];
        let mut serve = command(program, arguments);
        serve.arg("--data").arg(folder.join("data"));
        serve.arg("--backups").arg(folder.join("backups"));
        // What a power loss would take is not looked for here, and each sync is waited for.
        serve.args(["--durability", "buffered"]);
        if let Some(token) = &token {
            serve.arg("--access").arg(token.folder.join("access.toml"));
        }
        let child = serve.stdout(Stdio::piped()).spawn().context("cannot start the server")?;
        // From here on it is killed whatever fails.
        let mut server = Server { child, url: String::new(), token, folder };
        let mut line = String::new();
        let told = server.child.stdout.take().expect("piped above");
        BufReader::new(told).read_line(&mut line).context("cannot read what the server says")?;
        let told: serde_json::Value =
            serde_json::from_str(&line).context("what the server says")?;
        server.url = told["url"].as_str().context("the server says no address")?.to_owned();
        server.make("POST /api/v1/trees", r#"{"name":"t"}"#)?;
        server
            .make("POST /api/v1/trees/t/commits", r#"{"edits":[{"op":"insert","path":"/a"}]}"#)?;
        Ok(server)
    }

    /// Without what is to be there, everything would be refused, as the document says it may be.
    fn make(&self, head: &str, body: &str) -> Result<()> {
        let answer = self.send(head, body)?;
        if answer.starts_with("HTTP/1.1 2") { Ok(()) } else { fail(format!("{head}: {answer}")) }
    }

    fn send(&self, head: &str, body: &str) -> Result<String> {
        let address = self.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).context("cannot reach the server")?;
        let length = body.len();
        let token = self.token.as_ref().map(|token| &token.admin);
        let token = token.map_or(String::new(), |it| format!("Authorization: Bearer {it}\r\n"));
        let request = format!(
            "{head} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{token}\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).context("cannot reach the server")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).context("the server does not answer")?;
        Ok(answer)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It holds nothing that is needed any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_in_the_document() {
        let document = std::fs::read_to_string(root().join("docs/openapi.json")).unwrap();
        for id in LEFT_OUT {
            assert!(document.contains(&format!("\"operationId\": \"{id}\"")), "{id}");
        }
    }
}
