//! Reads the imports of a crate from its sources, and finds the files that import each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Each circle of files that import each other, directly or through others. Files go by their module, such as
/// `edit::wait`; that of `lib.rs` is empty.
pub fn circles(folder: &Path) -> BTreeSet<BTreeSet<String>> {
    let mut files = BTreeMap::new();
    read(folder, "", &mut files);
    circles_of(files)
}

fn circles_of(files: BTreeMap<String, String>) -> BTreeSet<BTreeSet<String>> {
    let graph = Graph(files.into_iter().map(|(module, source)| (module, Paths::of(&tokens(&source)))).collect());
    let imported = |module: &String, paths: &Paths| -> BTreeSet<String> {
        paths.used().filter_map(|path| graph.home(module, path)).filter(|home| home != module).collect()
    };
    let edges = graph.0.iter().map(|(module, paths)| (module.as_str(), imported(module, paths))).collect();
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.0.keys().map(|module| (module.as_str(), reach(&edges, module))).collect();
    let circle = |module: &str| -> BTreeSet<String> {
        let back = reached[module].iter().filter(|other| reached[*other].contains(module));
        back.map(|other| (*other).to_owned()).collect()
    };
    graph.0.keys().map(|module| circle(module)).filter(|circle| circle.len() > 1).collect()
}

/// Reads the sources without their tests.
fn read(folder: &Path, module: &str, files: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
        if name.contains("tests") || name == "testing" {
            continue;
        }
        if path.is_dir() {
            read(&path, &below(module, &name), files);
            continue;
        }
        let source = std::fs::read_to_string(&path).expect("a source file");
        let product = source.split("#[cfg(test)]").next().unwrap_or_default();
        let own = if name == "mod" || name == "lib" { module.to_owned() } else { below(module, &name) };
        files.insert(own, product.to_owned());
    }
}

fn below(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

/// Names and signs, without comments and literals.
fn tokens(source: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let (length, is_token) = if let Some(length) = passed_over(rest, first) {
            (length, false)
        } else if is_name(first) {
            (rest.find(|c| !is_name(c)).unwrap_or(rest.len()), true)
        } else {
            (if rest.starts_with("::") { 2 } else { first.len_utf8() }, true)
        };
        tokens.extend(is_token.then(|| rest[..length].to_owned()));
        rest = &rest[length..];
    }
    tokens
}

/// The length of white space, a comment or a literal.
fn passed_over(rest: &str, first: char) -> Option<usize> {
    let raw = rest.strip_prefix('b').unwrap_or(rest).strip_prefix('r');
    let hashes = raw.map_or(0, |raw| raw.chars().take_while(|c| *c == '#').count());
    if raw.is_some_and(|raw| raw[hashes..].starts_with('"')) {
        let (start, end) = (rest.find('"')? + 1, format!("\"{}", "#".repeat(hashes)));
        return Some(start + rest[start..].find(&end)? + end.len());
    }
    let is_char = first == '\'' && (rest[1..].starts_with('\\') || rest.chars().nth(2) == Some('\''));
    match first {
        '"' => Some(quoted(rest, '"')),
        '\'' if is_char => Some(quoted(rest, '\'')),
        '/' if rest.starts_with("//") => Some(rest.find('\n').unwrap_or(rest.len())),
        _ => first.is_whitespace().then(|| first.len_utf8()),
    }
}

/// The length of a literal, both quotes included.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    let end = rest.char_indices().skip(1).find(|(_, c)| {
        let is_end = *c == quote && !escaped;
        escaped = *c == '\\' && !escaped;
        is_end
    });
    end.map_or(rest.len(), |(at, _)| at + 1)
}

/// A name that a file takes from elsewhere.
struct Import {
    name: String,
    path: Vec<String>,
    is_public: bool,
}

/// The imports of a file, and the other paths in it.
#[derive(Default)]
struct Paths {
    imports: Vec<Import>,
    others: Vec<Vec<String>>,
}

impl Paths {
    fn of(tokens: &[String]) -> Paths {
        let mut paths = Paths::default();
        let is = |at: usize, wanted: &str| tokens.get(at).is_some_and(|token| token == wanted);
        let mut at = 0;
        while at < tokens.len() {
            if is(at, "use") && !is(at + 1, "<") {
                let is_public = at > 0 && (is(at - 1, "pub") || is(at - 1, ")"));
                at = branch(tokens, at + 1, &[], &mut |name, path| {
                    paths.imports.push(Import { name, path, is_public });
                });
                continue;
            }
            let mut path = vec![tokens[at].clone()];
            while is(at + 1, "::") && at + 2 < tokens.len() && !is(at + 2, "<") {
                path.push(tokens[at + 2].clone());
                at += 2;
            }
            paths.others.push(path);
            at += 1;
        }
        paths
    }

    /// The paths that lead to another file. One that is only passed on leads nowhere.
    fn used(&self) -> impl Iterator<Item = &Vec<String>> {
        let is_used =
            |import: &&Import| !import.is_public || self.others.iter().any(|path| path.first() == Some(&import.name));
        self.imports.iter().filter(is_used).map(|import| &import.path).chain(&self.others)
    }
}

/// Reads one branch of a `use` and gives the place behind it.
fn branch(tokens: &[String], mut at: usize, base: &[String], found: &mut dyn FnMut(String, Vec<String>)) -> usize {
    let mut path = base.to_vec();
    let mut name = None;
    while let Some(token) = tokens.get(at).map(String::as_str) {
        match token {
            "," | "}" | ";" => break,
            "{" => {
                while tokens.get(at).is_some_and(|token| token != "}") {
                    at = branch(tokens, at + 1, &path, found);
                }
                return at + 1;
            }
            "as" => name = tokens.get(at + 1).cloned(),
            "::" | "self" => name = path.last().cloned(),
            _ if name.is_some() && tokens[at - 1] == "as" => {}
            _ => {
                path.push(token.to_owned());
                name = Some(token.to_owned());
            }
        }
        at += 1;
    }
    name.into_iter().for_each(|name| found(name, path.clone()));
    at
}

/// The files of a crate with their paths.
struct Graph(BTreeMap<String, Paths>);

impl Graph {
    /// The file that defines what a path in `module` names; nothing for other crates and for modules themselves.
    fn home(&self, module: &str, path: &[String]) -> Option<String> {
        match path.first()?.as_str() {
            "crate" => self.item("", &path[1..]),
            "super" => {
                let parent = module.rsplit_once("::").map_or("", |(parent, _)| parent);
                match path.get(1).is_some_and(|next| next == "super") {
                    true => self.home(parent, &path[1..]),
                    false => self.item(parent, &path[1..]),
                }
            }
            name => {
                let is_known = self.0.contains_key(&below(module, name)) || self.imports(module, name).next().is_some();
                is_known.then(|| self.item(module, path))?
            }
        }
    }

    /// The same for a path that begins in `module`.
    fn item(&self, module: &str, path: &[String]) -> Option<String> {
        let (name, rest) = path.split_first()?;
        let child = below(module, name);
        if self.0.contains_key(&child) {
            return self.item(&child, rest);
        }
        let mut imports = self.imports(module, name).peekable();
        if imports.peek().is_none() {
            return Some(module.to_owned());
        }
        imports.find_map(|import| self.home(module, &[import.path.as_slice(), rest].concat()))
    }

    fn imports(&self, module: &str, name: &str) -> impl Iterator<Item = &Import> {
        let imports = self.0.get(module).map(|paths| paths.imports.as_slice()).unwrap_or_default();
        imports.iter().filter(move |import| import.name == name && import.path.len() > 1)
    }
}

/// The files that a file imports, directly or through others.
fn reach<'g>(edges: &'g BTreeMap<&str, BTreeSet<String>>, from: &'g str) -> BTreeSet<&'g str> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(file) = open.pop() {
        let next = edges.get(file).into_iter().flatten().map(String::as_str);
        open.extend(next.filter(|file| reached.insert(*file)));
    }
    reached
}

#[test]
fn a_circle_is_found_through_reexports_and_bare_paths() {
    let files = [
        ("", "mod a; pub use a::Named; //  use b::Foreign;"),
        ("a", "mod inner; pub use inner::Inner; use crate::b; pub struct Named(b::Other);"),
        ("a::inner", "use super::Named; pub struct Inner;"),
        ("b", "use crate::{a::{self as first, Inner}, c::C as Third}; pub struct Other(Inner); fn f() { \"c::C\" }"),
        ("c", "use std::fmt; pub struct C(fmt::Error);"),
    ];
    let files = files.map(|(module, source)| (module.to_owned(), source.to_owned())).into();
    let circle = ["a", "a::inner", "b"].map(str::to_owned).into();
    assert_eq!(circles_of(files), [circle].into());
}
