//! What else the kernel tells of a processor: its name alone may be that of a whole family, and a
//! guest may not be told more of it.

use std::fs;

use serde::{Deserialize, Serialize};

use super::machine::{UNKNOWN, field};

/// In the kernel's words; what it does not tell is [`UNKNOWN`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Details {
    /// Who made the processor, and which of theirs it is.
    pub model: String,
    /// Of the first core, and which cores it shares them with.
    pub caches: String,
    /// Do threads share a core? A guest is told what its host says.
    pub smt: String,
    /// Who chooses the clock.
    pub governor: String,
    /// When memory is given in large pages without being asked.
    pub huge_pages: String,
    /// What the machine is a guest of, if it is one.
    pub hypervisor: String,
}

/// What a file says, without its end; `None` where there is none, or nothing in it.
type Told<'t> = &'t dyn Fn(&str) -> Option<String>;

const CORES: &str = "/sys/devices/system/cpu";

impl Details {
    /// Those of this machine.
    pub fn here() -> Details {
        Details::read(&|path: &str| {
            let text = fs::read_to_string(path).ok()?;
            Some(text.trim().to_owned()).filter(|text| !text.is_empty())
        })
    }

    fn read(told: Told<'_>) -> Details {
        let or_unknown = |found: Option<String>| found.unwrap_or_else(|| UNKNOWN.to_owned());
        let processor = told("/proc/cpuinfo").unwrap_or_default();
        let pages = told("/sys/kernel/mm/transparent_hugepage/enabled");
        Details {
            model: or_unknown(model(&processor)),
            caches: or_unknown(caches(told)),
            smt: or_unknown(smt(told)),
            governor: or_unknown(told(&format!("{CORES}/cpu0/cpufreq/scaling_governor"))),
            huge_pages: or_unknown(pages.and_then(|pages| chosen(&pages).map(str::to_owned))),
            hypervisor: hypervisor(&processor, told),
        }
    }

    /// Its rows in the report.
    pub fn rows(&self) -> [(&'static str, String); 6] {
        [
            ("processor model", self.model.clone()),
            ("caches", self.caches.clone()),
            ("threads share a core", self.smt.clone()),
            ("governor of the clock", self.governor.clone()),
            ("transparent huge pages", self.huge_pages.clone()),
            ("hypervisor", self.hypervisor.clone()),
        ]
    }
}

/// The numbers by which makers name their processors, those of x86 or those of ARM.
fn model(processor: &str) -> Option<String> {
    let names = [
        "vendor_id",
        "cpu family",
        "model",
        "stepping",
        "CPU implementer",
        "CPU part",
        "CPU variant",
        "CPU revision",
    ];
    let told = names.iter().filter_map(|name| Some(format!("{name} {}", field(processor, name)?)));
    let told = told.collect::<Vec<_>>().join(", ");
    Some(told).filter(|told| !told.is_empty())
}

fn caches(told: Told<'_>) -> Option<String> {
    let cache = |index: usize| {
        let of = |name: &str| told(&format!("{CORES}/cpu0/cache/index{index}/{name}"));
        let (level, kind, size) = (of("level")?, of("type")?, of("size")?);
        let shared = of("shared_cpu_list").filter(|cores| cores != "0");
        let shared = shared.map_or_else(String::new, |cores| format!(" of cores {cores}"));
        Some(format!("L{level} {} {size}{shared}", kind.to_lowercase()))
    };
    let caches = (0..).map_while(cache).collect::<Vec<_>>().join(", ");
    Some(caches).filter(|caches| !caches.is_empty())
}

fn smt(told: Told<'_>) -> Option<String> {
    let is_active = match &*told(&format!("{CORES}/smt/active"))? {
        "0" => "no",
        "1" => "yes",
        _ => return None,
    };
    let control = told(&format!("{CORES}/smt/control"));
    Some(control.map_or(is_active.to_owned(), |control| format!("{is_active} ({control})")))
}

/// What is in brackets, of what could be chosen.
fn chosen(line: &str) -> Option<&str> {
    let (_, behind) = line.split_once('[')?;
    behind.split_once(']').map(|(chosen, _)| chosen)
}

/// A processor of x86 says that it is a guest's; of what, the firmware may say.
fn hypervisor(processor: &str, told: Told<'_>) -> String {
    let flags = field(processor, "flags").unwrap_or_default();
    let (kind, is_guest) = (told("/sys/hypervisor/type"), flags.contains("hypervisor"));
    if kind.is_none() && !is_guest {
        return "none is told of".to_owned();
    }
    let firmware = ["sys_vendor", "product_name"];
    let firmware =
        firmware.into_iter().filter_map(|name| told(&format!("/sys/class/dmi/id/{name}")));
    let named: Vec<String> = kind.into_iter().chain(firmware).collect();
    if named.is_empty() { "one that does not name itself".to_owned() } else { named.join(", ") }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{CORES, Details, UNKNOWN};

    fn read(files: &[(&str, &str)]) -> Details {
        let files: BTreeMap<String, &str> =
            files.iter().map(|(path, text)| (path.replace("CORES", CORES), *text)).collect();
        Details::read(&|path: &str| files.get(path).map(|text| (*text).to_owned()))
    }

    #[test]
    fn a_guest_tells_which_processor_it_has() {
        let processor = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\n\
            model\t\t: 1\nmodel name\t: AMD EPYC\nstepping\t: 1\nflags\t\t: fpu hypervisor sse\n";
        let files = [
            ("/proc/cpuinfo", processor),
            ("CORES/cpu0/cache/index0/level", "1"),
            ("CORES/cpu0/cache/index0/type", "Data"),
            ("CORES/cpu0/cache/index0/size", "32K"),
            ("CORES/cpu0/cache/index0/shared_cpu_list", "0"),
            ("CORES/cpu0/cache/index1/level", "3"),
            ("CORES/cpu0/cache/index1/type", "Unified"),
            ("CORES/cpu0/cache/index1/size", "32768K"),
            ("CORES/cpu0/cache/index1/shared_cpu_list", "0-1"),
            ("CORES/smt/active", "0"),
            ("CORES/smt/control", "notsupported"),
            ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
        ];
        let told = read(&files);
        assert_eq!(told.model, "vendor_id AuthenticAMD, cpu family 25, model 1, stepping 1");
        assert_eq!(told.caches, "L1 data 32K, L3 unified 32768K of cores 0-1");
        assert_eq!((&*told.smt, &*told.huge_pages), ("no (notsupported)", "madvise"));
        assert_eq!(told.governor, UNKNOWN);
        assert_eq!(told.hypervisor, "one that does not name itself");
        let more = [("/sys/class/dmi/id/sys_vendor", "QEMU")];
        assert_eq!(read(&[&files[..], &more].concat()).hypervisor, "QEMU");
    }

    #[test]
    fn where_nothing_is_told_it_says_so() {
        // Firmware has a maker also where there is no hypervisor.
        let told = read(&[("/sys/class/dmi/id/sys_vendor", "somebody")]);
        assert_eq!(told.hypervisor, "none is told of");
        for unknown in [told.model, told.caches, told.smt, told.governor, told.huge_pages] {
            assert_eq!(unknown, UNKNOWN);
        }
    }
}
