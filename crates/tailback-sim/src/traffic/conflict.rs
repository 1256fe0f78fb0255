//! Values of one model that contradict each other.

/// A value that does not fit the others, and the text to write instead.
pub struct Conflict {
    pub param: &'static str,
    pub value: Option<String>,
    pub problem: String,
    pub remedy: &'static str,
}
