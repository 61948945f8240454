//! Who asks, as the server sees it, and what that one may do.

use axum::http::Uri;
use axum::response::Response;
use jungle::Path;
use serde_json::{Value, json};

use super::json;
use crate::access::{Role, Visitor};
use crate::problem::Problem;
use crate::query::Query;

pub(crate) async fn show(app: Visitor, uri: Uri) -> Result<Response, Problem> {
    let query = Query::of(&uri, &["tree"])?;
    let tree = query.text("tree")?.map(|tree| {
        let role = |place| app.role(tree, place).map(|role| role.to_string());
        let tops = |role| app.tops(tree, role).iter().map(Path::to_string).collect::<Vec<_>>();
        json!({
            "name": tree,
            "whole": role(Some(&[])),
            "part": role(None),
            "reads": tops(Role::Read),
            "writes": tops(Role::Write),
        })
    });
    Ok(json(&json!({
        "name": app.name(),
        "accounts": app.gate.is_some(),
        "creates": app.creates(),
        "tree": tree.unwrap_or(Value::Null),
    })))
}
