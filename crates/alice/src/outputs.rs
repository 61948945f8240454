//! Outputs: the queues that a code segment puts into.

use crate::error::DeclareError;
use crate::key::{Data, Key};
use crate::node::Node;
use crate::queue::Queue;

/// What a code segment puts into: a key of its own node, a [`Queue`] of any node of the process, up
/// to six of them as a tuple, or any number of one type as a vector. `()` is none.
///
/// The code segment gets a [`Queue`] for each, arranged alike. This trait is implemented by this
/// crate only.
///
/// ```
/// use alice::{Key, Node, Run, take};
///
/// const NUMBER: Key<u32> = Key::new("number");
/// const ODD: Key<u32> = Key::new("odd");
///
/// let (node, other) = (Node::new(), Node::new());
/// let even = other.queue(&Key::<u32>::new("even"))?;
/// let sort = node.code("sort").when(take(&NUMBER)).to((&ODD, &even)).run(Run::Here);
/// sort.repeatedly(|number, (odd, even)| {
///     if **number % 2 == 1 { odd.flip(number) } else { even.flip(number) }
/// })?;
/// (1..=3).try_for_each(|number| node.put(&NUMBER, number).map(drop))?;
/// assert_eq!((node.queue(&ODD)?.len(), *even.take()?), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Outputs {
    /// The queues.
    type Queues: Send + Sync + 'static;

    /// Finds the queues.
    ///
    /// # Errors
    /// When a key has another type here.
    fn find(self, node: &Node) -> Result<Self::Queues, DeclareError>;
}

impl Outputs for () {
    type Queues = ();

    fn find(self, _: &Node) -> Result<(), DeclareError> {
        Ok(())
    }
}

impl<T: Data> Outputs for &Key<T> {
    type Queues = Queue<T>;

    fn find(self, node: &Node) -> Result<Queue<T>, DeclareError> {
        node.queue(self)
    }
}

impl<T: Data> Outputs for &Queue<T> {
    type Queues = Queue<T>;

    fn find(self, _: &Node) -> Result<Queue<T>, DeclareError> {
        Ok(self.clone())
    }
}

impl<O: Outputs> Outputs for Vec<O> {
    type Queues = Vec<O::Queues>;

    fn find(self, node: &Node) -> Result<Self::Queues, DeclareError> {
        self.into_iter().map(|output| output.find(node)).collect()
    }
}

macro_rules! tuple {
    ($($output:ident $at:tt),+) => {
        impl<$($output: Outputs),+> Outputs for ($($output,)+) {
            type Queues = ($($output::Queues,)+);

            fn find(self, node: &Node) -> Result<Self::Queues, DeclareError> {
                Ok(($(self.$at.find(node)?,)+))
            }
        }
    };
}

tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);
