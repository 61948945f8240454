{-# LANGUAGE BangPatterns #-}
{-# LANGUAGE CPP #-}
-- | The original idea in its own language: a pure tree whose edits copy the path from the root,
-- and a transactional variable per tree that names the newest root.
--
-- Fields are strict, because that measured faster than lazy ones; @-DLAZY@ builds the lazy form.
-- Like the originals, edits of a path that does not exist change nothing and report nothing: the
-- benchmarks find such a mistake by their counts.
module Jungle
  ( -- * Nodes
    Node (..), Position, Path, Key, Value
  , emptyNode
  , addChildAt, deleteChildAt, putAttribute, deleteAttribute
  , getAttributes, assocAttribute, getChildren, assocChildren, numOfChild, currentChild
  , foldNodes
    -- * The set of named trees
  , Jungle, Tree, Name
  , createJungle, createTree, getRootNode, updateRootNode, updateRootNodeWith
  , findTree, treeRoot, updateTreeWith
  ) where

import Control.Concurrent.STM
import Data.ByteString (ByteString)
#ifdef LAZY
import qualified Data.Map.Lazy as Map
#else
import qualified Data.Map.Strict as Map
#endif

import Children (Children)
import qualified Children

type Position = Int
type Path = [Position]
type Key = ByteString
type Value = ByteString
type Name = ByteString

#ifdef LAZY
data Node = Node
  { children :: Children Node
  , attributes :: Map.Map Key Value
  , nextPosition :: Int
  }
#else
data Node = Node
  { children :: !(Children Node)
  , attributes :: !(Map.Map Key Value)
  , nextPosition :: !Int
  }
#endif

-- | One object that every empty leaf shares: no leaf without attributes costs a node.
emptyNode :: Node
emptyNode = Node Children.empty Map.empty 0
{-# NOINLINE emptyNode #-}

-- | Copies the nodes along the path and applies the edit to the last one.
editAt :: (Node -> Node) -> Node -> Path -> Node
editAt edit = descend
  where
    descend node [] = edit node
    descend node (position : rest) =
      node { children = Children.adjust (\child -> descend child rest) position (children node) }
{-# INLINE editAt #-}

addChildAt :: Node -> Path -> Node
addChildAt = editAt $ \(Node kids attrs next) ->
  Node (Children.insert next emptyNode kids) attrs (next + 1)

deleteChildAt :: Node -> Path -> Position -> Node
deleteChildAt root path position =
  editAt (\node -> node { children = Children.delete position (children node) }) root path

putAttribute :: Node -> Path -> Key -> Value -> Node
putAttribute root path key value =
  editAt (\node -> node { attributes = Map.insert key value (attributes node) }) root path

deleteAttribute :: Node -> Path -> Key -> Node
deleteAttribute root path key =
  editAt (\node -> node { attributes = Map.delete key (attributes node) }) root path

-- | The node at a path, if there is one.
nodeAt :: Node -> Path -> Maybe Node
nodeAt node [] = Just node
nodeAt node (position : rest) = case Children.lookup position (children node) of
  Nothing -> Nothing
  Just child -> nodeAt child rest

getAttributes :: Node -> Path -> Key -> Maybe Value
getAttributes root path key = nodeAt root path >>= Map.lookup key . attributes

assocAttribute :: Node -> Path -> [(Key, Value)]
assocAttribute root path = maybe [] (Map.toAscList . attributes) (nodeAt root path)

getChildren :: Node -> Path -> [Node]
getChildren root path = maybe [] (Children.elems . children) (nodeAt root path)

assocChildren :: Node -> Path -> [(Position, Node)]
assocChildren root path = maybe [] (Children.toAscList . children) (nodeAt root path)

numOfChild :: Node -> Path -> Int
numOfChild root path = maybe 0 (Children.size . children) (nodeAt root path)

currentChild :: Node -> Path -> Maybe Node
currentChild root path = nodeAt root path >>= fmap snd . Children.lookupMax . children

-- | Calls the visitor on every node, parents before children, siblings in order.
-- Inlined, so that a visitor known at the call site costs no unknown call.
foldNodes :: (a -> Node -> a) -> a -> Node -> a
foldNodes visit = go
  where
    go !acc node = Children.foldl' go (visit acc node) (children node)
{-# INLINE foldNodes #-}

newtype Jungle = Jungle (TVar (Map.Map Name Tree))

type Tree = TVar Node

createJungle :: IO Jungle
createJungle = Jungle <$> newTVarIO Map.empty

createTree :: Jungle -> Name -> IO ()
createTree (Jungle trees) name = do
  tree <- newTVarIO emptyNode
  atomically $ modifyTVar' trees (Map.insert name tree)

findTree :: Jungle -> Name -> IO Tree
findTree (Jungle trees) name = (Map.! name) <$> readTVarIO trees

treeRoot :: Tree -> IO Node
treeRoot = readTVarIO

getRootNode :: Jungle -> Name -> IO Node
getRootNode jungle name = findTree jungle name >>= treeRoot

updateRootNode :: Jungle -> Name -> Node -> IO ()
updateRootNode jungle name !root = do
  tree <- findTree jungle name
  atomically $ writeTVar tree root

-- | The new root is evaluated before it is published: a reader must never find a chain of
-- unfinished edits to do in the writer's stead.
updateTreeWith :: (Node -> Node) -> Tree -> IO ()
updateTreeWith edit tree = atomically $ do
  root <- readTVar tree
  writeTVar tree $! edit root

updateRootNodeWith :: (Node -> Node) -> Jungle -> Name -> IO ()
updateRootNodeWith edit jungle name = findTree jungle name >>= updateTreeWith edit
