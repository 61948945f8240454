//! A case: what measures it on our side and on the peers', and which number it is.

use crate::occupy::Cores;
use crate::systems::System;

/// A case of an experiment.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The experiment.
    pub experiment: &'static str,
    /// Its name there.
    pub name: &'static str,
    /// What `jungle-bench sample EXPERIMENT` is told; several cases may come from one run. Empty if
    /// this is the peers' alone.
    pub ours: &'static str,
    /// The peers' case, when they have one.
    pub theirs: Option<&'static str>,
    /// Which of the numbers.
    pub number: Number,
    /// Of what it is a number.
    pub unit: &'static str,
    /// On how many threads.
    pub threads: Threads,
    /// Whose number it is, if not of the systems that are asked for.
    pub system: Option<System>,
    /// What the cores do that it leaves idle.
    pub idle: Idle,
    /// How many bytes of memory are touched before it for each task; see [`crate::touch`].
    pub touched: u64,
    /// Its syncs are counted instead of its time: how many commits there are for each operation.
    pub counted: Option<u64>,
}

/// Which number of a sample a case is.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// Its value.
    Value,
    /// Its value, less this: bytes over the payload.
    Over(f64),
    /// A further number.
    Named(&'static str),
}

/// What the cores do that a case leaves idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// They rest, or, where the number of threads is asked for, are kept busy if that is asked for.
    Asked,
    /// They rest, and it may use them.
    Rest,
    /// They rest, and it is kept off them.
    Pinned,
    /// They are kept busy, and it is kept off them.
    Busy,
}

/// On how many threads a case runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// On as many as are asked for.
    Asked,
    /// Always on so many.
    Fixed(usize),
    /// On each of these.
    Each(&'static [usize]),
}

/// A case as those of an experiment mostly are.
pub(super) const fn case(
    experiment: &'static str,
    name: &'static str,
    theirs: Option<&'static str>,
) -> Case {
    Case {
        experiment,
        name,
        ours: name,
        theirs,
        number: Number::Value,
        unit: "1/s",
        threads: Threads::Asked,
        system: None,
        idle: Idle::Asked,
        touched: 0,
        counted: None,
    }
}

impl Case {
    /// What a system is told to do, if it takes part.
    pub fn told(&self, system: System) -> Option<String> {
        match system {
            System::Jungle if self.ours.is_empty() => None,
            System::Jungle => Some(format!("{} {}", self.experiment, self.ours)),
            // These are measured by our own program, where it says so.
            its if its == System::Machine || its.is_board() => {
                let is_its = self.system == Some(its);
                is_its.then(|| format!("{} {}", self.experiment, self.ours))
            }
            peer if !peer.takes_part(self.experiment, self.name) => None,
            _ => self.theirs.map(str::to_owned),
        }
    }

    /// The rows that it has: on how many threads, and whose, if these numbers of threads and these
    /// systems are asked for.
    pub fn rows(&self, asked: &[usize], systems: &[System]) -> Vec<(usize, System)> {
        let threads = match self.threads {
            Threads::Asked => asked.to_vec(),
            Threads::Fixed(threads) => vec![threads],
            Threads::Each(threads) => threads.to_vec(),
        };
        let is_there = |system: System| system == System::Machine || systems.contains(&system);
        let mut systems = match self.system {
            None => systems.to_vec(),
            Some(system) => is_there(system).then_some(system).into_iter().collect(),
        };
        systems.retain(|system| self.told(*system).is_some());
        let on = |threads: usize| systems.iter().map(move |system| (threads, *system));
        threads.into_iter().flat_map(on).collect()
    }

    /// Which cores it may use on so many threads, if `asked` says whether those that it leaves idle
    /// are to be kept busy.
    pub fn cores(&self, threads: usize, asked: bool) -> Cores {
        match self.idle {
            Idle::Asked if asked && self.threads == Threads::Asked => Cores::BesideBusy(threads),
            Idle::Asked | Idle::Rest => Cores::All,
            Idle::Pinned => Cores::Pinned(threads),
            Idle::Busy => Cores::BesideBusy(threads),
        }
    }

    /// Is it only there where it leaves a core idle? On all cores it would be what another one is,
    /// and how far the two lie apart would be taken for what idle cores do.
    pub fn needs_idle_core(&self) -> bool {
        matches!(self.idle, Idle::Pinned | Idle::Busy)
    }

    pub(super) const fn from(self, ours: &'static str) -> Case {
        Case { ours, ..self }
    }

    pub(super) const fn number(self, number: Number, unit: &'static str) -> Case {
        Case { number, unit, ..self }
    }

    pub(super) const fn on(self, threads: usize) -> Case {
        Case { threads: Threads::Fixed(threads), ..self }
    }

    pub(super) const fn on_each(self, threads: &'static [usize]) -> Case {
        Case { threads: Threads::Each(threads), ..self }
    }

    pub(super) const fn idle(self, idle: Idle) -> Case {
        Case { idle, ..self }
    }

    pub(super) const fn touching(self, bytes: u64) -> Case {
        Case { touched: bytes, ..self }
    }

    /// Syncs for each commit, with so many commits for each operation.
    pub(super) const fn counting(self, commits: u64) -> Case {
        let number = Number::Named("syncs");
        Case { counted: Some(commits), number, unit: "x", threads: Threads::Fixed(1), ..self }
    }

    pub(super) const fn of(self, system: System) -> Case {
        Case { system: Some(system), ..self }
    }
}
