//! How much memory there is for a process, and whether it may have files for what is too much.
//! Only Linux tells.

use std::fs;
use std::path::Path;

/// How much memory there is for this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    /// The most that it may have, where the system allows it less than the machine has.
    pub(super) limit_bytes: Option<u64>,
    /// What it can get: no more than that, and than what the machine has left.
    pub(super) bytes: u64,
}

impl Memory {
    /// As it is now; `None` where the system does not tell.
    pub(super) fn look() -> Option<Memory> {
        Memory::by(&|file| fs::read_to_string(file).ok())
    }

    fn by(read: &dyn Fn(&str) -> Option<String>) -> Option<Memory> {
        let told = read("/proc/meminfo")?;
        let bytes = |name: &str| {
            let line = told.lines().find_map(|line| line.strip_prefix(name))?;
            let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
            Some(kib.saturating_mul(1024))
        };
        let (total, left) = (bytes("MemTotal:")?, bytes("MemAvailable:")?);
        let limit_bytes = limit(read).filter(|&limit| limit < total);
        Some(Memory { limit_bytes, bytes: left.min(limit_bytes.unwrap_or(u64::MAX)) })
    }
}

/// The least that one of the groups (cgroups) allows that the process is in.
fn limit(read: &dyn Fn(&str) -> Option<String>) -> Option<u64> {
    let groups = read("/proc/self/cgroup")?;
    let least = |controller: &str, folder: &str, file: &str| {
        let group = groups.lines().find_map(|line| {
            let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
            controllers.split(',').any(|it| it == controller).then_some(group)
        })?;
        // In a container, only the last of them may be there.
        let limits = Path::new(group).ancestors().filter_map(|group| {
            let group = group.to_str()?.trim_end_matches('/');
            read(&format!("{folder}{group}/{file}"))?.trim().parse::<u64>().ok()
        });
        limits.min()
    };
    // In version 2 all controllers have the same groups, and no name. Both may be there.
    // Beyond the second limit a process is not ended, but slowed down until it gives some back.
    let unified = ["memory.max", "memory.high"].map(|file| least("", "/sys/fs/cgroup", file));
    let unified = unified.into_iter().flatten().min();
    unified.or_else(|| least("memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes"))
}

/// Is there a limit to how long the files of this process may be? As it makes a longer one, it is
/// ended by a signal: that is no error that could be answered.
pub(super) fn are_files_limited() -> bool {
    fs::read_to_string("/proc/self/limits").is_ok_and(|limits| has_file_limit(&limits))
}

fn has_file_limit(limits: &str) -> bool {
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max file size"));
    let limit = limit.and_then(|limit| limit.split_whitespace().next());
    limit.is_some_and(|limit| limit != "unlimited")
}

/// Is a folder in memory itself?
#[cfg(unix)]
pub(super) fn is_in_memory(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let device = fs::metadata(folder).map(|folder| folder.dev());
    let mounts = fs::read_to_string("/proc/self/mountinfo");
    device.is_ok_and(|device| mounts.is_ok_and(|mounts| is_of_memory(device, &mounts)))
}

/// As on unix, where it can be known.
#[cfg(not(unix))]
pub(super) fn is_in_memory(_: &Path) -> bool {
    false
}

#[cfg(unix)]
fn is_of_memory(device: u64, mounts: &str) -> bool {
    // One number is made of these two so.
    let major = ((device >> 8) & 0xfff) | ((device >> 32) & 0xffff_f000);
    let minor = (device & 0xff) | ((device >> 12) & 0xffff_ff00);
    let device = format!("{major}:{minor}");
    mounts.lines().any(|line| {
        let is_it = line.split(' ').nth(2) == Some(&*device);
        let kind = line.split_once(" - ").and_then(|(_, rest)| rest.split(' ').next());
        is_it && matches!(kind, Some("tmpfs" | "ramfs"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1024;

    /// Of 1,000 KiB, 600 of which are left, with these files besides.
    fn memory(files: &[(&str, &str)]) -> Memory {
        let machine = "MemTotal:    1000 kB\nMemFree:  10 kB\nMemAvailable:   600 kB\n";
        let machine = [("/proc/meminfo", machine)];
        let all = machine.iter().chain(files);
        let read = |file: &str| {
            let text = all.clone().find(|(name, _)| *name == file);
            text.map(|(_, text)| (*text).to_owned())
        };
        Memory::by(&read).unwrap()
    }

    #[test]
    fn a_system_that_tells_nothing_is_not_known() {
        assert_eq!(Memory::by(&|_| None), None);
        assert_eq!(Memory::by(&|_| Some("nonsense\n".to_owned())), None);
    }

    #[test]
    fn without_a_limit_it_is_what_the_machine_has_left() {
        let left = Memory { limit_bytes: None, bytes: 600 * KIB };
        assert_eq!(memory(&[]), left);
        let groups = ("/proc/self/cgroup", "0::/a\n");
        assert_eq!(memory(&[groups]), left);
        assert_eq!(memory(&[groups, ("/sys/fs/cgroup/a/memory.max", "max\n")]), left);
        // What the machine does not have is no limit: version 1 says so where there is none.
        let groups = ("/proc/self/cgroup", "4:cpu:/\n3:memory:/a\n");
        let most = ("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(memory(&[groups, most]), left);
    }

    #[test]
    fn the_least_limit_of_all_groups_holds() {
        let groups = ("/proc/self/cgroup", "0::/a/b\n");
        let outer = ("/sys/fs/cgroup/a/memory.max", "204800\n");
        let inner = ("/sys/fs/cgroup/a/b/memory.max", "409600\n");
        let limited = |kib: u64| Memory { limit_bytes: Some(kib * KIB), bytes: kib * KIB };
        assert_eq!(memory(&[groups, inner]), limited(400));
        assert_eq!(memory(&[groups, outer, inner]), limited(200));
        let high = ("/sys/fs/cgroup/a/b/memory.high", "307200\n");
        assert_eq!(memory(&[groups, inner, high]), limited(300));
        // As seen from within a container.
        let root = ("/sys/fs/cgroup/memory.max", "102400\n");
        assert_eq!(memory(&[groups, root]), limited(100));
        assert_eq!(memory(&[("/proc/self/cgroup", "0::/\n"), root]), limited(100));
        // More than is left, and less than there is.
        let large = ("/sys/fs/cgroup/a/memory.max", "819200\n");
        let both = Memory { limit_bytes: Some(800 * KIB), bytes: 600 * KIB };
        assert_eq!(memory(&[groups, large]), both);
    }

    #[test]
    fn a_limit_of_version_1_holds_beside_groups_of_version_2() {
        let groups = ("/proc/self/cgroup", "5:hugetlb,memory:/a\n1:name=systemd:/a\n0::/a\n");
        let limit = ("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "102400\n");
        let limited = Memory { limit_bytes: Some(100 * KIB), bytes: 100 * KIB };
        assert_eq!(memory(&[groups, limit]), limited);
    }

    #[test]
    fn a_limit_to_the_length_of_files_is_told() {
        let limits = |most: &str| {
            format!(
                "Limit         Soft Limit  Hard Limit  Units\n\
                 Max cpu time  10          unlimited   seconds\n\
                 Max file size {most}      unlimited   bytes\n"
            )
        };
        assert!(has_file_limit(&limits("409600")) && has_file_limit(&limits("0")));
        assert!(!has_file_limit(&limits("unlimited")) && !has_file_limit(""));
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_in_memory_is_told_by_its_mount() {
        let mounts = "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
                      22 21 0:300 / /tmp rw,nosuid - tmpfs tmpfs rw,size=1g\n\
                      23 21 0:44 / /run/a\\040-\\040b rw shared:2 master:1 - ramfs none rw\n";
        // 300 does not fit into the lower byte.
        let (disk, tmpfs, ramfs) = (0x801, 0x0010_002c, 0x2c);
        assert!(!is_of_memory(disk, mounts));
        assert!(is_of_memory(tmpfs, mounts) && is_of_memory(ramfs, mounts));
        assert!(!is_of_memory(0x33, mounts), "nobody knows it");
    }
}
