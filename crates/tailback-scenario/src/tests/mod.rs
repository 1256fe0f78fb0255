//! Tests of the reader: what is wrong and how it is said, the limits of what it takes, and what good scenarios become.

mod ecn;
mod errors;
mod limits;
mod on_path;
mod reading;
