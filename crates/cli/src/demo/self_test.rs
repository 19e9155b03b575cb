//! The self-test of `ctx init`: a conversation through a daemon of its own, unedited and edited.

use ctx_api::call::{Conversation, status};
use ctx_api::client::ClientError;
use ctx_api::edit::EditRequest;
use ctx_core::ErrorCode;
use ctx_core::edit::Operation;

use super::Demo;
use crate::failure::Failure;

/// Runs the test and returns the lines of its report. The first finding that is wrong is an error.
pub async fn self_test() -> Result<Vec<String>, Failure> {
    let mut demo = Demo::start().await?;
    let outcome = test(&mut demo).await;
    demo.stop().await?;
    outcome
}

async fn test(demo: &mut Demo) -> Result<Vec<String>, Failure> {
    let mut report = Vec::new();
    let turns = demo.play(2).await?;
    let (sent, received) = demo.newest();
    ensure(sent == received, "an unedited request was changed on its way")?;
    report.push(format!("{turns} turns passed through the daemon byte for byte"));

    let operation = Operation::DropResults { ids: vec!["t1".to_owned()], select: Default::default(), result: None };
    let edit = EditRequest { operations: vec![operation], author: "cli".to_owned(), ..EditRequest::default() };
    let client = demo.client();
    client.call(&Conversation("active").apply(&edit)).await.map_err(explained)?;
    demo.play(1).await?;
    let (sent, received) = demo.newest();
    ensure(received.len() < sent.len(), "the provider did not receive the edited request")?;
    let less = sent.len() - received.len();
    report.push(format!("an edit reached the provider: {less} of {} bytes were not sent", sent.len()));

    let page = client.call(&status()).await.map_err(explained)?.page;
    report.push(if page { "the page is there" } else { "this build has no page" }.to_owned());
    Ok(report)
}

fn ensure(holds: bool, message: &str) -> Result<(), Failure> {
    let failure = || Failure::new(ErrorCode::Daemon, format!("the self-test failed: {message}"));
    if holds { Ok(()) } else { Err(failure().hint("please report this, with the output of `ctx doctor`")) }
}

fn explained(error: ClientError) -> Failure {
    match error {
        ClientError::Refused(error) => error.into(),
        other => Failure::new(ErrorCode::Daemon, format!("the self-test failed: {other:?}")),
    }
}
