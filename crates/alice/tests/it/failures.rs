//! Code segments that panic or return errors.

use std::error::Error;
use std::fmt;

use crate::put_all;
use alice::{FAILURES, Key, Node, Pool, Run, peek, take};

const A: Key<u32> = Key::new("a");
const B: Key<String> = Key::new("b");

#[test]
fn panic_is_reported_with_all_inputs_and_the_code_goes_on() {
    for run in [Run::Here, Run::Next, Run::Pool] {
        let node = Node::on(&Pool::new(1).unwrap());
        let divide = node.code("divide").when((take(&A), peek(&B))).to(&Key::<u32>::new("c"));
        divide.run(run).repeatedly(|(a, _), c| c.put(100 / **a)).unwrap();
        node.put(&B, "kept".to_owned()).unwrap();
        put_all(&node, &A, [0, 5]);
        assert_eq!(*node.take(&Key::<u32>::new("c")).unwrap(), 20, "{run:?}");
        let failure = node.take(&FAILURES).unwrap();
        let message = "code segment `divide` failed: attempt to divide by zero";
        assert_eq!(failure.to_string(), message);
        let given: Vec<(&str, bool)> =
            failure.inputs().iter().map(|given| (given.key(), given.is_taken())).collect();
        assert_eq!(given, [("a", true), ("b", false)]);
        assert_eq!((*failure.input(&A).unwrap(), failure.input(&A).unwrap().index()), (0, 1));
        assert_eq!(*failure.input(&B).unwrap(), "kept");
        assert_eq!(node.queue(&B).unwrap().len(), 1);
    }
}

#[test]
fn failure_is_an_error_with_the_source_of_what_was_returned() {
    #[derive(Debug)]
    struct NoPaper(fmt::Error);
    impl fmt::Display for NoPaper {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("nothing was printed")
        }
    }
    impl Error for NoPaper {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }
    let node = Node::new();
    let print = node.code("print").when(take(&A)).run(Run::Here);
    print.once(|_, ()| Err::<(), _>(NoPaper(fmt::Error))).unwrap();
    node.put(&A, 1).unwrap();
    let failure = node.take(&FAILURES).unwrap();
    let error: &dyn Error = &*failure;
    assert_eq!(error.to_string(), "code segment `print` failed: nothing was printed");
    assert!(error.source().is_some_and(|source| source.is::<fmt::Error>()));
    let panics = node.code("panics").when(take(&A)).run(Run::Here);
    panics.once(|a, ()| assert!(**a > 1, "on purpose")).unwrap();
    node.put(&A, 1).unwrap();
    assert!(node.take(&FAILURES).unwrap().source().is_none());
}

#[test]
fn failed_input_can_be_tried_again() {
    let node = Node::new();
    let mut tries = 0;
    let code = node.code("third time").when(take(&A)).to(&Key::<u32>::new("tries"));
    code.run(Run::Here)
        .repeatedly(move |_, done| {
            tries += 1;
            if tries == 3 {
                done.put(tries).map_err(|e| e.to_string()).map(drop)
            } else {
                Err("no".into())
            }
        })
        .unwrap();
    let again = node.code("again").when(take(&FAILURES)).to(&A).run(Run::Here);
    again.repeatedly(|failure, a| a.flip(&failure.input(&A).expect("its input"))).unwrap();
    node.put(&A, 1).unwrap();
    assert_eq!(*node.take(&Key::<u32>::new("tries")).unwrap(), 3);
}

#[test]
fn data_that_panics_when_dropped_does_not_stop_the_worker() {
    struct Bad(bool);
    impl Drop for Bad {
        fn drop(&mut self) {
            assert!(!self.0, "dropped");
        }
    }
    let (node, bad) = (Node::on(&Pool::new(1).unwrap()), Key::<Bad>::new("bad"));
    let code = node.code("drops").when(take(&bad)).to(&A);
    code.repeatedly(|_, a| a.put(1)).unwrap();
    node.put(&bad, Bad(true)).map_err(|_| ()).unwrap();
    node.put(&bad, Bad(false)).map_err(|_| ()).unwrap();
    assert_eq!((*node.take(&A).unwrap(), *node.take(&A).unwrap()), (1, 1));
}

#[test]
fn only_the_newest_failures_are_kept_and_the_rest_is_counted() {
    let node = Node::new();
    let fails = node.code("fails").when(take(&A)).run(Run::Here);
    fails.repeatedly(|_, ()| Err::<(), _>("no")).unwrap();
    put_all(&node, &A, 0..1030);
    let failures = node.queue(&FAILURES).unwrap();
    assert_eq!((failures.len(), failures.displaced()), (1024, 6));
    assert_eq!(*failures.take().unwrap().input(&A).unwrap(), 6);
}
