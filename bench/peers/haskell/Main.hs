{-# LANGUAGE BangPatterns #-}
-- | The Haskell peer: one case per run, one line of JSON. See the README beside this folder.
module Main (main) where

import Control.Concurrent
import Control.Exception (evaluate)
import Control.Monad
import Data.Array.IO (IOUArray, newArray, readArray, writeArray)
import Data.Array.Unboxed (UArray, (!))
import Data.Array.Unsafe (unsafeFreeze)
import Data.Bits (xor)
import qualified Data.ByteString as Bytes
import qualified Data.ByteString.Char8 as Char8
import Data.IORef
import Data.List (foldl')
import qualified Data.Map.Strict as Map
import Data.Word (Word32)
import GHC.Stats
import System.Environment (getArgs)
import System.Exit
import System.IO (hPutStrLn, stderr)

import qualified Children
import Jungle
import Support

main :: IO ()
main = do
  arguments <- getArgs
  options <- either usage pure (parseOptions arguments)
  run <- maybe (usage ("unknown case " ++ caseName options)) pure (lookup (caseName options) cases)
  outcome <- run options
  putStrLn (report options outcome)
  when (check outcome /= "ok") exitFailure
  where
    usage message = hPutStrLn stderr message >> exitWith (ExitFailure 2)

cases :: [(String, Options -> IO Outcome)]
cases =
  [ ("read-visit", readCase Bare Fresh)
  , ("read-visit-attribute", readCase Attributed Fresh)
  , ("read-visit-aged", readCase Attributed Aged)
  , ("write-nodes", writeCase Bare)
  , ("write-attributes", writeCase Attributed)
  , ("point-update", pointUpdate)
  , ("point-read", pointRead)
  , ("walker-update", walkerUpdate)
  , ("memory-bare", memoryCase Bare)
  , ("memory-attribute", memoryCase Attributed)
  , ("wide", wideCase)
  ]

data Payload = Bare | Attributed deriving (Eq)

data Age = Fresh | Aged deriving (Eq)

treeName :: Name
treeName = Char8.pack "tree"

-- | The read tree, bottom up. Every value is an object of its own.
buildTree :: Shape -> Payload -> Node
buildTree (Shape fanOuts) payload = go fanOuts 0
  where
    go levels !number = case levels of
      [] | payload == Bare -> emptyNode
         | otherwise -> Node Children.empty attrs 0
      fanOut : below' ->
        let kids = [(i, go below' (number * fanOut + i)) | i <- [0 .. fanOut - 1]]
         in Node (Children.fromDistinctAscList kids) attrs fanOut
      where
        attrs | payload == Bare = Map.empty
              | otherwise = Map.singleton attributeKey $! valueOf number 0

-- | A jungle that holds just the read tree.
plant :: Options -> Payload -> IO Jungle
plant options payload = do
  jungle <- createJungle
  createTree jungle treeName
  updateRootNode jungle treeName (buildTree (shapeRead options) payload)
  pure jungle

countAll :: Node -> Int
countAll = foldNodes (\count _ -> count + 1) 0

countAttributed :: Node -> Int
countAttributed = foldNodes visit 0
  where
    visit count node = if Map.null (attributes node) then count else count + 1

-- | One number for a node and all below it, parents first: how many attributes it has, their keys
-- and values, how many children, and before each of them its position. All systems tell the same.
checksum :: Word32 -> Node -> Word32
checksum start node = foldl' withChild withCount (Children.toAscList (children node))
  where
    withAttributes = foldl' withAttribute (mix start (Map.size held)) (Map.toAscList held)
    withCount = mix withAttributes (Children.size (children node))
    held = attributes node
    withAttribute !acc (key, content) = Bytes.foldl' mixByte (Bytes.foldl' mixByte acc key) content
    withChild !acc (position, child) = checksum (mix acc position) child
    mixByte acc byte = mix acc (fromIntegral byte)

mix :: Word32 -> Int -> Word32
mix acc number = acc * 31 + fromIntegral number

-- | One random overwrite; the stamp says which.
overwrite :: Shape -> Rng -> Int -> Node -> (Node, Rng)
overwrite shape rng stamp root = (putAttribute root path attributeKey value', rng')
  where
    !(path, number, rng') = randomLeaf shape rng
    !value' = valueOf number stamp

readCase :: Payload -> Age -> Options -> IO Outcome
readCase payload age options = do
  setNumCapabilities (threads options)
  jungle <- plant options payload
  when (age == Aged) $ do
    root <- getRootNode jungle treeName
    updateRootNode jungle treeName (aged root)
  settleHeap
  tree <- findTree jungle treeName
  dispenser <- newMVar (0, rngFrom (seed options))
  (elapsed, wrongs) <- timed $ runWorkers (threads options) $ \_ -> worker tree dispenser 0
  content <- evaluate . checksum 0 =<< treeRoot tree
  let wrong = sum wrongs
      -- Every count was compared, so the visits are known: the base each time, and the added ones.
      visits = tasks options * base + tasks options * (tasks options + 1) `div` 2
  pure Outcome
    { seconds = elapsed, operations = visits, value = fromIntegral visits / elapsed
    , unit = "1/s", extra = [("checksum", fromIntegral content)]
    , check = if wrong == 0 then "ok" else show wrong ++ " snapshots had a wrong count" }
  where
    shape = shapeRead options
    base = countNodes shape
    aged root = fst (foldl' step (root, rngFrom (seed options `xor` 0xa6ed)) [1 .. agingUpdates])
    step (!root, !rng) stamp = overwrite shape rng stamp root
    agingUpdates = if quick options then 10000 else 1000000 :: Int
    worker tree dispenser !wrong = do
      task <- modifyMVar dispenser $ \(version, rng) ->
        if version == tasks options
          then pure ((version, rng), Nothing)
          else do
            let (parent, rng') = randomParent shape rng
            updateTreeWith (`addChildAt` parent) tree
            root <- treeRoot tree
            pure ((version + 1, rng'), Just (version + 1, root))
      case task of
        Nothing -> pure (wrong :: Int)
        Just (version, root) -> do
          count <- evaluate $ if payload == Bare then countAll root else countAttributed root
          -- The added nodes have no attribute.
          let expected = if payload == Bare then base + version else base
          worker tree dispenser (wrong + fromEnum (count /= expected))

-- | Builds a tree from the root down, every edit by its path from the root.
growTree :: Shape -> Payload -> Node
growTree (Shape fanOuts) payload = grow fanOuts [] (decorate emptyNode [])
  where
    grow [] _ root = root
    grow (fanOut : rest) path root = foldl' (addOne rest path) root [0 .. fanOut - 1]
    addOne rest path root position =
      let childPath = path ++ [position]
          !grown = decorate (addChildAt root path) childPath
       in grow rest childPath grown
    decorate root path
      | payload == Bare = root
      | otherwise = putAttribute root path attributeKey shortValue
    shortValue = Char8.pack "sixteen-byte-val"

writeCase :: Payload -> Options -> IO Outcome
writeCase payload options = do
  setNumCapabilities (threads options)
  jungle <- createJungle
  settleHeap
  counter <- newIORef 0
  (elapsed, _) <- timed $ runWorkers (threads options) $ \_ -> worker jungle counter
  counts <- forM [0 .. tasks options - 1] $ \task -> do
    root <- getRootNode jungle (nameOf task)
    pure (countAll root == base && (payload == Bare || countAttributed root == base))
  let goOn acc task = evaluate . checksum acc =<< getRootNode jungle (nameOf task)
  content <- foldM goOn 0 [0 .. tasks options - 1]
  let nodes = base * tasks options
      wrong = length (filter not counts)
  pure Outcome
    { seconds = elapsed, operations = nodes, value = fromIntegral nodes / elapsed
    , unit = "1/s", extra = [("checksum", fromIntegral content)]
    , check = if wrong == 0 then "ok" else show wrong ++ " trees had a wrong count" }
  where
    shape = shapeWrite options
    base = countNodes shape
    nameOf task = Char8.pack ("tree-" ++ show (task :: Int))
    worker jungle counter = do
      task <- atomicModifyIORef' counter (\n -> (n + 1, n))
      when (task < tasks options) $ do
        createTree jungle (nameOf task)
        updateRootNode jungle (nameOf task) (growTree' task)
        worker jungle counter
    -- Depends on the task only to keep the compiler from building one tree for all tasks.
    growTree' task = growTree (opaqueShape task shape) payload

-- | The same shape; the compiler must not know.
opaqueShape :: Int -> Shape -> Shape
opaqueShape _ shape = shape
{-# NOINLINE opaqueShape #-}

-- | What the leaves must hold after so many overwrites, by doing the random draws over again.
expectedStamps :: Options -> Rng -> Int -> IO (UArray Int Int)
expectedStamps options start updates = do
  stamps <- newArray (0, countLeaves shape - 1) 0 :: IO (IOUArray Int Int)
  let go :: Rng -> Int -> IO ()
      go !rng !stamp = when (stamp <= updates) $ do
        let (_, number, rng') = randomLeaf shape rng
        writeArray stamps number stamp
        go rng' (stamp + 1)
  go start 1
  _ <- readArray stamps 0
  unsafeFreeze stamps
  where
    shape = shapeRead options

-- | Compares every leaf; "ok" or how many are wrong.
checkLeaves :: Options -> Rng -> Int -> Node -> IO String
checkLeaves options start updates root = do
  stamps <- expectedStamps options start updates
  let visit (!number, !wrong) node
        | not (Children.null (children node)) = (number, wrong)
        | stampAt node == Just (number, stamps ! number) = (number + 1, wrong)
        | otherwise = (number + 1, wrong + 1)
      stampAt node = describe <$> Map.lookup attributeKey (attributes node)
      describe found = (valueLeaf found, valueStamp found)
      (leaves, bad) = foldNodes visit (0, 0 :: Int) root
  pure $ if leaves == countLeaves (shapeRead options) && bad == 0
    then "ok"
    else show bad ++ " of " ++ show leaves ++ " leaves are wrong"

pointUpdate :: Options -> IO Outcome
pointUpdate options = do
  setNumCapabilities 1
  jungle <- plant options Attributed
  settleHeap
  tree <- findTree jungle treeName
  let updates = tasks options * 1000
      start = rngFrom (seed options)
      go !rng !stamp = when (stamp <= updates) $ do
        rng' <- publishOverwrite shape tree rng stamp
        go rng' (stamp + 1)
  (elapsed, _) <- timed $ runWorkers 1 $ \_ -> go start 1
  problem <- getRootNode jungle treeName >>= checkLeaves options start updates
  pure Outcome
    { seconds = elapsed, operations = updates, value = fromIntegral updates / elapsed
    , unit = "1/s", extra = [], check = problem }
  where
    shape = shapeRead options

publishOverwrite :: Shape -> Tree -> Rng -> Int -> IO Rng
publishOverwrite shape tree rng stamp = do
  let !(path, number, rng') = randomLeaf shape rng
      !value' = valueOf number stamp
  updateTreeWith (\root -> putAttribute root path attributeKey value') tree
  pure rng'

pointRead :: Options -> IO Outcome
pointRead options = do
  setNumCapabilities (threads options)
  jungle <- plant options Attributed
  settleHeap
  tree <- findTree jungle treeName
  let reads' = tasks options * 1000
      worker index =
        go (share reads' (threads options) index) 0 (rngFrom (seed options + fromIntegral index))
      go 0 !wrong _ = pure (wrong :: Int)
      go left wrong rng = do
        let !(path, number, rng') = randomLeaf shape rng
        root <- treeRoot tree
        let !good = case getAttributes root path attributeKey of
              Just found -> valueLeaf found == number
              Nothing -> False
        go (left - 1 :: Int) (wrong + fromEnum (not good)) rng'
  (elapsed, wrongs) <- timed $ runWorkers (threads options) worker
  let wrong = sum wrongs
  pure Outcome
    { seconds = elapsed, operations = reads', value = fromIntegral reads' / elapsed
    , unit = "1/s", extra = []
    , check = if wrong == 0 then "ok" else show wrong ++ " reads found a wrong value" }
  where
    shape = shapeRead options

walkerUpdate :: Options -> IO Outcome
walkerUpdate options = do
  setNumCapabilities 2
  jungle <- plant options Attributed
  settleHeap
  tree <- findTree jungle treeName
  stopped <- newIORef False
  begin <- secondsNow
  let start = rngFrom (seed options)
      deadline = begin + walkSeconds options
      write !rng !stamp = do
        rng' <- publishOverwrite shape tree rng stamp
        -- The clock is read seldom, so that it does not count.
        now <- if stamp `rem` 64 == 0 then secondsNow else pure begin
        if now < deadline then write rng' (stamp + 1) else do
          writeIORef stopped True
          pure (stamp, now - begin, 0)
      walk !visits !wrong = do
        count <- countAttributed <$> treeRoot tree >>= evaluate
        let wrong' = wrong + fromEnum (count /= countNodes shape)
        stop <- readIORef stopped
        if stop
          then do
            now <- secondsNow
            pure (visits + count, now - begin, wrong')
          else walk (visits + count) wrong'
  results <- runWorkers 2 $ \index -> if index == 0 then write start 1 else walk 0 (0 :: Int)
  leaves <- case results of
    ((updates, _, _) : _) -> getRootNode jungle treeName >>= checkLeaves options start updates
    [] -> pure "no writer"
  let rates = [fromIntegral n / elapsed | (n, elapsed, _) <- results] :: [Double]
      (updates, updateSeconds, _) = head results
      badWalks = sum [wrong | (_, _, wrong) <- results]
  pure Outcome
    { seconds = updateSeconds, operations = updates, value = head rates, unit = "1/s"
    , extra = [("walker", last rates)]
    , check = if badWalks /= 0 then show badWalks ++ " walks had a wrong count" else leaves }
  where
    shape = shapeRead options

memoryCase :: Payload -> Options -> IO Outcome
memoryCase payload options = do
  setNumCapabilities 1
  before <- liveBytes
  (elapsed, jungle) <- timed (plant options payload)
  after <- liveBytes
  count <- countAll <$> getRootNode jungle treeName
  let nodes = countNodes (shapeRead options)
  pure Outcome
    { seconds = elapsed, operations = nodes
    , value = fromIntegral (after - before) / fromIntegral nodes, unit = "B", extra = []
    , check = if count == nodes then "ok" else "the tree has " ++ show count ++ " nodes" }
  where
    liveBytes = do
      settleHeap
      stats <- getRTSStats
      pure (fromIntegral (gcdetails_live_bytes (gc stats)) :: Int)

wideCase :: Options -> IO Outcome
wideCase options = do
  setNumCapabilities 1
  settleHeap
  (elapsed, root : _) <- timed $ runWorkers 1 $ \_ ->
    evaluate (foldl' (\node _ -> addChildAt node []) emptyNode [1 .. wideChildren options])
  let found = numOfChild root []
  pure Outcome
    { seconds = elapsed, operations = wideChildren options
    , value = fromIntegral (wideChildren options) / elapsed, unit = "1/s", extra = []
    , check = if found == wideChildren options then "ok" else show found ++ " children found" }
