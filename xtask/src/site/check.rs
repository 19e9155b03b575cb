//! Checks the built site: every link leads to a page and its heading, every picture, script and style is a file of the
//! site under a relative address.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::html::{Link, Page};
use crate::failure::{Failure, Outcome};
use crate::files;

/// Fails with the list of everything that is wrong.
pub fn all(site: &Path) -> Outcome {
    let faults = faults(site)?;
    if faults.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("the site has {} faults:\n  {}", faults.len(), faults.join("\n  "))))
}

fn faults(site: &Path) -> Outcome<Vec<String>> {
    let mut pages = BTreeMap::new();
    let mut faults = Vec::new();
    for path in files::below(site)? {
        let ending = path.extension().map(|ending| ending.to_string_lossy().into_owned());
        match ending.as_deref() {
            Some("html") => drop(pages.insert(path.clone(), Page::read(&files::read(&path)?))),
            Some("css") => faults.extend(calls_out(&files::read(&path)?).map(|call| at(site, &path, &call))),
            _ => {}
        }
    }
    for (path, page) in &pages {
        let found = page.links.iter().filter_map(|link| fault(path, link, &pages));
        faults.extend(found.map(|fault| at(site, path, &fault)));
    }
    Ok(faults)
}

fn at(site: &Path, path: &Path, fault: &str) -> String {
    format!("{}: {fault}", path.strip_prefix(site).unwrap_or(path).display())
}

/// The first address of another host in a style sheet.
fn calls_out(style: &str) -> Option<String> {
    let signs = ["@import", "url(http", "url(\"http", "url('http", "url(//", "url(\"//", "url('//"];
    signs.iter().find(|sign| style.contains(**sign)).map(|sign| format!("{sign} asks another host"))
}

fn fault(path: &Path, Link { tag, address }: &Link, pages: &BTreeMap<PathBuf, Page>) -> Option<String> {
    let scheme = address.split_once(':').map(|(scheme, _)| scheme).filter(|scheme| !scheme.contains(['/', '#', '?']));
    match scheme {
        Some("data") => return None,
        Some(_) if tag == "a" => return None,
        Some(_) => return Some(format!("<{tag}> asks another host: {address}")),
        None if address.starts_with('/') => return Some(format!("not a relative address: {address}")),
        None => {}
    }
    let (file, heading) = address.split_once('#').unwrap_or((address, ""));
    let file = file.split('?').next().unwrap_or_default();
    let target = if file.is_empty() { path.to_owned() } else { joined(path.parent()?, file) };
    let target = if target.is_dir() { target.join("index.html") } else { target };
    if !target.is_file() {
        return Some(format!("<{tag}> leads nowhere: {address}"));
    }
    let is_known = |page: &Page| heading.is_empty() || page.ids.contains(&decoded(heading));
    match pages.get(&target) {
        Some(page) if !is_known(page) => Some(format!("the page has no such heading: {address}")),
        _ => None,
    }
}

/// The path of a relative address, without `..`.
fn joined(folder: &Path, address: &str) -> PathBuf {
    let mut path = folder.to_owned();
    for part in Path::new(&decoded(address)).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    path
}

/// The text without percent-encoding.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => (bytes.push(byte), rest = &after[2..]),
            None => (bytes.push(*first), rest = after),
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The faults of a site with these files.
    fn of(name: &str, content: &[(&str, &str)]) -> Vec<String> {
        let site = std::env::temp_dir().join(format!("xtask-{}-site-{name}", std::process::id()));
        for (file, text) in content {
            files::write(&site.join(file), text).unwrap();
        }
        let found = faults(&site).unwrap();
        std::fs::remove_dir_all(&site).unwrap();
        found
    }

    #[test]
    fn links_between_pages_headings_and_pictures_are_followed() {
        let guide = "<a href=\"../index.html#na%C3%AFve\"><img src=\"../p.png\"></a><a href=\"https://other.example\">";
        let index = "<h1 id=\"naïve\"><a href=\"docs/guide.html?x\"></a><a href=\"#naïve\"></a><a href=\"docs/sub/\">";
        let fine = [("index.html", index), ("docs/guide.html", guide), ("p.png", ""), ("docs/sub/index.html", "")];
        assert_eq!(of("fine", &fine), Vec::<String>::new());
    }

    #[test]
    fn a_dead_link_a_missing_heading_and_a_missing_picture_are_faults() {
        let page = "<a href=\"gone.html\"></a><a href=\"#gone\"></a><img src=\"gone.png\"><a href=\"/index.html\">";
        let found = of("dead", &[("docs/a.html", page), ("index.html", "")]);
        let words = ["<a> leads nowhere: gone.html", "no such heading: #gone", "<img> leads nowhere", "not a relative"];
        assert_eq!(found.len(), words.len(), "{found:?}");
        for (fault, words) in found.iter().zip(words) {
            assert!(fault.starts_with("docs/a.html: ") && fault.contains(words), "{fault}");
        }
    }

    #[test]
    fn a_script_a_picture_or_a_font_of_another_host_is_a_fault() {
        let page = "<script src=\"https://a.example/s.js\"></script><img src=\"//a.example/p.png\">";
        let style = "@font-face { src: url(https://a.example/f.woff2) }";
        let found = of("outside", &[("index.html", page), ("a.css", style)]);
        assert_eq!(found.len(), 3, "{found:?}");
    }
}
