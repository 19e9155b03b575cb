//! Reads as much of a page as a check of its links needs: ids, and the addresses in its tags.

use std::collections::BTreeSet;

/// An address in a page.
#[derive(Debug, PartialEq, Eq)]
pub struct Link {
    /// The name of its tag.
    pub tag: String,
    pub address: String,
}

/// The ids and links of a page.
#[derive(Debug, Default)]
pub struct Page {
    pub ids: BTreeSet<String>,
    pub links: Vec<Link>,
}

impl Page {
    pub fn read(text: &str) -> Self {
        let mut page = Page::default();
        let mut rest = text;
        while let Some(start) = rest.find('<') {
            rest = &rest[start + 1..];
            if !rest.starts_with(|first: char| first.is_ascii_alphabetic()) {
                continue;
            }
            let (tag, after) = rest.split_at(end_of_tag(rest));
            page.take(tag);
            // A script may contain the signs of tags.
            let is_script = tag.starts_with("script");
            rest = if is_script { after.find("</script").map_or("", |end| &after[end..]) } else { after };
        }
        page
    }

    fn take(&mut self, tag: &str) {
        let (name, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        for (attribute, value) in attributes_of(attributes) {
            let value = value.replace("&amp;", "&");
            match attribute {
                "id" | "name" if attribute == "id" || name == "a" => drop(self.ids.insert(value)),
                "href" | "src" | "poster" => self.links.push(Link { tag: name.to_owned(), address: value }),
                _ => {}
            }
        }
    }
}

/// The position of the sign that ends the tag, outside of quotes.
fn end_of_tag(text: &str) -> usize {
    let mut quote = None;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (None, '>') => return at,
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            _ => {}
        }
    }
    text.len()
}

/// The attributes with a quoted value.
fn attributes_of(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('=') {
        let name = before.split_whitespace().next_back().unwrap_or_default();
        let quote = if after.starts_with('\'') { '\'' } else { '"' };
        let Some((value, after)) = after.strip_prefix(quote).and_then(|after| after.split_once(quote)) else {
            rest = after;
            continue;
        };
        found.push((name, value));
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_addresses_are_read_but_not_those_inside_scripts() {
        let page = Page::read(
            "<h2 id=\"files\" class='x > y'>a < b</h2><script src=\"s.js\">'<a href=\"no.html\">'</script>\
             <a class=\"header\" href=\"two.html?a=1&amp;b#top\"><img alt=\"=\" src='p.png'></a>",
        );
        assert_eq!(page.ids.into_iter().collect::<Vec<_>>(), ["files"]);
        let links: Vec<(&str, &str)> =
            page.links.iter().map(|link| (link.tag.as_str(), link.address.as_str())).collect();
        assert_eq!(links, [("script", "s.js"), ("a", "two.html?a=1&b#top"), ("img", "p.png")]);
    }
}
