//! From when a server of a folder with a large tree is started until it has answered.

use std::time::Instant;

use jungle::Key;

use super::super::Options;
use super::super::folder::Folder;
use super::super::open::{COLD, TREE, WARM, forget, plant, shape};
use super::server::Serving;
use crate::Failure;
use crate::sample::Sample;
use crate::stats::median;
use crate::workload::{KEY, Random, number_of};

/// Milliseconds until the value of a random leaf has been compared: what is in the folder's files
/// is in the system's memory, or (`start-cold`) is not.
pub fn sample(options: Options) -> Result<Sample, Failure> {
    let folder = Folder::new("start")?;
    plant(&folder.0, shape(options))?;
    let (mut random, mut wrong) = (Random(options.seed), 0);
    let mut start = |count: u64, is_cold: bool| {
        let mut times = Vec::new();
        for _ in 0..count {
            if is_cold {
                forget(&folder.0)?;
            }
            let (milliseconds, is_right) = once(&folder, options, &mut random)?;
            times.push(milliseconds);
            wrong += u64::from(!is_right);
        }
        Ok::<_, Failure>(median(&times))
    };
    let (warm, cold) = (start(WARM, false)?, start(COLD, true)?);
    let sample = Sample::value(warm, "ms").with("start-cold", cold);
    Ok(sample.check_none(wrong, "values are another's"))
}

/// Starts it once; gives the milliseconds, and whether the answer was right.
fn once(folder: &Folder, options: Options, random: &mut Random) -> Result<(f64, bool), Failure> {
    let mut path = vec![Key::from(0); shape(options).0.len()];
    let number = shape(options).random_leaf(random, &mut path);
    let path = jungle::Path::from(&*path);
    let asked = format!("GET /api/v1/trees/{TREE}/value?path={path}&attribute={KEY}");
    let data = folder.0.display().to_string();
    let begun = Instant::now();
    let serving = Serving::jungle(&["--data", &data])?;
    let found = serving.ask_bytes(&asked, "")?;
    let milliseconds = 1e3 * begun.elapsed().as_secs_f64();
    serving.stop()?;
    Ok((milliseconds, number_of(&found) == Some(number)))
}
