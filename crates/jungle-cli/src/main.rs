//! The `jungle` command.

fn main() {
    println!("jungle {}", env!("CARGO_PKG_VERSION"));
}
