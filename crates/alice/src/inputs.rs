//! Several inputs as one: all of them are locked in the one order of all queues, looked at, and
//! taken or not. Nobody ever holds one input while waiting for another, so crossed code segments
//! cannot wait for each other.

use crate::error::DeclareError;
use crate::failure::Given;
use crate::input::{Input, OneInput, OnePort, Port};
use crate::key::Data;
use crate::line::Line;
use crate::node::Node;
use crate::segment::Segment;
use crate::state::State;
use crate::sync::MutexGuard;

/// What a code segment waits for: one input, up to six of them as a tuple, or any number of one
/// type as a vector.
///
/// The code segment gets a [`Segment`] for each (a vector of them for [`Many`](crate::Many)),
/// arranged alike. This trait is implemented by this crate only.
///
/// ```
/// use std::time::Duration;
/// use alice::{Key, Node, peek, take, take_many};
///
/// const FLOUR: Key<u32> = Key::new("flour");
/// const EGG: Key<&str> = Key::new("egg");
/// const OVEN: Key<String> = Key::new("oven");
///
/// let node = Node::new();
/// node.put(&FLOUR, 500)?;
/// node.put(&EGG, "brown")?;
/// node.put(&EGG, "white")?;
/// node.put(&OVEN, "hot".to_owned())?;
/// let all = (take(&FLOUR), take_many(&EGG, 2), peek(&OVEN));
/// let (flour, eggs, oven) = node.wait_for(all, Duration::ZERO)?;
/// assert_eq!((*flour, *eggs[1], &**oven), (500, "white", "hot"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Inputs {
    /// The inputs with their queues.
    type Ports: Ports;

    /// Finds the queues.
    ///
    /// # Errors
    /// When a key has another type here, or is there twice.
    fn find(self, node: &Node) -> Result<Self::Ports, DeclareError>;
}

/// Inputs with their queues.
pub trait Ports: Send + Sync + 'static {
    /// What the code segment gets.
    type Values: Send + 'static;
    /// The locks of all queues.
    type Held<'a>;

    fn lock(&self) -> Self::Held<'_>;

    fn is_ready(&self, held: &Self::Held<'_>) -> bool;

    /// Must be ready.
    fn claim(&self, held: &mut Self::Held<'_>) -> Self::Values;

    fn is_closed(&self, held: &Self::Held<'_>) -> bool;

    fn each_line(&self, held: &mut Self::Held<'_>, f: &mut dyn FnMut(&mut Line));

    /// Each input's key, and whether it is there.
    fn each_input(&self, held: &Self::Held<'_>, f: &mut dyn FnMut(&str, bool));

    fn consumes(&self) -> bool;

    /// Whether all queues are those of the node with this address.
    fn all_are_of(&self, node: usize) -> bool;

    fn give(&self, values: Self::Values, into: &mut Vec<Given>);
}

impl<I: OneInput> Inputs for I {
    type Ports = I::Port;

    fn find(self, node: &Node) -> Result<I::Port, DeclareError> {
        OneInput::find(self, node)
    }
}

impl<P: OnePort> Ports for P {
    type Values = P::Value;
    type Held<'a> = MutexGuard<'a, State<P::Data>>;

    fn lock(&self) -> Self::Held<'_> {
        self.queue().lock()
    }

    fn is_ready(&self, held: &Self::Held<'_>) -> bool {
        self.has(held)
    }

    fn claim(&self, held: &mut Self::Held<'_>) -> P::Value {
        self.pick(held)
    }

    fn is_closed(&self, held: &Self::Held<'_>) -> bool {
        held.is_closed
    }

    fn each_line(&self, held: &mut Self::Held<'_>, f: &mut dyn FnMut(&mut Line)) {
        f(&mut held.line);
    }

    fn each_input(&self, held: &Self::Held<'_>, f: &mut dyn FnMut(&str, bool)) {
        f(self.queue().name(), self.has(held));
    }

    fn consumes(&self) -> bool {
        self.uses_up()
    }

    fn all_are_of(&self, node: usize) -> bool {
        self.queue().is_of(node)
    }

    fn give(&self, value: P::Value, into: &mut Vec<Given>) {
        self.tell(value, into);
    }
}

/// Several ports, and the order in which their queues are locked.
#[derive(Debug)]
pub struct Joint<P> {
    ports: P,
    order: Vec<usize>,
}

const IS_LOCKED: &str = "every queue of the order is locked";

/// The order of the queues' ids.
fn order(queues: &[(u64, &str)]) -> Result<Vec<usize>, DeclareError> {
    let mut order: Vec<usize> = (0..queues.len()).collect();
    order.sort_by_key(|&at| queues[at].0);
    match order.windows(2).find(|pair| queues[pair[0]].0 == queues[pair[1]].0) {
        Some(pair) => Err(DeclareError::SameKeyTwice { name: queues[pair[0]].1.to_owned() }),
        None => Ok(order),
    }
}

/// For a tuple of inputs, each with its place in it.
macro_rules! tuple {
    ($($input:ident $at:tt),+) => {
        impl<$($input: OneInput),+> Inputs for ($($input,)+) {
            type Ports = Joint<($($input::Port,)+)>;

            fn find(self, node: &Node) -> Result<Self::Ports, DeclareError> {
                let ports = ($(self.$at.find(node)?,)+);
                let order = order(&[$((ports.$at.queue().id(), ports.$at.queue().name())),+])?;
                Ok(Joint { ports, order })
            }
        }

        impl<$($input: OnePort),+> Ports for Joint<($($input,)+)> {
            type Values = ($($input::Value,)+);
            type Held<'a> = ($(Option<MutexGuard<'a, State<$input::Data>>>,)+);

            fn lock(&self) -> Self::Held<'_> {
                let mut held: Self::Held<'_> = Default::default();
                for at in &self.order {
                    match at {
                        $($at => held.$at = Some(self.ports.$at.queue().lock()),)+
                        _ => unreachable!("the order has as many places as the tuple"),
                    }
                }
                held
            }

            fn is_ready(&self, held: &Self::Held<'_>) -> bool {
                $(held.$at.as_ref().is_some_and(|held| self.ports.$at.has(held)))&&+
            }

            fn claim(&self, held: &mut Self::Held<'_>) -> Self::Values {
                ($(self.ports.$at.pick(held.$at.as_mut().expect(IS_LOCKED)),)+)
            }

            fn is_closed(&self, held: &Self::Held<'_>) -> bool {
                $(held.$at.as_ref().is_some_and(|held| held.is_closed))||+
            }

            fn each_line(&self, held: &mut Self::Held<'_>, f: &mut dyn FnMut(&mut Line)) {
                $(f(&mut held.$at.as_mut().expect(IS_LOCKED).line);)+
            }

            fn each_input(&self, held: &Self::Held<'_>, f: &mut dyn FnMut(&str, bool)) {
                $(
                    let state = held.$at.as_ref().expect(IS_LOCKED);
                    f(self.ports.$at.queue().name(), self.ports.$at.has(state));
                )+
            }

            fn consumes(&self) -> bool {
                $(self.ports.$at.uses_up())||+
            }

            fn all_are_of(&self, node: usize) -> bool {
                $(self.ports.$at.queue().is_of(node))&&+
            }

            fn give(&self, values: Self::Values, into: &mut Vec<Given>) {
                $(self.ports.$at.tell(values.$at, into);)+
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

impl<T: Data> Inputs for Vec<Input<T>> {
    type Ports = Joint<Vec<Port<T>>>;

    fn find(self, node: &Node) -> Result<Self::Ports, DeclareError> {
        let ports: Result<Vec<Port<T>>, _> =
            self.into_iter().map(|input| OneInput::find(input, node)).collect();
        let ports = ports?;
        let ids: Vec<_> =
            ports.iter().map(|port| (port.queue().id(), port.queue().name())).collect();
        let order = order(&ids)?;
        Ok(Joint { ports, order })
    }
}

impl<T: Data> Ports for Joint<Vec<Port<T>>> {
    type Values = Vec<Segment<T>>;
    type Held<'a> = Vec<Option<MutexGuard<'a, State<T>>>>;

    fn lock(&self) -> Self::Held<'_> {
        let mut held: Self::Held<'_> = self.ports.iter().map(|_| None).collect();
        for &at in &self.order {
            held[at] = Some(self.ports[at].queue().lock());
        }
        held
    }

    fn is_ready(&self, held: &Self::Held<'_>) -> bool {
        let mut pairs = self.ports.iter().zip(held);
        pairs.all(|(port, held)| held.as_ref().is_some_and(|held| port.has(held)))
    }

    fn claim(&self, held: &mut Self::Held<'_>) -> Vec<Segment<T>> {
        let pairs = self.ports.iter().zip(held);
        pairs.map(|(port, held)| port.pick(held.as_mut().expect(IS_LOCKED))).collect()
    }

    fn is_closed(&self, held: &Self::Held<'_>) -> bool {
        held.iter().flatten().any(|held| held.is_closed)
    }

    fn each_line(&self, held: &mut Self::Held<'_>, f: &mut dyn FnMut(&mut Line)) {
        held.iter_mut().flatten().for_each(|held| f(&mut held.line));
    }

    fn each_input(&self, held: &Self::Held<'_>, f: &mut dyn FnMut(&str, bool)) {
        for (port, held) in self.ports.iter().zip(held) {
            f(port.queue().name(), port.has(held.as_ref().expect(IS_LOCKED)));
        }
    }

    fn consumes(&self) -> bool {
        self.ports.iter().any(OnePort::uses_up)
    }

    fn all_are_of(&self, node: usize) -> bool {
        self.ports.iter().all(|port| port.queue().is_of(node))
    }

    fn give(&self, values: Vec<Segment<T>>, into: &mut Vec<Given>) {
        self.ports.iter().zip(values).for_each(|(port, value)| port.tell(value, into));
    }
}
