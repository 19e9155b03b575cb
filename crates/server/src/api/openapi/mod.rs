//! The OpenAPI 3.1 description of the control API, generated from the routes and their types. A route needs a
//! description: [`Routes`] takes both at once.

mod document;
mod schemas;

use std::sync::LazyLock;

use axum::Router;
use axum::handler::Handler;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use bytes::Bytes;
use http::header;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::Api;

/// A type in a description.
type Of = fn(&mut SchemaGenerator) -> Schema;

#[derive(Default)]
pub struct Routes {
    router: Router<Api>,
    operations: Vec<TypeDescription>,
}

struct TypeDescription {
    method: &'static str,
    path: &'static str,
    told: OperationDescription,
}

impl Routes {
    pub fn get<H: Handler<T, Api>, T: 'static>(
        mut self,
        path: &'static str,
        handler: H,
        told: OperationDescription,
    ) -> Routes {
        self.router = self.router.route(path, get(handler));
        self.operations.push(TypeDescription { method: "get", path, told });
        self
    }

    pub fn post<H: Handler<T, Api>, T: 'static>(
        mut self,
        path: &'static str,
        handler: H,
        told: OperationDescription,
    ) -> Routes {
        self.router = self.router.route(path, post(handler));
        self.operations.push(TypeDescription { method: "post", path, told });
        self
    }

    /// Adds the other routes behind these.
    pub fn and(mut self, others: Routes) -> Routes {
        self.router = self.router.merge(others.router);
        self.operations.extend(others.operations);
        self
    }

    pub fn router(self) -> Router<Api> {
        self.router
    }
}

/// The description of one operation.
pub struct OperationDescription {
    id: &'static str,
    summary: &'static str,
    query: Option<Of>,
    header: Option<(&'static str, &'static str)>,
    body: Option<Of>,
    /// The media type of a body that is a file.
    file: Option<&'static str>,
    answer: AnswerKind,
    /// The content of a stream.
    events: Option<Of>,
    /// Refused by a daemon that serves one person.
    needs_team: bool,
}

enum AnswerKind {
    Json(Of),
    /// A media type, and its description.
    Other(&'static str, &'static str),
}

/// `id` names the operation in generated clients.
pub fn told(id: &'static str, summary: &'static str) -> OperationDescription {
    let answer = AnswerKind::Other("application/json", "");
    let (query, header, body, file, events) = (None, None, None, None, None);
    OperationDescription { id, summary, query, header, body, file, answer, events, needs_team: false }
}

fn of<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Schema {
    schemas.subschema_for::<T>()
}

impl OperationDescription {
    pub fn of_a_team(mut self) -> OperationDescription {
        self.needs_team = true;
        self
    }

    pub fn query<T: JsonSchema>(mut self) -> OperationDescription {
        self.query = Some(of::<T>);
        self
    }

    pub fn header(mut self, name: &'static str, what: &'static str) -> OperationDescription {
        self.header = Some((name, what));
        self
    }

    pub fn body<T: JsonSchema>(mut self) -> OperationDescription {
        self.body = Some(of::<T>);
        self
    }

    pub fn takes(mut self, media: &'static str) -> OperationDescription {
        self.file = Some(media);
        self
    }

    pub fn answers<T: JsonSchema>(mut self) -> OperationDescription {
        self.answer = AnswerKind::Json(of::<T>);
        self
    }

    pub fn answers_with(mut self, media: &'static str, what: &'static str) -> OperationDescription {
        self.answer = AnswerKind::Other(media, what);
        self
    }

    pub fn tells<T: JsonSchema>(mut self) -> OperationDescription {
        self.events = Some(of::<T>);
        self
    }
}

pub async fn serve() -> impl IntoResponse {
    static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| document::of(&super::routes()).to_string().into());
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.clone())
}

#[cfg(test)]
mod tests;
