//! The real thing, driven by the same steps. Each shape of inputs is used: one, a tuple, a vector.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use alice::{
    Code, FAILURES, Failure, Input, Key, Node, PutError, Queue, Run, Segment, newer, peek, take,
    take_many,
};

use super::{Answer, Ask, Event, Plan, Step, fails};

type Inputs = Vec<(u64, u32)>;

pub struct Real {
    node: Node,
    keys: Vec<Key<u32>>,
    codes: Vec<Code>,
    ran: Arc<Mutex<Vec<Event>>>,
}

impl Real {
    pub fn new(keys: usize) -> Real {
        let node = Node::new();
        let keys = (0..keys).map(|number| Key::named(format!("key {number}"))).collect();
        let real = Real { node, keys, codes: Vec::new(), ran: Arc::default() };
        let ran = Arc::clone(&real.ran);
        // Above all priorities, so that a failure is noted right after the run.
        let watch = real.node.code("failures").when(take(&FAILURES)).priority(9).run(Run::Here);
        watch.repeatedly(move |failure, ()| ran.lock().unwrap().push(failed(failure))).unwrap();
        real
    }

    pub fn events(&self) -> Vec<Event> {
        std::mem::take(&mut self.ran.lock().unwrap())
    }

    pub fn queues(&self) -> Vec<(Inputs, u64)> {
        let shown = |key| {
            let queue: Queue<u32> = self.node.queue(key).unwrap();
            let mut segments: Inputs = Vec::new();
            let seen = |segments: &Inputs| segments.last().map_or(0, |(index, _)| *index);
            while let Ok(next) = self.node.wait_for(newer(&queue, seen(&segments)), Duration::ZERO)
            {
                segments.push((next.index(), *next));
            }
            assert_eq!(queue.len(), segments.len());
            (segments, queue.displaced())
        };
        self.keys.iter().map(shown).collect()
    }

    pub fn step(&mut self, step: &Step) -> Answer {
        let Real { node, keys, .. } = self;
        match step {
            Step::Put(key, data) => index(*data, node.put(&keys[*key], *data)),
            Step::Update(key, data) => index(*data, node.update(&keys[*key], *data)),
            Step::Flip(from, to) => {
                let segment = node.take_within(&keys[*from], Duration::ZERO).ok()?;
                index(*segment, node.flip(&keys[*to], &segment))
            }
            Step::Ask(asks) => self.ask(asks),
            Step::Declare(plan) => {
                let code = self.declare(plan);
                self.codes.push(code);
                None
            }
            Step::Cancel(code) => {
                self.codes.get(*code)?.cancel();
                None
            }
            Step::Bound(key, bound) => {
                node.queue(&keys[*key]).unwrap().set_bound(*bound);
                None
            }
        }
    }

    fn input(&self, ask: Ask) -> Input<u32> {
        let key = &self.keys[ask.key()];
        match ask {
            Ask::Take(_) | Ask::Many(..) => take(key),
            Ask::Peek(_) => peek(key),
            Ask::Newer(_, seen) => newer(key, seen),
        }
    }

    fn ask(&self, asks: &[Ask]) -> Answer {
        let (node, now) = (&self.node, Duration::ZERO);
        let inputs: Vec<Input<u32>> = asks.iter().map(|ask| self.input(*ask)).collect();
        match *asks {
            [Ask::Many(key, count)] => {
                node.wait_for(take_many(&self.keys[key], count), now).map(|all| pairs(&all)).ok()
            }
            [one] => node.wait_for(self.input(one), now).map(|one| pairs(&[one])).ok(),
            [a, b] => {
                let both = (self.input(a), self.input(b));
                node.wait_for(both, now).map(|(a, b)| pairs(&[a, b])).ok()
            }
            _ => node.wait_for(inputs, now).map(|all| pairs(&all)).ok(),
        }
    }

    fn declare(&self, plan: &Plan) -> Code {
        let name = self.codes.len().to_string();
        let output = plan.output.map(|key| self.node.queue(&self.keys[key]).unwrap());
        let (ran, number) = (Arc::clone(&self.ran), self.codes.len());
        let body = move |inputs: Inputs| -> Result<(), String> {
            let sum = inputs.iter().map(|(_, data)| data).sum();
            ran.lock().unwrap().push(Event::Ran(number, inputs));
            match &output {
                _ if fails(sum) => return Err("a bad sum".to_owned()),
                // A full queue may refuse it.
                Some(output) => drop(output.put(sum)),
                None => {}
            }
            Ok(())
        };
        /// Ends the declaration.
        macro_rules! declare {
            ($inputs:expr, $given:pat => $list:expr) => {{
                let code = self.node.code(&name).when($inputs).run(Run::Here);
                let code = code.priority(plan.priority);
                if plan.repeats {
                    code.repeatedly(move |$given, ()| body(pairs($list))).unwrap()
                } else {
                    code.once(move |$given, ()| body(pairs($list))).unwrap()
                }
            }};
        }
        match *plan.asks {
            [Ask::Many(key, count)] => declare!(take_many(&self.keys[key], count), all => all),
            [one] => declare!(self.input(one), one => std::slice::from_ref(one)),
            [a, b] => {
                declare!((self.input(a), self.input(b)), (a, b) => &[a.clone(), b.clone()])
            }
            _ => {
                let inputs: Vec<Input<u32>> =
                    plan.asks.iter().map(|ask| self.input(*ask)).collect();
                declare!(inputs, all => all)
            }
        }
    }
}

fn index(data: u32, put: Result<u64, PutError<u32>>) -> Answer {
    put.ok().map(|index| vec![(index, data)])
}

fn pairs(segments: &[Segment<u32>]) -> Inputs {
    segments.iter().map(|segment| (segment.index(), **segment)).collect()
}

fn failed(failure: &Failure) -> Event {
    let inputs = failure.inputs().iter().filter_map(|given| given.segment::<u32>());
    let inputs: Vec<Segment<u32>> = inputs.collect();
    Event::Failed(failure.code().parse().unwrap(), pairs(&inputs))
}
