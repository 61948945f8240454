//! What all cases share: options, turns, results.

/// Links of a chain.
pub const LINKS: u64 = 10_000;
/// Puts, each with its take, of one turn.
pub const PAIRS: u64 = 100_000;
pub const LARGE_BYTES: usize = 4 << 20;
const TURNS: usize = 20;

pub struct Options {
    pub system: String,
    pub case: String,
    pub threads: usize,
    pub seed: u64,
}

impl Options {
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut next = |what: &str| words.next().ok_or(format!("{what} is missing"));
        let (system, case) = (next("a system")?, next("a case")?);
        let mut options = Options { system, case, threads: 1, seed: 1 };
        while let Some(name) = words.next() {
            let value = words.next().ok_or(format!("{name} has no value"))?;
            let number = || value.parse::<u64>().map_err(|error| format!("{name}: {error}"));
            match name.as_str() {
                "--threads" => options.threads = number()? as usize,
                "--seed" => options.seed = number()?,
                "--tasks" | "--nodes-scale" => {}
                _ => return Err(format!("unknown option {name}")),
            }
        }
        Ok(options)
    }
}

/// The median of the turns.
pub struct Outcome {
    value: f64,
    unit: &'static str,
    operations: u64,
    pub is_right: bool,
}

impl Outcome {
    /// Of so many operations; `turn` gives seconds, and whether its result was right.
    pub fn of(
        operations: u64,
        unit: &'static str,
        mut turn: impl FnMut() -> (f64, bool),
    ) -> Outcome {
        turn();
        let (mut seconds, rights): (Vec<f64>, Vec<bool>) = (0..TURNS).map(|_| turn()).unzip();
        seconds.sort_by(f64::total_cmp);
        let is_right = rights.iter().all(|right| *right);
        let median = f64::midpoint(seconds[(TURNS - 1) / 2], seconds[TURNS / 2]);
        let value = match unit {
            "ns" => 1e9 * median / operations as f64,
            _ => 1e6 * median,
        };
        Outcome { value, unit, operations, is_right }
    }

    pub fn to_json(&self, options: &Options) -> String {
        format!(
            "{{\"case\":\"{}\",\"threads\":{},\"seconds\":0,\"operations\":{},\"value\":{:.3},\
             \"unit\":\"{}\",\"{}\":{:.3},\"check\":\"{}\"}}",
            options.case,
            options.threads,
            self.operations,
            self.value,
            self.unit,
            options.case,
            self.value,
            if self.is_right { "ok" } else { "the result is wrong" }
        )
    }
}

/// SplitMix64: the same numbers as ours.
pub struct Rng(pub u64);

impl Rng {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let a = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let b = (a ^ (a >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        b ^ (b >> 31)
    }
}
