//! What the machine is, as the report tells it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::details::Details;

/// A machine: results of one are not held against those of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// How many cores this process may use.
    pub cores: usize,
    /// Memory, in bytes.
    pub memory_bytes: u64,
    /// The kernel and its version.
    pub kernel: String,
    /// What the disk is formatted with on which the experiments put their folders.
    pub file_system: String,
    /// What else the kernel tells; files that were written before it was asked have nothing of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Details>,
}

/// Nothing is told about it.
pub(super) const UNKNOWN: &str = "unknown";

impl Machine {
    /// This one.
    pub fn here() -> Machine {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let kernel = read("/proc/sys/kernel/osrelease");
        let folder = std::env::current_exe().unwrap_or_default();
        Machine {
            processor: field(&read("/proc/cpuinfo"), "model name").unwrap_or(UNKNOWN).to_owned(),
            cores: cores(),
            memory_bytes: memory(&read("/proc/meminfo")).unwrap_or(0),
            kernel: format!("{} {}", std::env::consts::OS, kernel.trim()),
            file_system: file_system(&read("/proc/self/mounts"), &folder).unwrap_or(UNKNOWN).into(),
            details: Some(Details::here()),
        }
    }

    /// Is it the same one, as far as both tell?
    pub fn is(&self, other: &Machine) -> bool {
        let briefly = |machine: &Machine| Machine { details: None, ..machine.clone() };
        let is_told = self.details.is_some() && other.details.is_some();
        briefly(self) == briefly(other) && (!is_told || self.details == other.details)
    }

    /// Its rows in the report.
    pub fn rows(&self) -> BTreeMap<&'static str, String> {
        let memory = format!("{:.1} GiB", self.memory_bytes as f64 / f64::from(1 << 30));
        let rows = [
            ("processor", self.processor.clone()),
            ("cores", self.cores.to_string()),
            ("memory", memory),
            ("kernel", self.kernel.clone()),
            ("file system", self.file_system.clone()),
        ];
        let details = self.details.iter().flat_map(Details::rows);
        rows.into_iter().chain(details).collect()
    }
}

/// How many cores this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// How many processes wanted to run in the last minute, on average; `None` where nothing tells.
pub fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

/// How the system gives processors to this process, and so to those that it starts; `None` where
/// nothing tells.
pub fn scheduling() -> Option<String> {
    policy(&fs::read_to_string("/proc/self/stat").ok()?)
}

/// The policy by the name that `chrt` has for it, with what comes first among its like.
fn policy(stat: &str) -> Option<String> {
    // The name of the program may have spaces and parentheses in it.
    let (_, behind) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = behind.split_whitespace().collect();
    let (nice, priority) = (fields.get(16)?, fields.get(37)?);
    Some(match *fields.get(38)? {
        "0" if *nice == "0" => "SCHED_OTHER".to_owned(),
        "0" => format!("SCHED_OTHER, nice {nice}"),
        "1" => format!("SCHED_FIFO {priority}"),
        "2" => format!("SCHED_RR {priority}"),
        "3" => "SCHED_BATCH".to_owned(),
        "5" => "SCHED_IDLE".to_owned(),
        other => format!("policy {other}"),
    })
}

/// What stands behind a name and a colon.
pub(super) fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(found, _)| found.trim() == name).map(|(_, value)| value.trim())
}

fn memory(text: &str) -> Option<u64> {
    let kilobytes = field(text, "MemTotal")?.strip_suffix("kB")?.trim();
    kilobytes.parse::<u64>().ok()?.checked_mul(1024)
}

/// The type of the file system that a file is on: of the longest place above it, the one that was
/// mounted last.
fn file_system<'t>(mounts: &'t str, file: &Path) -> Option<&'t str> {
    let mount = |line: &'t str| {
        let mut words = line.split(' ').skip(1);
        let place = words.next()?;
        file.starts_with(place).then_some((place.len(), words.next()?))
    };
    mounts.lines().filter_map(mount).max_by_key(|(length, _)| *length).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Machine, UNKNOWN, field, file_system, memory, policy};

    #[test]
    fn the_systems_files_are_read() {
        let text = "processor\t: 0\nmodel name\t: A: 3 GHz\nmodel name\t: B\n";
        assert_eq!(field(text, "model name"), Some("A: 3 GHz"));
        assert_eq!(memory("MemFree: 1 kB\nMemTotal:    2048 kB\n"), Some(2 << 20));
        assert_eq!(memory("MemTotal: many kB\n"), None);
        let mounts = "a / ext4 rw\nb /data xfs rw\nc /data/more tmpfs rw\n";
        let of = |file: &str| file_system(mounts, Path::new(file));
        assert_eq!((of("/data/x"), of("/database")), (Some("xfs"), Some("ext4")));
        assert_eq!(of("relative"), None);
    }

    /// So that what was measured before more was told is not measured again for that.
    #[test]
    fn a_machine_is_the_same_as_far_as_both_tell() {
        let here = Machine::here();
        let mut old = serde_json::to_value(&here).unwrap();
        old.as_object_mut().unwrap().remove("details").unwrap();
        let old: Machine = serde_json::from_value(old).unwrap();
        assert!(old != here && old.is(&here) && here.is(&old) && here.is(&here));
        assert!(!serde_json::to_string(&old).unwrap().contains("details"));
        let mut other = here.clone();
        other.details.as_mut().unwrap().model = "another".to_owned();
        assert!(!other.is(&here) && other.is(&old));
        assert!(!Machine { cores: here.cores + 1, ..old.clone() }.is(&here));
        assert_eq!(here.rows().len(), old.rows().len() + 6);
        assert!(here.rows().values().all(|told| !told.is_empty()), "{UNKNOWN} at least");
    }

    #[test]
    fn the_scheduling_policy_is_read() {
        let of = |nice: &str, priority: &str, policy_number: &str| {
            let mut fields = vec!["0"; 50];
            (fields[0], fields[16]) = ("S", nice);
            (fields[37], fields[38]) = (priority, policy_number);
            policy(&format!("17 (a) name (x)) {}", fields.join(" ")))
        };
        assert_eq!(of("0", "0", "0").unwrap(), "SCHED_OTHER");
        assert_eq!(of("15", "0", "0").unwrap(), "SCHED_OTHER, nice 15");
        assert_eq!(of("0", "1", "2").unwrap(), "SCHED_RR 1");
        assert_eq!(policy("17 (short) S 1"), None);
    }
}
