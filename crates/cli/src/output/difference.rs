//! What differs between two texts, line by line.

/// A line, and in which of the two it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    Both(&'a str),
    Old(&'a str),
    New(&'a str),
}

/// Cells of the table beyond which a middle is shown as replaced altogether.
const MOST: usize = 4_000_000;

pub fn lines<'a>(old: &'a str, new: &'a str) -> Vec<Line<'a>> {
    let (mut old, mut new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let mut all: Vec<Line> = old.drain(..head).map(Line::Both).collect();
    new.drain(..head);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let tail: Vec<Line> = old.drain(old.len() - tail..).map(Line::Both).collect();
    new.truncate(new.len() - tail.len());
    all.extend(middle(&old, &new));
    all.extend(tail);
    all
}

/// The longest common subsequence keeps most.
fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let width = new.len() + 1;
    if old.len().saturating_mul(new.len()) > MOST {
        return old.iter().copied().map(Line::Old).chain(new.iter().copied().map(Line::New)).collect();
    }
    // common[i * width + j]: lines in common of old[i..] and new[j..].
    let mut common = vec![0_u32; (old.len() + 1) * width];
    let at = |common: &[u32], i: usize, j: usize| common.get(i * width + j).copied().unwrap_or(0);
    for (i, a) in old.iter().enumerate().rev() {
        for (j, b) in new.iter().enumerate().rev() {
            let best = match a == b {
                true => at(&common, i + 1, j + 1) + 1,
                false => at(&common, i + 1, j).max(at(&common, i, j + 1)),
            };
            if let Some(cell) = common.get_mut(i * width + j) {
                *cell = best;
            }
        }
    }
    let (mut i, mut j, mut all) = (0, 0, Vec::new());
    loop {
        match (old.get(i), new.get(j)) {
            (Some(a), Some(b)) if a == b => {
                all.push(Line::Both(a));
                (i, j) = (i + 1, j + 1);
            }
            (Some(a), b) if b.is_none() || at(&common, i + 1, j) >= at(&common, i, j + 1) => {
                all.push(Line::Old(a));
                i += 1;
            }
            (_, Some(b)) => {
                all.push(Line::New(b));
                j += 1;
            }
            _ => return all,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(old: &str, new: &str) -> String {
        let letters = |text: &str| text.chars().map(|letter| format!("{letter}\n")).collect::<String>();
        let (old, new) = (letters(old), letters(new));
        let sign = |line: Line| match line {
            Line::Both(text) => text.to_owned(),
            Line::Old(text) => format!("-{text}"),
            Line::New(text) => format!("+{text}"),
        };
        lines(&old, &new).into_iter().map(sign).collect()
    }

    #[test]
    fn what_both_have_stays_and_the_rest_is_told() {
        assert_eq!(told("abc", "abc"), "abc");
        assert_eq!(told("abc", "axc"), "a-b+xc");
        assert_eq!(told("abcdef", "acxdf"), "a-bc+xd-ef");
        assert_eq!(told("", "ab"), "+a+b");
        assert_eq!(told("ab", ""), "-a-b");
        assert_eq!(told("aab", "ab"), "a-ab");
    }

    #[test]
    fn texts_too_large_to_compare_are_replaced() {
        let many = |word: &str| (0..3_000).map(|number| format!("{word}{number}\n")).collect::<String>();
        let (old, new) = (many("a"), many("b"));
        assert_eq!(lines(&old, &new).len(), 6_000);
    }
}
