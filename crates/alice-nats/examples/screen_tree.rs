//! A screen is sent down a tree of nodes. It is written and compressed once, at the root; those
//! between send on the very bytes that they got, and only leaves read them.
//!
//! `cargo run --release -p alice-nats --example screen_tree -- ADDRESS`, with the address of an
//! engine, such as `jungle alice up` prints.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use alice::{Key, Node, take};
use alice_nats::{Bytes, Compress, Engine, Numbers, Options, Parcel, Part, Shape, Topology};

const WIDTH: u32 = 320;
const HEIGHT: u32 = 200;
const FRAMES: u32 = 20;
const NAMES: [&str; 7] = ["root", "left", "right", "leaf0", "leaf1", "leaf2", "leaf3"];
const LEAVES: usize = 4;

type Screen = Numbers<u32>;

/// What travels, for those who read it.
const SCREEN: Key<Screen> = Key::new("screen");
/// The same key on nodes that keep what travels as it came.
const PARCEL: Key<Parcel<Screen>> = Key::new("screen");
/// What arrived at leaves.
const SHOWN: Key<Bytes> = Key::new("shown");

const LONG: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).ok_or("say where the engine is")?;
    let (home, tree) = (Node::new(), "tree:2".parse::<Shape>()?.graph(&NAMES)?);
    let tree = Topology::fixed("screen tree", tree);
    // Each could be a process of its own: nothing but the engine joins them.
    let parts: Vec<Arc<Part>> =
        NAMES.iter().map(|name| relay(&address, &tree, name, &home)).collect::<Result<_, _>>()?;
    let root = &parts[0];
    root.wait_for_all(LONG)?;
    let begun = Instant::now();
    let (mut plain, mut sent) = (0, 0);
    for frame in 0..FRAMES {
        let parcel = Parcel::from(screen(frame));
        for child in ["child0", "child1"] {
            root.peer(child)?.put(&SCREEN, &parcel)?;
        }
        let bytes = parcel.wire(compress())?;
        (plain, sent) = (plain + parcel.packed()?.len(), sent + bytes.len());
        for _ in 0..LEAVES {
            if *home.take_within(&SHOWN, LONG)? != bytes {
                return Err("a relay has changed a screen".into());
            }
        }
    }
    println!(
        "{FRAMES} screens of {WIDTH} x {HEIGHT} to {LEAVES} leaves through 2 relays in {:.1?}: \
         {plain} bytes, {sent} when compressed, by the root only",
        begun.elapsed()
    );
    Ok(())
}

fn compress() -> Compress {
    Compress::Above { bytes: 1024 }
}

/// A node that hands what it gets to its children, if it has any.
fn relay(
    address: &str,
    tree: &Topology,
    name: &str,
    home: &Node,
) -> Result<Arc<Part>, Box<dyn Error>> {
    let options = Options { compress: compress(), ..Options::default() };
    let (engine, node) = (Engine::connect(address, options)?, Node::new());
    let part = Arc::new(engine.take_part(tree, name, &node)?);
    part.member().serve(&PARCEL)?;
    let shown = home.queue(&SHOWN)?;
    // Not the part itself: it would have itself live for ever.
    let known = Arc::downgrade(&part);
    node.code("relay").when(take(&PARCEL)).to(&shown).repeatedly(move |parcel, shown| {
        let part = known.upgrade().ok_or("it has ended")?;
        let children = part.neighbours().into_keys().filter(|label| label.starts_with("child"));
        let children: Vec<String> = children.collect();
        for child in &children {
            part.peer(child)?.put(&SCREEN, &**parcel).map_err(|error| error.why)?;
        }
        if children.is_empty() {
            // A leaf: it reads what came, and tells home which bytes that were.
            let screen = parcel.open()?;
            assert_eq!(screen.0.len(), (WIDTH * HEIGHT) as usize);
            shown.put(parcel.wire(Compress::Never)?).map_err(|error| error.why)?;
        }
        Ok::<(), Box<dyn Error + Send + Sync>>(())
    })?;
    Ok(part)
}

/// Stripes that move.
fn screen(frame: u32) -> Screen {
    let pixel = |at: u32| {
        let (x, y) = (at % WIDTH, at / WIDTH);
        let stripe = (x + y / 4 + 3 * frame) / 20;
        if stripe.is_multiple_of(2) { 0x0020_4060 } else { 0x00E0_E8F0 }
    };
    Numbers((0..WIDTH * HEIGHT).map(pixel).collect())
}
