//! Random documents, for the forms that take any.

use jungle_testkit::Rng;

/// A document: what it is as JSON, without white space, and what is in it.
pub(crate) enum Document {
    /// As JSON.
    Scalar(String),
    Array(Vec<Document>),
    /// The names as they are, not as JSON.
    Object(Vec<(String, Document)>),
}

/// Names and texts that some form might take for something else.
pub(crate) const ODD: &[&str] = &[
    "",
    " ",
    "a",
    "a b",
    " a",
    "a ",
    "é",
    "🌳",
    "-",
    "- a",
    "?",
    ": ",
    "a: b",
    "a:",
    ":a",
    "#",
    "a #b",
    "[",
    "]",
    "{",
    "}",
    ",",
    "&a",
    "*a",
    "!a",
    "|",
    ">",
    "'",
    "\"",
    "%",
    "@",
    "`",
    "~",
    "null",
    "Null",
    "NULL",
    "true",
    "True",
    "yes",
    "No",
    "on",
    "OFF",
    "y",
    "n",
    "<<",
    "=",
    "1",
    "01",
    "1e3",
    "1.5",
    "0x1F",
    "0o17",
    "0b1",
    "1_000",
    "12:30:45",
    ".5",
    "5.",
    "+1",
    "-1",
    ".inf",
    "-.INF",
    ".nan",
    "nan",
    "2001-12-14",
    "2001-12-14t21:59:43.10-05:00",
    "---",
    "...",
    "--- a",
    "%YAML 1.2",
    "\t",
    "\ta",
    "\n",
    "a\n",
    "\na",
    "a\nb",
    "a\n\n",
    "\r",
    "\r\n",
    "\0",
    "\u{1}",
    "\u{7f}",
    "\u{85}",
    "\u{a0}",
    "\u{2028}",
    "\u{2029}",
    "\u{200f}",
    "\u{feff}",
    "\u{fffe}",
    "\u{ffff}",
    "\u{10ffff}",
    "\\",
    "\\n",
    "&amp;",
    "&lt;",
    "<b>",
    "</script>",
    "x|y",
    "*x*",
    "_x_",
    "a/b",
    "0",
    "{{",
    "\u{1f3f3}\u{fe0f}\u{200d}\u{1f308}",
];

const SCALARS: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-0",
    "7",
    "-12",
    "1.50",
    "1e3",
    "1E+5",
    "0.1000",
    "-1.5e-7",
    "12345678901234567890",
    "1234567890123456789012345678901234567890.5",
    "1e999",
];

impl Document {
    /// A document of at most so many levels.
    pub(crate) fn random(rng: &mut Rng, depth_max: usize) -> Document {
        if depth_max == 0 || rng.chance(2, 5) {
            return Document::Scalar(match rng.chance(1, 3) {
                true => (*rng.pick(SCALARS)).to_owned(),
                false => serde_json::to_string(&text(rng)).unwrap(),
            });
        }
        // More than 64 members are kept in another form.
        let len = if rng.chance(1, 20) { 60 + rng.index(10) } else { rng.index(6) };
        let depth_max = if len > 6 { 1 } else { depth_max } - 1;
        if rng.chance(1, 3) {
            return Document::Array((0..len).map(|_| Document::random(rng, depth_max)).collect());
        }
        let mut members: Vec<(String, Document)> = Vec::new();
        while members.len() < len {
            let name = text(rng);
            if members.iter().all(|(other, _)| *other != name) {
                members.push((name, Document::random(rng, depth_max)));
            }
        }
        Document::Object(members)
    }

    pub(crate) fn json(&self) -> String {
        match self {
            Document::Scalar(json) => json.clone(),
            Document::Array(elements) => {
                let elements: Vec<String> = elements.iter().map(Document::json).collect();
                format!("[{}]", elements.join(","))
            }
            Document::Object(members) => {
                let member = |(name, value): &(String, Document)| {
                    format!("{}:{}", serde_json::to_string(name).unwrap(), value.json())
                };
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
            }
        }
    }
}

fn text(rng: &mut Rng) -> String {
    match rng.below(4) {
        0 => format!("{}{}", rng.pick(ODD), rng.pick(ODD)),
        1 => format!("m{}", rng.below(1000)),
        _ => (*rng.pick(ODD)).to_owned(),
    }
}
