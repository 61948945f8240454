//! `deb`: a Debian package of the command, with all that belongs to it.
//!
//! What is in it says `[package.metadata.deb]` of `jungle-cli`, in the form that `cargo deb` reads.
//! It is put together from a folder by Debian's own `dpkg-deb`, which wants nothing built for it.
//!
//! The program is not the static one of `dist`: with the machine's own C library, which the package
//! asks for, it looks names up however that machine does.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::command::{cargo, command, need, output, root, run as run_command, target_dir};
use crate::error::{Context, Result, fail};
use crate::notices;

const MANIFEST: &str = "crates/jungle-cli/Cargo.toml";

/// Where what is made for the package is, below the folder that cargo builds into.
const MADE: &str = "deb";

/// How an asset that is made begins; it is in the folder that cargo builds into, whatever that is.
const TARGET: &str = "target/";

/// As cargo-deb, which takes the program from the folder of whatever profile was built.
const BUILT: &str = "target/release/";

/// Where the unit in the repository has the program, and where the package has it.
const PROGRAM: (&str, &str) = ("/usr/local/bin/", "/usr/bin/");

/// Leaves out what is for debuggers, four fifths of the program; a panic's backtrace still names
/// functions.
const STRIP: [&str; 2] = ["strip", "--strip-debug"];

/// What shells need, and how the command calls them.
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// What dpkg is told to do besides.
const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

/// What the manifest says of the package.
struct Package {
    version: String,
    fields: toml::Table,
    assets: Vec<Asset>,
}

/// Files that go into a folder, or a file that goes to a place.
struct Asset {
    source: String,
    place: String,
    mode: u32,
}

pub fn run(arguments: &[String]) -> Result<()> {
    let profile = match arguments {
        [] => "release",
        [option, profile] if option == "--profile" => profile,
        _ => return fail("usage: cargo xtask deb [--profile PROFILE]"),
    };
    need("dpkg-deb", "dpkg")?;
    need(STRIP[0], "binutils")?;
    let package = Package::read()?;
    let mut build = cargo(["build", "--locked", "--package", "jungle-cli", "--profile"]);
    build.arg(profile);
    run_command(build)?;
    let folder = if profile == "dev" { "debug" } else { profile };
    let made = target_dir().join(MADE);
    make(&target_dir().join(folder).join("jungle"), &made)?;
    let staged = made.join("staged");
    empty(&staged)?;
    for asset in &package.assets {
        asset.copy(&staged, &target_dir())?;
    }
    let architecture = output(command("dpkg", ["--print-architecture"]))?.trim().to_owned();
    package.control(&staged, &architecture)?;
    let name = format!("jungle_{}_{architecture}.deb", package.version);
    let file = target_dir().join("debian").join(name);
    create_folder(&target_dir().join("debian"))?;
    let mut pack = command("dpkg-deb", ["--build", "--root-owner-group"]);
    pack.arg(&staged).arg(&file);
    // The same sources give the same package.
    pack.env("SOURCE_DATE_EPOCH", output(command("git", ["log", "-1", "--format=%ct"]))?.trim());
    run_command(pack)?;
    attempt(&file, &made.join("tried"))
}

/// Takes the package apart again, and asks the program in it for its version.
fn attempt(file: &Path, scratch: &Path) -> Result<()> {
    empty(scratch)?;
    let mut unpack = command("dpkg-deb", ["--extract"]);
    unpack.arg(file).arg(scratch);
    run_command(unpack)?;
    let version = output(command(scratch.join("usr/bin/jungle"), ["--version"]))?;
    println!("{}: {}", file.display(), version.trim());
    Ok(())
}

/// Makes what is not in the repository: pages, completions, the program without what is for
/// debuggers, and the unit with the program where the package has it.
fn make(built: &Path, made: &Path) -> Result<()> {
    create_folder(made)?;
    let pages = made.join("man");
    empty(&pages)?;
    let mut man = command(built, ["man", "--dir"]);
    man.arg(&pages);
    run_command(man)?;
    for page in files_in(&pages)? {
        let mut squeeze = command("gzip", ["-9", "--no-name"]);
        squeeze.arg(page);
        run_command(squeeze)?;
    }
    for shell in SHELLS {
        let text = output(command(built, ["completions", shell]))?;
        write(&made.join(format!("jungle.{shell}")), &text)?;
    }
    let [program, option] = STRIP;
    let mut strip = command(program, [option, "-o"]);
    strip.arg(made.join("jungle")).arg(built);
    run_command(strip)?;
    write(&made.join("notices.txt"), &notices::text()?)?;
    write(&made.join("jungle.service"), &unit()?)
}

/// The unit as it is in the package.
fn unit() -> Result<String> {
    let unit = read("deploy/jungle.service")?;
    Ok(unit.replace(PROGRAM.0, PROGRAM.1))
}

impl Package {
    fn read() -> Result<Package> {
        let (manifest, workspace) = (table(MANIFEST)?, table("Cargo.toml")?);
        let at = |table: &toml::Table, path: &[&str]| -> Option<toml::Value> {
            let (first, rest) = path.split_first()?;
            rest.iter().try_fold(table.get(*first)?, |value, key| value.get(key)).cloned()
        };
        let version = at(&workspace, &["workspace", "package", "version"]);
        let version = version.as_ref().and_then(toml::Value::as_str).map(str::to_owned);
        let fields = at(&manifest, &["package", "metadata", "deb"]);
        let Some(toml::Value::Table(fields)) = fields else {
            return fail(format!("{MANIFEST} says nothing of a package"));
        };
        let assets = fields.get("assets").and_then(toml::Value::as_array);
        let assets = assets.context(format!("{MANIFEST}: the package has no assets"))?;
        let assets = assets.iter().map(Asset::read).collect::<Result<_>>()?;
        Ok(Package { version: version.context("the workspace has no version")?, fields, assets })
    }

    fn field(&self, name: &str) -> Result<&str> {
        let found = self.fields.get(name).and_then(toml::Value::as_str);
        found.context(format!("{MANIFEST}: the package has no {name}"))
    }

    /// What dpkg is told of the package.
    fn control(&self, staged: &Path, architecture: &str) -> Result<()> {
        let folder = staged.join("DEBIAN");
        let files = all_below(staged)?;
        let sizes = files.iter().map(|file| fs::metadata(file).map(|it| it.len().div_ceil(1024)));
        let size: u64 = sizes.sum::<std::io::Result<u64>>().context("cannot look at the files")?;
        let mut text = format!("Package: {}\nVersion: {}\n", self.field("name")?, self.version);
        let mut add = |name: &str, value: &str| text.push_str(&format!("{name}: {value}\n"));
        add("Architecture", architecture);
        add("Maintainer", self.field("maintainer")?);
        add("Section", self.field("section")?);
        add("Priority", self.field("priority")?);
        add("Installed-Size", &size.to_string());
        add("Depends", &depends(&staged.join("usr/bin/jungle"))?);
        let mut description = "a database of trees that keeps every version".to_owned();
        for line in self.field("extended-description")?.trim().lines() {
            description.push_str("\n ");
            description.push_str(if line.is_empty() { "." } else { line });
        }
        add("Description", &description);
        let mut sums =
            command("md5sum", files.iter().filter_map(|it| it.strip_prefix(staged).ok()));
        sums.current_dir(staged);
        let sums = output(sums)?;
        create_folder(&folder)?;
        write(&folder.join("control"), &text)?;
        write(&folder.join("md5sums"), &sums)?;
        let scripts = self.field("maintainer-scripts")?;
        for script in SCRIPTS {
            let source = Path::new(MANIFEST).parent().expect("it is in a folder").join(scripts);
            let place = folder.join(script);
            copy(&root().join(source).join(script), &place, 0o755)?;
        }
        Ok(())
    }
}

impl Asset {
    fn read(value: &toml::Value) -> Result<Asset> {
        let text = |at: usize| value.get(at).and_then(toml::Value::as_str);
        let (Some(source), Some(place), Some(mode)) = (text(0), text(1), text(2)) else {
            return fail(format!("{MANIFEST}: an asset is a source, a place and a mode"));
        };
        let mode = u32::from_str_radix(mode, 8).context(format!("{MANIFEST}: {mode}"))?;
        Ok(Asset { source: source.to_owned(), place: place.to_owned(), mode })
    }

    /// The files it is of.
    fn sources(&self, target: &Path) -> Result<Vec<PathBuf>> {
        let source = match (self.source.strip_prefix(BUILT), self.source.strip_prefix(TARGET)) {
            (Some(program), _) => target.join(MADE).join(program),
            (None, Some(made)) => target.join(made),
            // As cargo-deb: from the folder of the manifest.
            _ => root().join("crates/jungle-cli").join(&self.source),
        };
        if source.file_name().is_none_or(|name| name != "*") {
            return Ok(vec![source]);
        }
        files_in(source.parent().context("an asset is in a folder")?)
    }

    /// Where it is in the package; of several, their folder and how they are called.
    #[cfg(test)]
    fn name(&self) -> String {
        let name = self.source.rsplit('/').next().unwrap_or_default();
        if self.place.ends_with('/') { format!("{}{name}", self.place) } else { self.place.clone() }
    }

    fn copy(&self, staged: &Path, target: &Path) -> Result<()> {
        for source in self.sources(target)? {
            let mut place = staged.join(&self.place);
            if self.place.ends_with('/') {
                place.push(source.file_name().context("an asset is a file")?);
            }
            copy(&source, &place, self.mode)?;
        }
        Ok(())
    }
}

/// The packages that the program needs: the C library of the newest version that one of its symbols
/// is of, and what unwinds.
fn depends(program: &Path) -> Result<String> {
    const MARK: &[u8] = b"GLIBC_2.";
    let bytes = fs::read(program).context(format!("cannot read {}", program.display()))?;
    let marks = bytes.windows(MARK.len()).enumerate().filter(|(_, here)| *here == MARK);
    let versions = marks.filter_map(|(at, _)| {
        let digits = bytes[at + MARK.len()..].iter().take_while(|byte| byte.is_ascii_digit());
        String::from_utf8(digits.copied().collect()).ok()?.parse::<u32>().ok()
    });
    let newest = versions.max().context("the program uses no C library of GNU")?;
    Ok(format!("libc6 (>= 2.{newest}), libgcc-s1"))
}

fn table(file: &str) -> Result<toml::Table> {
    read(file)?.parse().context(file)
}

fn read(file: &str) -> Result<String> {
    fs::read_to_string(root().join(file)).context(format!("cannot read {file}"))
}

fn write(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).context(format!("cannot write {}", file.display()))
}

fn copy(source: &Path, place: &Path, mode: u32) -> Result<()> {
    create_folder(place.parent().context("a file is in a folder")?)?;
    let copied = fs::copy(source, place);
    let copied = copied.and_then(|_| fs::set_permissions(place, fs::Permissions::from_mode(mode)));
    copied.context(format!("cannot copy {} to {}", source.display(), place.display()))
}

/// Makes a folder that others may look into, whatever the user lets them see otherwise.
fn create_folder(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    folder.parent().map_or(Ok(()), create_folder)?;
    let made = fs::create_dir(folder);
    let made = made.and_then(|()| fs::set_permissions(folder, fs::Permissions::from_mode(0o755)));
    made.context(format!("cannot make {}", folder.display()))
}

fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).context(format!("cannot remove {}", folder.display()))?;
    }
    create_folder(folder)
}

/// The files in a folder, in order.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let cannot = || format!("cannot list {}", folder.display());
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(folder).context(cannot())? {
        files.insert(entry.context(cannot())?.path());
    }
    Ok(files.into_iter().collect())
}

fn all_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for path in files_in(&folder)? {
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_asset_is_there_or_made() {
        let package = Package::read().unwrap();
        let made: BTreeSet<String> = SHELLS
            .iter()
            .map(|shell| format!("target/deb/jungle.{shell}"))
            .chain(["man/*", "jungle.service", "notices.txt"].map(|it| format!("target/deb/{it}")))
            .chain(["target/release/jungle".to_owned()])
            .collect();
        let named: BTreeSet<String> = package.assets.iter().map(|it| it.source.clone()).collect();
        assert!(made.is_subset(&named), "what is made is packed: {named:?}");
        for asset in package.assets.iter().filter(|asset| !made.contains(&asset.source)) {
            let sources = asset.sources(Path::new("target")).unwrap();
            assert!(sources.iter().all(|source| source.is_file()), "{}", asset.source);
        }
        let is_program = |place: &str| place.starts_with("usr/bin/");
        for Asset { place, mode, .. } in &package.assets {
            assert!(place.starts_with("usr/"), "{place}");
            assert_eq!(*mode, if is_program(place) { 0o755 } else { 0o644 }, "{place}");
        }
        let places: BTreeSet<String> = package.assets.iter().map(Asset::name).collect();
        assert_eq!(places.len(), package.assets.len(), "none is over another");
        for field in ["name", "maintainer", "section", "priority", "extended-description"] {
            assert!(!package.field(field).unwrap().is_empty());
        }
    }

    #[test]
    fn units_confine_a_server_alike() {
        let confined = |file: &str| -> String {
            let unit = read(file).unwrap();
            let (_, behind) = unit.split_once("\nNoNewPrivileges=true\n").unwrap();
            behind.split("\n\n").next().unwrap().to_owned()
        };
        let single = confined("deploy/jungle.service");
        let of_cluster = "crates/jungle-cli/src/commands/cluster/templates/jungle.service";
        assert_eq!(single, confined(of_cluster));
        // What it needs: names are looked up by netlink, too, and port 443 is for an authority.
        for line in [
            "CapabilityBoundingSet=CAP_NET_BIND_SERVICE",
            "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK",
            "SystemCallFilter=@system-service",
        ] {
            assert!(single.lines().any(|it| it == line), "{line}");
        }
    }

    #[test]
    fn unit_runs_what_the_package_has() {
        let (package, unit) = (Package::read().unwrap(), unit().unwrap());
        let value = |key: &str| unit.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        let program = value("ExecStart=/").split(' ').next().unwrap();
        let has = |place: &str| package.assets.iter().any(|asset| asset.name() == place);
        assert!(has(program), "{program}");
        assert!(has("usr/lib/systemd/system/jungle.service"));
        let users = read("deploy/debian/jungle.sysusers").unwrap();
        assert_eq!(users.split_whitespace().nth(1), Some(value("User=")));
        let script = read("deploy/debian/postinst").unwrap();
        assert!(script.contains("systemd-sysusers jungle.conf"));
        assert!(has("usr/lib/sysusers.d/jungle.conf"));
    }
}
