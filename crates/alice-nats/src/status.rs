//! What a node looks like, as bytes.

use alice::{InputStatus, NodeStatus, QueueStatus, WaitingStatus};
use bytes::Bytes;

/// More queues, and more who wait, are not told of.
const TOLD_MAX: usize = 500;

type Queues = Vec<(String, u64, u64, u64)>;
type Waiting = Vec<(String, Vec<(String, bool)>)>;

pub(crate) fn write(status: NodeStatus) -> Bytes {
    let queue =
        |queue: QueueStatus| (queue.name, queue.segments as u64, queue.newest, queue.displaced);
    let input = |input: InputStatus| (input.name, input.is_there);
    let waiting = |waiting: WaitingStatus| {
        (waiting.name, waiting.inputs.into_iter().take(TOLD_MAX).map(input).collect())
    };
    let queues: Queues = status.queues.into_iter().take(TOLD_MAX).map(queue).collect();
    let waiting: Waiting = status.waiting.into_iter().take(TOLD_MAX).map(waiting).collect();
    rmp_serde::to_vec(&(queues, waiting)).expect("plain data").into()
}

/// `None` when it is none.
pub(crate) fn read(bytes: &[u8]) -> Option<NodeStatus> {
    let (queues, waiting): (Queues, Waiting) = rmp_serde::from_slice(bytes).ok()?;
    let queue = |(name, segments, newest, displaced): (String, u64, u64, u64)| {
        let segments = usize::try_from(segments).unwrap_or(usize::MAX);
        QueueStatus { name, segments, newest, displaced }
    };
    let input = |(name, is_there)| InputStatus { name, is_there };
    let waiting = waiting.into_iter().map(|(name, inputs)| {
        let inputs = inputs.into_iter().map(input).collect();
        WaitingStatus { name, inputs }
    });
    let queues = queues.into_iter().map(queue).collect();
    Some(NodeStatus { queues, waiting: waiting.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_comes_back_as_it_was_and_bytes_of_others_are_none() {
        let queue = QueueStatus { name: "fish".into(), segments: 3, newest: 9, displaced: 1 };
        let inputs = [("fish", true), ("food", false)];
        let inputs = inputs.map(|(name, is_there)| InputStatus { name: name.into(), is_there });
        let waiting = WaitingStatus { name: "feed".into(), inputs: inputs.into() };
        let status = NodeStatus { queues: vec![queue], waiting: vec![waiting] };
        let bytes = write(status.clone());
        assert_eq!(read(&bytes), Some(status));
        (0..bytes.len()).for_each(|end| assert_eq!(read(&bytes[..end]), None));
        // A list of four thousand millions.
        assert_eq!(read(b"\x92\xdd\xff\xff\xff\xff\x90"), None);
    }
}
