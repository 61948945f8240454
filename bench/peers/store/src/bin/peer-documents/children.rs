//! A list of numbers: Loro's in which things can be moved, and Automerge's, in which they cannot,
//! so that who moves one takes it out and puts it in again.

use automerge::transaction::Transactable;
use automerge::{AutoCommit, ChangeHash, ObjId, ObjType, ROOT, ReadDoc};
use loro::{Frontiers, LoroDoc, LoroMovableList, LoroValue, ValueOrContainer};
use peer_store::children::{Children, PAGE, Place};
use peer_store::support::Failure;

pub struct Loro {
    document: LoroDoc,
    list: LoroMovableList,
    loaded: Frontiers,
}

impl Loro {
    pub fn new() -> Loro {
        let document = LoroDoc::new();
        let list = document.get_movable_list("children");
        Loro { document, list, loaded: Frontiers::default() }
    }
}

impl Children for Loro {
    fn load(&mut self, count: u32) -> Result<(), Failure> {
        (0..count).try_for_each(|child| self.list.push(i64::from(child)))?;
        self.document.commit();
        self.loaded = self.document.state_frontiers();
        Ok(())
    }

    fn insert(&mut self, child: u32, place: &Place) -> Result<(), Failure> {
        self.list.insert(place.index, i64::from(child))?;
        self.document.commit();
        Ok(())
    }

    fn shift(&mut self, _child: u32, from: usize, place: &Place) -> Result<(), Failure> {
        self.list.mov(from, place.index)?;
        self.document.commit();
        Ok(())
    }

    fn page(&mut self, _first: u32, index: usize) -> Result<Vec<u32>, Failure> {
        self.page_at(index)
    }

    fn page_at(&mut self, index: usize) -> Result<Vec<u32>, Failure> {
        let child = |at| match self.list.get(at) {
            Some(ValueOrContainer::Value(LoroValue::I64(child))) => Ok(child.try_into()?),
            _ => Err("it is no number".into()),
        };
        (index..index + PAGE).map(child).collect()
    }

    fn all(&mut self) -> Result<Vec<u32>, Failure> {
        let child = |child: ValueOrContainer| match child {
            ValueOrContainer::Value(LoroValue::I64(child)) => Ok(child.try_into()?),
            _ => Err("it is no number".into()),
        };
        self.list.to_vec().into_iter().map(|value| child(ValueOrContainer::Value(value))).collect()
    }

    fn loaded(&mut self) -> Result<u64, Failure> {
        self.document.checkout(&self.loaded)?;
        Ok(self.list.len() as u64)
    }
}

pub struct Automerge {
    document: AutoCommit,
    list: ObjId,
    loaded: Vec<ChangeHash>,
}

impl Automerge {
    pub fn new() -> Result<Automerge, Failure> {
        let mut document = AutoCommit::new();
        let list = document.put_object(ROOT, "children", ObjType::List)?;
        Ok(Automerge { document, list, loaded: Vec::new() })
    }
}

fn number(value: &automerge::Value<'_>) -> Result<u32, Failure> {
    Ok(value.as_i64().ok_or("it is no number")?.try_into()?)
}

impl Children for Automerge {
    fn load(&mut self, count: u32) -> Result<(), Failure> {
        for child in 0..count {
            self.document.insert(&self.list, child as usize, i64::from(child))?;
        }
        self.document.commit();
        self.loaded = self.document.get_heads();
        Ok(())
    }

    fn insert(&mut self, child: u32, place: &Place) -> Result<(), Failure> {
        self.document.insert(&self.list, place.index, i64::from(child))?;
        self.document.commit();
        Ok(())
    }

    fn shift(&mut self, child: u32, from: usize, place: &Place) -> Result<(), Failure> {
        self.document.delete(&self.list, from)?;
        self.insert(child, place)
    }

    fn page(&mut self, _first: u32, index: usize) -> Result<Vec<u32>, Failure> {
        self.page_at(index)
    }

    fn page_at(&mut self, index: usize) -> Result<Vec<u32>, Failure> {
        let child = |at| {
            let found = self.document.get(&self.list, at)?;
            number(&found.ok_or("there is no such child")?.0)
        };
        (index..index + PAGE).map(child).collect()
    }

    fn all(&mut self) -> Result<Vec<u32>, Failure> {
        let all = self.document.list_range(&self.list, ..);
        all.map(|item| number(&item.value.into_value())).collect()
    }

    fn loaded(&mut self) -> Result<u64, Failure> {
        Ok(self.document.length_at(&self.list, &self.loaded) as u64)
    }
}
