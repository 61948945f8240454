{-# LANGUAGE CPP #-}
-- | The map from position to child. Neither map of the standard package is the better one for
-- every case, so both can be built: @Data.Map@, and with @-DINTMAP@ @Data.IntMap@.
module Children
  ( Children
  , empty, fromDistinctAscList, insert, delete, adjust
  , lookup, lookupMax, null, size, elems, toAscList, foldl'
#if !defined(INTMAP)
  , toDescList
#endif
  ) where

import Prelude ()
#if defined(INTMAP)
# if defined(LAZY)
import Data.IntMap.Lazy
# else
import Data.IntMap.Strict
# endif
#else
# if defined(LAZY)
import Data.Map.Lazy
# else
import Data.Map.Strict
# endif
import Prelude (Int)
#endif

#if defined(INTMAP)
type Children = IntMap
#else
type Children = Map Int
#endif
