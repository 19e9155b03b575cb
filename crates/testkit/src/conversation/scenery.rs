//! The head of a request: system prompt, tools, and the client's first notes. The sizes are those of the stock client;
//! the text is not.

use super::prose;
use super::{Family, Random};
use serde_json::{Value, json};

/// Name, arguments, and length of the description. Sorted, as in the client.
const TOOLS: &[(&str, &[&str], usize)] = &[
    ("Agent", &["description", "prompt", "subagent_type"], 5200),
    ("Bash", &["command", "description", "timeout"], 8600),
    ("Edit", &["file_path", "old_string", "new_string"], 1500),
    ("Glob", &["pattern", "path"], 900),
    ("Grep", &["pattern", "path", "glob", "output_mode"], 2600),
    ("Read", &["file_path", "offset", "limit"], 2300),
    ("Skill", &["skill", "args"], 1800),
    ("TaskList", &["status"], 4200),
    ("ToolSearch", &["query"], 1500),
    ("WebFetch", &["url", "prompt"], 1400),
    ("Write", &["file_path", "content"], 1000),
];

pub(super) fn model(family: Family) -> &'static str {
    match family {
        Family::A => "claude-opus-5-5",
        Family::B => "claude-sonnet-4-5-20250929",
    }
}

/// The parameters of the head.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scenery {
    pub(super) family: Family,
    pub(super) is_agent: bool,
    pub(super) lean: bool,
}

impl Scenery {
    /// The system blocks after the attribution: identity and main prompt, both with breakpoints.
    pub(super) fn system(self, random: &mut Random) -> Vec<Value> {
        let size = match (self.is_agent, self.family) {
            (true, _) => 2500,
            (false, Family::A) => 5700,
            (false, Family::B) => 27_000,
        };
        let identity = match self.is_agent {
            true => "You are an agent that works for another agent of this kit.",
            false => "You are a coding agent, and this is the kit's identity line.",
        };
        let marked = |text: String| json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}});
        vec![marked(identity.to_owned()), marked(self.document(random, size))]
    }

    pub(super) fn tools(self, random: &mut Random) -> Vec<Value> {
        let mut tools: Vec<Value> = TOOLS
            .iter()
            .filter(|(name, ..)| !self.is_agent || *name != "Agent")
            .map(|(name, takes, size)| {
                let description = self.document(random, *size);
                tool(name, &description, takes)
            })
            .collect();
        tools.push(json!({
            "name": "Zeta",
            "description": "Loaded when it is searched for.",
            "input_schema": {"type": "object", "properties": {}},
            "defer_loading": true,
        }));
        tools
    }

    /// The reminder with the project's instructions, before the first user text.
    pub(super) fn project_notes(self, random: &mut Random) -> String {
        format!("Notes of the project:\n{}", self.document(random, 1200))
    }

    /// The client's notes about machine, model, agents and skills at the start.
    pub(super) fn environment(self, random: &mut Random) -> String {
        let size = match self.family {
            Family::A => 9500,
            Family::B => 3000,
        };
        let folder = prose::name(random);
        let model = model(self.family);
        let rest = self.document(random, size);
        format!(
            "# Environment\nWorking directory: /home/user/{folder}\nPlatform: linux\n\
             Model: {model}\n{rest}"
        )
    }

    fn document(self, random: &mut Random, size: usize) -> String {
        prose::document(random, if self.lean { size / 10 } else { size })
    }
}

fn tool(name: &str, description: &str, takes: &[&str]) -> Value {
    let property = |key: &&str| {
        let property = json!({"description": format!("The {key}"), "type": "string"});
        ((*key).to_owned(), property)
    };
    json!({
        "name": name,
        "description": description,
        "input_schema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": takes.iter().map(property).collect::<serde_json::Map<_, _>>(),
            "required": takes.get(..1),
            "additionalProperties": false,
        },
    })
}
