//! Formats figures for people.

/// `18,234`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Groups the digits of token figures in a sentence. Other digits may be ids.
pub fn grouped(sentence: &str) -> String {
    let mut words: Vec<String> = sentence.split(' ').map(str::to_owned).collect();
    let is_tokens: Vec<bool> = words.iter().skip(1).map(|word| word.starts_with("token")).collect();
    for (word, _) in words.iter_mut().zip(is_tokens).filter(|(_, is_tokens)| *is_tokens) {
        let digits = word.trim_start_matches(['(', '≈']);
        if let Ok(number) = digits.parse::<u64>() {
            let lead = word.strip_suffix(digits).unwrap_or_default();
            *word = format!("{lead}{}", count(number));
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn figures_in_a_sentence_are_grouped_and_ids_are_not() {
        assert_eq!(grouped("drop-results t1, t2, 5188 tokens less"), "drop-results t1, t2, 5,188 tokens less");
        assert_eq!(grouped("deleted t3 (4120 tokens)"), "deleted t3 (4,120 tokens)");
        assert_eq!(grouped("revert 7612345678, 12 tokens more"), "revert 7612345678, 12 tokens more");
        assert_eq!(grouped("tokens  1234"), "tokens  1234");
    }
}
