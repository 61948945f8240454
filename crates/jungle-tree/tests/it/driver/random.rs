//! Random paths, keys and values, chosen to be nasty.

use jungle_testkit::{MODEL_NAME_BYTES_MAX, MODEL_POSITIONS, ModelKey, ModelNode, ModelValue, Rng};

pub type ModelPath = Vec<ModelKey>;

/// The path of a node that is there.
pub fn path(rng: &mut Rng, model: &ModelNode) -> ModelPath {
    let (mut path, mut node) = (Vec::new(), model);
    while !node.children.is_empty() && rng.chance(2, 3) {
        let key = child(rng, node).expect("looked at before");
        node = node.children.get(&key).expect("picked from there");
        path.push(key);
    }
    path
}

/// As [`path`], but rarely one that leads nowhere.
pub fn path_or_not(rng: &mut Rng, model: &ModelNode) -> ModelPath {
    let mut path = path(rng, model);
    if rng.chance(1, 30) {
        path.push(key(rng, model));
    }
    path
}

/// The key of a child that is there.
pub fn child(rng: &mut Rng, node: &ModelNode) -> Option<ModelKey> {
    let last = node.children.len().checked_sub(1)?;
    let index = match rng.below(4) {
        0 => last,
        _ => rng.index(last + 1),
    };
    node.children.keys().nth(index).cloned()
}

/// A key for a new child, or one that is there already.
pub fn key(rng: &mut Rng, node: &ModelNode) -> ModelKey {
    match rng.below(20) {
        0 => child(rng, node).unwrap_or(ModelKey::at(0)),
        1..8 => position(rng),
        _ => ModelKey::Name(name(rng)),
    }
}

fn position(rng: &mut Rng) -> ModelKey {
    let (low, high) = (*MODEL_POSITIONS.start(), *MODEL_POSITIONS.end());
    let edges = [15, 16, 17, 255, 256, 4095, 4096, 65_535, 65_536, -1, -2, low, low + 1];
    let index = match rng.below(10) {
        0 => *rng.pick(&edges),
        1 => high - rng.below(3) as i64,
        2 => rng.below(1 << 44) as i64,
        3 => -(rng.below(40) as i64),
        _ => rng.below(40) as i64,
    };
    let fractions: [&[u8]; 7] =
        [&[0x80], &[0x40], &[0x80, 1], &[0, 1], &[0xff], &[0xff, 0x80], &[1; 70]];
    let fraction = if rng.chance(1, 2) { &[] } else { *rng.pick(&fractions) };
    ModelKey::Position(index, fraction.to_vec())
}

/// Names with long common beginnings, with zero bytes, empty ones, and too long ones.
pub fn name(rng: &mut Rng) -> String {
    let fixed = ["", "\0", "\0\0", "\0\u{1}", "a", "a\0", "a\0\0", "a\0b", "ab", "é", "日本", "3"];
    let number = rng.below(300);
    match rng.below(12) {
        0..3 => (*rng.pick(&fixed)).to_owned(),
        3 => format!("{}{number}", "x".repeat(60)),
        4 => "x".repeat(rng.below(20) as usize),
        5 => "a".repeat(MODEL_NAME_BYTES_MAX - 1 + rng.below(3) as usize),
        6 => format!("a\0{number}"),
        7 => format!("{}\0{}", number % 4, number % 10),
        _ => number.to_string(),
    }
}

/// The key of an attribute.
pub fn attribute(rng: &mut Rng) -> String {
    let fixed = ["a", "b", "n", "text", "", "é", "\0", "longer than eight"];
    match rng.below(12) {
        0 => format!("k{}", rng.below(40)),
        _ => (*rng.pick(&fixed)).to_owned(),
    }
}

/// A value of any type, sometimes one that is stored apart.
pub fn value(rng: &mut Rng) -> ModelValue {
    let floats = [0.0, -0.0, 1.5, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE];
    let len = match rng.below(8) {
        0 => rng.range(250..262) as usize,
        1 => rng.range(263..3000) as usize,
        2 if rng.chance(1, 20) => 70_000,
        _ => rng.below(20) as usize,
    };
    let byte = rng.next_u64() as u8;
    match rng.below(7) {
        0 => ModelValue::Null,
        1 => ModelValue::Bool(rng.chance(1, 2)),
        2 => ModelValue::Int(*rng.pick(&[0, -1, i64::MIN, i64::MAX, 1 << 40])),
        3 => ModelValue::Float(*rng.pick(&floats)),
        4 | 5 => ModelValue::Text(char::from(b'a' + byte % 26).to_string().repeat(len)),
        _ => ModelValue::Bytes(vec![byte; len]),
    }
}
