//! The diagnosis against the truth of simulated runs.

mod corpus;
mod cuts;
mod fit;
mod fragments;
mod hole;
mod mtu;
