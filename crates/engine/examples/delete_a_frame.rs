//! Feeds two requests to the engine, deletes a frame in between, and prints what would be sent.
//!
//! `cargo run -p ctx-engine --example delete_a_frame`

use ctx_core::edit::Operation;
use ctx_core::edit::operation::Select;
use ctx_engine::Standalone;
use ctx_wire::anthropic::Anthropic;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut conversation = Standalone::new(&Anthropic);

    let first = r#"{"model":"claude-opus-5-5","messages":[
        {"role":"user","content":"Which port does the server use?"},
        {"role":"assistant","content":"8080."},
        {"role":"user","content":"Write a test for the parser."}]}"#;
    let sent = conversation.request(first.as_bytes(), 1_000)?;
    assert_eq!(sent, first.as_bytes(), "nothing was edited: the same bytes leave");

    for frame in conversation.frames().frames {
        println!("{:8} {:>4} tokens  {}", frame.id, frame.tokens, frame.title);
    }

    let delete = Operation::Delete { ids: vec!["t1".into()], select: Select::default(), force: false };
    let applied = conversation.edit(vec![delete], 2_000)?;
    println!("\n{} tokens before, {} after\n", applied.tokens_before, applied.tokens_after);

    let second =
        first.replace("}]}", r#"},{"role":"assistant","content":"Done."},{"role":"user","content":"Run it."}]}"#);
    let sent = conversation.request(second.as_bytes(), 3_000)?;
    println!("{}", String::from_utf8(sent)?);
    Ok(())
}
