//! What every case needs and no case is about: options, random numbers, tree shapes, payload
//! values, worker threads and the line of JSON.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use crate::jungle::{Key, Node, Position, Value};

pub struct Options {
    pub case: String,
    pub threads: usize,
    pub tasks: usize,
    pub seed: u64,
    pub quick: bool,
    pub children: usize,
    pub seconds: f64,
}

impl Options {
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
        let usage = "usage: peer CASE --threads N --tasks T [--nodes-scale full|quick] --seed S";
        let mut options = Options {
            case: arguments.next().ok_or(usage)?,
            threads: 1,
            tasks: 50,
            seed: 1,
            quick: false,
            children: 100_000,
            seconds: 2.0,
        };
        while let Some(name) = arguments.next() {
            let value = arguments
                .next()
                .ok_or_else(|| format!("{name} needs a value"))?;
            let wrong = |error: &dyn std::fmt::Display| format!("{name} {value}: {error}");
            match name.as_str() {
                "--threads" => options.threads = value.parse().map_err(|e| wrong(&e))?,
                "--tasks" => options.tasks = value.parse().map_err(|e| wrong(&e))?,
                "--seed" => options.seed = value.parse().map_err(|e| wrong(&e))?,
                "--nodes-scale" => options.quick = value == "quick",
                "--children" => options.children = value.parse().map_err(|e| wrong(&e))?,
                "--seconds" => options.seconds = value.parse().map_err(|e| wrong(&e))?,
                _ => return Err(format!("unknown option {name}")),
            }
        }
        Ok(options)
    }
}

/// What a case measured; `check` is "ok" or what was wrong.
pub struct Outcome {
    pub seconds: f64,
    pub operations: usize,
    pub value: f64,
    pub unit: &'static str,
    /// A further number, by name.
    pub extra: Option<(&'static str, f64)>,
    pub check: String,
}

impl Outcome {
    pub fn rate(seconds: f64, operations: usize, check: String) -> Outcome {
        let value = operations as f64 / seconds;
        Outcome {
            seconds,
            operations,
            value,
            unit: "1/s",
            extra: None,
            check,
        }
    }

    pub fn with(self, name: &'static str, number: f64) -> Outcome {
        Outcome {
            extra: Some((name, number)),
            ..self
        }
    }

    pub fn to_json(&self, options: &Options) -> String {
        let extra = self
            .extra
            .map(|(name, number)| format!(",\"{name}\":{number:.3}"))
            .unwrap_or_default();
        format!(
            "{{\"case\":\"{}\",\"threads\":{},\"seconds\":{:.6},\"operations\":{},\"value\":{:.3},\
             \"unit\":\"{}\"{extra},\"check\":\"{}\"}}",
            options.case,
            options.threads,
            self.seconds,
            self.operations,
            self.value,
            self.unit,
            self.check
        )
    }
}

pub fn ok_if_none(wrong: usize, what: &str) -> String {
    if wrong == 0 {
        "ok".to_owned()
    } else {
        format!("{wrong} {what}")
    }
}

/// SplitMix64: the same numbers in every peer.
pub struct Rng(pub u64);

impl Rng {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let a = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let b = (a ^ (a >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((b ^ (b >> 31)) >> 32) * limit) >> 32
    }
}

/// The fan-out of each level of a tree, the root's first.
#[derive(Clone, Copy)]
pub struct Shape(pub &'static [u64]);

impl Shape {
    /// 810,781 nodes, or 1,327 to try the program out.
    pub fn read(quick: bool) -> Shape {
        Shape(if quick {
            &[2, 2, 2, 2, 3, 2, 3, 3]
        } else {
            &[5, 5, 5, 5, 6, 5, 6, 6]
        })
    }

    /// 10,005 nodes, or 327.
    pub fn write(quick: bool) -> Shape {
        Shape(if quick {
            &[2, 2, 2, 3, 3, 3]
        } else {
            &[4, 4, 4, 5, 5, 5]
        })
    }

    pub fn nodes(self) -> usize {
        let mut level = 1;
        let mut total = 1;
        for fan_out in self.0 {
            level *= fan_out;
            total += level;
        }
        total as usize
    }

    pub fn leaves(self) -> usize {
        self.0.iter().product::<u64>() as usize
    }

    /// Fills the path of a random leaf and returns its number in order of paths.
    pub fn random_leaf(self, random: &mut Rng, path: &mut [Position; 8]) -> u64 {
        let mut number = 0;
        for (step, fan_out) in path.iter_mut().zip(self.0) {
            *step = random.below(*fan_out);
            number = number * fan_out + *step;
        }
        number
    }

    /// The path of a random inner node; its depth is uniform.
    pub fn random_parent(self, random: &mut Rng) -> Vec<Position> {
        let depth = random.below(self.0.len() as u64) as usize;
        self.0[..depth]
            .iter()
            .map(|fan_out| random.below(*fan_out))
            .collect()
    }

    /// Builds the tree bottom up; each value is an allocation of its own.
    pub fn build(self, key: Option<&Key>) -> Node {
        build_level(self.0, 0, key)
    }
}

fn build_level(levels: &[u64], number: u64, key: Option<&Key>) -> Node {
    let mut node = Node::default();
    if let Some(key) = key {
        node.attributes.insert(key.clone(), value_of(number, 0));
    }
    if let [fan_out, rest @ ..] = levels {
        node.children = (0..*fan_out)
            .map(|i| (i, Arc::new(build_level(rest, number * fan_out + i, key))))
            .collect();
        node.next_position = *fan_out;
    }
    node
}

/// Goes on from a sum with a node and all below it, parents first: how many attributes it has,
/// their keys and values, how many children, and before each of them its position. It is the same
/// in all systems.
pub fn checksum(sum: u32, node: &Node) -> u32 {
    let mix = |sum: u32, number: u32| sum.wrapping_mul(31).wrapping_add(number);
    let mut sum = mix(sum, node.attributes.len() as u32);
    for (key, value) in node.attributes.iter() {
        for byte in key.bytes().chain(value.iter().copied()) {
            sum = mix(sum, byte.into());
        }
    }
    sum = mix(sum, node.children.len() as u32);
    for (position, child) in node.children.iter() {
        sum = checksum(mix(sum, *position as u32), child);
    }
    sum
}

/// 16 bytes.
pub const KEY: &str = "attribute-key-01";

/// 100 bytes: whose value it is, which of its values it is, and filling.
pub fn value_of(number: u64, stamp: u64) -> Value {
    let mut bytes = [0x76; 100];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes[8..16].copy_from_slice(&stamp.to_le_bytes());
    Arc::from(bytes.as_slice())
}

/// The number and the stamp of a value.
pub fn read_value(value: &[u8]) -> (u64, u64) {
    let word = |at: usize| {
        u64::from_le_bytes(
            value[at..at + 8]
                .try_into()
                .expect("the slice has eight bytes"),
        )
    };
    (word(0), word(8))
}

/// Runs the work on so many threads; the seconds it took, and the results in order.
pub fn on_workers<T: Send>(threads: usize, work: impl Fn(usize) -> T + Sync) -> (f64, Vec<T>) {
    let start = Instant::now();
    let results = thread::scope(|scope| {
        let work = &work;
        let handles: Vec<_> = (0..threads).map(|i| scope.spawn(move || work(i))).collect();
        handles
            .into_iter()
            .map(|handle| handle.join().expect("a panic aborts"))
            .collect()
    });
    (start.elapsed().as_secs_f64(), results)
}
