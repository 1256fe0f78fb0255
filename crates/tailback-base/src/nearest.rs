//! Finds the known name that a mistyped one may stand for.

/// The article of a word: "a" or "an".
pub fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    }
}

/// Add "did you mean" to a remedy if a known name is near.
pub fn with_nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>, otherwise: &str) -> String {
    match nearest(word, names) {
        Some(name) => format!("did you mean \"{name}\"? Give {otherwise}"),
        None => format!("give {otherwise}"),
    }
}

/// The name nearest to `word` by edit distance, if it is near enough.
///
/// ```
/// use tailback_base::model::nearest;
///
/// assert_eq!(nearest("codle", ["codel", "red"].into_iter()), Some("codel"));
/// assert_eq!(nearest("apple", ["codel", "red"].into_iter()), None);
/// ```
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // The name WF2Q+ is written wf2q-plus.
    let clean = |s: &str| s.to_lowercase().replace(['_', '-', ' '], "").replace('+', "plus");
    let word = clean(word);
    names
        .map(|n| (distance(&word, &clean(n)), n))
        .filter(|(d, n)| *d <= (n.len() / 3).max(1))
        .min_by_key(|(d, _)| *d)
        .map(|(_, n)| n)
}

/// Levenshtein distance that counts a swap of neighbours as one edit (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut distances = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in distances.iter_mut().enumerate() {
        row[0] = i;
    }
    distances[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let cost = usize::from(a[i - 1] != b[j - 1]);
            let mut distance = (distances[i - 1][j] + 1)
                .min(distances[i][j - 1] + 1)
                .min(distances[i - 1][j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                distance = distance.min(distances[i - 2][j - 2] + 1);
            }
            distances[i][j] = distance;
        }
    }
    distances[a.len()][b.len()]
}
