//! Two documents that go on from the same one, each for itself, and are merged. Who decides by
//! clocks and then by names gives the main one right, which has the greater name.

use automerge::transaction::Transactable;
use automerge::{
    ActorId, AutoCommit, ObjId, ObjType, PatchAction, Prop, ROOT, ReadDoc, ScalarValue,
};
use loro::{ExportMode, LoroDoc, LoroValue, ValueOrContainer};
use peer_store::apart::{Apart, Edit, Side};
use peer_store::support::{Failure, Value};

use crate::key;

/// The name of the main document, which is greater than that of the other.
const MAIN: u8 = 2;
const SIDE: u8 = 1;

#[derive(Default)]
pub struct Loro {
    main: LoroDoc,
    side: LoroDoc,
}

impl Loro {
    fn put(document: &LoroDoc, edits: &[Edit]) -> Result<(), Failure> {
        let leaves = document.get_map("leaves");
        for (leaf, value) in edits {
            leaves.insert(&key(*leaf), LoroValue::Binary(value.to_vec().into()))?;
            document.commit();
        }
        Ok(())
    }
}

impl Apart for Loro {
    fn load(&mut self, values: &[Value]) -> Result<(), Failure> {
        self.main.set_peer_id(MAIN.into())?;
        let leaves = self.main.get_map("leaves");
        for (leaf, value) in (0..).zip(values) {
            leaves.insert(&key(leaf), LoroValue::Binary(value.to_vec().into()))?;
        }
        self.main.commit();
        Ok(())
    }

    /// Nobody may have a name twice, but for himself: each other document has its own.
    fn part(&mut self) -> Result<(), Failure> {
        self.main.commit();
        let turn = self.main.peer_id() + 2;
        self.main.set_peer_id(turn)?;
        self.side = self.main.fork();
        self.side.set_peer_id(turn - 1)?;
        Ok(())
    }

    fn commit(&mut self, side: Side, edits: &[Edit]) -> Result<(), Failure> {
        Loro::put(if side == Side::Main { &self.main } else { &self.side }, edits)
    }

    /// It does not tell where both have changed something.
    fn merge(&mut self) -> Result<Option<Vec<u32>>, Failure> {
        let here = self.main.oplog_vv();
        self.main.import(&self.side.export(ExportMode::updates(&here))?)?;
        Ok(None)
    }

    fn values(&mut self, leaves: u32) -> Result<Vec<Value>, Failure> {
        let all = self.main.get_map("leaves");
        let value = |leaf| match all.get(&key(leaf)) {
            Some(ValueOrContainer::Value(LoroValue::Binary(bytes))) => Ok(bytes[..].try_into()?),
            _ => Err("it is no value".into()),
        };
        (0..leaves).map(value).collect()
    }
}

pub struct Automerge {
    main: AutoCommit,
    side: AutoCommit,
    leaves: ObjId,
}

impl Automerge {
    pub fn new() -> Result<Automerge, Failure> {
        let mut main = AutoCommit::new().with_actor(ActorId::from(&[MAIN][..]));
        let leaves = main.put_object(ROOT, "leaves", ObjType::Map)?;
        Ok(Automerge { main, side: AutoCommit::new(), leaves })
    }
}

fn put(document: &mut AutoCommit, leaves: &ObjId, leaf: u32, value: &Value) -> Result<(), Failure> {
    Ok(document.put(leaves, key(leaf), ScalarValue::Bytes(value.to_vec()))?)
}

impl Apart for Automerge {
    fn load(&mut self, values: &[Value]) -> Result<(), Failure> {
        for (leaf, value) in (0..).zip(values) {
            put(&mut self.main, &self.leaves, leaf, value)?;
        }
        self.main.commit();
        Ok(())
    }

    fn part(&mut self) -> Result<(), Failure> {
        let turn = self.main.get_actor().to_bytes()[0];
        self.side = self.main.fork().with_actor(ActorId::from(&[turn + SIDE][..]));
        self.main.set_actor(ActorId::from(&[turn + MAIN][..]));
        Ok(())
    }

    fn commit(&mut self, side: Side, edits: &[Edit]) -> Result<(), Failure> {
        let document = if side == Side::Main { &mut self.main } else { &mut self.side };
        for (leaf, value) in edits {
            put(document, &self.leaves, *leaf, value)?;
            document.commit();
        }
        Ok(())
    }

    /// Its patches tell of conflicts: where the other's value has won, or lost.
    fn merge(&mut self) -> Result<Option<Vec<u32>>, Failure> {
        self.main.update_diff_cursor();
        self.main.merge(&mut self.side)?;
        let patches = self.main.diff_incremental();
        let in_conflict = patches.into_iter().filter_map(|patch| match patch.action {
            PatchAction::PutMap { key, conflict: true, .. } => Some(key),
            PatchAction::Conflict { prop: Prop::Map(key) } => Some(key),
            _ => None,
        });
        Ok(Some(in_conflict.map(|key| key.parse()).collect::<Result<_, _>>()?))
    }

    fn values(&mut self, leaves: u32) -> Result<Vec<Value>, Failure> {
        let value = |leaf| {
            let found = self.main.get(&self.leaves, key(leaf))?.ok_or("it is not there")?.0;
            Ok(found.as_bytes().ok_or("it is no value")?.try_into()?)
        };
        (0..leaves).map(value).collect()
    }
}
