//! Real clients through the real program: stock Claude Code, headless and in a terminal, Codex, opencode, Gemini CLI,
//! pi, Qwen Code, goose, Cline, Continue, aider and the official SDKs, with strict fake providers. Each test asserts that the provider receives the
//! client's bytes, and that frames and classes are right.

mod aider;
mod automatic;
mod claude;
mod cline;
mod continue_dev;
mod diet;
mod editing;
mod failures;
mod gemini;
mod goose;
mod installed;
mod installed_others;
mod interactive;
mod moving;
mod openai;
mod page;
mod pi;
mod provider_edits;
mod providers;
mod qwen;
mod sdks;
mod secrets;
mod sessions;
mod stage;
mod terminal;
mod turns;
