//! Text of the page: words, code, and the names of what is described elsewhere on it.

use askama::Template;
use serde_json::Value as Json;

#[derive(Default, Template)]
#[template(
    ext = "html",
    source = r##"{% for run in runs %}{% match run %}{% when Run::Words(words) %}{{ words }}
{%- when Run::Code(code) %}<code>{{ code }}</code>
{%- when Run::Schema(name) %}<a href="#schema-{{ name }}">{{ name }}</a>
{%- endmatch %}{% endfor %}"##
)]
pub(super) struct Text {
    runs: Vec<Run>,
}

enum Run {
    Words(String),
    Code(String),
    Schema(String),
}

impl Text {
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    fn push(&mut self, run: Run) {
        self.runs.push(run);
    }

    fn join(texts: impl Iterator<Item = Text>, between: &str) -> Text {
        let mut all = Text::default();
        for text in texts {
            if !all.is_empty() {
                all.push(Run::Words(between.to_owned()));
            }
            all.runs.extend(text.runs);
        }
        all
    }

    fn after(words: &str, text: Text) -> Text {
        let words = Text { runs: vec![Run::Words(words.to_owned())] };
        Text::join([words, text].into_iter(), "")
    }
}

/// What is said, with code between backticks.
pub(super) fn prose(said: &Json) -> Text {
    let parts = said.as_str().unwrap_or_default().split('`').map(str::to_owned).enumerate();
    let runs = parts.map(|(at, part)| if at % 2 == 0 { Run::Words(part) } else { Run::Code(part) });
    let is_empty = |run: &Run| matches!(run, Run::Words(words) if words.is_empty());
    Text { runs: runs.filter(|run| !is_empty(run)).collect() }
}

/// What a schema allows, in a few words.
pub(super) fn kind(schema: &Json) -> Text {
    let code = |value: &Json| Text { runs: vec![Run::Code(value.to_string())] };
    let list = |name: &str| schema.get(name).and_then(Json::as_array);
    if let Some(place) = schema.get("$ref").and_then(Json::as_str) {
        let name = place.rsplit('/').next().unwrap_or_default();
        return Text { runs: vec![Run::Schema(name.to_owned())] };
    }
    if let Some(only) = schema.get("const") {
        return code(only);
    }
    if let Some(words) = list("enum") {
        return with_default(Text::join(words.iter().map(code), ", "), schema);
    }
    if let Some(any) = list("anyOf").or_else(|| list("oneOf")) {
        return Text::join(any.iter().map(kind), " or ");
    }
    let types: Vec<&str> = match &schema["type"] {
        Json::String(only) => vec![only.as_str()],
        Json::Array(types) => types.iter().filter_map(Json::as_str).collect(),
        _ => return Text { runs: vec![Run::Words("any JSON".to_owned())] },
    };
    let types = types.into_iter().map(|name| match (name, &schema["additionalProperties"]) {
        ("array", _) => Text::after("array of ", kind(&schema["items"])),
        ("object", of @ Json::Object(_)) => Text::after("object of ", kind(of)),
        (name, _) => Text { runs: vec![Run::Words(name.to_owned())] },
    });
    with_default(Text::join(types, " or "), schema)
}

fn with_default(mut text: Text, schema: &Json) -> Text {
    if let Some(default) = schema.get("default") {
        text.push(Run::Words(", default ".to_owned()));
        text.push(Run::Code(default.to_string()));
    }
    text
}
