//! The page that tells people what programs can ask for: `docs/openapi.json`, to be read.

mod text;

use std::sync::{Arc, LazyLock};

use askama::Template;
use axum::Router;
use axum::http::header::{CONTENT_TYPE, HeaderMap};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use jungle::Revision;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value as Json;

use crate::access::Visitor;
use crate::api::OPENAPI;
use crate::app::App;
use crate::problem::Kind;
use text::{Text, kind, prose};

/// Where the examples find a server: where one is that was given no other address.
const SERVER: &str = "http://127.0.0.1:7070";

/// What the examples call what is in braces in an address.
const NAMES: [(&str, &str); 4] =
    [("{tree}", "notes"), ("{name}", "draft"), ("{revision}", "main"), ("{entry}", "1-1")];

/// In the order in which one is used after the other.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

#[derive(Template)]
#[template(path = "docs.html")]
struct Page {
    sections: Vec<Section>,
    problems: Vec<Refusal>,
    schemas: Vec<Schema>,
}

/// The operations with one tag.
struct Section {
    tag: String,
    operations: Vec<Operation>,
}

struct Operation {
    id: String,
    method: String,
    path: String,
    summary: Text,
    description: Text,
    parameters: Vec<Field>,
    /// What a body has to be, where there is one.
    body: Option<Text>,
    answers: Vec<Answer>,
    example: String,
}

/// A parameter, or a member of an object.
struct Field {
    name: String,
    /// In which part of a request it is, of a parameter.
    place: String,
    is_required: bool,
    kind: Text,
    description: Text,
}

struct Answer {
    status: String,
    description: Text,
    /// What its body is, where it has one.
    body: Option<Text>,
}

/// A kind of problem.
struct Refusal {
    name: &'static str,
    status: u16,
    title: &'static str,
}

struct Schema {
    name: String,
    description: Text,
    /// What it is, where it is no object.
    kind: Option<Text>,
    /// The forms that it can have, each with its members.
    forms: Vec<Form>,
}

struct Form {
    description: Text,
    fields: Vec<Field>,
}

/// It is the same for everybody, for as long as the server runs.
static PAGE: LazyLock<String> = LazyLock::new(|| {
    let document: Json = serde_json::from_str(OPENAPI).expect("it is a part of the program");
    Page::of(&document).render().expect("nothing is written but text")
});

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route("/docs", get(page))
}

async fn page(app: Visitor, headers: HeaderMap) -> Response {
    let revision = Revision::default();
    if let Some(unchanged) = app.mark.unchanged(&headers, revision) {
        return unchanged;
    }
    let html = [(CONTENT_TYPE, "text/html; charset=utf-8")];
    app.mark.show(revision, (html, PAGE.as_str()).into_response())
}

impl Page {
    fn of(document: &Json) -> Page {
        let tags = items(&document["tags"]).map(|tag| string(&tag["name"]));
        let operations = |tag: &str| {
            let all = members(&document["paths"]).flat_map(|(path, methods)| {
                let there =
                    METHODS.iter().filter_map(|method| Some((method, methods.get(method)?)));
                there.map(move |(method, operation)| (path, *method, operation))
            });
            let of_tag = all.filter(|(.., operation)| operation["tags"][0] == tag);
            let of = |(path, method, operation)| Operation::of(document, path, method, operation);
            of_tag.map(of).collect()
        };
        let section = |tag: String| Section { operations: operations(&tag), tag };
        let schemas = members(&document["components"]["schemas"]);
        Page {
            sections: tags.map(section).collect(),
            problems: Kind::ALL.iter().map(|&kind| Refusal::of(kind)).collect(),
            schemas: schemas.map(|(name, schema)| Schema::of(document, name, schema)).collect(),
        }
    }
}

impl Operation {
    fn of(document: &Json, path: &str, method: &str, operation: &Json) -> Operation {
        let parameters = items(&operation["parameters"]).map(|it| resolve(document, it));
        let parameters: Vec<&Json> = parameters.collect();
        let body = content(&operation["requestBody"]);
        let answers = members(&operation["responses"]).map(|(status, answer)| {
            let answer = resolve(document, answer);
            let body = content(answer).map(|content| kind(&content["schema"]));
            Answer { status: status.to_owned(), description: prose(&answer["description"]), body }
        });
        Operation {
            id: string(&operation["operationId"]),
            method: method.to_uppercase(),
            path: path.to_owned(),
            summary: prose(&operation["summary"]),
            description: prose(&operation["description"]),
            parameters: parameters.iter().map(|it| Field::of_parameter(it)).collect(),
            body: body.map(|body| kind(&body["schema"])),
            answers: answers.collect(),
            example: example(path, method, &parameters, operation),
        }
    }
}

impl Field {
    fn of_parameter(parameter: &Json) -> Field {
        Field {
            name: string(&parameter["name"]),
            place: string(&parameter["in"]),
            is_required: parameter["required"] == true,
            kind: kind(&parameter["schema"]),
            description: prose(&parameter["description"]),
        }
    }
}

impl Refusal {
    fn of(kind: Kind) -> Refusal {
        let (name, status, title) = kind.row();
        Refusal { name, status: status.as_u16(), title }
    }
}

impl Schema {
    fn of(document: &Json, name: &str, schema: &Json) -> Schema {
        let is_object = |schema: &Json| schema.get("properties").is_some();
        let forms = items(&schema["oneOf"]).map(|form| resolve(document, form));
        let forms: Vec<&Json> = match is_object(schema) {
            true => vec![schema],
            false => forms.filter(|form| is_object(form)).collect(),
        };
        Schema {
            name: name.to_owned(),
            description: prose(&schema["description"]),
            kind: forms.is_empty().then(|| kind(schema)),
            forms: forms.into_iter().map(|form| Form::of(form, schema)).collect(),
        }
    }
}

impl Form {
    fn of(form: &Json, schema: &Json) -> Form {
        let is_only = std::ptr::eq(form, schema);
        let fields = members(&form["properties"]).map(|(name, member)| Field {
            name: name.to_owned(),
            place: String::new(),
            is_required: items(&form["required"]).any(|required| required == name),
            kind: kind(member),
            description: prose(&member["description"]),
        });
        let description = if is_only { Text::default() } else { prose(&form["description"]) };
        Form { description, fields: fields.collect() }
    }
}

/// A command that asks for it.
fn example(path: &str, method: &str, parameters: &[&Json], operation: &Json) -> String {
    let body = content(&operation["requestBody"]).map(|body| body["example"].to_string());
    let is_stream = !operation["responses"]["200"]["content"]["text/event-stream"].is_null();
    let fill = |path: String, (name, value): &(&str, &str)| path.replace(name, value);
    let path = NAMES.iter().fold(path.to_owned(), fill);
    let query = parameters.iter().filter(|parameter| parameter["in"] == "query");
    let query = query.filter_map(|parameter| {
        let value = parameter.get("example")?;
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let value = utf8_percent_encode(&value, NON_ALPHANUMERIC);
        Some(format!("{}={value}", string(&parameter["name"])))
    });
    let query = query.collect::<Vec<_>>().join("&");
    let query = if query.is_empty() { query } else { format!("?{query}") };
    let method = match (method, &body) {
        ("get", _) if is_stream => "-N ".to_owned(),
        ("get", _) | ("post", Some(_)) => String::new(),
        (method, _) => format!("-X {} ", method.to_uppercase()),
    };
    let body = body.map(|body| format!(" --json '{}'", body.replace('\'', r"'\''")));
    format!("curl {method}'{SERVER}{path}{query}'{}", body.unwrap_or_default())
}

/// The first form that a body can have.
fn content(of: &Json) -> Option<&Json> {
    members(&of["content"]).next().map(|(_, content)| content)
}

fn resolve<'d>(document: &'d Json, json: &'d Json) -> &'d Json {
    match json.get("$ref").and_then(Json::as_str) {
        Some(place) => document.pointer(place.trim_start_matches('#')).unwrap_or(&Json::Null),
        None => json,
    }
}

fn items(json: &Json) -> impl Iterator<Item = &Json> {
    json.as_array().into_iter().flatten()
}

fn members(json: &Json) -> impl Iterator<Item = (&str, &Json)> {
    json.as_object().into_iter().flatten().map(|(name, member)| (name.as_str(), member))
}

fn string(json: &Json) -> String {
    json.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Problem;

    #[test]
    fn type_of_each_problem_leads_to_what_is_said_of_it() {
        for &kind in Kind::ALL {
            let body: Json = serde_json::from_str(&Problem::new(kind, "so").body()).unwrap();
            let anchor = body["type"].as_str().unwrap().strip_prefix("/docs#").unwrap();
            assert!(PAGE.contains(&format!("<dt id=\"{anchor}\">")), "{anchor}");
        }
    }
}
