{-# LANGUAGE BangPatterns #-}
-- | What every case needs and no case is about: options, random numbers, tree shapes, payload
-- values, worker threads, the clock and the line of JSON.
module Support
  ( Options (..), parseOptions
  , Outcome (..), report
  , Rng, rngFrom, below
  , Shape (..), shapeRead, shapeWrite, countNodes, countLeaves, randomLeaf, randomParent
  , attributeKey, valueOf, valueLeaf, valueStamp
  , runWorkers, share, timed, settleHeap, secondsNow
  ) where

import Control.Concurrent
import Control.Exception
import Control.Monad
import Data.ByteString (ByteString)
import qualified Data.ByteString.Char8 as Char8
import qualified Data.ByteString.Internal as Bytes
import qualified Data.ByteString.Unsafe as Bytes
import Data.Bits
import Data.Word
import Foreign.Ptr
import Foreign.Storable
import GHC.Clock (getMonotonicTimeNSec)
import System.IO.Unsafe (unsafeDupablePerformIO)
import System.Mem (performMajorGC)
import Text.Printf

data Options = Options
  { caseName :: String
  , threads :: !Int
  , tasks :: !Int
  , seed :: !Word64
  , quick :: !Bool
  , wideChildren :: !Int
  , walkSeconds :: !Double
  }

parseOptions :: [String] -> Either String Options
parseOptions [] = Left "usage: peer CASE --threads N --tasks T [--nodes-scale full|quick] --seed S"
parseOptions (name : rest) = go (Options name 1 50 1 False 100000 2) rest
  where
    go options [] = Right options
    go options ("--threads" : n : more) = go options { threads = read n } more
    go options ("--tasks" : n : more) = go options { tasks = read n } more
    go options ("--seed" : n : more) = go options { seed = read n } more
    go options ("--nodes-scale" : "full" : more) = go options { quick = False } more
    go options ("--nodes-scale" : "quick" : more) = go options { quick = True } more
    go options ("--children" : n : more) = go options { wideChildren = read n } more
    go options ("--seconds" : n : more) = go options { walkSeconds = read n } more
    go _ (unknown : _) = Left ("unknown or incomplete option " ++ unknown)

data Outcome = Outcome
  { seconds :: !Double
  , operations :: !Int
  , value :: !Double
  , unit :: !String
  , extra :: [(String, Double)]
  , check :: !String -- ^ "ok", or what was wrong
  }

report :: Options -> Outcome -> String
report options outcome =
  printf "{\"case\":\"%s\",\"threads\":%d,\"seconds\":%.6f,\"operations\":%d,\"value\":%.3f"
    (caseName options) (threads options) (seconds outcome) (operations outcome) (value outcome)
    ++ printf ",\"unit\":\"%s\"" (unit outcome)
    ++ concat [printf ",\"%s\":%.3f" name number | (name, number) <- extra outcome]
    ++ printf ",\"check\":\"%s\"}" (check outcome)

-- | SplitMix64: the same numbers in every peer.
newtype Rng = Rng Word64

rngFrom :: Word64 -> Rng
rngFrom = Rng

below :: Int -> Rng -> (Int, Rng)
below limit (Rng state) = (fromIntegral (scaled `shiftR` 32), Rng next)
  where
    scaled = (mixed `shiftR` 32) * fromIntegral limit
    next = state + 0x9e3779b97f4a7c15
    a = (next `xor` (next `shiftR` 30)) * 0xbf58476d1ce4e5b9
    b = (a `xor` (a `shiftR` 27)) * 0x94d049bb133111eb
    mixed = b `xor` (b `shiftR` 31)
{-# INLINE below #-}

-- | The fan-out of each level, the root's first.
newtype Shape = Shape [Int]

-- | 810,781 nodes, or 1,327 to try the program out.
shapeRead :: Options -> Shape
shapeRead options =
  Shape $ if quick options then [2, 2, 2, 2, 3, 2, 3, 3] else [5, 5, 5, 5, 6, 5, 6, 6]

-- | 10,005 nodes, or 327.
shapeWrite :: Options -> Shape
shapeWrite options = Shape $ if quick options then [2, 2, 2, 3, 3, 3] else [4, 4, 4, 5, 5, 5]

countNodes :: Shape -> Int
countNodes (Shape fanOuts) = sum (scanl (*) 1 fanOuts)

countLeaves :: Shape -> Int
countLeaves (Shape fanOuts) = product fanOuts

-- | A random leaf: its path, and its number in order of paths.
randomLeaf :: Shape -> Rng -> ([Int], Int, Rng)
randomLeaf (Shape fanOuts) = go fanOuts 0
  where
    go [] !number !rng = ([], number, rng)
    go (fanOut : rest) number rng =
      let !(!position, !rng1) = below fanOut rng
          !(positions, number', rng2) = go rest (number * fanOut + position) rng1
       in (position : positions, number', rng2)

-- | The path of a random inner node; its depth is uniform. Drawn from the root on.
randomParent :: Shape -> Rng -> ([Int], Rng)
randomParent (Shape fanOuts) rng = go (take depth fanOuts) rng1
  where
    (depth, rng1) = below (length fanOuts) rng
    go [] !rng2 = ([], rng2)
    go (fanOut : rest) rng2 =
      let !(!position, !rng3) = below fanOut rng2
          !(positions, rng4) = go rest rng3
       in (position : positions, rng4)

-- | 16 bytes.
attributeKey :: ByteString
attributeKey = Char8.pack "attribute-key-01"
{-# NOINLINE attributeKey #-}

-- | 100 bytes of its own: a number that tells whose value it is, a stamp that tells which of its
-- values it is, and filling.
valueOf :: Int -> Int -> ByteString
valueOf number stamp = Bytes.unsafeCreate 100 $ \bytes -> do
  _ <- Bytes.memset (bytes `plusPtr` 16) 0x76 84
  poke (castPtr bytes) number
  poke (castPtr (bytes `plusPtr` 8)) stamp

valueLeaf, valueStamp :: ByteString -> Int
valueLeaf = peekAt 0
valueStamp = peekAt 8

peekAt :: Int -> ByteString -> Int
peekAt offset bytes =
  unsafeDupablePerformIO $ Bytes.unsafeUseAsCString bytes $ \start -> peek (start `plusPtr` offset)
{-# INLINE peekAt #-}

-- | Runs one worker per capability and waits for all. Explicit threads, because sparks evaluated
-- the same tree on both cores.
runWorkers :: Int -> (Int -> IO a) -> IO [a]
runWorkers count work = do
  results <- forM [0 .. count - 1] $ \index -> do
    result <- newEmptyMVar
    _ <- forkOn index (try (work index >>= evaluate) >>= putMVar result)
    pure result
  forM results $ takeMVar >=> either (throwIO :: SomeException -> IO a) pure

-- | How many of the operations fall to this worker.
share :: Int -> Int -> Int -> Int
share total workers index = total `div` workers + fromEnum (index < total `mod` workers)

secondsNow :: IO Double
secondsNow = (/ 1e9) . fromIntegral <$> getMonotonicTimeNSec

timed :: IO a -> IO (Double, a)
timed action = do
  start <- secondsNow
  result <- action
  end <- secondsNow
  pure (end - start, result)

-- | Collects what the building of the tree left behind, so that it is not collected on the clock.
settleHeap :: IO ()
settleHeap = performMajorGC
