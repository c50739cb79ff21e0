//! "Did you mean": the nearest of the words that could stand somewhere.

use crate::diagnostic::quote;

/// The known word that is most like a given one; none when no one is near.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 100;
    // A file with thousands of wrong names is not worth thousands times thousands of comparisons.
    const MOST: usize = 200;
    if given.len() > LONGEST {
        return None;
    }
    let lower = given.to_lowercase();
    let near = |word: &str| {
        let distance = strsim::damerau_levenshtein(&lower, &word.to_lowercase());
        let (one, other) = (word.chars().count(), given.chars().count());
        (distance <= one.max(other).div_ceil(3) && distance < one.min(other)).then_some(distance)
    };
    let close = known.into_iter().take(MOST).filter_map(|word| near(word).map(|distance| (distance, word)));
    close.min_by_key(|(distance, _)| *distance).map(|(_, word)| word)
}

/// Advice for an unknown word: the nearest known one, otherwise all of them, introduced by `all`.
pub fn advice<'a>(given: &str, known: impl IntoIterator<Item = &'a str>, all: &str) -> Option<String> {
    let known: Vec<_> = known.into_iter().collect();
    match nearest(given, known.iter().copied()) {
        Some(word) => Some(format!("did you mean {}?", quote(word))),
        None if known.is_empty() => None,
        None => Some(format!("{all} {}", list(&known))),
    }
}

/// Words in backticks, with commas between them; a long list is cut.
pub fn list(words: &[&str]) -> String {
    const MOST: usize = 20;
    let mut shown: Vec<_> = words.iter().take(MOST).map(|word| quote(word)).collect();
    if words.len() > MOST {
        shown.push(format!("and {} more", words.len() - MOST));
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let known = ["needs", "uses", "with", "timeout"];
        assert_eq!(nearest("need", known), Some("needs"));
        assert_eq!(nearest("timeuot", known), Some("timeout"));
        assert_eq!(nearest("WITH", known), Some("with"));
        assert_eq!(nearest("matrix", known), None);
        assert_eq!(nearest("rak", ["count", "racks"]), Some("racks"));
        assert_eq!(nearest("x", ["a", "b"]), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), known), None);
    }
}
