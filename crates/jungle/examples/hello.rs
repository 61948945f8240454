//! A bulletin board in memory: `cargo run -p jungle --example hello`.

use jungle::{EditError, Jungle, Memory, Path};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let jungle = Jungle::memory()?;
    let board = jungle.create_tree("board")?;

    let posted = board.update(|tx| {
        let message = Path::root().join(tx.append(&[])?);
        tx.put_attribute(&message, "text", "hello")?;
        Ok::<Path, EditError>(message)
    })?;
    board.update(|tx| tx.put_attribute(&posted.value, "text", "good-bye"))?;

    for (version, when) in [(board.at(posted.revision)?, "then"), (board.snapshot(), "now")] {
        let message = version.root().at(&posted.value)?;
        println!("{when}: {}", message.attribute("text").ok_or("no text")?);
    }
    Ok(())
}
