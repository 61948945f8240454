//! What is mapped into this process.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// In how many files without names the trees of a folder are that spills; 0 where the system does
/// not tell, as only Linux does.
///
/// ```
/// use jungle_testkit::spilled_files;
/// assert_eq!(spilled_files(std::path::Path::new("/there/is/nothing")), 0);
/// ```
pub fn spilled_files(folder: &Path) -> usize {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let begin = format!("/{name}/spill-");
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let files = maps.lines().filter_map(|line| line.find(&begin).map(|at| &line[at..]));
    files.collect::<BTreeSet<_>>().len()
}
