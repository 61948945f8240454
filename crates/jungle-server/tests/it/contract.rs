//! The OpenAPI document, against which every answer of every test is held.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::support::{Answer, Served};

const OPENAPI: &str = include_str!("../../../../docs/openapi.json");
const ROUTES: &str = include_str!("../../src/api/mod.rs");

pub(crate) struct Contract(Json);

impl Contract {
    pub(crate) fn read() -> Contract {
        Contract(serde_json::from_str(OPENAPI).unwrap())
    }

    /// Is the answer one that the document has? Addresses that are not in it are not looked at.
    #[track_caller]
    pub(crate) fn check(&self, method: &str, path: &str, answer: &Answer) {
        let Some(operation) = self.operation(method, path.split('?').next().unwrap()) else {
            return;
        };
        let responses = &operation["responses"];
        let status = answer.status.as_str();
        let response = self.resolve(responses.get(status).unwrap_or(&responses["default"]));
        // A server that follows its cluster no further says so wherever it is asked.
        let is_usual = answer.status.is_client_error() || answer.status == 503;
        let is_named = responses.get(status).is_some() || is_usual;
        assert!(is_named, "{method} {path}: status {status}: {}", answer.text);
        let Some(content) = response.get("content") else {
            return assert_eq!(answer.text, "", "{method} {path}");
        };
        let media = answer.header("content-type").split(';').next().unwrap();
        let schema = content.get(media).unwrap_or_else(|| panic!("{method} {path}: {media}"));
        let is_json = media == "application/json" || media.ends_with("+json");
        if method != "HEAD" && is_json {
            let wrong = self.wrong(&schema["schema"], &answer.json(), "");
            assert_eq!(wrong, None, "{method} {path}: {}", answer.text);
        }
    }

    /// The operation with this address; a name in braces stands for anything.
    fn operation(&self, method: &str, path: &str) -> Option<&Json> {
        let method = if method == "HEAD" { "get" } else { &method.to_lowercase() };
        let fits = |template: &str| {
            let (mut left, mut right) = (template.split('/'), path.split('/'));
            left.by_ref().zip(right.by_ref()).all(|(l, r)| l.starts_with('{') || l == r)
                && template.split('/').count() == path.split('/').count()
        };
        let paths = self.0["paths"].as_object().unwrap();
        let found = paths.iter().filter(|(template, _)| fits(template));
        // The one with the fewest names in braces is meant.
        found.min_by_key(|(template, _)| template.matches('{').count())?.1.get(method)
    }

    /// Path, method and name of each operation.
    pub(crate) fn operation_ids(&self) -> impl Iterator<Item = (&str, String, &str)> {
        let paths = self.0["paths"].as_object().unwrap().iter();
        paths.flat_map(|(path, operations)| {
            operations.as_object().unwrap().iter().map(move |(method, operation)| {
                (&**path, method.to_uppercase(), operation["operationId"].as_str().unwrap())
            })
        })
    }

    fn resolve<'c>(&'c self, json: &'c Json) -> &'c Json {
        match json.get("$ref").and_then(Json::as_str) {
            Some(place) => self.0.pointer(&place[1..]).unwrap_or_else(|| panic!("{place}")),
            None => json,
        }
    }

    /// What of a value does not fit its schema. As much of JSON Schema as the document uses.
    fn wrong(&self, schema: &Json, value: &Json, place: &str) -> Option<String> {
        let schema = self.resolve(schema);
        let fail = |why: &str| Some(format!("{place}: {why}: {value:.200}"));
        if let Some(any) = schema.get("anyOf").or(schema.get("oneOf")) {
            let any = any.as_array().unwrap();
            let fits = any.iter().any(|schema| self.wrong(schema, value, place).is_none());
            return if fits { None } else { fail("fits none") };
        }
        let types = match &schema["type"] {
            Json::String(only) => vec![only.as_str()],
            Json::Array(types) => types.iter().filter_map(Json::as_str).collect(),
            _ => Vec::new(),
        };
        if !types.is_empty() && !types.iter().any(|kind| is_of(kind, value)) {
            return fail(&types.join(" or "));
        }
        if schema.get("const").is_some_and(|wanted| wanted != value)
            || schema.get("enum").is_some_and(|words| !words.as_array().unwrap().contains(value))
        {
            return fail("is another word");
        }
        if schema.get("minimum").is_some_and(|least| value.as_f64() < least.as_f64()) {
            return fail("is too small");
        }
        if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
            let mut wrong = values.iter().enumerate();
            return wrong.find_map(|(i, item)| self.wrong(items, item, &format!("{place}/{i}")));
        }
        self.wrong_members(schema, value, place)
    }

    fn wrong_members(&self, schema: &Json, value: &Json, place: &str) -> Option<String> {
        let members = value.as_object()?;
        let required = schema.get("required").and_then(Json::as_array);
        for name in required.into_iter().flatten().filter_map(Json::as_str) {
            if !members.contains_key(name) {
                return Some(format!("{place}: has no {name}"));
            }
        }
        members.iter().find_map(|(name, member)| {
            let known = schema.get("properties").and_then(|known| known.get(name));
            match (known, schema.get("additionalProperties")) {
                (Some(schema), _) | (None, Some(schema @ Json::Object(_))) => {
                    self.wrong(schema, member, &format!("{place}/{name}"))
                }
                // A member that the document does not have is a gap in the document.
                (None, None) if schema.get("properties").is_none() => None,
                _ => Some(format!("{place}: has {name}, which is not in the document")),
            }
        })
    }
}

fn is_of(kind: &str, value: &Json) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        _ => value.is_object(),
    }
}

/// The methods and addresses of the document.
pub(crate) fn operations() -> BTreeSet<(String, String)> {
    let contract = Contract::read();
    let paths = contract.0["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, operations)| {
        let methods = operations.as_object().unwrap().keys();
        methods.map(move |method| (method.to_uppercase(), path.clone()))
    });
    operations.collect()
}

#[test]
fn document_has_the_routes_that_there_are_and_no_others() {
    let (mut routes, mut count) = (BTreeSet::new(), 0);
    for (text, prefix) in [("fn routes", ""), ("fn of_a_tree", "/api/v1/trees/{tree}")] {
        let text = ROUTES.split(text).nth(1).unwrap().split("\n}\n").next().unwrap();
        for route in text.split(".route(\"").skip(1) {
            let route = route.split('"').next().unwrap();
            let prefix = if route == "/trees" { "/api/v1" } else { prefix };
            routes.insert(format!("{prefix}{}", if route == "/" { "" } else { route }));
            count += 1;
        }
    }
    assert_eq!(count, ROUTES.matches(".route(").count(), "some are elsewhere, or named otherwise");
    let contract = Contract::read();
    let paths = contract.0["paths"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(routes, paths);
}

#[test]
fn document_has_the_methods_that_there_are_and_no_others() {
    let served = Served::memory().tree("t");
    let contract = Contract::read();
    for (path, operations) in contract.0["paths"].as_object().unwrap() {
        let address = path.replace("{tree}", "t").replace("{name}", "x").replace("{revision}", "1");
        let address = address.replace("{entry}", "1-1");
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            if path.ends_with("/watch") && method == "GET"
                || (path, method) == (&"/api/v1/trees/{tree}".to_owned(), "DELETE")
            {
                continue;
            }
            let body = (method != "GET" && method != "DELETE").then_some("{}");
            let is_there = served.send(method, &address, &[], body).status != 405;
            let is_told = operations.get(method.to_lowercase()).is_some();
            assert_eq!(is_there, is_told, "{method} {path}");
        }
    }
}

/// They are heeded wherever trees are asked for, so they are no parameters of single operations.
#[test]
fn headers_of_a_cluster_are_told_once() {
    let contract = Contract::read();
    let told = contract.0["info"]["description"].as_str().unwrap();
    for said in ["`Jungle-Revision`", "`Jungle-Consistency: linearizable`", "`own`", "`local`"] {
        assert!(told.contains(said), "{said}");
    }
}

/// Generators make the names of functions of these.
#[test]
fn operations_are_named_in_one_way() {
    let contract = Contract::read();
    let ids: Vec<&str> = contract.operation_ids().map(|(.., id)| id).collect();
    let is_usual = |id: &str| {
        id.starts_with(|it: char| it.is_ascii_lowercase())
            && id.chars().all(|it| it.is_ascii_alphabetic())
    };
    assert_eq!(ids.iter().find(|id| !is_usual(id)), None);
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "one name for two");
}

#[test]
fn bodies_have_examples_that_fit() {
    let contract = Contract::read();
    let mut count = 0;
    for operations in contract.0["paths"].as_object().unwrap().values() {
        for operation in operations.as_object().unwrap().values() {
            let Some(body) = operation.get("requestBody") else { continue };
            let content = &body["content"]["application/json"];
            let wrong = contract.wrong(&content["schema"], &content["example"], "");
            assert_eq!(wrong, None, "{}", operation["operationId"]);
            assert!(!content["example"].is_null(), "{}", operation["operationId"]);
            count += 1;
        }
    }
    assert!(count > 10, "{count}");
}

#[test]
fn references_lead_somewhere() {
    let contract = Contract::read();
    let mut open = vec![&contract.0];
    let mut count = 0;
    while let Some(json) = open.pop() {
        if json.get("$ref").is_some() {
            contract.resolve(json);
            count += 1;
        }
        match json {
            Json::Array(items) => open.extend(items),
            Json::Object(members) => open.extend(members.values()),
            _ => {}
        }
    }
    assert!(count > 100, "{count}");
}
