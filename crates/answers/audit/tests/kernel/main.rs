//! `longfat check` on the real kernel. The tests need root and run one at a time, in real time: `make netns`.

mod containers;
mod engines;
mod namespaces;
