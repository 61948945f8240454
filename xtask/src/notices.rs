//! `notices`: the licences of all that is linked into the command, as their authors wrote them.
//!
//! Most of them ask that who passes the program on passes on their text. It is taken from where
//! cargo has the packages; that of the explorer's is in `web/explorer/notices`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::command::{command, output, root};
use crate::error::{Context, Result, fail};
use crate::supply::{host, metadata};

/// What the files with licences, and with what must be said beside them, begin with.
const NAMES: [&str; 6] = ["licen", "copying", "copyright", "notice", "unlicense", "authors"];

/// These may be named so as well, as is `license.rs`, and are none.
const SOURCES: [&str; 7] = ["rs", "c", "h", "cc", "js", "toml", "json"];

/// What is in these is not linked.
const NOT_LINKED: [&str; 4] = ["tests", "benches", "examples", "target"];

const WEB: &str = "web/explorer/notices";

/// Which says what is built into the explorer, and of which version.
const WEB_MANIFEST: &str = "web/explorer/package.json";

/// What is said of it where its notices are not installed.
const STANDARD_LIBRARY: &str = "\
Licence: MIT OR Apache-2.0
Authors: The Rust Project contributors (https://thanks.rust-lang.org)
Source: https://github.com/rust-lang/rust
Notices: share/doc/rust/COPYRIGHT-library.html of a toolchain's component rustc, and
https://github.com/rust-lang/rust/blob/HEAD/COPYRIGHT";

/// Where Debian has the notices of the C library, and the licence that these speak of: whoever
/// passes on what has that library in it passes that on, too.
const C_LIBRARY: [&str; 2] =
    ["/usr/share/doc/libc6-dev/copyright", "/usr/share/common-licenses/LGPL-2.1"];

/// What is said where it is not Debian's.
const C_LIBRARY_SAID: &str = "\
Licence: LGPL-2.1-or-later (https://www.gnu.org/licenses/old-licenses/lgpl-2.1.txt)
Authors: Free Software Foundation, Inc., and others
Source: https://sourceware.org/glibc/";

pub fn run(arguments: &[String]) -> Result<()> {
    let [file] = arguments else {
        return fail("usage: cargo xtask notices FILE");
    };
    let text = text()?;
    fs::write(file, text).context(format!("cannot write {file}"))
}

/// Of each text whose it is, and the text.
pub fn text() -> Result<String> {
    let mut whose: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut note = |name: String, text: &str| {
        whose.entry(text.trim().to_owned()).or_default().insert(name);
    };
    for package in linked(&metadata(&["--filter-platform", &host()?])?)? {
        let texts = package.texts()?;
        for text in &texts {
            note(package.name.clone(), text);
        }
        if texts.is_empty() {
            note(package.name, &package.said);
        }
    }
    for text in standard_library()? {
        note("Rust's standard library".to_owned(), &text);
    }
    for file in files(&root().join(WEB))? {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        note(name, &read(&file)?);
    }
    let mut blocks: Vec<(BTreeSet<String>, String)> =
        whose.into_iter().map(|(text, names)| (names, text)).collect();
    blocks.sort();
    let mut all =
        "What the program jungle is made of besides itself, and its licences.\n".to_owned();
    for (names, text) in blocks {
        let names: Vec<String> = names.into_iter().collect();
        all.push_str(&block(&names.join(", "), &text));
    }
    Ok(all)
}

/// The same of a program that has all of the C library in it.
pub fn text_with_c_library() -> Result<String> {
    let name = "GNU C Library";
    let texts = C_LIBRARY.iter().filter(|file| Path::new(file).is_file());
    let texts = texts.map(|file| read(Path::new(file))).collect::<Result<Vec<String>>>()?;
    let mut all = text()?;
    for text in texts.iter().map(|text| text.trim()).chain([C_LIBRARY_SAID]) {
        all.push_str(&block(name, text));
    }
    Ok(all)
}

/// What a static program is made of, for programs that look for what is known to be wrong with it,
/// in the form of CycloneDX.
pub fn bill() -> Result<String> {
    let packages = linked(&metadata(&["--filter-platform", &host()?])?)?;
    let mut components: Vec<Value> = packages.into_iter().map(|it| it.component).collect();
    let manifest: Value =
        serde_json::from_str(&read(&root().join(WEB_MANIFEST))?).context(WEB_MANIFEST)?;
    for (name, version) in manifest["dependencies"].as_object().into_iter().flatten() {
        let version = version.as_str().context(format!("{WEB_MANIFEST}: {name} has no version"))?;
        components.push(component("npm", name, version));
    }
    let rust = output(command("rustc", ["--version"]))?;
    let rust = rust.split_whitespace().nth(1).context("rustc does not tell its version")?;
    components.push(component("generic", "rust", rust));
    let library = output(command("getconf", ["GNU_LIBC_VERSION"]))?;
    let library = library.trim().split_once(' ').context("the C library is not GNU's")?;
    components.push(component("generic", library.0, library.1));
    let mut program = component("cargo", "jungle-cli", env!("CARGO_PKG_VERSION"));
    program["type"] = json!("application");
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": program },
        "components": components,
    });
    Ok(format!("{bill:#}\n"))
}

/// A part of the program, by the name that it has in a registry.
fn component(registry: &str, name: &str, version: &str) -> Value {
    // That of a package of npm may begin with an `@`.
    let url = format!("pkg:{registry}/{}@{version}", name.replace('@', "%40"));
    json!({ "type": "library", "name": name, "version": version, "purl": url })
}

/// A text, below whose it is.
fn block(names: &str, text: &str) -> String {
    format!("\n{}\n{names}\n\n{text}\n", "=".repeat(78))
}

/// A package of others'.
struct Package {
    /// With its version.
    name: String,
    folder: PathBuf,
    /// What its manifest says, for want of a text.
    said: String,
    /// As it is in the bill.
    component: Value,
}

impl Package {
    fn read(package: &Value) -> Result<Package> {
        let text = |field: &str| package[field].as_str().unwrap_or_default();
        let folder =
            Path::new(text("manifest_path")).parent().context("a manifest has a folder")?;
        let authors: Vec<&str> =
            package["authors"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let said = format!(
            "Licence: {}\nAuthors: {}\nSource: {}",
            text("license"),
            authors.join(", "),
            text("repository")
        );
        let (name, version) = (text("name"), text("version"));
        let mut component = component("cargo", name, version);
        // Some write it as in former times.
        let licence = text("license").replace('/', " OR ");
        if !licence.is_empty() {
            component["licenses"] = json!([{ "expression": licence }]);
        }
        let name = format!("{name} {version}");
        Ok(Package { name, folder: folder.to_owned(), said, component })
    }

    /// What its files of licences say, and those of what it has of others' in its folders.
    fn texts(&self) -> Result<Vec<String>> {
        let mut open = vec![self.folder.clone()];
        let mut texts = Vec::new();
        while let Some(folder) = open.pop() {
            let mut folders = Vec::new();
            for path in files(&folder)? {
                let cannot = || format!("cannot look at {}", path.display());
                // A link may lead out of the package, or in a circle.
                let kind = fs::symlink_metadata(&path).context(cannot())?.file_type();
                let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
                if kind.is_file() && is_licence(&name) {
                    texts.push(read(&path)?);
                } else if kind.is_dir() && !NOT_LINKED.contains(&&*name) {
                    folders.push(path);
                }
            }
            open.extend(folders.into_iter().rev());
        }
        Ok(texts)
    }
}

fn is_licence(name: &str) -> bool {
    let ending = Path::new(name).extension().unwrap_or_default();
    NAMES.iter().any(|begin| name.starts_with(begin)) && SOURCES.iter().all(|it| ending != *it)
}

/// The notices of what is linked into all programs in Rust.
fn standard_library() -> Result<Vec<String>> {
    let sysroot = output(command("rustc", ["--print", "sysroot"]))?;
    notices_in(&Path::new(sysroot.trim()).join("share/doc/rust"))
}

/// The notices of the standard library in this folder, which not all who install Rust have.
fn notices_in(folder: &Path) -> Result<Vec<String>> {
    let has = |name: &&str| folder.join(name).is_file();
    // Of the library alone; as older ones have it; of the compiler and all.
    let forms: [&[&str]; 3] = [
        &["COPYRIGHT-library.html"],
        &["COPYRIGHT", "LICENSE-MIT", "LICENSE-APACHE"],
        &["COPYRIGHT.html"],
    ];
    match forms.iter().find(|names| names.iter().all(has)) {
        Some(names) => names.iter().map(|name| read(&folder.join(name))).collect(),
        None => Ok(vec![STANDARD_LIBRARY.to_owned()]),
    }
}

/// The packages of others' that the command is linked with.
fn linked(metadata: &Value) -> Result<Vec<Package>> {
    let packages = metadata["packages"].as_array().context("cargo's metadata has no packages")?;
    let by_id: BTreeMap<&str, &Value> =
        packages.iter().filter_map(|package| Some((package["id"].as_str()?, package))).collect();
    let nodes = metadata["resolve"]["nodes"].as_array().context("cargo's metadata has no nodes")?;
    let needs: BTreeMap<&str, &Value> =
        nodes.iter().filter_map(|node| Some((node["id"].as_str()?, &node["deps"]))).collect();
    let command = by_id.iter().find(|(_, package)| package["name"] == "jungle-cli");
    let mut open = vec![*command.context("there is no jungle-cli")?.0];
    let mut seen: BTreeSet<&str> = open.iter().copied().collect();
    while let Some(id) = open.pop() {
        for need in needs.get(id).and_then(|needs| needs.as_array()).into_iter().flatten() {
            let kinds = need["dep_kinds"].as_array().into_iter().flatten();
            let is_linked = kinds.clone().any(|kind| kind["kind"].is_null());
            let package = need["pkg"].as_str().filter(|id| is_linked && !only_builds(by_id[id]));
            open.extend(package.filter(|package| seen.insert(*package)));
        }
    }
    let others = seen.iter().filter_map(|id| by_id.get(id));
    let others = others.filter(|package| !package["source"].is_null());
    others.map(|package| Package::read(package)).collect()
}

/// Does it, and what it needs, run in the compiler?
fn only_builds(package: &Value) -> bool {
    let targets = package["targets"].as_array().into_iter().flatten();
    let mut kinds = targets.flat_map(|target| target["kind"].as_array().into_iter().flatten());
    kinds.any(|kind| kind == "proc-macro")
}

/// What is in a folder, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let cannot = || format!("cannot list {}", folder.display());
    let entries = fs::read_dir(folder).context(cannot())?;
    let files = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut files: Vec<PathBuf> = files.collect::<std::io::Result<_>>().context(cannot())?;
    files.sort();
    Ok(files)
}

/// A text, whatever its letters are coded in.
fn read(file: &Path) -> Result<String> {
    let bytes = fs::read(file).context(format!("cannot read {}", file.display()))?;
    Ok(String::from_utf8_lossy(&bytes).replace('\r', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_package_has_its_say() {
        let metadata = metadata(&["--filter-platform", &host().unwrap()]).unwrap();
        let (packages, text) = (linked(&metadata).unwrap(), text().unwrap());
        let headings: BTreeSet<&str> = text.split(&"=".repeat(78)).skip(1).collect();
        let names: BTreeSet<&str> = headings
            .iter()
            .filter_map(|it| it.lines().nth(1))
            .flat_map(|it| it.split(", "))
            .collect();
        for package in &packages {
            assert!(names.contains(&*package.name), "{} is not in it", package.name);
        }
        assert!(names.contains("Rust's standard library"));
        let of = |whose: &str, text: &str| {
            headings.iter().any(|block| {
                let (names, licence) = block[1..].split_once('\n').unwrap();
                names.contains(whose) && licence.contains(text)
            })
        };
        // What they have in their folders of others' work.
        assert!(of("libmimalloc-sys", "Microsoft Corporation"));
        assert!(of("ring", "the fiat-crypto authors"));
        let has = |name: &str| packages.iter().any(|it| it.name.split(' ').next() == Some(name));
        assert!(has("serde_json") && has("redb"));
        assert!(!has("syn") && !has("jungle-tree"), "what only builds is not linked");
        let said = packages.iter().filter(|package| package.texts().unwrap().is_empty()).count();
        assert!(said * 4 < packages.len(), "{said} of {} say nothing", packages.len());
    }

    #[test]
    fn c_library_is_named_where_it_is_linked() {
        let (usual, with) = (text().unwrap(), text_with_c_library().unwrap());
        let more = with.strip_prefix(&*usual).unwrap();
        assert!(more.contains("\nGNU C Library\n") && more.contains(C_LIBRARY_SAID));
        // As well as what Debian has of it.
        for file in C_LIBRARY.iter().map(Path::new).filter(|file| file.is_file()) {
            assert!(more.contains(read(file).unwrap().trim()), "{}", file.display());
        }
        assert!(!usual.contains(C_LIBRARY_SAID));
    }

    #[test]
    fn bill_has_all_that_a_static_program_is_made_of() {
        let bill: Value = serde_json::from_str(&bill().unwrap()).unwrap();
        assert_eq!(bill["bomFormat"], "CycloneDX");
        assert_eq!(bill["metadata"]["component"]["type"], "application");
        let components = bill["components"].as_array().unwrap();
        let urls: BTreeSet<&str> = components.iter().filter_map(|it| it["purl"].as_str()).collect();
        assert_eq!(urls.len(), components.len(), "none is there twice");
        let packages = linked(&metadata(&["--filter-platform", &host().unwrap()]).unwrap());
        for package in packages.unwrap() {
            let url = format!("pkg:cargo/{}", package.name.replace(' ', "@"));
            assert!(urls.contains(&*url), "{url}");
        }
        for begin in ["pkg:npm/preact@", "pkg:generic/rust@1.", "pkg:generic/glibc@2."] {
            assert!(urls.iter().any(|url| url.starts_with(begin)), "{begin}");
        }
        let slashed = |it: &&Value| it["licenses"][0]["expression"].to_string().contains('/');
        assert_eq!(components.iter().find(slashed), None);
    }

    #[test]
    fn standard_library_is_named_wherever_rust_has_its_notices() {
        let folder = std::env::temp_dir().join(format!("jungle-notices-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let read = || notices_in(&folder).unwrap();
        assert_eq!(read(), [STANDARD_LIBRARY]);
        assert!(STANDARD_LIBRARY.contains("MIT OR Apache-2.0"));
        for name in ["COPYRIGHT.html", "COPYRIGHT", "LICENSE-MIT", "LICENSE-APACHE"] {
            fs::write(folder.join(name), name).unwrap();
        }
        assert_eq!(read(), ["COPYRIGHT", "LICENSE-MIT", "LICENSE-APACHE"]);
        fs::write(folder.join("COPYRIGHT-library.html"), "library").unwrap();
        assert_eq!(read(), ["library"]);
        fs::remove_dir_all(&folder).unwrap();
    }

    /// What the built page has in it.
    #[test]
    fn explorer_names_what_it_is_made_of() {
        let manifest = fs::read_to_string(root().join(WEB_MANIFEST)).unwrap();
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        let needs = manifest["dependencies"].as_object().unwrap();
        let needs: Vec<&str> = needs.keys().map(String::as_str).collect();
        let named = files(&root().join(WEB)).unwrap();
        let named: Vec<String> =
            named.iter().map(|it| it.file_stem().unwrap().to_string_lossy().into_owned()).collect();
        assert_eq!(needs, named);
    }
}
