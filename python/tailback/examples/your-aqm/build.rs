//! Names the source of this crate, for the fingerprint of stored runs.

fn main() {
    tailback_source::name_this_crate(&[]);
}
