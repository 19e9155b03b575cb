//! Shortens the lists that a client injects for a tool: of each item, its name and the beginning of its description stay.

use crate::lexicon::InjectedList;

/// Shorter items stay whole, in characters.
const SHORT: usize = 140;

/// Smaller savings, in characters, are not worth an edit.
const LEAST: usize = 400;

/// The text with its lists for these tools shortened. `None` if that saves too little.
pub fn shortened(text: &str, lists: &[InjectedList], is_spared: impl Fn(&str) -> bool) -> Option<String> {
    let mut out = text.to_owned();
    for list in lists.iter().filter(|list| is_spared(list.tool)) {
        let Some(at) = out.find(list.opening) else { continue };
        let from = at + list.opening.len();
        let items = from + out[from..].len() - out[from..].trim_start().len();
        let to = out[items..].find("\n\n").map_or(out.len(), |end| items + end);
        if out[items..to].starts_with(ITEM) {
            let short = items_of(&out[items..to]).into_iter().map(shorten).collect::<Vec<_>>().join("\n");
            out.replace_range(items..to, &short);
        }
    }
    (out.len() + LEAST <= text.len()).then_some(out)
}

/// The beginning of an item.
const ITEM: &str = "- ";

/// The items of a list. An item may have several lines.
fn items_of(list: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = list.match_indices("\n- ").map(|(at, _)| at + 1).collect();
    starts.insert(0, 0);
    let ends = starts.iter().skip(1).map(|start| start - 1).chain([list.len()]);
    starts.iter().zip(ends).map(|(start, end)| &list[*start..end]).collect()
}

/// Cuts an item behind its first sentence, or behind a word.
fn shorten(item: &str) -> String {
    let line = item.lines().next().unwrap_or_default();
    let Some((end, _)) = item.char_indices().nth(SHORT) else { return item.to_owned() };
    let head = &line[..line.len().min(end)];
    let sentence = head.find(". ").map(|at| at + 1);
    let word = || head.rfind(' ').filter(|_| head.len() < line.len()).unwrap_or(head.len());
    format!("{} …", head[..sentence.unwrap_or_else(word)].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTS: [InjectedList; 2] = [
        InjectedList { opening: "Helpers for Delegate:", tool: "Delegate" },
        InjectedList { opening: "Recipes for Cook:", tool: "Cook" },
    ];

    fn text() -> String {
        let long = "which is told at length and with many words, ".repeat(12);
        format!(
            "Before.\n\nHelpers for Delegate:\n- scout: Looks around. {long}\n- guard: stands\n\nBetween.\n\n\
             Recipes for Cook:\n\n- soup: {long}\nTRIGGER: hunger {long}\n- bread: Bakes bread.\n\nAfter.\n"
        )
    }

    #[test]
    fn only_lists_of_spared_tools_are_shortened_and_no_item_is_lost() {
        let short = shortened(&text(), &LISTS, |tool| tool == "Delegate").expect("shorter");
        let (helpers, rest) = short.split_once("\n\nBetween.").expect("two parts");
        assert_eq!(helpers, "Before.\n\nHelpers for Delegate:\n- scout: Looks around. …\n- guard: stands");
        assert_eq!(rest, text().split_once("\n\nBetween.").expect("two parts").1);
        let short = shortened(&text(), &LISTS, |_| true).expect("shorter");
        assert!(short.contains("- soup: which is told") && short.ends_with("…\n- bread: Bakes bread.\n\nAfter.\n"));
        assert!(!short.contains("TRIGGER") && short.chars().count() < 400, "{short}");
    }

    #[test]
    fn texts_without_long_lists_stay() {
        assert_eq!(shortened("Recipes for Cook:\n\n- soup: hot\n\nAfter", &LISTS, |_| true), None);
        assert_eq!(shortened(&"no list ".repeat(200), &LISTS, |_| true), None);
        assert_eq!(shortened(&text(), &LISTS, |_| false), None);
    }

    #[test]
    fn a_cut_never_splits_a_letter() {
        let text = format!("Recipes for Cook:\n- süß: {}", "ß".repeat(900));
        let short = shortened(&text, &LISTS, |_| true).expect("shorter");
        assert!(short.starts_with("Recipes for Cook:\n- süß:") && short.ends_with(" …"), "{short}");
    }
}
