//! The diagnosis against the truth of simulated runs.

mod corpus;
mod fit;
mod fragments;
mod hole;
mod mtu;
