{-# LANGUAGE OverloadedStrings #-}
-- | The bulletin board of the originals on the Warp server: a board is a tree of the Haskell peer,
-- in memory, and a message a child of its root with three attributes. Everything is a @GET@, since
-- their load tool knew nothing else.
--
-- Of the boards @b@ and @w@, @/board?board=B@ shows the newest messages, @/count?board=B@ says how many
-- there are, and @/post?board=B&author=A&text=T@ adds one; @/hello?bytes=N@ is a constant answer. It
-- prints its address, and runs until it is killed.
module Main (main) where

import Data.ByteString (ByteString)
import qualified Data.ByteString as Bytes
import Data.ByteString.Builder
import qualified Data.ByteString.Char8 as Char8
import Data.Char (ord)
import qualified Data.Map.Strict as Map
import Data.Maybe (fromMaybe)
import Data.Time.Clock (getCurrentTime)
import Data.Time.Format (defaultTimeLocale, formatTime)
import Network.HTTP.Types
import Network.Wai
import Network.Wai.Handler.Warp
import System.IO (hFlush, stdout)

import qualified Children
import Jungle

main :: IO ()
main = do
  jungle <- createJungle
  mapM_ (createTree jungle) ["b", "w"]
  (port, socket) <- openFreePort
  putStrLn ("http://127.0.0.1:" ++ show port)
  hFlush stdout
  runSettingsSocket defaultSettings socket (answer jungle)

answer :: Jungle -> Application
answer jungle request respond
  | board `notElem` ["b", "w"] = respond (responseLBS status404 [] "there is no such board\n")
  | otherwise = case rawPathInfo request of
    "/hello" -> respond (whole (Bytes.take size constant))
      where size = maybe 5 fst (parameter "bytes" >>= Char8.readInt)
    "/board" -> do
      root <- getRootNode jungle board
      respond (responseBuilder status200 [html] (page root))
    "/post" -> do
      now <- getCurrentTime
      let posted = Char8.pack (formatTime defaultTimeLocale "%Y-%m-%d %H:%M" now)
          author = fromMaybe "anonymous" (parameter "author")
          text = fromMaybe "hello" (parameter "text")
      updateRootNodeWith (post author text posted) jungle board
      respond (whole "posted\n")
    "/count" -> do
      root <- getRootNode jungle board
      respond (whole (Char8.pack (show (numOfChild root []))))
    _ -> respond (responseLBS status404 [] "there is nothing here\n")
  where
    board = fromMaybe "b" (parameter "board")
    parameter name = fromMaybe Nothing (lookup name (queryString request))

-- | An answer whose length is said.
whole :: ByteString -> Response
whole body = responseBuilder status200 [html, size] (byteString body)
  where size = (hContentLength, Char8.pack (show (Bytes.length body)))

html :: Header
html = (hContentType, "text/html; charset=utf-8")

-- | What constant answers are the beginning of.
constant :: ByteString
constant = Bytes.concat (replicate 20000 "hello")
{-# NOINLINE constant #-}

post :: ByteString -> ByteString -> ByteString -> Node -> Node
post author text posted root = put "time" posted (put "text" text (put "author" author added))
  where
    added = addChildAt root []
    put key value node = putAttribute node [nextPosition root] key value

-- | The newest fifty messages, in the markup of our board.
page :: Node -> Builder
page root =
  byteString before <> mconcat (map shown newest) <> "</ol>\n</section>\n</main>\n</body>\n</html>\n"
  where newest = take 50 (Children.toDescList (children root))

shown :: (Position, Node) -> Builder
shown (position, message) =
  "<li class=\"message\" id=\"m" <> intDec position <> "\">\n<div class=\"about\">\n<strong>"
    <> escaped (field "author")
    <> "</strong>\n<a class=\"quiet\" href=\"/boards/b/" <> intDec position <> "\"><time datetime=\""
    <> escaped (field "time") <> "\">" <> escaped (field "time")
    <> "</time>\n</a>\n</div>\n<div class=\"text\">" <> escaped (field "text") <> "</div>\n</li>\n"
  where field key = Map.findWithDefault Bytes.empty key (attributes message)

-- | Text in a page; mostly there is nothing in it to escape.
escaped :: ByteString -> Builder
escaped text
  | Bytes.any special text = mconcat (map entity (Bytes.unpack text))
  | otherwise = byteString text
  where
    special byte = byte `elem` map (fromIntegral . ord) "<>&\"'"
    entity byte | special byte = "&#" <> word8Dec byte <> ";"
                | otherwise = word8 byte

-- | The page down to its first message.
before :: ByteString
before = Bytes.concat
  [ "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
  , "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
  , "<meta name=\"color-scheme\" content=\"light dark\">\n<title>b</title>\n"
  , "<link rel=\"stylesheet\" href=\"/assets/board.css\">\n</head>\n<body>\n"
  , "<header class=\"bar\">\n<a class=\"home\" href=\"/boards\">Boards</a>\n</header>\n<main>\n"
  , "<h1>b</h1>\n<form class=\"panel\" method=\"post\" action=\"/boards/b\">\n<label>Message\n"
  , "<textarea name=\"text\" required maxlength=\"16000\" rows=\"3\"></textarea>\n</label>\n"
  , "<div class=\"row\">\n<label>Your name\n<input name=\"author\" maxlength=\"64\">\n</label>\n"
  , "<button>Post</button>\n</div>\n</form>\n<section id=\"messages\" aria-live=\"polite\">\n"
  , "<ol class=\"messages\">\n" ]
{-# NOINLINE before #-}
