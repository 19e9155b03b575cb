//! The material for a helper: the readable content of a part of the conversation.

/// One block, as readable text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Piece {
    /// `user` or `assistant`.
    pub role: String,
    /// `text`, `tool_use`, `tool_result` or another kind of block.
    pub kind: String,
    pub tool: Option<String>,
    /// The subject of a call: a path, a command.
    pub label: Option<String>,
    pub is_error: bool,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Material {
    /// Its id, as people write it.
    pub name: String,
    pub title: String,
    pub pieces: Vec<Piece>,
}

impl Material {
    pub fn chars(&self) -> usize {
        self.pieces.iter().map(|piece| piece.text.chars().count()).sum()
    }

    /// The whole material, for a model to read.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for piece in &self.pieces {
            let head = match (piece.kind.as_str(), piece.tool.as_deref()) {
                ("tool_use", tool) => format!("[call: {}]", tool.unwrap_or("tool")),
                ("tool_result", tool) if piece.is_error => format!("[failed result: {}]", tool.unwrap_or("tool")),
                ("tool_result", tool) => format!("[result: {}]", tool.unwrap_or("tool")),
                ("text" | "reminder", _) => format!("[{}]", piece.role),
                (other, _) => format!("[{other}]"),
            };
            out.push_str(&format!("{head}\n{}\n\n", piece.text.trim()));
        }
        out
    }
}

/// At most `most` characters of a text: its beginning and its end.
pub fn shortened(text: &str, most: usize) -> String {
    let chars = text.chars().count();
    if chars <= most {
        return text.to_owned();
    }
    let (head, tail) = (most * 2 / 3, most / 3);
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(chars - tail).collect();
    format!("{start}\n[… {} characters left out …]\n{end}", chars - head - tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_both_of_its_ends() {
        assert_eq!(shortened("short", 10), "short");
        let text = shortened(&format!("begin{}end", "é".repeat(1000)), 30);
        assert!(
            text.starts_with("begin") && text.ends_with("end") && text.contains("978 characters left out"),
            "{text}"
        );
    }
}
