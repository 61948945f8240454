//! A farm draws the Mandelbrot set: any worker takes the next row, and the picture is put together
//! from the rows as they come. Writes a picture (PPM) that most viewers show.
//!
//! `cargo run --release -p alice --example mandelbrot -- FILE.ppm`

use std::error::Error;
use std::ffi::OsString;
use std::fs;

use alice::{Key, Node, take, take_many};

const WIDTH: usize = 600;
const HEIGHT: usize = 400;
const WORKERS: usize = 8;
const STEPS_MAX: u32 = 200;

/// A row's number, and its pixels.
type Row = (usize, Vec<u8>);

const TODO: Key<usize> = Key::new("rows to do");
const ROW: Key<Row> = Key::new("row");

fn main() -> Result<(), Box<dyn Error>> {
    let beside = std::env::temp_dir().join("mandelbrot.ppm");
    let file = std::env::args_os().nth(1).unwrap_or(OsString::from(beside));
    let node = Node::new();
    for _ in 0..WORKERS {
        node.code("draw").when(take(&TODO)).to(&ROW).repeatedly(|y, row| {
            let pixels = (0..WIDTH).flat_map(|x| colour(steps(x, **y))).collect();
            row.put((**y, pixels))
        })?;
    }
    for y in 0..HEIGHT {
        node.put(&TODO, y)?;
    }
    let mut picture = vec![0; 3 * WIDTH * HEIGHT];
    // They come in any order, some at a time.
    for _ in 0..HEIGHT / WORKERS {
        for row in node.wait_for(take_many(&ROW, WORKERS), alice::Wait::for_ever())? {
            let (y, pixels) = &*row;
            picture[3 * WIDTH * y..][..3 * WIDTH].copy_from_slice(pixels);
        }
    }
    let mut ppm = format!("P6 {WIDTH} {HEIGHT} 255\n").into_bytes();
    ppm.extend(picture);
    fs::write(&file, ppm)?;
    println!("{WIDTH} x {HEIGHT} pixels by {WORKERS} workers in {}", file.display());
    Ok(())
}

/// How long the point stays near, at most `STEPS_MAX`.
fn steps(x: usize, y: usize) -> u32 {
    let (real, imaginary) = (x as f64 / 200.0 - 2.1, y as f64 / 200.0 - 1.0);
    let (mut a, mut b, mut steps) = (0.0, 0.0, 0);
    while a * a + b * b < 4.0 && steps < STEPS_MAX {
        (a, b) = (a * a - b * b + real, 2.0 * a * b + imaginary);
        steps += 1;
    }
    steps
}

/// Black inside; outside from dark blue over white to gold.
fn colour(steps: u32) -> [u8; 3] {
    if steps == STEPS_MAX {
        return [0; 3];
    }
    let near = (f64::from(steps) / 40.0).min(1.0).sqrt();
    let channel = |from: f64, to: f64| (255.0 * (from + (to - from) * near)) as u8;
    [channel(0.0, 1.0), channel(0.05, 0.85), channel(0.4, 0.3)]
}
