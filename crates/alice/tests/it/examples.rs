//! The examples run, and say what they ought to.

use std::process::Command;

/// Runs an example that cargo has built beside this test; what it prints.
fn run(name: &str, arguments: &[&str]) -> String {
    let tests = std::env::current_exe().unwrap();
    let examples = tests.parent().unwrap().parent().unwrap().join("examples");
    let output = Command::new(examples.join(name)).args(arguments).output();
    let output = output.expect("plain `cargo test` builds the examples, `--test it` does not");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn token_goes_round() {
    let said = run("token_ring", &[]);
    assert!(said.starts_with("100000 steps round 10 nodes in "), "{said}");
}

#[test]
fn words_are_counted() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/words.txt");
    let said = run("word_count", &[file, file]);
    let expected =
        "12 words in 2 files, 4 different ones\n     6 a\n     2 is\n     2 rose\n     2 the\n";
    assert_eq!(said, expected);
}

#[test]
fn numbers_are_sorted() {
    let said = run("bitonic_sort", &[]);
    assert!(said.starts_with("1000000 numbers in 8 blocks sorted in "), "{said}");
    let said = run("merge_sort", &[]);
    assert!(said.starts_with("1000000 numbers sorted in "), "{said}");
}

#[test]
fn picture_is_drawn() {
    let folder = std::env::temp_dir();
    let file = folder.join(format!("alice-mandelbrot-{}.ppm", std::process::id()));
    run("mandelbrot", &[file.to_str().unwrap()]);
    let picture = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let header = b"P6 600 400 255\n";
    assert_eq!((&picture[..15], picture.len()), (&header[..], 15 + 3 * 600 * 400));
    let pixel = |x: usize, y: usize| &picture[15 + 3 * (600 * y + x)..][..3];
    assert_eq!(pixel(420, 200), [0; 3], "0 lies inside");
    assert_ne!(pixel(0, 0), [0; 3], "the corner lies outside");
}
