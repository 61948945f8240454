//! The model: plain lists, one thing after the other.

use std::cmp::Reverse;
use std::collections::VecDeque;

use alice::{Bound, WhenFull};

use super::{Answer, Ask, Event, Plan, Step, fails};

type Inputs = Vec<(u64, u32)>;

#[derive(Default)]
pub struct Model {
    keys: Vec<Queue>,
    codes: Vec<Code>,
    arrivals: u64,
    /// Those with their inputs, in the order in which they will run.
    ready: Vec<(usize, Inputs)>,
    pub events: Vec<Event>,
}

#[derive(Clone, Default)]
struct Queue {
    segments: VecDeque<(u64, u32)>,
    newest: u64,
    bound: Option<Bound>,
    displaced: u64,
}

struct Code {
    plan: Plan,
    /// Where it stands in line, if it does.
    place: Option<Place>,
    is_over: bool,
}

type Place = (Reverse<u8>, u64);

impl Model {
    pub fn new(keys: usize) -> Model {
        Model { keys: vec![Queue::default(); keys], ..Model::default() }
    }

    pub fn code_count(&self) -> usize {
        self.codes.len()
    }

    pub fn queues(&self) -> Vec<(Inputs, u64)> {
        let shown = |queue: &Queue| (queue.segments.iter().copied().collect(), queue.displaced);
        self.keys.iter().map(shown).collect()
    }

    pub fn step(&mut self, step: &Step) -> Answer {
        let answer = match step {
            Step::Put(key, data) => self.put(*key, *data),
            Step::Update(key, data) => {
                self.keys[*key].segments.clear();
                Some(self.append(*key, *data))
            }
            Step::Flip(from, to) => {
                self.keys[*from].segments.pop_front().and_then(|(_, data)| self.put(*to, data))
            }
            Step::Ask(asks) => self.claim(asks),
            Step::Declare(plan) => {
                self.codes.push(Code { plan: plan.clone(), place: None, is_over: false });
                self.arm(self.codes.len() - 1);
                None
            }
            Step::Cancel(code) => {
                if let Some(code) = self.codes.get_mut(*code) {
                    (code.place, code.is_over) = (None, true);
                }
                None
            }
            Step::Bound(key, bound) => {
                self.keys[*key].bound = *bound;
                None
            }
        };
        self.run_ready();
        answer
    }

    fn put(&mut self, key: usize, data: u32) -> Answer {
        let queue = &mut self.keys[key];
        if let Some(bound) = queue.bound
            && queue.segments.len() >= bound.segments_max.get()
        {
            if bound.when_full == WhenFull::Refuse {
                return None;
            }
            queue.segments.pop_front();
            queue.displaced += 1;
        }
        Some(self.append(key, data))
    }

    fn append(&mut self, key: usize, data: u32) -> Vec<(u64, u32)> {
        let queue = &mut self.keys[key];
        queue.newest += 1;
        let put = (queue.newest, data);
        queue.segments.push_back(put);
        self.offer(key);
        vec![put]
    }

    /// To all who stand in line there, in their order, as long as there is something.
    fn offer(&mut self, key: usize) {
        let mut last = None;
        while !self.keys[key].segments.is_empty() {
            let waits = |code: &Code| code.plan.asks.iter().any(|ask| ask.key() == key);
            let places = self.codes.iter().enumerate().filter(|(_, code)| waits(code));
            let places = places.filter_map(|(at, code)| Some((code.place?, at)));
            let Some((place, at)) = places.filter(|(place, _)| Some(*place) > last).min() else {
                return;
            };
            last = Some(place);
            if let Some(inputs) = self.claim_of(at) {
                self.codes[at].place = None;
                self.schedule(at, inputs);
            }
        }
    }

    fn arm(&mut self, at: usize) {
        match self.claim_of(at) {
            Some(inputs) => self.schedule(at, inputs),
            None => {
                self.arrivals += 1;
                let code = &mut self.codes[at];
                code.place = Some((Reverse(code.plan.priority), self.arrivals));
            }
        }
    }

    fn claim_of(&mut self, at: usize) -> Option<Inputs> {
        let asks = self.codes[at].plan.asks.clone();
        let inputs = self.claim(&asks)?;
        for (ask, input) in self.codes[at].plan.asks.iter_mut().zip(&inputs) {
            if let Ask::Newer(_, seen) = ask {
                *seen = input.0;
            }
        }
        Some(inputs)
    }

    fn claim(&mut self, asks: &[Ask]) -> Option<Inputs> {
        let mut claimed = self.keys.clone();
        let mut inputs = Vec::new();
        for ask in asks {
            let segments = &mut claimed[ask.key()].segments;
            match *ask {
                Ask::Take(_) => inputs.push(segments.pop_front()?),
                Ask::Peek(_) => inputs.push(*segments.front()?),
                Ask::Newer(_, seen) => {
                    inputs.push(*segments.iter().find(|(index, _)| *index > seen)?);
                }
                Ask::Many(_, count) => {
                    for _ in 0..count {
                        inputs.push(segments.pop_front()?);
                    }
                }
            }
        }
        self.keys = claimed;
        Some(inputs)
    }

    fn schedule(&mut self, at: usize, inputs: Inputs) {
        let priority = |at: usize| self.codes[at].plan.priority;
        let place = self.ready.partition_point(|(other, _)| priority(*other) >= priority(at));
        self.ready.insert(place, (at, inputs));
    }

    fn run_ready(&mut self) {
        while !self.ready.is_empty() {
            let (at, inputs) = self.ready.remove(0);
            let sum = inputs.iter().map(|(_, data)| data).sum();
            self.events.push(Event::Ran(at, inputs.clone()));
            if fails(sum) {
                self.events.push(Event::Failed(at, inputs));
            } else if let Some(output) = self.codes[at].plan.output {
                self.put(output, sum);
            }
            if self.codes[at].plan.repeats && !self.codes[at].is_over {
                self.arm(at);
            }
        }
    }
}
