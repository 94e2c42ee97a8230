//! Two ends of a pair over loopback. One at a time, in real seconds: `make netns`.

mod common;
mod entrances;
mod streams;
