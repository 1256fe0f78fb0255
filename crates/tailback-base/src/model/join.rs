//! Lists of declarations that are made of other lists, so that the declarations that several models share are written
//! down once.

/// The number of items that the lists have together.
pub const fn total<T>(lists: &[&[T]]) -> usize {
    let (mut n, mut i) = (0, 0);
    while i < lists.len() {
        n += lists[i].len();
        i += 1;
    }
    n
}

/// The items of several lists in one list; the first list has at least one item. It is written with
/// [`join!`](crate::join).
pub const fn joined<T: Copy, const N: usize>(lists: &[&[T]]) -> [T; N] {
    let mut all = [lists[0][0]; N];
    let (mut n, mut i) = (0, 0);
    while i < lists.len() {
        let mut j = 0;
        while j < lists[i].len() {
            all[n] = lists[i][j];
            n += 1;
            j += 1;
        }
        i += 1;
    }
    all
}

/// One list made of several lists, of which the first is not empty.
///
/// ```
/// use tailback_base::{Kind, Param, join};
///
/// const SHARED: &[Param] = &[Param::new("seed", Kind::Text, "a", "What they share.", "")];
/// const OWN: &[Param] = join!(Param: SHARED, &[Param::new("rate", Kind::Text, "b", "Its own.", "")]);
/// assert_eq!(OWN.iter().map(|p| p.name).collect::<Vec<_>>(), ["seed", "rate"]);
/// ```
#[macro_export]
macro_rules! join {
    ($type:ty: $($list:expr),+ $(,)?) => {{
        const LISTS: &[&[$type]] = &[$($list),+];
        const ALL: [$type; $crate::model::total(LISTS)] = $crate::model::joined(LISTS);
        &ALL
    }};
}
