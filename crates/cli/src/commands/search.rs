//! `ctx search TEXT`: searches messages, calls and results.

use ctx_engine::view::terms;
use std::process::ExitCode;

use clap::Args;
use ctx_api::search::{ConversationHits, Hit, SearchResults};

use crate::arguments::{JsonArguments, non_empty};
use crate::client::{encoded, understood};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::paint::{FAINT, ID, PLAIN, WARNING};
use crate::output::table::{Cell, Column, Table};
use crate::output::{Output, text, words};

/// Search all conversations
#[derive(Args, Debug)]
#[command(
    after_help = "Finds blocks that contain all words, in any order and case. An argument with spaces, or words in double quotes, is a
phrase. The system prompt and the tools are not searched.

Examples:
  ctx search parser token                 blocks with both words
  ctx search 'connection refused'         blocks with this phrase
  ctx search parser --json | jq -r '.conversations[] | \"\\(.id) \\(.hits[].frame)\"'"
)]
pub struct Arguments {
    /// Words or phrases
    #[arg(value_name = "TEXT", required = true, value_parser = non_empty)]
    words: Vec<String>,
    /// Search only this conversation: an id, the start of one, words of its title, or `active`
    #[arg(long = "conv", value_name = "ID", value_parser = non_empty)]
    conversation: Option<String>,
    /// Show at most N hits
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    pub format: JsonArguments,
}

pub fn run(arguments: Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let query = query(&arguments.words);
    let mut question = format!("/search?q={}&limit={}", encoded(&query, ""), arguments.limit);
    if let Some(conversation) = &arguments.conversation {
        question.push_str(&format!("&conv={}", encoded(conversation, "")));
    }
    let answer = context.client()?.get(&question)?;
    if arguments.format.json {
        context.output.json(&answer)?;
    } else {
        context.output.print(&render(
            &understood(&answer)?,
            arguments.conversation.is_some(),
            ctx_service::now(),
            &context.output,
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The query: an argument with spaces is a phrase.
fn query(words: &[String]) -> String {
    let phrase = |word: &String| match word.trim().contains(char::is_whitespace) && !word.trim().starts_with('"') {
        true => format!("\"{}\"", word.trim().replace('"', "\\\"")),
        false => word.clone(),
    };
    words.iter().map(phrase).collect::<Vec<_>>().join(" ")
}

fn render(found: &SearchResults, is_one: bool, now: u64, output: &Output) -> String {
    let (query, terms) = (text::line(&found.query), terms(&found.query));
    if found.conversations.is_empty() {
        return format!("No match for `{query}` in {}.\n", words::plural(found.searched as u64, "conversation"));
    }
    let mut lines = String::new();
    for conversation in &found.conversations {
        lines.push_str(&head(conversation, now, output));
        let mut table = Table::new(&[Column::Left(""), Column::Left(""), Column::Flexible("")]);
        for hit in &conversation.hits {
            let style = if hit.sent { PLAIN } else { FAINT };
            table.row([
                Cell::indented(&hit.id, ID),
                Cell::styled(&kind(hit), FAINT),
                marked(&hit.snippet, &terms, style),
            ]);
        }
        lines.push_str(&table.render(output));
        let hidden = conversation.matches.saturating_sub(conversation.hits.len());
        if hidden > 0 {
            let way = if is_one { "--limit N".to_owned() } else { format!("--conv {}", text::line(&conversation.id)) };
            let hidden = format!("  … {} more: {way}", words::count(hidden as u64));
            lines.push_str(&format!("{}\n", output.paint.faint(&hidden)));
        }
    }
    if found.more {
        lines.push_str(&format!(
            "{}\n",
            output.paint.faint("Not all conversations were searched; --limit N finds more.")
        ));
    }
    lines
}

fn head(conversation: &ConversationHits, now: u64, output: &Output) -> String {
    let paint = &output.paint;
    let about = format!(
        "{} · {}",
        words::plural(conversation.matches as u64, "hit"),
        words::ago(now, conversation.last_activity)
    );
    let room = output.width.map_or(usize::MAX, |width| {
        width.saturating_sub(text::width(&conversation.id) + text::width(&about) + 4).max(12)
    });
    let title = text::fit(&text::line(&conversation.title), room);
    format!("{}  {}  {}\n", paint.id(&text::line(&conversation.id)), paint.strong(&title), paint.faint(&about))
}

fn kind(hit: &Hit) -> String {
    let tool = hit.tool.as_deref().unwrap_or("a tool");
    let kind = match hit.kind.as_str() {
        "tool_use" => format!("calls {tool}"),
        "tool_result" => format!("result of {tool}"),
        "text" => hit.role.clone(),
        other => other.to_owned(),
    };
    match hit.left {
        Some(left) => format!("{kind}, {}", left.in_words()),
        None if hit.sent => kind,
        None => format!("{kind}, not sent"),
    }
}

/// Highlights the words.
fn marked(snippet: &str, terms: &[String], style: anstyle::Style) -> Cell {
    let snippet = text::line(snippet);
    let lower = snippet.to_lowercase();
    // If lower case changes the length, the positions do not match.
    let terms = if lower.len() == snippet.len() { terms } else { &[] };
    let mut cell = Cell::default();
    let mut from = 0;
    loop {
        let next = terms.iter().filter_map(|term| Some((from + lower.get(from..)?.find(term)?, term.len())));
        // The longest of several words that start alike.
        let next = next.min_by_key(|(at, length)| (*at, std::cmp::Reverse(*length)));
        let pieces = next.and_then(|(at, length)| {
            Some((snippet.get(from..at)?, snippet.get(at..at + length)?, at + length)).filter(|_| length > 0)
        });
        let Some((before, found, behind)) = pieces else { break };
        cell = cell.then_safe(before, style).then_safe(found, WARNING);
        from = behind;
    }
    cell.then_safe(snippet.get(from..).unwrap_or_default(), style)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found() -> SearchResults {
        let json = r#"{"query":"needle","searched":12,"more":true,"conversations":[
            {"id":"c3f9a1","title":"Find the needle","last_activity":1000,"matches":1234,"hits":[
             {"id":"t1#0.1","frame":"t1","role":"user","kind":"text","tool":null,"sent":true,"snippet":"Find the needle"},
             {"id":"t1#2.0","frame":"t1","role":"user","kind":"tool_result","tool":"Read","sent":false,
              "snippet":"…straw \u001b[31mNeedle straw…"}]},
            {"id":"c77","title":"Sew","last_activity":1000,"matches":1,"hits":[
             {"id":"t9#1.0","frame":"t9","role":"assistant","kind":"tool_use","tool":"Bash","sent":true,
              "snippet":"{\"command\":\"thread needle\"}"}]}]}"#;
        serde_json::from_str(json).expect("found")
    }

    #[test]
    fn hits_stand_under_their_conversation() {
        insta::assert_snapshot!(render(&found(), false, 62_000, &Output::plain()), @r#"
        c3f9a1  Find the needle  1,234 hits · 1 min ago
          t1#0.1  user                      Find the needle
          t1#2.0  result of Read, not sent  …straw \x1b[31mNeedle straw…
          … 1,232 more: --conv c3f9a1
        c77  Sew  1 hit · 1 min ago
          t9#1.0  calls Bash  {"command":"thread needle"}
        Not all conversations were searched; --limit N finds more.
        "#);
    }

    #[test]
    fn the_words_stand_out_and_lines_fit() {
        assert!(render(&found(), true, 0, &Output::coloured()).contains("\u{1b}[33mNeedle\u{1b}[0m"));
        for width in [60, 80] {
            let shown = render(&found(), true, 0, &Output::narrow(width));
            assert!(shown.lines().all(|line| text::width(line) <= width), "{shown}");
        }
    }

    #[test]
    fn what_the_shell_had_in_quotes_is_a_phrase() {
        let query = |words: &[&str]| query(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(query(&["parser", "token"]), "parser token");
        assert_eq!(query(&["connection refused", "port"]), "\"connection refused\" port");
        assert_eq!(terms(&query(&["say \"no\" twice"])), ["say \"no\" twice"]);
        assert_eq!(query(&["\"a b\" c"]), "\"a b\" c", "quotes of one's own stay");
    }

    #[test]
    fn every_word_stands_out() {
        let terms = ["straw".to_owned(), "needle".to_owned(), "need".to_owned()];
        let mut table = Table::new(&[Column::Flexible("")]);
        table.row([marked("a Needle in straw, straw", &terms, PLAIN)]);
        let shown = table.render(&Output::coloured());
        for word in ["Needle", "straw"] {
            assert!(shown.contains(&format!("\u{1b}[33m{word}\u{1b}[0m")), "{shown:?}");
        }
        assert_eq!(shown.matches("\u{1b}[33m").count(), 3, "{shown:?}");
    }

    #[test]
    fn nothing_found_is_said() {
        let none = SearchResults { conversations: Vec::new(), ..found() };
        assert_eq!(render(&none, false, 0, &Output::plain()), "No match for `needle` in 12 conversations.\n");
    }
}
