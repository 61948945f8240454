//! Deliberate bugs, to see that the tests find them: see `jungle_tree::planted`.

jungle_tree::planted_bugs! {
    /// A follower does not look whether a message was written behind the one that it has.
    LinkIgnored,
    /// What was sent and not answered is told as refused.
    UnknownIsRefused,
    /// An entry of an outbox is published again although it is noted that it has its place.
    SettledForgotten,
    /// The numbers that an outbox sets aside are not written down.
    NumbersForgotten,
}
