//! Two ends of a pair over loopback, one test at a time, in real time: `make netns`.

mod common;
mod entrances;
mod streams;
