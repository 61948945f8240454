//! A topology as somebody sees it who takes no part in it.

use std::collections::{BTreeMap, BTreeSet};

use super::Plan;
use super::graph::Edge;
use super::places::seats;
use crate::engine::Shared;
use crate::error::JoinError;
use crate::name::token;

/// A topology at one moment: [`Engine::view`](crate::Engine::view).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct View {
    /// Its name.
    pub topology: String,
    /// `fixed`, or the shape.
    pub shape: String,
    /// The members, in the order of their places.
    pub members: Vec<Seen>,
    /// Who knows whom.
    pub edges: Vec<Edge>,
}

/// A member at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seen {
    /// Its name.
    pub name: String,
    /// Its place; in a fixed graph, where it was named.
    pub place: usize,
    /// Whether it is there.
    pub is_there: bool,
}

impl View {
    pub(crate) async fn of(shared: &Shared, topology: &str) -> Result<View, JoinError> {
        let topology_token = token(topology)?;
        let places = shared.places().await?;
        let Some(plan) = places.plan(&topology_token).await? else {
            return Err(JoinError::NoTopology { topology: topology.to_owned() });
        };
        let there: BTreeSet<String> = shared.labels().await?.all().await?.into_iter().collect();
        let claims = places.claims(&topology_token).await?;
        let seats = seats(&claims);
        let (shape, names, edges) = match plan {
            Plan::Fixed(graph) => {
                let names = graph.names().iter().cloned().enumerate().collect();
                ("fixed".to_owned(), names, graph.edges().to_vec())
            }
            Plan::Growing(shape) => {
                let taken: BTreeSet<usize> = seats.keys().copied().collect();
                let edges = taken.iter().flat_map(|&place| {
                    let known = shape.neighbours(place, &taken);
                    known.into_iter().map(move |(label, to)| (place, label, to))
                });
                let edges = edges.map(|(from, label, to)| Edge {
                    from: seats[&from].to_owned(),
                    label,
                    to: seats[&to].to_owned(),
                });
                let edges = edges.collect();
                let names: BTreeMap<usize, String> =
                    seats.iter().map(|(place, name)| (*place, (*name).to_owned())).collect();
                (shape.to_string(), names, edges)
            }
        };
        let members = names.into_iter().map(|(place, name)| {
            let is_there = there.contains(&name);
            Seen { name, place, is_there }
        });
        let (topology, members) = (topology.to_owned(), members.collect());
        Ok(View { topology, shape, members, edges })
    }
}
