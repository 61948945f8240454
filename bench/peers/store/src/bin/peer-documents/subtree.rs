//! Loro's tree, in which nodes can be moved; the value of a node is in the map it has. Automerge
//! has none.

use loro::{Frontiers, LoroDoc, LoroTree, LoroValue, TreeID, TreeParentId, ValueOrContainer};
use peer_store::subtree::{DEPTH, PLACES, Subtree, rows, step};
use peer_store::support::{Failure, Value};

pub struct Loro {
    document: LoroDoc,
    tree: LoroTree,
    places: Vec<TreeID>,
    top: Option<TreeID>,
    loaded: Frontiers,
}

impl Loro {
    pub fn new() -> Loro {
        let document = LoroDoc::new();
        let tree = document.get_tree("nodes");
        tree.enable_fractional_index(0);
        Loro { document, tree, places: Vec::new(), top: None, loaded: Frontiers::default() }
    }

    fn top(&self) -> Result<TreeID, Failure> {
        self.top.ok_or_else(|| "nothing was loaded".into())
    }
}

impl Subtree for Loro {
    fn load(&mut self, values: &[Value]) -> Result<(), Failure> {
        let mut nodes = std::collections::HashMap::new();
        for (id, parent, _, value) in rows(values) {
            let parent = nodes.get(&parent).copied();
            let node = self.tree.create(parent.map_or(TreeParentId::Root, TreeParentId::Node))?;
            if let Some(value) = value {
                let value = LoroValue::Binary(value.to_vec().into());
                self.tree.get_meta(node)?.insert("value", value)?;
            }
            nodes.insert(id, node);
        }
        self.places = (1..=i64::from(PLACES)).map(|id| nodes[&id]).collect();
        self.top = Some(nodes[&100]);
        self.document.commit();
        self.loaded = self.document.state_frontiers();
        Ok(())
    }

    fn shift(&mut self, _from: u32, to: u32) -> Result<(), Failure> {
        self.tree.mov(self.top()?, self.places[to as usize])?;
        self.document.commit();
        Ok(())
    }

    fn read(&mut self, place: u32, leaf: u32) -> Result<Option<Value>, Failure> {
        let below = |node: TreeID| self.tree.children(node).unwrap_or_default();
        let Some(mut node) = below(self.places[place as usize]).first().copied() else {
            return Ok(None);
        };
        for depth in 0..DEPTH {
            let child = below(node).get(step(leaf, depth) as usize).copied();
            node = child.ok_or("a node has too few children")?;
        }
        match self.tree.get_meta(node)?.get("value") {
            Some(ValueOrContainer::Value(LoroValue::Binary(bytes))) => {
                Ok(Some(bytes[..].try_into()?))
            }
            _ => Err("it is no value".into()),
        }
    }

    fn first_place(&mut self) -> Result<Option<u32>, Failure> {
        self.document.checkout(&self.loaded)?;
        let parent = self.tree.parent(self.top()?);
        let is_it = |place: &TreeID| parent == Some(TreeParentId::Node(*place));
        let first = self.places.iter().position(is_it).ok_or("it was nowhere")?;
        Ok(Some(first as u32))
    }
}
