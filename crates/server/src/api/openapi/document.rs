//! Assembles the OpenAPI document.

use std::collections::BTreeSet;

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::schemas::{Schemas, reference, rename};
use super::{AnswerKind, Routes, TypeDescription};
use ctx_api::codes;

const ABOUT: &str = "The command line, the page and the MCP server use only this API. Name a conversation by its id \
    or session, the start of one, words of its title, or `active`; `@session:ID` is the main conversation of exactly \
    this session. Every error has a stable code, a message and a hint. Times are milliseconds since 1970. `/mcp` serves the Model Context Protocol.";

pub fn of(routes: &Routes) -> Value {
    let mut schemas = Schemas::default();
    let mut paths: Map<String, Value> = Map::new();
    for described in &routes.operations {
        let path = described.path.replace("{*", "{");
        let operation = operation(described, &mut schemas);
        if let Some(methods) = paths.entry(path).or_insert_with(|| json!({})).as_object_mut() {
            methods.insert(described.method.to_owned(), operation);
        }
    }
    let (mut types, differ) = schemas.finish();
    types.values_mut().for_each(describe_operations);
    // Only bodies refer to input types; parameters are inlined.
    for body in paths.values_mut().filter_map(|methods| methods.pointer_mut("/post/requestBody")) {
        rename(body, &differ);
    }
    let statuses: BTreeSet<u16> = codes::CONTROL.iter().filter_map(|known| known.status).collect();
    types.extend(statuses.iter().map(|status| (name_of(*status), refusal(*status))));
    let responses: Map<String, Value> = statuses.iter().map(|status| (name_of(*status), response(*status))).collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Context Composer: the control API",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/control/v1" }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": {
                "type": "http", "scheme": "bearer",
                "description": "The content of the file `token` in the daemon's home.",
            } },
            "responses": responses,
            "schemas": types,
        },
    })
}

/// Adds the help of the registry to each operation, before the description of its type.
fn describe_operations(schema: &mut Value) {
    for variant in schema.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten() {
        let name = variant.pointer("/properties/op/const").and_then(Value::as_str);
        let Some(known) = name.and_then(ctx_api::operations::find) else { continue };
        let told = variant.get("description").and_then(Value::as_str);
        let told = told.map(|told| format!(" {told}")).unwrap_or_default();
        variant["description"] = format!("{}.{told}", known.help).into();
    }
}

fn operation(described: &TypeDescription, schemas: &mut Schemas) -> Value {
    let told = &described.told;
    let mut parameters = in_path(described.path);
    if let Some(query) = told.query {
        let schema = schemas.written(query);
        parameters.extend(in_query(&schemas.looked_up(&schema)));
    }
    if let Some((name, what)) = told.header {
        let schema = json!({ "type": "string" });
        parameters.push(json!({ "name": name, "in": "header", "description": what, "schema": schema }));
    }
    let answer = match told.answer {
        AnswerKind::Json(of) => {
            json!({ "description": told.summary, "content": { "application/json": { "schema": schemas.answered(of) } } })
        }
        AnswerKind::Other(media, what) => {
            let schema = if media == "application/json" { json!({}) } else { json!({ "type": "string" }) };
            json!({ "description": what, "content": { media: { "schema": schema } } })
        }
    };
    let mut responses = Map::from_iter([("200".to_owned(), answer)]);
    for status in refusals(described) {
        let place = format!("#/components/responses/{}", name_of(status.as_u16()));
        responses.insert(status.as_str().to_owned(), json!({ "$ref": place }));
    }
    let mut operation = json!({ "operationId": told.id, "summary": told.summary, "responses": responses });
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = told.body {
        let schema = schemas.written(body);
        operation["requestBody"] = json!({ "required": true, "content": { "application/json": { "schema": schema } } });
    }
    if let Some(media) = told.file {
        let schema = json!({ "type": "string" });
        operation["requestBody"] = json!({ "required": true, "content": { media: { "schema": schema } } });
    }
    if let Some(events) = told.events {
        // OpenAPI 3.1 cannot describe the parts of a stream.
        operation["x-events"] = schemas.answered(events);
    }
    operation
}

fn in_path(path: &str) -> Vec<Value> {
    let names = path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    let parameter = |name: &str| {
        let what = match name {
            "conversation" => "An id or session, the start of one, words of a title, or `active`.",
            "request" => "A request: its name, such as `r17`, or its number.",
            "job" => "A job of the helper model, such as `h1`.",
            "name" => "A rule such as `A30`, or an error code such as `unknown-id`.",
            "person" => "The name of a person.",
            "handle" => "A handle that a stub names, such as `o-7f3a2c9104bd31aa`.",
            "key" => "The id of a key.",
            "code" => "The code of a login, such as `BCDF-GHJK`.",
            "edit" => "A deferred edit, such as `w1`.",
            _ => "A frame (`t3`), a step (`t3/2`), a message (`t3#1`) or a block (`t3#1.0`). May contain slashes.",
        };
        let schema = json!({ "type": "string", "minLength": 1 });
        let name = name.trim_start_matches('*');
        json!({ "name": name, "in": "path", "required": true, "description": what, "schema": schema })
    };
    names.map(parameter).collect()
}

/// The fields of a query as parameters.
fn in_query(query: &Value) -> Vec<Value> {
    let required = |name: &str| query["required"].as_array().is_some_and(|all| all.iter().any(|other| other == name));
    let fields = query["properties"].as_object().into_iter().flatten();
    fields
        .map(|(name, field)| {
            let mut schema = field.clone();
            let what = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            // A parameter that is present has a value; optional ones are omitted.
            if let Some(kinds) = schema["type"].as_array().cloned() {
                schema["type"] = kinds.into_iter().find(|kind| kind != "null").unwrap_or_default();
            }
            json!({ "name": name, "in": "query", "required": required(name), "description": what, "schema": schema })
        })
        .collect()
}

/// The error statuses of an operation.
fn refusals(described: &TypeDescription) -> BTreeSet<StatusCode> {
    let told = &described.told;
    let (edits, named) = (described.method == "post", described.path.contains('{'));
    let mut all = vec![StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN, StatusCode::INTERNAL_SERVER_ERROR];
    if named || told.query.is_some() || edits {
        all.extend([StatusCode::BAD_REQUEST, StatusCode::NOT_FOUND]);
    }
    if named || edits {
        all.extend([StatusCode::CONFLICT, StatusCode::UNPROCESSABLE_ENTITY]);
    }
    if told.needs_team {
        all.push(StatusCode::CONFLICT);
    }
    // Codes can be guessed.
    if described.path.contains("{code}") {
        all.push(StatusCode::TOO_MANY_REQUESTS);
    }
    if edits {
        all.extend([StatusCode::PAYLOAD_TOO_LARGE, StatusCode::INSUFFICIENT_STORAGE]);
    }
    all.into_iter().collect()
}

fn name_of(status: u16) -> String {
    let status = StatusCode::from_u16(status).ok();
    let words = status.and_then(|status| status.canonical_reason()).unwrap_or_default().split(' ');
    format!("Refused{}", words.collect::<String>())
}

fn response(status: u16) -> Value {
    let meanings: Vec<String> = of_status(status).map(|code| format!("- `{}`: {}", code.code, code.meaning)).collect();
    json!({
        "description": meanings.join("\n"),
        "content": { "application/json": { "schema": reference(&name_of(status)) } },
    })
}

fn refusal(status: u16) -> Value {
    let codes: Vec<&str> = of_status(status).map(|code| code.code.as_str()).collect();
    json!({
        "type": "object",
        "required": ["error"],
        "properties": { "error": {
            "type": "object",
            "required": ["code", "message", "hint"],
            "properties": {
                "code": { "enum": codes, "description": "A stable code, for programs." },
                "message": { "type": "string", "description": "What happened and why, for people." },
                "hint": { "type": "string", "description": "What to do." },
                "about": { "type": "string", "description": "The name that the error refers to, if any." },
            },
        } },
    })
}

fn of_status(status: u16) -> impl Iterator<Item = &'static codes::Explanation> {
    codes::CONTROL.iter().filter(move |known| known.status == Some(status))
}
